//! A recording of programs, as a program of the crash explorer: what its operations do to names, data
//! and attributes, and what they make durable. Operations of all threads follow each other in the
//! order in which they returned.

mod operations;

use fsdyno_crash::simulation::{InodeId, Kind, Simulation};
use fsdyno_crash::{Operation, Program, SpecialKind, Target, WriteKind};
use fsdyno_datasets::recorded::Recording;
use fsdyno_trace::{Entry, EntryKind, Handle, LinkTarget, Mapping, Object, PathId};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// The maximum number of operations of a program after its setup.
pub const MAX_OPERATIONS: usize = 1000;

/// The maximum size of the data that the setup and the operations write, bytes. They fit on the
/// disk of the explorer.
const MAX_DATA: u64 = 16 << 20;

/// The maximum length of one write, bytes; a longer write is shortened.
const MAX_WRITE: u64 = 1 << 20;

/// The maximum size of the data of a file at the start, bytes. The rest of the file is a hole.
const MAX_DATA_AT_START: u64 = 64 << 10;

/// The maximum number of symbolic links that are followed in one path.
const MAX_LINKS: usize = 8;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordedProgram {
    /// The program. Its setup makes the part of the recorded tree that the operations use.
    pub program: Program,
    /// The recorded operations that change names, data or attributes, or make them durable, and
    /// succeeded.
    pub recorded: u64,
    /// The number of these that are in the program.
    pub represented: u64,
    /// The counts of operations that are not in the program or not as recorded, by reason.
    pub left_out: BTreeMap<&'static str, u64>,
}

/// Translates a recording.
pub fn recorded_program(recording: &Recording) -> RecordedProgram {
    let mut whole = Translation::new(recording, None);
    whole.perform_all();
    let used = whole.used_entries();
    let mut translation = Translation::new(recording, Some(&used));
    translation.perform_all();
    RecordedProgram {
        program: Program {
            setup: translation.setup,
            operations: translation.operations,
        },
        recorded: translation.recorded,
        represented: translation.represented,
        left_out: translation.left_out,
    }
}

struct Open {
    inode: InodeId,
    position: u64,
    appends: bool,
    kind: WriteKind,
}

/// The reason why an operation is not in the program.
type LeftOut = &'static str;

const BOUND: LeftOut = "after the first 1,000 operations, or 16 MiB of data, of the program";
const NAME: LeftOut = "with names that are not printable UTF-8";
const UNKNOWN: LeftOut = "on files that the recording does not know";
const OWNERS: LeftOut = "that set owners or times";
const SPECIAL: LeftOut = "on sockets and block devices";
const XATTR: LeftOut = "on extended attributes other than user.*";
const RANGES: LeftOut = "that unshare ranges of files, or keep the size of a zeroed one";
const MAPPED: LeftOut = "that store to mappings";
const SHORTENED: LeftOut = "shortened writes";
const IMPOSSIBLE: LeftOut = "that the explorer cannot perform";

struct Translation<'r> {
    recording: &'r Recording,
    files: Simulation,
    number: u32,
    /// The entries of the recorded tree that are made, each with its inode.
    entries: BTreeMap<InodeId, PathId>,
    used: BTreeSet<InodeId>,
    in_setup: bool,
    setup: Vec<Operation>,
    operations: Vec<Operation>,
    data: u64,
    handles: HashMap<Handle, Open>,
    mappings: HashMap<Mapping, InodeId>,
    /// Open files without a name, by the descriptor that the program keeps.
    kept: BTreeMap<InodeId, String>,
    recorded: u64,
    represented: u64,
    left_out: BTreeMap<LeftOut, u64>,
}

impl<'r> Translation<'r> {
    /// Makes the entries of the recorded tree: all, without data, or these.
    fn new(recording: &'r Recording, of: Option<&BTreeSet<PathId>>) -> Self {
        let mut new = Self {
            recording,
            files: Simulation::default(),
            number: 0,
            entries: BTreeMap::new(),
            used: BTreeSet::new(),
            in_setup: true,
            setup: Vec::new(),
            operations: Vec::new(),
            data: 0,
            handles: HashMap::new(),
            mappings: HashMap::new(),
            kept: BTreeMap::new(),
            recorded: 0,
            represented: 0,
            left_out: BTreeMap::new(),
        };
        for entry in &recording.entries {
            if of.is_none_or(|of| of.contains(&entry.path)) {
                // An entry that cannot be made is missing when an operation uses it.
                let _ = new.make(entry, of.is_some());
            }
        }
        new.in_setup = false;
        new
    }

