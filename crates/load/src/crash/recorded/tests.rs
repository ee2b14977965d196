//! Recordings that are written here, as programs of the crash explorer.

use super::*;
use fsdyno_model::CancelToken;
use fsdyno_trace::{
    About, Action, Ending, Operation as Recorded, Reader, Thread, ThreadId, Via, Writer,
};
use std::path::Path;

const THREAD: ThreadId = ThreadId(0);

/// A recording that is written operation by operation.
struct Script {
    writer: Writer<Vec<u8>>,
    handles: u64,
    now: u64,
    started: bool,
}

impl Script {
    fn new() -> Self {
        let about = About {
            fsdyno: "0".to_owned(),
            ..About::empty()
        };
        let writer = Writer::new(Vec::new(), &about, None).unwrap();
        let mut script = Self {
            writer,
            handles: 0,
            now: 0,
            started: false,
        };
        script.entry("", EntryKind::Directory);
        script
    }

    fn path(&mut self, path: &str) -> PathId {
        self.writer.path(Path::new(path)).unwrap()
    }

    fn entry(&mut self, path: &str, kind: EntryKind) {
        let path = self.path(path);
        let (mode, xattrs) = (0o755, Vec::new());
        let entry = Entry {
            path,
            mode,
            kind,
            xattrs,
        };
        self.writer.entry(entry).unwrap();
    }

    fn file(&mut self, path: &str, size: u64) {
        let kind = EntryKind::File {
            size,
            holes: Vec::new(),
            extents: None,
            compressed_permille: None,
        };
        self.entry(path, kind);
    }

    fn did(&mut self, action: Action, result: i64) {
        if !std::mem::replace(&mut self.started, true) {
            let thread = Thread {
                id: THREAD,
                process: THREAD,
                parent: None,
                start_ns: 0,
            };
            self.writer.thread(thread).unwrap();
        }
        self.now += 1;
        let operation = Recorded {
            thread: THREAD,
            via: Via::Syscall,
            start_ns: self.now,
            end_ns: self.now,
            action,
            result,
        };
        self.writer.operation(operation).unwrap();
    }

    fn open(&mut self, path: &str, flags: i32) -> Handle {
        let (path, handle) = (self.path(path), Handle(self.handles));
        self.handles += 1;
        let (flags, mode) = (flags.cast_unsigned(), 0o644);
        let opened = Some(handle);
        self.did(
            Action::Open {
                path,
                flags,
                mode,
                handle: opened,
            },
            3,
        );
        handle
    }

    fn write(&mut self, handle: Handle, offset: Option<u64>, length: u64) {
        let (buffers, flags) = (1, 0);
        let action = Action::Write {
            handle,
            offset,
            length,
            buffers,
            flags,
        };
        self.did(action, i64::try_from(length).unwrap());
    }

    fn translated(self) -> RecordedProgram {
        let bytes = self.writer.finish(Ending::default()).unwrap();
        let reader = Reader::new(&bytes[..]).unwrap();
        let recording = Recording::read(reader, &CancelToken::new())
            .unwrap()
            .unwrap();
        let translated = recorded_program(&recording);
        translated.program.check().unwrap();
        translated
    }
}

const NEW: i32 = libc::O_WRONLY | libc::O_CREAT | libc::O_TRUNC;

#[test]
fn a_replacement_by_rename_is_the_program_that_a_person_would_write() {
    let mut script = Script::new();
    script.entry("conf", EntryKind::Directory);
    script.file("conf/a", 5000);
    script.file("conf/unused", 5000);
    script.file("unused", 10);
    let new = script.open("conf/a.new", NEW);
    script.write(new, None, 100);
    script.write(new, None, 4000);
    script.did(Action::Fsync { handle: new }, 0);
    script.did(Action::Close { handle: new }, 0);
    let (from, to) = (script.path("conf/a.new"), script.path("conf/a"));
    script.did(Action::Rename { from, to, flags: 0 }, 0);
    let conf = script.open("conf", libc::O_DIRECTORY);
    script.did(Action::Fsync { handle: conf }, 0);
    let translated = script.translated();
    let text = "mkdir conf\ncreate conf/a\nwrite conf/a 0 5008\n---\n\
                create conf/a.new\nwrite conf/a.new 0 4112\nfsync conf/a.new\n\
                rename conf/a.new conf/a\nfsync conf\n";
    assert_eq!(translated.program.to_string(), text);
    assert_eq!((translated.recorded, translated.represented), (6, 6));
    assert!(translated.left_out.is_empty());
}

#[test]
fn an_open_file_that_loses_its_name_is_used_through_a_descriptor() {
    let mut script = Script::new();
    script.file("f", 16);
    let file = script.open("f", libc::O_RDWR);
    let path = script.path("f");
    script.did(Action::Unlink { path }, 0);
    script.write(file, Some(16), 16);
    script.did(Action::Fdatasync { handle: file }, 0);
    script.did(Action::Close { handle: file }, 0);
    let temporary = script.open("", libc::O_RDWR | libc::O_TMPFILE);
    script.write(temporary, None, 10);
    script.did(
        Action::LinkHandle {
            handle: temporary,
            to: path,
        },
        0,
    );
    script.did(Action::Fsync { handle: temporary }, 0);
    let text = "create f\nwrite f 0 16\n---\nopen f as h1\nunlink f\nwrite @h1 16 16\n\
                fdatasync @h1\nclose h1\ntemporary / as h2\nwrite @h2 0 16\nlink @h2 f\nfsync f\n";
    assert_eq!(script.translated().program.to_string(), text);
}

#[test]
fn what_a_program_cannot_represent_is_counted_and_failed_operations_are_nothing() {
    let mut script = Script::new();
    script.file("f", 100);
    script.entry(
        "link",
        EntryKind::Symlink {
            target: LinkTarget::Relative(b"f".to_vec()),
        },
    );
    let object = Object::Path(script.path("f"));
    script.did(Action::SetTimes { object }, 0);
    let path = script.path("gone");
    script.did(Action::Unlink { path }, -2);
    let through = script.open("link", libc::O_WRONLY | libc::O_APPEND | libc::O_DSYNC);
    script.write(through, None, 20);
    script.write(through, None, 3 << 20);
    let name = "security.x".to_owned();
    script.did(
        Action::SetXattr {
            object,
            name,
            length: 4,
            flags: 0,
        },
        0,
    );
    let made = script.path("pipe");
    script.did(
        Action::MakeNode {
            path: made,
            mode: libc::S_IFIFO | 0o644,
        },
        0,
    );
    let translated = script.translated();
    let text = "create f\nwrite f 0 112\nsymlink f link\n---\nappend-dsync f 32\n\
                append-dsync f 1048576\n";
    assert_eq!(translated.program.to_string(), text);
    assert_eq!((translated.recorded, translated.represented), (5, 2));
    let left_out = [(OWNERS, 1), (SHORTENED, 1), (SPECIAL, 1), (XATTR, 1)];
    assert_eq!(translated.left_out, BTreeMap::from(left_out));
}

#[test]
fn a_long_recording_ends_at_the_bound_and_the_rest_is_counted() {
    let mut script = Script::new();
    let file = script.open("f", NEW);
    for _ in 0..600 {
        script.write(file, Some(0), 16);
        script.did(Action::Fsync { handle: file }, 0);
    }
    let translated = script.translated();
    assert_eq!(translated.program.operations.len(), MOST_OPERATIONS);
    assert_eq!(translated.recorded, 1201);
    assert_eq!(translated.left_out, BTreeMap::from([(BOUND, 201)]));
}
