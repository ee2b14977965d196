//! Recordings that are written, read back, damaged and forged.

use super::*;
use crate::blocks::BlockWriter;
use crate::writer::WireItem;
use std::path::Path;

fn about() -> About {
    About {
        fsdyno: "0.2.0".to_owned(),
        recorder: Recorder::Strace,
        tool: "strace -- version 6.1".to_owned(),
        kernel: "6.12".to_owned(),
        filesystem: "ext4".to_owned(),
        root: "/srv/tree".to_owned(),
        recorded: vec!["make".to_owned()],
        started_unix_s: 1_700_000_000,
        anonymous: false,
        limits: Vec::new(),
    }
}

fn file(path: PathId, size: u64) -> Entry {
    let kind = EntryKind::File {
        size,
        holes: Vec::new(),
        extents: Some(1),
        compressed_permille: None,
    };
    entry(path, kind)
}

fn entry(path: PathId, kind: EntryKind) -> Entry {
    Entry {
        path,
        mode: 0o755,
        kind,
        xattrs: Vec::new(),
    }
}

fn operation(start_ns: u64, action: Action, result: i64) -> Operation {
    Operation {
        thread: ThreadId(0),
        via: Via::Syscall,
        start_ns,
        end_ns: start_ns + 7,
        action,
        result,
    }
}

const THREAD: Thread = Thread {
    id: ThreadId(0),
    process: ThreadId(0),
    parent: None,
    start_ns: 0,
};

fn open(path: PathId, handle: u64) -> Action {
    Action::Open {
        path,
        flags: 0,
        mode: 0,
        handle: Some(Handle(handle)),
    }
}

/// A recording with an entry, `reads` operations in many blocks, and names that can be anonymous.
fn recording(reads: u64, key: Option<[u8; 32]>) -> Vec<u8> {
    let mut writer = Writer::new(Vec::new(), &about(), key).unwrap();
    let path = writer.path(Path::new("./dir/secret")).unwrap();
    let dir = writer.path(Path::new("dir")).unwrap();
    let link = writer.path(Path::new("link")).unwrap();
    let directory = EntryKind::Directory;
    writer
        .entry(entry(PathId::ROOT, directory.clone()))
        .unwrap();
    writer.entry(entry(dir, directory)).unwrap();
    writer.entry(file(path, 1 << 20)).unwrap();
    let target = LinkTarget::Relative(b"dir/secret".to_vec());
    writer
        .entry(entry(link, EntryKind::Symlink { target }))
        .unwrap();
    writer.thread(THREAD).unwrap();
    writer.operation(operation(5, open(path, 3), 3)).unwrap();
    for at in 0..reads {
        let action = Action::Read {
            handle: Handle(3),
            offset: Some(at * 4096),
            length: 4096,
            buffers: 1,
            flags: 0,
        };
        writer
            .operation(operation(at * 1000, action, 4096))
            .unwrap();
    }
    let ending = Ending {
        lost: 2,
        ..Ending::default()
    };
    writer.finish(ending).unwrap()
}

fn items(bytes: &[u8]) -> Result<Vec<Item>, TraceError> {
    Reader::new(bytes)?.collect()
}

/// The error of a recording with these items after its description.
fn refused(wire: &[WireItem]) -> String {
    let text = serde_json::to_string(&about()).unwrap();
    let mut content = postcard::to_stdvec(&WireItem::About(text)).unwrap();
    for item in wire {
        content = postcard::to_extend(item, content).unwrap();
    }
    let mut blocks = BlockWriter::new(Vec::new()).unwrap();
    blocks.write(&content).unwrap();
    let error = items(&blocks.into_inner()).unwrap_err();
    error.to_string()
}

#[test]
fn what_is_written_is_read_back_in_order() {
    let bytes = recording(100_000, None);
    let mut reader = Reader::new(&bytes[..]).unwrap();
    assert_eq!(*reader.about(), about());
    let items: Vec<Item> = reader.by_ref().map(Result::unwrap).collect();
    assert_eq!(items.len(), 4 + 1 + 100_001 + 1);
    let Item::Operation(last) = &items[items.len() - 2] else {
        panic!("{:?}", items[items.len() - 2]);
    };
    assert_eq!((last.start_ns, last.end_ns), (99_999_000, 99_999_007));
    assert_eq!(last.action.kind(), "read");
    let Some(Item::Ending(ending)) = items.last() else {
        panic!("no end");
    };
    assert_eq!((ending.operations, ending.lost), (100_001, 2));
    assert!(!ending.complete());
    let paths = reader.into_paths();
    assert_eq!(paths.path(PathId(2)), Path::new("dir/secret"));
    // Repetitive operations of 12 bytes: the limit of the expansion costs little.
    assert!(bytes.len() < 400_000, "{}", bytes.len());
}