    fn make(&mut self, entry: &Entry, with_data: bool) -> Result<(), LeftOut> {
        let path = self.text(entry.path)?;
        match &entry.kind {
            EntryKind::Directory if path.is_empty() => return Ok(()),
            EntryKind::Directory => self.emit(Operation::Mkdir { path: path.clone() })?,
            EntryKind::File { size, .. } => {
                self.emit(Operation::Create { path: path.clone() })?;
                let room = (MAX_DATA / 2).saturating_sub(self.data);
                let data = (*size).min(MAX_DATA_AT_START).min(room);
                if with_data {
                    let target = Target::Path(path.clone());
                    if data > 0 {
                        self.data += data;
                        self.emit(Operation::Write {
                            target: target.clone(),
                            offset: Some(0),
                            length: data,
                            kind: WriteKind::Plain,
                        })?;
                    }
                    if *size > data {
                        let length = *size;
                        self.emit(Operation::Truncate { target, length })?;
                    }
                }
            }
            EntryKind::HardLink { to } => {
                let from = Target::Path(self.text(*to)?);
                let to = path.clone();
                self.emit(Operation::Link { from, to })?;
            }
            EntryKind::Symlink { target } => {
                let text = self.link_text(entry.path, target)?;
                let path = path.clone();
                self.emit(Operation::Symlink { text, path })?;
            }
            EntryKind::Fifo | EntryKind::Device => {
                let kind = match &entry.kind {
                    EntryKind::Fifo => SpecialKind::Fifo,
                    _ => SpecialKind::Device,
                };
                let path = path.clone();
                self.emit(Operation::MakeNode { path, kind })?;
            }
            EntryKind::Socket => return Err(SPECIAL),
        }
        if let Some(inode) = self.files.find(&path) {
            self.entries.entry(inode).or_insert(entry.path);
        }
        Ok(())
    }

    /// The entries that the operations use, with their directories.
    fn used_entries(&self) -> BTreeSet<PathId> {
        let paths = &self.recording.paths;
        let mut used = BTreeSet::from([PathId::ROOT]);
        let entries = self.used.iter().filter_map(|inode| self.entries.get(inode));
        let links = self
            .recording
            .entries
            .iter()
            .filter(|entry| match entry.kind {
                EntryKind::HardLink { to } => {
                    let inode = self.entries.iter().find(|(_, path)| **path == to);
                    inode.is_some_and(|(inode, _)| self.used.contains(inode))
                }
                _ => false,
            });
        for path in entries.copied().chain(links.map(|entry| entry.path)) {
            let mut at = Some(path);
            while let Some(path) = at.filter(|path| used.insert(*path)) {
                at = paths.parent(path);
            }
        }
        used
    }

    fn perform_all(&mut self) {
        for operation in &self.recording.operations {
            if operation.result < 0 {
                continue;
            }
            let is_full = self.operations.len() >= MAX_OPERATIONS || self.data >= MAX_DATA;
            if is_full && operation.action.changes() {
                self.recorded += 1;
                self.leave_out(BOUND);
            }
            if is_full {
                continue;
            }
            let before = self.operations.len();
            match self.perform(operation) {
                Ok(()) => {
                    let done = operation.action.changes() || self.operations.len() > before;
                    self.recorded += u64::from(done);
                    self.represented += u64::from(done);
                }
                Err(why) => {
                    self.recorded += 1;
                    self.leave_out(why);
                }
            }
        }
    }

    fn leave_out(&mut self, why: LeftOut) {
        *self.left_out.entry(why).or_default() += 1;
    }

    /// Adds an operation to the program.
    fn emit(&mut self, operation: Operation) -> Result<(), LeftOut> {
        let changes = self.files.perform(self.number, &operation);
        let changes = changes.map_err(|_| IMPOSSIBLE)?;
        self.number += 1;
        if self.in_setup {
            self.setup.push(operation);
        } else {
            self.used
                .extend(changes.inodes.iter().chain(&changes.renamed));
            self.operations.push(operation);
        }
        Ok(())
    }

