//! Recordings of programs: as they are, and as items behind valid checksums. What is read stays in the
//! tree, and is written again and read back to the same.

use fsdyno_trace::{Ending, Item, PathId, Reader, Writer, fuzz::framed};
use std::path::{Component, Path};

pub fn check(input: &[u8]) {
    round_trip(input);
    // Behind checksums, where mutations of bytes would not come otherwise.
    round_trip(&framed(input));
}

fn round_trip(file: &[u8]) {
    let Ok(mut reader) = Reader::new(file) else {
        return;
    };
    let about = reader.about().clone();
    let (items, end) = items(&mut reader);
    let paths = reader.into_paths();
    let mut writer = Writer::new(Vec::new(), &about, None).expect("memory");
    for number in 1..paths.count() {
        let path = PathId(u32::try_from(number).expect("a path"));
        check_path(&paths.path(path));
        let parent = paths.parent(path).expect("not the root");
        let again = writer.name(parent, paths.name(path)).expect("a name");
        assert_eq!(again, path);
    }
    for item in items.clone() {
        match item {
            Item::Entry(entry) => writer.entry(entry),
            Item::Thread(thread) => writer.thread(thread),
            Item::Operation(operation) => writer.operation(operation),
            Item::LastEntry(entry) => writer.last_entry(entry),
            Item::Ending(_) => unreachable!("the end is separate"),
        }
        .expect("it was valid");
    }
    let written = writer.finish(end.unwrap_or_default()).expect("memory");
    let mut reader = Reader::new(&written[..]).expect("as written");
    assert_eq!(*reader.about(), about);
    let (again, _) = self::items(&mut reader);
    assert_eq!(again, items);
    assert_eq!(reader.into_paths().count(), paths.count());
}

/// The items before the first error, and the end.
fn items(reader: &mut Reader<&[u8]>) -> (Vec<Item>, Option<Ending>) {
    let mut items = Vec::new();
    for item in reader.by_ref().map_while(Result::ok) {
        match item {
            Item::Ending(ending) => return (items, Some(ending)),
            item => items.push(item),
        }
    }
    (items, None)
}

fn check_path(path: &Path) {
    assert!(
        path.components()
            .all(|part| matches!(part, Component::Normal(_))),
        "{path:?}"
    );
    assert!(path.as_os_str().len() < 4096);
}
