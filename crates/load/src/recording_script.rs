//! Recordings that tests write, with one call for each operation.

use fsdyno_datasets::recorded::Recording;
use fsdyno_model::CancelToken;
use fsdyno_trace::{
    About, Action, Ending, Entry, EntryKind, Handle, Operation, PathId, Reader, Thread, ThreadId,
    Via, Writer,
};
use std::path::Path;

/// A recording that is written operation by operation.
pub(crate) struct Script {
    pub(crate) writer: Writer<Vec<u8>>,
    threads: u32,
    handles: u64,
    pub(crate) now: u64,
}

impl Script {
    pub(crate) fn new(threads: u32) -> Self {
        let about = About {
            fsdyno: "0".to_owned(),
            filesystem: "ext4".to_owned(),
            root: "/srv".to_owned(),
            ..About::empty()
        };
        let writer = Writer::new(Vec::new(), &about, None).unwrap();
        let mut script = Self {
            writer,
            threads,
            handles: 0,
            now: 0,
        };
        script.entry("", EntryKind::Directory);
        script
    }

    pub(crate) fn path(&mut self, path: &str) -> PathId {
        self.writer.path(Path::new(path)).unwrap()
    }

    pub(crate) fn entry(&mut self, path: &str, kind: EntryKind) {
        let path = self.path(path);
        let entry = Entry {
            path,
            mode: 0o755,
            kind,
            xattrs: Vec::new(),
        };
        self.writer.entry(entry).unwrap();
    }

    pub(crate) fn file(&mut self, path: &str, size: u64) {
        let kind = EntryKind::File {
            size,
            holes: Vec::new(),
            extents: None,
            compressed_permille: Some(500),
        };
        self.entry(path, kind);
    }

    pub(crate) fn begin(&mut self) {
        for id in 0..self.threads {
            let thread = Thread {
                id: ThreadId(id),
                process: ThreadId(id),
                parent: None,
                start_ns: 0,
            };
            self.writer.thread(thread).unwrap();
        }
    }

    /// An operation that takes so long, after all before it.
    pub(crate) fn add(&mut self, thread: u32, action: Action, result: i64) {
        let start_ns = self.now;
        self.now += 10;
        self.add_at(thread, action, result, start_ns, start_ns + 10);
    }

    pub(crate) fn add_at(
        &mut self,
        thread: u32,
        action: Action,
        result: i64,
        start_ns: u64,
        end_ns: u64,
    ) {
        let operation = Operation {
            thread: ThreadId(thread),
            via: Via::Syscall,
            start_ns,
            end_ns,
            action,
            result,
        };
        self.writer.operation(operation).unwrap();
    }

    pub(crate) fn open(&mut self, thread: u32, path: &str, flags: i32) -> Handle {
        let path = self.path(path);
        self.handles += 1;
        let handle = Handle(self.handles);
        let action = Action::Open {
            path,
            flags: flags.cast_unsigned(),
            mode: 0o644,
            handle: Some(handle),
        };
        self.add(thread, action, 3);
        handle
    }

    pub(crate) fn write(&mut self, thread: u32, handle: Handle, offset: Option<u64>, length: u64) {
        let action = Action::Write {
            handle,
            offset,
            length,
            buffers: 1,
            flags: 0,
        };
        self.add(thread, action, length.cast_signed());
    }

    pub(crate) fn read(&mut self, thread: u32, handle: Handle, length: u64, result: i64) {
        let action = Action::Read {
            handle,
            offset: None,
            length,
            buffers: 1,
            flags: 0,
        };
        self.add(thread, action, result);
    }

    pub(crate) fn finish(self) -> Vec<u8> {
        let ending = Ending {
            duration_ns: self.now,
            ..Ending::default()
        };
        self.writer.finish(ending).unwrap()
    }
}

/// Reads a recording from memory.
pub(crate) fn read(bytes: &[u8]) -> Recording {
    let reader = Reader::new(bytes).unwrap();
    Recording::read(reader, &CancelToken::new())
        .unwrap()
        .unwrap()
}
