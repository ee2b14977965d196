//! Writes a recording as a stream: items go to the file as blocks fill.

use crate::anonymous::NameHasher;
use crate::blocks::{BLOCK, BlockWriter};
use crate::check::Checker;
use crate::{
    About, Action, Ending, Entry, EntryKind, LinkTarget, Operation, PathId, Paths, Thread,
    ThreadId, Via,
};
use serde::{Deserialize, Serialize};
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Component, Path};

/// Longest description and end, bytes of JSON.
pub(crate) const MAX_TEXT: usize = 64 << 10;

/// An item as it is stored. Variants are only added, at the end.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum WireItem {
    /// JSON, so that fields can be added.
    About(String),
    Path {
        parent: PathId,
        name: Vec<u8>,
    },
    Entry(Entry),
    Thread(Thread),
    Operation(WireOperation),
    /// JSON, so that fields can be added.
    Ending(String),
    /// An entry of the tree at the end.
    LastEntry(Entry),
}

/// An operation as it is stored: times are differences, which are short.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct WireOperation {
    thread: ThreadId,
    via: Via,
    /// Start, relative to the start of the previous operation.
    start: i64,
    duration: u64,
    action: Action,
    result: i64,
}

impl WireOperation {
    fn encode(operation: Operation, time_ns: u64) -> Self {
        Self {
            thread: operation.thread,
            via: operation.via,
            start: operation.start_ns.wrapping_sub(time_ns).cast_signed(),
            duration: operation.duration_ns(),
            action: operation.action,
            result: operation.result,
        }
    }

    /// The operation, or none if a time is out of range.
    pub fn decode(self, time_ns: u64) -> Option<Operation> {
        let start_ns = time_ns.checked_add_signed(self.start)?;
        Some(Operation {
            thread: self.thread,
            via: self.via,
            start_ns,
            end_ns: start_ns.checked_add(self.duration)?,
            action: self.action,
            result: self.result,
        })
    }
}

/// Writes a recording. Call [`Writer::finish`] at the end: without it the file is truncated.
pub struct Writer<W: Write> {
    blocks: BlockWriter<W>,
    content: Vec<u8>,
    paths: Paths,
    hasher: Option<NameHasher>,
    checker: Checker,
    time_ns: u64,
}

impl<W: Write> std::fmt::Debug for Writer<W> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut shown = f.debug_struct("Writer");
        shown.field("paths", &self.paths.count());
        shown.finish_non_exhaustive()
    }
}

impl<W: Write> Writer<W> {
    /// Starts a recording. With a key, names are written as hashes with it, and [`About`] is
    /// written without names.
    pub fn new(out: W, about: &About, key: Option<[u8; 32]>) -> io::Result<Self> {
        let mut about = about.clone();
        about.anonymous = key.is_some();
        if about.anonymous {
            about.root.clear();
            about.recorded.clear();
        }
        let mut writer = Self {
            blocks: BlockWriter::new(out)?,
            content: Vec::with_capacity(BLOCK + 4096),
            paths: Paths::default(),
            hasher: key.map(NameHasher::new),
            checker: Checker::default(),
            time_ns: 0,
        };
        let mut text = serde_json::to_string(&about)?;
        if text.len() > MAX_TEXT {
            about.recorded.truncate(1);
            about.limits.clear();
            text = serde_json::to_string(&about)?;
        }
        writer.put(&WireItem::About(text))?;
        Ok(writer)
    }

    /// The number of a name in a directory. It is defined in the file when it is new.
    ///
    /// # Errors
    /// [`io::ErrorKind::InvalidInput`]: it is no name, or the path is too long. The recording can
    /// be continued without it. Other errors are those of the output.
    pub fn name(&mut self, parent: PathId, name: &[u8]) -> io::Result<PathId> {
        let name = match &self.hasher {
            // Not `..`, which would become a name.
            Some(hasher) if !matches!(name, b"" | b"." | b"..") => hasher.name(name),
            _ => name.to_vec(),
        };
        if let Some(known) = self.paths.find(parent, &name) {
            return Ok(known);
        }
        let number = self.paths.add(parent, &name).map_err(invalid)?;
        self.put(&WireItem::Path { parent, name })?;
        Ok(number)
    }

