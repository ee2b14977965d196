//! Replays of recordings with any operations: planned without a wait for a later operation, and
//! performed without touching anything outside the tree.

use fsdyno_datasets::recorded::{self, RecordedTree, Recording};
use fsdyno_datasets::work_dir::WorkDir;
use fsdyno_datasets::{Dataset, Form};
use fsdyno_model::{Bytes, CancelToken};
use fsdyno_trace::{
    About, Action, Ending, Entry, EntryKind, Handle, LinkTarget, Mapping, Object, Operation,
    PathId, Reader, Thread, ThreadId, Via, Writer, XattrSize,
};
use std::fs;
use std::path::{Path, PathBuf};

/// Bytes of an operation in the input.
const COMMAND: usize = 8;

/// One of so many inputs is performed: a replay takes thousands of times as long as its plan.
const PERFORMED: u32 = 64;

/// Files around the tree, and their content: a replay that leaves the tree finds them.
const VICTIMS: [&str; 3] = ["a", "b", "home/a"];
const UNTOUCHED: &str = "untouched";

pub fn check(input: &[u8]) {
    let bytes = recording(input);
    let reader = Reader::new(&bytes[..]).expect("as written");
    let read = Recording::read(reader, &CancelToken::new()).expect("as written");
    let recording = read.expect("nobody cancels");
    let _ = recorded::unexplained(&recording);
    let place = (crc32fast::hash(input).is_multiple_of(PERFORMED)).then(Place::new);
    fsdyno_load::fuzz::replay(recording, || place.as_ref()?.create(&bytes));
    if let Some(place) = place {
        place.check();
    }
}

/// A directory with victims and a tree.
struct Place(PathBuf);

impl Place {
    fn new() -> Self {
        let place = std::env::temp_dir().join(format!("fsdyno-fuzz-replay-{}", std::process::id()));
        let _ = fs::remove_dir_all(&place);
        fs::create_dir_all(place.join("home")).expect("a directory");
        for victim in VICTIMS {
            fs::write(place.join(victim), UNTOUCHED).expect("a file");
        }
        Self(place)
    }

    /// Creates the tree; none if it is too large.
    fn create(&self, recording: &[u8]) -> Option<PathBuf> {
        let file = self.0.join("recording");
        fs::write(&file, recording).expect("a file");
        let stop = CancelToken::new();
        let dataset = RecordedTree::open(&file, 1, Some(Bytes(8 << 20)), &stop).ok()?;
        let mut work_dir = WorkDir::new(self.0.join("home"));
        dataset.create(&mut work_dir, Form::Tree, &stop).ok()?;
        work_dir.newest().cloned()
    }

