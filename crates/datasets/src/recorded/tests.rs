//! Trees of recordings that are written here, and the space of their operations.

use super::*;
use fsdyno_model::Capabilities;
use fsdyno_trace::{Action, Handle, Hole, LinkTarget, PathId, ThreadId, Via, Writer, XattrSize};
use std::os::unix::fs::{FileTypeExt, MetadataExt};

/// A recording of these entries and operations.
fn recording(
    entries: &[(&str, EntryKind)],
    operations: impl FnOnce(&mut Writer<Vec<u8>>) -> Vec<(Action, i64)>,
) -> Vec<u8> {
    let mut writer = writer(entries);
    let operations = operations(&mut writer);
    perform(&mut writer, operations);
    writer.finish(Ending::default()).unwrap()
}

fn writer(entries: &[(&str, EntryKind)]) -> Writer<Vec<u8>> {
    let about = About {
        fsdyno: "0".to_owned(),
        ..About::empty()
    };
    let mut writer = Writer::new(Vec::new(), &about, None).unwrap();
    for (path, kind) in entries {
        let path = writer.path(Path::new(path)).unwrap();
        let xattrs = vec![XattrSize {
            name: "user.size".to_owned(),
            size: 33,
        }];
        let plain = matches!(kind, EntryKind::File { .. });
        let entry = Entry {
            path,
            mode: 0o4750,
            kind: kind.clone(),
            xattrs: if plain { xattrs } else { Vec::new() },
        };
        writer.entry(entry).unwrap();
    }
    let thread = Thread {
        id: ThreadId(0),
        process: ThreadId(0),
        parent: None,
        start_ns: 0,
    };
    writer.thread(thread).unwrap();
    writer
}

fn perform(writer: &mut Writer<Vec<u8>>, operations: Vec<(Action, i64)>) {
    for (at, (action, result)) in (0..).zip(operations) {
        let operation = Operation {
            thread: ThreadId(0),
            via: Via::Syscall,
            start_ns: at,
            end_ns: at,
            action,
            result,
        };
        writer.operation(operation).unwrap();
    }
}

fn read(bytes: &[u8]) -> Recording {
    let reader = Reader::new(bytes).unwrap();
    Recording::read(reader, &CancelToken::new())
        .unwrap()
        .unwrap()
}

fn file(size: u64) -> EntryKind {
    EntryKind::File {
        size,
        holes: Vec::new(),
        extents: None,
        compressed_permille: Some(250),
    }
}

fn opened(place: &Path, bytes: &[u8]) -> Result<RecordedTree, DatasetError> {
    let path = place.join("trace");
    std::fs::write(&path, bytes).unwrap();
    RecordedTree::open(&path, 1, Some(Bytes(1 << 30)), &CancelToken::new())
}