#[test]
fn the_tree_at_the_end_follows_the_operations() {
    let root = entry(PathId::ROOT, EntryKind::Directory);
    let mut writer = Writer::new(Vec::new(), &about(), None).unwrap();
    writer.entry(root.clone()).unwrap();
    writer.thread(THREAD).unwrap();
    let path = writer.path(Path::new("new")).unwrap();
    writer.operation(operation(5, open(path, 3), 3)).unwrap();
    writer.last_entry(root.clone()).unwrap();
    writer.last_entry(file(path, 7)).unwrap();
    for late in [
        writer.operation(operation(6, Action::Sync {}, 0)),
        writer.entry(file(path, 7)),
        writer.last_entry(file(path, 7)),
    ] {
        assert_eq!(late.unwrap_err().kind(), std::io::ErrorKind::InvalidInput);
    }
    let mut bytes = writer.finish(Ending::default()).unwrap();
    let last = |item: &Item| matches!(item, Item::LastEntry(_));
    let found = items(&bytes).unwrap();
    assert_eq!(found.iter().filter(|item| last(item)).count(), 2);
    assert_eq!(found[4], Item::LastEntry(file(path, 7)));
    // Version 1 has no such list, and is read.
    bytes = recording(1, None);
    bytes[8] = 1;
    assert!(!items(&bytes).unwrap().iter().any(last));
}

#[test]
fn an_anonymous_recording_contains_no_names() {
    let bytes = recording(1, Some([9; 32]));
    let mut reader = Reader::new(&bytes[..]).unwrap();
    assert!(reader.about().anonymous);
    assert_eq!(reader.about().root, "");
    assert!(reader.about().recorded.is_empty());
    let items: Vec<Item> = reader.by_ref().map(Result::unwrap).collect();
    let paths = reader.into_paths();
    let names: Vec<_> = (1..paths.count())
        .map(|at| paths.name(PathId(u32::try_from(at).unwrap())).to_vec())
        .collect();
    let all = names.concat();
    let shown = String::from_utf8_lossy(&all);
    assert!(
        !shown.contains("dir") && !shown.contains("secret"),
        "{shown}"
    );
    let Item::Entry(link) = &items[3] else {
        panic!("{:?}", items[3]);
    };
    // The link still leads to the file.
    let target = LinkTarget::Relative([&names[0][..], &names[1]].join(&b'/'));
    assert_eq!(link.kind, EntryKind::Symlink { target });
}

#[test]
fn truncated_and_corrupt_files_are_one_clear_error() {
    let bytes = recording(20_000, None);
    let whole = items(&bytes).unwrap().len();
    for length in (0..bytes.len()).step_by(1999).chain([bytes.len() - 1]) {
        let mut reader = match Reader::new(&bytes[..length]) {
            Ok(reader) => reader,
            Err(error) => {
                let known = matches!(
                    error,
                    TraceError::NoRecording | TraceError::Truncated { .. }
                );
                assert!(known, "{error}");
                continue;
            }
        };
        let read: Vec<_> = reader.by_ref().collect();
        let (last, before) = read.split_last().unwrap();
        assert!(
            matches!(last, Err(TraceError::Truncated { .. })),
            "{last:?}"
        );
        assert!(before.iter().all(Result::is_ok) && before.len() < whole);
    }
    for at in (12..bytes.len()).step_by(1009) {
        let mut damaged = bytes.clone();
        damaged[at] ^= 0x10;
        let error = items(&damaged).unwrap_err();
        let known = matches!(
            error,
            TraceError::Corrupt { .. } | TraceError::Truncated { .. }
        );
        assert!(known, "byte {at}: {error}");
    }
    let mut longer = bytes.clone();
    longer.extend_from_slice(&bytes[12..]);
    let error = items(&longer).unwrap_err().to_string();
    assert!(error.contains("bytes follow its end"), "{error}");
    let mut newer = bytes;
    newer[8] = 200;
    let error = items(&newer).unwrap_err().to_string();
    assert!(
        error.contains("format 200") && error.contains("newer fsdyno"),
        "{error}"
    );
    let error = items(b"PK\x03\x04, some archive").unwrap_err().to_string();
    assert!(error.contains("not a recording"), "{error}");
}