    fn check(&self) {
        for victim in VICTIMS {
            let content = fs::read_to_string(self.0.join(victim)).expect(victim);
            assert_eq!(content, UNTOUCHED, "{victim}");
        }
        let count = |path: &Path| fs::read_dir(path).expect("a directory").count();
        // The victims, `home` and the recording; in `home` a victim and the tree.
        assert!(count(&self.0) <= 4 && count(&self.0.join("home")) <= 2);
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// A valid recording with the operations of the input. Those that are not permitted are left out.
fn recording(input: &[u8]) -> Vec<u8> {
    let mut writer = Writer::new(Vec::new(), &About::empty(), None).expect("memory");
    let commands: Vec<&[u8]> = input.chunks_exact(COMMAND).collect();
    let (tree, rest) = commands.split_at(commands.len() / 3);
    put(
        &mut writer,
        PathId::ROOT,
        EntryKind::Directory,
        0,
        Writer::entry,
    );
    for command in tree {
        entry(&mut writer, command, Writer::entry);
    }
    for id in 0..4 {
        let thread = Thread {
            id: ThreadId(id),
            process: ThreadId(id / 2 * 2),
            parent: (id > 0).then_some(ThreadId(id / 2)),
            start_ns: u64::from(id) * 20,
        };
        let _ = writer.thread(thread);
    }
    let mut now = 0;
    for command in rest {
        operation(&mut writer, command, &mut now);
    }
    put(
        &mut writer,
        PathId::ROOT,
        EntryKind::Directory,
        0,
        Writer::last_entry,
    );
    for command in tree.iter().skip(1) {
        entry(&mut writer, command, Writer::last_entry);
    }
    writer.finish(Ending::default()).expect("memory")
}

/// A path of a few names, which operations share.
fn path(writer: &mut Writer<Vec<u8>>, byte: u8) -> PathId {
    let names = ["a", "b", "a/a", "a/b", "b/a", "a/a/a", "a/b/a", "b/a/b"];
    let name = names[usize::from(byte) % names.len()];
    writer.path(Path::new(name)).expect("a path")
}

fn target(writer: &mut Writer<Vec<u8>>, byte: u8) -> LinkTarget {
    let texts = [
        "a",
        "..",
        "../a",
        "../../a",
        "../../../a",
        ".",
        "b/a",
        "../b",
    ];
    match byte % 16 {
        8..12 => LinkTarget::Inside(path(writer, byte / 16)),
        12.. => LinkTarget::Outside {
            length: u32::from(byte) * 15,
        },
        at => LinkTarget::Relative(texts[usize::from(at)].into()),
    }
}

/// A number with many magnitudes.
fn number(byte: u8) -> u64 {
    let mantissa = u64::from(byte & 7) + 1;
    (mantissa << (u32::from(byte >> 3) * 2)).min(fsdyno_trace::MAX_NUMBER)
}

/// How an entry is written: of the tree at the start, or at the end.
type Put = fn(&mut Writer<Vec<u8>>, Entry) -> std::io::Result<()>;

fn put(writer: &mut Writer<Vec<u8>>, path: PathId, kind: EntryKind, size: u8, put: Put) {
    let xattrs = vec![XattrSize {
        name: "user.a".to_owned(),
        size: size.into(),
    }];
    // What is not permitted is left out.
    let _ = put(
        writer,
        Entry {
            path,
            mode: 0o755,
            kind,
            xattrs,
        },
    );
}

fn entry(writer: &mut Writer<Vec<u8>>, command: &[u8], how: Put) {
    let at = path(writer, command[1]);
    let kind = match command[0] % 8 {
        0..3 => EntryKind::Directory,
        3 => EntryKind::HardLink {
            to: path(writer, command[2]),
        },
        4 => EntryKind::Symlink {
            target: target(writer, command[2]),
        },
        5 => EntryKind::Device,
        6 => EntryKind::Fifo,
        _ => EntryKind::File {
            size: number(command[2]),
            holes: Vec::new(),
            extents: None,
            compressed_permille: Some(u16::from(command[3])),
        },
    };
    put(writer, at, kind, command[4], how);
}

fn operation(writer: &mut Writer<Vec<u8>>, command: &[u8], now: &mut u64) {
    let [kind, thread, one, two, three, time, length, result] = *command else {
        return;
    };
    let via = [Via::Syscall, Via::IoUring][usize::from(thread >> 7)];
    let succeeds = result < 200;
    let action = action(writer, [kind, one, two, three], succeeds);
    let transfers = matches!(
        action,
        Action::Read { .. } | Action::Write { .. } | Action::Copy { .. } | Action::SpliceTo { .. }
    );
    let start_ns = *now + u64::from(time % 8) * 4;
    *now = start_ns;
    // What is not permitted is left out.
    let _ = writer.operation(Operation {
        thread: ThreadId(u32::from(thread % 4)),
        via,
        start_ns,
        end_ns: start_ns + number(length) % 1000,
        action,
        result: match succeeds {
            true if transfers => number(result).min(fsdyno_trace::MAX_TRANSFER) as i64,
            true => 0,
            false => -i64::from(result - 199),
        },
    });
}

fn action(
    writer: &mut Writer<Vec<u8>>,
    [kind, one, two, three]: [u8; 4],
    succeeds: bool,
) -> Action {
    let at = path(writer, one);
    let handle = Handle(u64::from(one % 8));
    let other = Handle(u64::from(two % 8));
    let offset = (three & 1 == 0).then(|| number(two));
    let length = fsdyno_trace::MAX_TRANSFER;
    let flags = 0;
    let mode = u32::from(two) << 4 | u32::from(three);
    match kind % 36 {
        0..4 => Action::Open {
            path: at,
            flags: [0, 1, 2, 0o101, 0o1102, 0o20_0000, 0o40_1000, 0o1000_0000]
                [usize::from(three % 8)]
                | u32::from(three & 0xf8) << 5,
            mode,
            handle: succeeds.then_some(other),
        },
        4 => Action::Inherit {
            path: at,
            flags: 2,
            position: number(three),
            handle: other,
        },
        5 => Action::Close { handle },
        6 => Action::Read {
            handle,
            offset,
            length,
            buffers: 1,
            flags: two.into(),
        },
        7..9 => Action::Write {
            handle,
            offset,
            length,
            buffers: 1,
            flags: two.into(),
        },
        9 => Action::Seek {
            handle,
            offset: number(two) as i64,
            whence: three.into(),
        },
        10 => Action::Fsync { handle },
        11 => Action::SyncRange {
            handle,
            offset: number(two),
            length: number(three),
            flags: 7,
        },
        12 => Action::Truncate {
            path: at,
            length: number(two),
        },
        13 => Action::TruncateHandle {
            handle,
            length: number(two),
        },
        14 => Action::Allocate {
            handle,
            mode: (three % 64).into(),
            offset: number(two),
            length: number(three),
        },
        15 => Action::Copy {
            from: handle,
            from_offset: offset,
            to: other,
            to_offset: None,
            length,
        },
        16 => Action::SpliceTo {
            handle,
            offset,
            length,
            flags,
        },
        17 => Action::Clone {
            from: handle,
            from_offset: 0,
            to: other,
            to_offset: number(three),
            length: 0,
        },
        _ => on_names(writer, [kind, one, two, three], succeeds),
    }
}

/// Operations on names, objects and mappings.
fn on_names(
    writer: &mut Writer<Vec<u8>>,
    [kind, one, two, three]: [u8; 4],
    succeeds: bool,
) -> Action {
    let at = path(writer, one);
    let to = path(writer, two);
    let handle = Handle(u64::from(one % 8));
    let mapping = Mapping(u64::from(two % 4));
    let object = match three % 3 {
        0 => Object::Path(at),
        1 => Object::NoFollow(at),
        _ => Object::Handle(handle),
    };
    let name = ["user.a", "trusted.a", "security.capability"][usize::from(two % 3)].to_owned();
    let mode = u32::from(two) << 4 | u32::from(three);
    match kind % 36 {
        18..21 => Action::Rename {
            from: at,
            to,
            flags: (three % 4).into(),
        },
        21 => Action::Link {
            from: at,
            to,
            follow: three & 1 == 0,
        },
        22 => Action::LinkHandle { handle, to },
        23..25 => Action::Symlink {
            path: at,
            target: target(writer, two),
        },
        25 => Action::Unlink { path: at },
        26 => Action::RemoveDirectory { path: at },
        27 => Action::MakeDirectory { path: at, mode },
        28 => Action::MakeNode {
            path: at,
            mode: u32::from(two) << 8,
        },
        29 => Action::ReadDirectory {
            handle,
            length: 4096,
        },
        30 => [
            Action::Stat { object },
            Action::Access { object, mode },
            Action::StatFs { object },
            Action::SetTimes { object },
        ][usize::from(two % 4)]
        .clone(),
        31 => Action::ChangeMode { object, mode },
        32 => Action::SetXattr {
            object,
            name,
            length: three.into(),
            flags: 0,
        },
        33 if three & 1 == 0 => Action::ChangeOwner { object },
        33 if two & 1 == 0 => Action::SetAcl {
            object,
            default: three & 2 == 0,
            entries: u32::from(two),
            permissions: mode & 0o777,
            flags: 0,
        },
        33 if two & 2 == 0 => Action::SetFlags {
            handle,
            flags: u32::from(two),
            extended: three & 2 == 0,
        },
        33 => Action::Reopen {
            of: handle,
            flags: mode & 0o3003,
            handle: succeeds.then_some(Handle(u64::from(three % 8))),
        },
        34 => Action::Map {
            handle,
            offset: number(three),
            length: 4096,
            protection: 3,
            flags: 1,
            mapping: succeeds.then_some(mapping),
        },
        _ => match three % 4 {
            0 => Action::Unmap { mapping },
            1 => Action::Wait {
                process: ThreadId((two % 4).into()),
            },
            2 => Action::Sync {},
            _ => Action::Fault {
                mapping,
                offset: number(one),
                write: two & 1 == 0,
            },
        },
    }
}