#[test]
fn a_tree_has_the_recorded_types_sizes_holes_links_and_attributes() {
    let hole = Hole {
        offset: 8192,
        length: 1 << 24,
    };
    let sparse = EntryKind::File {
        size: (1 << 24) + 20_000,
        holes: vec![hole],
        extents: Some(2),
        compressed_permille: None,
    };
    let entries = [
        ("", EntryKind::Directory),
        ("a", EntryKind::Directory),
        ("a/file", file(100_000)),
        ("a/sparse", sparse),
        ("a/same", EntryKind::HardLink { to: PathId(2) }),
        (
            "a/link",
            EntryKind::Symlink {
                target: LinkTarget::Inside(PathId(2)),
            },
        ),
        (
            "out",
            EntryKind::Symlink {
                target: LinkTarget::Outside { length: 401 },
            },
        ),
        ("fifo", EntryKind::Fifo),
        ("socket", EntryKind::Socket),
        ("null", EntryKind::Device),
    ];
    let bytes = recording(&entries, |_| Vec::new());
    let place = tempfile::tempdir_in("/var/tmp").unwrap();
    let dataset = opened(place.path(), &bytes).unwrap();
    let facts = dataset.facts();
    assert_eq!((facts.files, facts.directories), (8, 1));
    assert!(facts.footprint < Bytes(1 << 20), "{}", facts.footprint);
    let mut work_dir = WorkDir::new(place.path());
    let stop = CancelToken::new();
    let warnings = dataset.create(&mut work_dir, Form::Tree, &stop).unwrap();
    let messages: Vec<_> = warnings.iter().map(|one| one.message.as_str()).collect();
    assert!(
        messages.iter().any(|text| text.contains("1 devices")),
        "{messages:?}"
    );
    let tree = work_dir.newest().unwrap();
    let stat = |name: &str| tree.join(name).symlink_metadata().unwrap();
    assert_eq!(stat("a/file").len(), 100_000);
    assert_eq!(stat("a/file").mode() & 0o7777, 0o750, "not set-user-ID");
    assert_eq!(stat("a/file").ino(), stat("a/same").ino());
    assert_eq!(stat("a/sparse").len(), (1 << 24) + 20_000);
    assert!(stat("a/sparse").blocks() * 512 < 1 << 20);
    assert_eq!(std::fs::read(tree.join("a/link")).unwrap().len(), 100_000);
    assert!(stat("null").file_type().is_fifo(), "no device is created");
    assert!(std::fs::metadata(tree.join("out")).is_err());
    assert_eq!(tree.join("out").read_link().unwrap().as_os_str().len(), 401);
    let data = std::fs::read(tree.join("a/file")).unwrap();
    let packed = zstd::encode_all(&data[..], 3).unwrap().len();
    assert!((20_000..30_000).contains(&packed), "{packed}");
    let compared = compare(&read(&bytes), tree, &stop).unwrap();
    assert!(compared.equal(), "{:?}", compared.differences);
    // A difference of each kind is found.
    std::fs::write(tree.join("a/more"), "").unwrap();
    std::fs::remove_file(tree.join("a/same")).unwrap();
    std::fs::write(tree.join("a/same"), vec![0; 100_000]).unwrap();
    std::fs::write(tree.join("a/sparse"), "short").unwrap();
    std::fs::remove_file(tree.join("out")).unwrap();
    let compared = compare(&read(&bytes), tree, &stop).unwrap();
    assert_eq!(compared.total, 4, "{:?}", compared.differences);
}

#[test]
fn what_a_file_system_cannot_store_is_left_out_with_its_links() {
    let entries = [
        ("", EntryKind::Directory),
        ("large", file(5000)),
        ("same", EntryKind::HardLink { to: PathId(1) }),
        ("fifo", EntryKind::Fifo),
    ];
    let bytes = recording(&entries, |_| Vec::new());
    let place = tempfile::tempdir().unwrap();
    let dataset = opened(place.path(), &bytes).unwrap();
    let mut work_dir = WorkDir::new(place.path());
    work_dir.stores = Capabilities {
        largest_file: Some(Bytes(4000)),
        special_files: false,
        ..Capabilities::ALL
    };
    let stop = CancelToken::new();
    let warnings = dataset.create(&mut work_dir, Form::Tree, &stop).unwrap();
    assert!(warnings[0].message.contains("2 entries"), "{warnings:?}");
    let left = std::fs::read_dir(work_dir.newest().unwrap()).unwrap();
    assert_eq!(left.count(), 0);
}