#[test]
fn forged_trees_are_refused() {
    let root = || WireItem::Entry(entry(PathId::ROOT, EntryKind::Directory));
    let path = |name: &[u8]| WireItem::Path {
        parent: PathId::ROOT,
        name: name.to_vec(),
    };
    for name in [&b".."[..], b".", b"", b"/etc/passwd", b"a/../..", b"a\0"] {
        let error = refused(&[root(), path(name)]);
        assert!(error.contains("is not a name"), "{error}");
    }
    let one = PathId(1);
    let link = |target| WireItem::Entry(entry(one, EntryKind::Symlink { target }));
    for text in ["/etc", "../x", "..", "x/../../y"] {
        let target = LinkTarget::Relative(text.into());
        let error = refused(&[root(), path(b"l"), link(target)]);
        assert!(error.contains("leads out of the tree"), "{error}");
    }
    let cases = [
        (
            vec![path(b"f"), WireItem::Entry(file(one, 1))],
            "before its directory",
        ),
        (vec![root(), root()], "listed twice"),
        (
            vec![WireItem::Entry(file(PathId::ROOT, 1))],
            "before its directory",
        ),
        (
            vec![root(), path(b"f"), WireItem::Entry(file(one, 1 << 63))],
            "9223372036854775808",
        ),
        (
            vec![root(), WireItem::Entry(file(PathId(7), 1))],
            "path 7 is not defined",
        ),
        (
            vec![
                root(),
                path(b"f"),
                WireItem::Entry(entry(one, EntryKind::HardLink { to: one })),
            ],
            "hard link",
        ),
        (
            vec![root(), path(b"l"), link(LinkTarget::Inside(PathId(4)))],
            "path 4 is not defined",
        ),
        (
            vec![WireItem::Path {
                parent: PathId(5),
                name: b"x".to_vec(),
            }],
            "path 5 is not",
        ),
        (vec![WireItem::Thread(THREAD), root()], "after operations"),
        (vec![root()], "truncated"),
    ];
    for (items, expected) in cases {
        let error = refused(&items);
        assert!(error.contains(expected), "{expected}: {error}");
    }
    let holes = |offset, length| {
        let kind = EntryKind::File {
            size: 100,
            holes: vec![
                Hole {
                    offset: 10,
                    length: 20,
                },
                Hole { offset, length },
            ],
            extents: None,
            compressed_permille: None,
        };
        refused(&[root(), path(b"f"), WireItem::Entry(entry(one, kind))])
    };
    for (offset, length) in [(20, 5), (90, 11), (u64::MAX, 2), (0, 1)] {
        assert!(holes(offset, length).contains("holes of a file"));
    }
}

#[test]
fn forged_operations_are_refused() {
    let read = |offset, length| Action::Read {
        handle: Handle(0),
        offset: Some(offset),
        length,
        buffers: 1,
        flags: 0,
    };
    let mut writer = Writer::new(Vec::new(), &about(), None).unwrap();
    let mut refused = |action, result, expected: &str| {
        let error = writer.operation(operation(0, action, result)).unwrap_err();
        assert!(error.to_string().contains(expected), "{expected}: {error}");
    };
    refused(read(0, 1), 1, "thread 0 is not defined");
    writer.thread(THREAD).unwrap();
    let mut refused = |action, result, expected: &str| {
        let error = writer.operation(operation(0, action, result)).unwrap_err();
        assert!(error.to_string().contains(expected), "{expected}: {error}");
    };
    refused(read(0, 1), 1, "descriptor or mapping 0 is not open");
    refused(open(PathId(3), 0), 0, "path 3 is not defined");
    refused(open(PathId::ROOT, 0), -2, "open cannot return -2");
    writer
        .operation(operation(0, open(PathId::ROOT, 0), 3))
        .unwrap();
    let mut refused = |action, result, expected: &str| {
        let error = writer.operation(operation(0, action, result)).unwrap_err();
        assert!(error.to_string().contains(expected), "{expected}: {error}");
    };
    refused(open(PathId::ROOT, 0), 0, "opened twice");
    refused(read(1 << 63, 1), 0, "an offset is 9223372036854775808");
    refused(read(0, 1 << 63), 0, "a length is");
    refused(read(0, 10), 11, "read cannot return 11");
    refused(read(0, 10), -5000, "read cannot return -5000");
    refused(
        Action::Wait {
            process: ThreadId(8),
        },
        0,
        "thread 8 is not defined",
    );
    let length = 1 << 63;
    refused(
        Action::Truncate {
            path: PathId::ROOT,
            length,
        },
        0,
        "a length is",
    );
    let name = String::new();
    let object = Object::Handle(Handle(0));
    refused(
        Action::RemoveXattr { object, name },
        0,
        "extended attribute",
    );
    // Nothing of the above is in the file.
    let bytes = writer.finish(Ending::default()).unwrap();
    assert_eq!(items(&bytes).unwrap().len(), 3);
}

#[test]
fn a_small_file_does_not_expand_without_limit() {
    let mut blocks = BlockWriter::new(Vec::new()).unwrap();
    blocks.write(&vec![0; 1 << 20]).unwrap();
    let bytes = blocks.into_inner();
    assert!(bytes.len() >= (1 << 20) / 16);
    let mut forged = bytes[..12].to_vec();
    let content = zstd::bulk::compress(&vec![0; 1 << 20], 3).unwrap();
    forged.extend((1_u32 << 20).to_le_bytes());
    forged.extend(u32::try_from(content.len()).unwrap().to_le_bytes());
    forged.extend(crc32fast::hash(&content).to_le_bytes());
    forged.extend(&content);
    let error = items(&forged).unwrap_err().to_string();
    assert!(error.contains("expands to more than 16 times"), "{error}");
}