    /// The number of a path relative to the recorded tree.
    ///
    /// # Errors
    /// As [`Writer::name`].
    pub fn path(&mut self, relative: &Path) -> io::Result<PathId> {
        let mut at = PathId::ROOT;
        for part in relative.components() {
            at = match part {
                Component::Normal(name) => self.name(at, name.as_bytes())?,
                Component::CurDir => at,
                _ => return Err(invalid(crate::Invalid::Name("..".to_owned()))),
            };
        }
        Ok(at)
    }

    /// The paths so far, as they are in the file.
    pub fn paths(&self) -> &Paths {
        &self.paths
    }

    pub fn operations(&self) -> u64 {
        self.checker.operations()
    }

    /// Writes an entry of the tree at the start.
    pub fn entry(&mut self, entry: Entry) -> io::Result<()> {
        let entry = self.hashed(entry);
        self.checker.entry(&entry, &self.paths).map_err(invalid)?;
        self.put(&WireItem::Entry(entry))
    }

    /// Writes an entry of the tree at the end, after all operations.
    pub fn last_entry(&mut self, entry: Entry) -> io::Result<()> {
        let entry = self.hashed(entry);
        let checked = self.checker.last_entry(&entry, &self.paths);
        checked.map_err(invalid)?;
        self.put(&WireItem::LastEntry(entry))
    }

    fn hashed(&self, mut entry: Entry) -> Entry {
        if let Some(hasher) = &self.hasher {
            for xattr in &mut entry.xattrs {
                xattr.name = hasher.xattr(&xattr.name);
            }
            if let EntryKind::Symlink { target } = &mut entry.kind {
                hash_target(hasher, target);
            }
        }
        entry
    }

    pub fn thread(&mut self, thread: Thread) -> io::Result<()> {
        self.checker.thread(&thread).map_err(invalid)?;
        self.put(&WireItem::Thread(thread))
    }

    pub fn operation(&mut self, mut operation: Operation) -> io::Result<()> {
        if let Some(hasher) = &self.hasher {
            match &mut operation.action {
                Action::Symlink { target, .. } => hash_target(hasher, target),
                Action::GetXattr { name, .. }
                | Action::SetXattr { name, .. }
                | Action::RemoveXattr { name, .. } => *name = hasher.xattr(name),
                _ => {}
            }
        }
        let checked = self.checker.operation(&operation, &self.paths);
        checked.map_err(invalid)?;
        let start_ns = operation.start_ns;
        let wire = WireOperation::encode(operation, self.time_ns);
        self.time_ns = start_ns;
        self.put(&WireItem::Operation(wire))
    }

    /// Writes the end, with the number of operations that were written.
    pub fn finish(mut self, mut ending: Ending) -> io::Result<W> {
        ending.operations = self.checker.operations();
        let text = serde_json::to_string(&ending)?;
        self.put(&WireItem::Ending(text))?;
        self.flush()?;
        let mut out = self.blocks.into_inner();
        out.flush()?;
        Ok(out)
    }

    fn put(&mut self, item: &WireItem) -> io::Result<()> {
        let content = std::mem::take(&mut self.content);
        self.content = postcard::to_extend(item, content).map_err(io::Error::other)?;
        if self.content.len() >= BLOCK {
            self.flush()?;
        }
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        if !self.content.is_empty() {
            self.blocks.write(&self.content)?;
            self.content.clear();
        }
        Ok(())
    }
}

fn hash_target(hasher: &NameHasher, target: &mut LinkTarget) {
    if let LinkTarget::Relative(text) = target {
        *text = hasher.link(text);
    }
}

fn invalid(what: crate::Invalid) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, what)
}