#[test]
fn operations_explain_the_tree_at_the_end_or_the_difference_is_named() {
    let check = |last: &[(&str, EntryKind)]| {
        let entries = [("", EntryKind::Directory), ("old", file(5000))];
        let mut writer = writer(&entries);
        let path = |writer: &mut Writer<Vec<u8>>, name: &str| writer.path(Path::new(name)).unwrap();
        let (old, new) = (path(&mut writer, "old"), path(&mut writer, "new"));
        let actions = [
            Action::Link {
                from: old,
                to: new,
                follow: false,
            },
            Action::Truncate {
                path: old,
                length: 10,
            },
        ];
        perform(&mut writer, actions.map(|action| (action, 0)).to_vec());
        for (name, kind) in last {
            let path = path(&mut writer, name);
            let entry = Entry {
                path,
                mode: 0o644,
                kind: kind.clone(),
                xattrs: Vec::new(),
            };
            writer.last_entry(entry).unwrap();
        }
        let bytes = writer.finish(Ending::default()).unwrap();
        let compared = unexplained(&read(&bytes))?;
        let differences = compared.differences.iter().map(ToString::to_string);
        Some(differences.collect::<Vec<_>>())
    };
    let root = ("", EntryKind::Directory);
    let link = ("new", EntryKind::HardLink { to: PathId(1) });
    assert_eq!(check(&[]), None);
    let explained = check(&[root.clone(), ("old", file(10)), link.clone()]);
    assert_eq!(explained, Some(Vec::new()));
    let other = check(&[root.clone(), ("old", file(11)), link]).unwrap();
    assert!(other[0].contains("had 11 bytes instead of 10"), "{other:?}");
    let other = check(&[root.clone(), ("old", file(10)), ("new", file(10))]).unwrap();
    assert!(other[0].contains("hard link of other files"), "{other:?}");
    let other = check(&[root, ("old", EntryKind::Fifo), ("more", file(1))]).unwrap();
    let words = ["was not there", "another type", "was there"];
    for (found, expected) in other.iter().zip(words) {
        assert!(found.contains(expected), "{other:?}");
    }
}

#[test]
fn the_space_of_the_operations_is_counted_before_anything_is_made() {
    let grow = |length: u64, offset: u64| {
        move |writer: &mut Writer<Vec<u8>>| {
            let path = writer.path(Path::new("new")).unwrap();
            let handle = Handle(1);
            let open = Action::Open {
                path,
                flags: (libc::O_CREAT | libc::O_WRONLY).cast_unsigned(),
                mode: 0o644,
                handle: Some(handle),
            };
            let allocate = Action::Allocate {
                handle,
                mode: 0,
                offset,
                length,
            };
            vec![(open, 3), (allocate, 0)]
        }
    };
    let place = tempfile::tempdir().unwrap();
    let entries = [("", EntryKind::Directory)];
    let small = opened(place.path(), &recording(&entries, grow(1 << 20, 0))).unwrap();
    let footprint = small.facts().footprint;
    assert!(footprint > Bytes(1 << 20) && footprint < Bytes(2 << 20));
    let most = i64::MAX as u64;
    for (length, offset) in [(1 << 31, 0), (most, most), (1, most)] {
        let bytes = recording(&entries, grow(length, offset));
        let error = opened(place.path(), &bytes).unwrap_err().to_string();
        assert!(error.contains("free; make room"), "{error}");
    }
    let sizes = [
        ("", EntryKind::Directory),
        ("x", file(most)),
        ("y", file(most)),
        ("z", file(most)),
    ];
    let error = opened(place.path(), &recording(&sizes, |_| Vec::new())).unwrap_err();
    assert!(error.to_string().contains("takes up to"), "{error}");
    assert_eq!(
        std::fs::read_dir(place.path()).unwrap().count(),
        1,
        "only the recording"
    );
}

#[test]
fn a_file_that_is_no_recording_is_refused_by_name() {
    let place = tempfile::tempdir().unwrap();
    let error = opened(place.path(), b"no recording")
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("/trace: ") && error.contains("fsdyno record"),
        "{error}"
    );
    let mut bytes = recording(&[("", EntryKind::Directory)], |_| Vec::new());
    bytes.truncate(bytes.len() - 3);
    let error = opened(place.path(), &bytes).unwrap_err().to_string();
    assert!(
        error.contains("truncated") || error.contains("corrupt"),
        "{error}"
    );
}