    fn text(&self, path: PathId) -> Result<String, LeftOut> {
        let path = self.recording.paths.path(path);
        let text = path
            .to_str()
            .filter(|text| !text.contains(char::is_control));
        text.map(str::to_owned).ok_or(NAME)
    }

    /// The text of a symbolic link. One out of the tree has any text of its length.
    fn link_text(&self, link: PathId, target: &LinkTarget) -> Result<String, LeftOut> {
        match target {
            LinkTarget::Relative(text) => String::from_utf8(text.clone()).map_err(|_| NAME),
            LinkTarget::Inside(to) => {
                let depth = self.recording.paths.depth(link).saturating_sub(1);
                Ok(format!("{}{}", "../".repeat(depth), self.text(*to)?))
            }
            LinkTarget::Outside { length } => Ok("x".repeat((*length).clamp(1, 1000) as usize)),
        }
    }

    /// The inode of a path, with or without a symbolic link at its end.
    fn find(&mut self, path: PathId, follow: bool) -> Result<(String, Option<InodeId>), LeftOut> {
        let mut text = self.text(path)?;
        for _ in 0..MAX_LINKS {
            let Some(inode) = self.files.find(&text) else {
                return Ok((text, None));
            };
            match &self.files.inodes[inode].kind {
                Kind::Symlink(to) if follow => {
                    text = followed(&text, to);
                    self.used.insert(inode);
                }
                _ => return Ok((text, Some(inode))),
            }
        }
        Err(UNKNOWN)
    }

    fn inode(&mut self, object: Object) -> Result<InodeId, LeftOut> {
        let found = match object {
            Object::Handle(handle) => self.handles.get(&handle).map(|open| open.inode),
            Object::Path(path) => self.find(path, true)?.1,
            Object::NoFollow(path) => self.find(path, false)?.1,
        };
        found.ok_or(UNKNOWN)
    }

    /// Returns the target by which the program accesses the object of an operation.
    fn object(&mut self, object: Object) -> Result<Target, LeftOut> {
        let inode = self.inode(object)?;
        self.target(inode)
    }

    /// Returns the target by which the program accesses an inode.
    fn target(&mut self, inode: InodeId) -> Result<Target, LeftOut> {
        self.used.insert(inode);
        let kept = || self.kept.get(&inode).cloned().map(Target::Descriptor);
        let path = self.path_of(inode).map(Target::Path);
        path.or_else(kept).ok_or(UNKNOWN)
    }

    fn path_of(&self, inode: InodeId) -> Option<String> {
        if inode == 0 {
            return Some(String::new());
        }
        let (directory, name) = self.files.names[inode].first()?;
        let above = self.path_of(*directory)?;
        let separator = if above.is_empty() { "" } else { "/" };
        Some(format!("{above}{separator}{name}"))
    }

    fn is_open(&self, inode: InodeId) -> bool {
        let mut open = self.handles.values();
        open.any(|open| open.inode == inode) || self.mappings.values().any(|one| *one == inode)
    }

    /// Before the last name of an open file goes, the program opens it too.
    fn keep_open(&mut self, path: &str) -> Result<(), LeftOut> {
        let Some(inode) = self.files.find(path) else {
            return Ok(());
        };
        let is_file = matches!(self.files.inodes[inode].kind, Kind::File(_));
        if !is_file
            || self.files.names[inode].len() > 1
            || self.kept.contains_key(&inode)
            || !self.is_open(inode)
        {
            return Ok(());
        }
        let (path, descriptor) = (path.to_owned(), format!("h{inode}"));
        self.kept.insert(inode, descriptor.clone());
        self.emit(Operation::Open { path, descriptor })
    }

    /// After the last descriptor of a file is closed, the program closes it too.
    fn closed(&mut self, inode: InodeId) -> Result<(), LeftOut> {
        if self.is_open(inode) {
            return Ok(());
        }
        match self.kept.remove(&inode) {
            Some(descriptor) => self.emit(Operation::Close { descriptor }),
            None => Ok(()),
        }
    }
}

/// Returns the path to which a symbolic link at a path points.
fn followed(link: &str, text: &str) -> String {
    let mut names: Vec<&str> = link.split('/').collect();
    names.pop();
    for name in text.split('/') {
        match name {
            "" | "." => {}
            ".." => drop(names.pop()),
            name => names.push(name),
        }
    }
    names.join("/")
}

#[cfg(test)]
mod tests;
