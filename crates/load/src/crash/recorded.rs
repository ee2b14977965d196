//! A recording of programs, as a program of the crash explorer: what its operations do to names, data
//! and attributes, and what they make durable. Operations of all threads follow each other in the
//! order in which they returned.

use fsdyno_crash::simulation::{InodeId, Kind, Simulation};
use fsdyno_crash::{Operation, Program, Target, WriteKind, content};
use fsdyno_datasets::recorded::Recording;
use fsdyno_trace::{
    Action, Entry, EntryKind, Handle, LinkTarget, Mapping, Object, Operation as Recorded, PathId,
};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// The most operations of a program after its setup.
pub const MOST_OPERATIONS: usize = 1000;

/// The most data that the setup and the operations write: it fits on the disk of the explorer.
const MOST_DATA: u64 = 16 << 20;

/// The most data of one write; what is longer is shortened.
const MOST_WRITE: u64 = 1 << 20;

/// The most data of a file at the start. The rest of the file is a hole.
const MOST_AT_START: u64 = 64 << 10;

/// Symbolic links that are followed in one path.
const MOST_LINKS: usize = 8;

const UNIT: u64 = content::UNIT as u64;

/// A recording as a program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordedProgram {
    /// The program. Its setup makes the part of the recorded tree that the operations use.
    pub program: Program,
    /// The recorded operations that change names, data or attributes, or make them durable, and
    /// succeeded.
    pub recorded: u64,
    /// How many of these are in the program.
    pub represented: u64,
    /// What is not in the program or not as recorded, with a count.
    pub left_out: BTreeMap<&'static str, u64>,
}

/// Translates a recording. Offsets and lengths become multiples of 16 bytes.
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

/// An open file.
struct Open {
    inode: InodeId,
    position: u64,
    appends: bool,
    kind: WriteKind,
}

/// Why an operation is not in the program.
type LeftOut = &'static str;

const BOUND: LeftOut = "after the first 1,000 operations, or 16 MiB of data, of the program";
const NAME: LeftOut = "with names that are not printable UTF-8";
const UNKNOWN: LeftOut = "on files that the recording does not know";
const OWNERS: LeftOut = "that set owners or times";
const SPECIAL: LeftOut = "on FIFOs, sockets and devices";
const XATTR: LeftOut = "on extended attributes other than user.*";
const RANGES: LeftOut = "that move or unshare ranges of files, or keep the size of a zeroed one";
const MAPPED: LeftOut = "that store to mappings";
const SYNC_RANGE: LeftOut = "sync_file_range, which promises nothing";
const SHORTENED: LeftOut = "shortened writes";
const IMPOSSIBLE: LeftOut = "that the explorer cannot perform";

struct Translation<'r> {
    recording: &'r Recording,
    files: Simulation,
    number: u32,
    /// The entries of the recorded tree that are made, each with its inode.
    entries: BTreeMap<InodeId, PathId>,
    /// The inodes that operations use.
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
                // What cannot be made is missing when an operation uses it.
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
                let room = (MOST_DATA / 2).saturating_sub(self.data);
                let data = round(*size).min(MOST_AT_START).min(room / UNIT * UNIT);
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
                    if round(*size) > data {
                        let length = round(*size);
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
            EntryKind::Fifo | EntryKind::Socket | EntryKind::Device => return Err(SPECIAL),
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
            let is_full = self.operations.len() >= MOST_OPERATIONS || self.data >= MOST_DATA;
            if is_full && is_change(&operation.action) {
                self.recorded += 1;
                self.leave_out(BOUND);
            }
            if is_full {
                continue;
            }
            let before = self.operations.len();
            match self.perform(operation) {
                Ok(()) => {
                    let done = is_change(&operation.action) || self.operations.len() > before;
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
        for _ in 0..MOST_LINKS {
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

    /// How the program names an inode.
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

    fn perform(&mut self, operation: &Recorded) -> Result<(), LeftOut> {
        let done = u64::try_from(operation.result).unwrap_or_default();
        match &operation.action {
            Action::Open {
                path,
                flags,
                handle,
                ..
            } => self.open(*path, *flags, *handle, 0),
            Action::Inherit {
                path,
                flags,
                position,
                handle,
            } => {
                let made = (libc::O_CREAT | libc::O_TRUNC).cast_unsigned();
                self.open(*path, flags & !made, Some(*handle), *position)
            }
            Action::Close { handle } => match self.handles.remove(handle) {
                Some(open) => self.closed(open.inode),
                None => Ok(()),
            },
            Action::Map {
                handle, mapping, ..
            } => {
                let open = self.handles.get(handle);
                if let (Some(mapping), Some(open)) = (mapping, open) {
                    self.mappings.insert(*mapping, open.inode);
                }
                Ok(())
            }
            Action::Unmap { mapping } => match self.mappings.remove(mapping) {
                Some(inode) => self.closed(inode),
                None => Ok(()),
            },
            Action::Read {
                handle,
                offset: None,
                ..
            }
            | Action::SpliceFrom {
                handle,
                offset: None,
                ..
            }
            | Action::SendFile {
                from: handle,
                offset: None,
                to: None,
                ..
            } => {
                if let Some(open) = self.handles.get_mut(handle) {
                    open.position = open.position.saturating_add(done);
                }
                Ok(())
            }
            Action::Seek { handle, .. } => {
                if let Some(open) = self.handles.get_mut(handle) {
                    open.position = done;
                }
                Ok(())
            }
            Action::Write {
                handle,
                offset,
                flags,
                ..
            } => self.write(*handle, *offset, done, *flags),
            Action::SpliceTo { handle, offset, .. } => self.write(*handle, *offset, done, 0),
            Action::Copy { to, to_offset, .. } => self.write(*to, *to_offset, done, 0),
            Action::SendFile { to: Some(to), .. } => self.write(*to, None, done, 0),
            Action::Clone {
                from,
                from_offset,
                to,
                to_offset,
                length,
            } => {
                let size = self
                    .handles
                    .get(from)
                    .map_or(0, |open| self.size(open.inode));
                let whole = size.saturating_sub(*from_offset);
                let length = if *length == 0 { whole } else { *length };
                self.write(*to, Some(*to_offset), length, 0)
            }
            Action::Fault { write: true, .. } => Err(MAPPED),
            other => self.perform_on_files(other),
        }
    }

    fn perform_on_files(&mut self, action: &Action) -> Result<(), LeftOut> {
        match action {
            Action::Fsync { handle } => {
                let inode = self.inode(Object::Handle(*handle))?;
                let target = self.target(inode)?;
                self.emit(Operation::Fsync { target })
            }
            Action::Fdatasync { handle } => {
                let inode = self.inode(Object::Handle(*handle))?;
                let target = self.target(inode)?;
                self.emit(Operation::Fdatasync { target })
            }
            Action::SyncMap { mapping, flags, .. } => {
                if flags & libc::MS_SYNC.cast_unsigned() == 0 {
                    return Ok(());
                }
                let inode = *self.mappings.get(mapping).ok_or(UNKNOWN)?;
                let target = self.target(inode)?;
                self.emit(Operation::Fdatasync { target })
            }
            Action::SyncRange { .. } => Err(SYNC_RANGE),
            Action::Sync {} => self.emit(Operation::Sync),
            Action::SyncFs { .. } => self.emit(Operation::Syncfs),
            Action::Truncate { path, length } => {
                let inode = self.inode(Object::Path(*path))?;
                self.truncate(inode, *length)
            }
            Action::TruncateHandle { handle, length } => {
                let inode = self.inode(Object::Handle(*handle))?;
                self.truncate(inode, *length)
            }
            Action::Allocate {
                handle,
                mode,
                offset,
                length,
            } => self.allocate(*handle, *mode, *offset, *length),
            Action::ChangeMode { object, mode } => {
                let inode = self.inode(*object)?;
                let (target, mode) = (self.target(inode)?, mode & 0o7777);
                self.emit(Operation::Chmod { target, mode })
            }
            Action::ChangeOwner { .. } | Action::SetTimes { .. } => Err(OWNERS),
            Action::SetXattr {
                object,
                name,
                length,
                ..
            } => {
                let inode = self.inode(*object)?;
                let target = self.target(inode)?;
                let name = name.clone();
                if !name.starts_with("user.") {
                    return Err(XATTR);
                }
                let length = round((*length).max(1));
                self.emit(Operation::SetXattr {
                    target,
                    name,
                    length,
                })
            }
            Action::RemoveXattr { object, name } => {
                let inode = self.inode(*object)?;
                let (target, name) = (self.target(inode)?, name.clone());
                if !name.starts_with("user.") {
                    return Err(XATTR);
                }
                self.emit(Operation::RemoveXattr { target, name })
            }
            other => self.perform_on_names(other),
        }
    }

    fn perform_on_names(&mut self, action: &Action) -> Result<(), LeftOut> {
        match action {
            Action::Rename { from, to, flags } => {
                let (one, other) = (self.text(*from)?, self.text(*to)?);
                if flags & libc::RENAME_EXCHANGE != 0 {
                    return self.emit(Operation::Exchange { one, other });
                }
                self.keep_open(&other)?;
                self.emit(Operation::Rename {
                    from: one,
                    to: other,
                })
            }
            Action::Link { from, to, follow } => {
                let (from, _) = self.find(*from, *follow)?;
                let (from, to) = (Target::Path(from), self.text(*to)?);
                self.emit(Operation::Link { from, to })
            }
            Action::LinkHandle { handle, to } => {
                let inode = self.inode(Object::Handle(*handle))?;
                let (from, to) = (self.target(inode)?, self.text(*to)?);
                self.emit(Operation::Link { from, to })
            }
            Action::Symlink { path, target } => {
                let text = self.link_text(*path, target)?;
                let path = self.text(*path)?;
                self.emit(Operation::Symlink { text, path })
            }
            Action::Unlink { path } => {
                let path = self.text(*path)?;
                self.keep_open(&path)?;
                self.emit(Operation::Unlink { path })
            }
            Action::RemoveDirectory { path } => {
                let path = self.text(*path)?;
                self.emit(Operation::Rmdir { path })
            }
            Action::MakeDirectory { path, .. } => {
                let path = self.text(*path)?;
                self.emit(Operation::Mkdir { path })
            }
            Action::MakeNode { path, mode } => {
                if !matches!(mode & libc::S_IFMT, 0 | libc::S_IFREG) {
                    return Err(SPECIAL);
                }
                let path = self.text(*path)?;
                self.emit(Operation::Create { path })
            }
            // The rest reads.
            _ => Ok(()),
        }
    }

    fn open(
        &mut self,
        path: PathId,
        flags: u32,
        handle: Option<Handle>,
        position: u64,
    ) -> Result<(), LeftOut> {
        let has = |flag: i32| flags & flag.cast_unsigned() == flag.cast_unsigned();
        let exclusive = has(libc::O_CREAT | libc::O_EXCL);
        let (text, found) = self.find(path, !has(libc::O_NOFOLLOW) && !exclusive)?;
        let inode = match found {
            _ if has(libc::O_TMPFILE) => {
                let inode = self.files.inodes.len();
                let descriptor = format!("h{inode}");
                self.emit(Operation::Temporary {
                    directory: text,
                    descriptor: descriptor.clone(),
                })?;
                self.kept.insert(inode, descriptor);
                inode
            }
            Some(inode) => {
                if has(libc::O_CREAT) {
                    self.used.insert(inode);
                }
                inode
            }
            None if has(libc::O_CREAT) => {
                self.emit(Operation::Create { path: text.clone() })?;
                self.files.find(&text).ok_or(IMPOSSIBLE)?
            }
            // Only operations that use it are left out.
            None => return Ok(()),
        };
        if let Some(handle) = handle {
            let kind = match () {
                () if has(libc::O_SYNC) => WriteKind::Sync,
                () if has(libc::O_DSYNC) => WriteKind::DataSync,
                () => WriteKind::Plain,
            };
            let open = Open {
                inode,
                position,
                appends: has(libc::O_APPEND),
                kind,
            };
            self.handles.insert(handle, open);
        }
        if has(libc::O_TRUNC) && self.size(inode) > 0 {
            return self.truncate(inode, 0);
        }
        Ok(())
    }

    fn size(&self, inode: InodeId) -> u64 {
        match &self.files.inodes[inode].kind {
            Kind::File(content) => content.size,
            _ => 0,
        }
    }

    fn truncate(&mut self, inode: InodeId, length: u64) -> Result<(), LeftOut> {
        let (target, length) = (self.target(inode)?, round(length));
        self.emit(Operation::Truncate { target, length })
    }

    fn write(
        &mut self,
        handle: Handle,
        offset: Option<u64>,
        done: u64,
        flags: u32,
    ) -> Result<(), LeftOut> {
        let Some(open) = self.handles.get_mut(&handle) else {
            return Err(UNKNOWN);
        };
        let (inode, appends) = (open.inode, open.appends);
        let kind = match () {
            () if flags & libc::RWF_SYNC.cast_unsigned() != 0 => WriteKind::Sync,
            () if flags & libc::RWF_DSYNC.cast_unsigned() != 0 => WriteKind::DataSync,
            () => open.kind,
        };
        let start = offset.unwrap_or(open.position);
        if offset.is_none() {
            open.position = start.saturating_add(done);
        }
        if done == 0 {
            return Ok(());
        }
        if done > MOST_WRITE {
            self.leave_out(SHORTENED);
        }
        let done = done.min(MOST_WRITE);
        let target = self.target(inode)?;
        let (offset, end) = if appends {
            (None, round(done))
        } else {
            let from = start / UNIT * UNIT;
            (Some(from), round(start.saturating_add(done)))
        };
        let length = end - offset.unwrap_or_default();
        self.data += length;
        if let (Some(from), WriteKind::Plain) = (offset, kind)
            && self.extend(&target, from, end)
        {
            return Ok(());
        }
        self.emit(Operation::Write {
            target,
            offset,
            length,
            kind,
        })
    }

    /// Adds to the last operation of the program, if it is a write that ends where this one begins.
    fn extend(&mut self, to: &Target, from: u64, end: u64) -> bool {
        let Some(Operation::Write {
            target,
            offset: Some(offset),
            length,
            kind: WriteKind::Plain,
        }) = self.operations.last_mut()
        else {
            return false;
        };
        let before = *offset + *length;
        if target != to || from < *offset || from > before || end - *offset > MOST_WRITE {
            return false;
        }
        if end <= before {
            return true;
        }
        let longer = Operation::Write {
            target: target.clone(),
            offset: Some(*offset),
            length: end - *offset,
            kind: WriteKind::Plain,
        };
        // It has the number of the write that it extends.
        if self.files.perform(self.number - 1, &longer).is_err() {
            return false;
        }
        *length = end - *offset;
        true
    }

    fn allocate(
        &mut self,
        handle: Handle,
        mode: u32,
        offset: u64,
        length: u64,
    ) -> Result<(), LeftOut> {
        let inode = self.inode(Object::Handle(handle))?;
        let target = self.target(inode)?;
        let (from, end) = (offset / UNIT * UNIT, round(offset.saturating_add(length)));
        let (offset, length) = (from, end - from);
        let keep_size = mode == libc::FALLOC_FL_KEEP_SIZE.cast_unsigned();
        let punch = (libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE).cast_unsigned();
        if mode == 0 || keep_size {
            if self.data + length > MOST_DATA {
                return Err(BOUND);
            }
            self.data += length;
            self.emit(Operation::Allocate {
                target,
                offset,
                length,
                keep_size,
            })
        } else if mode == punch {
            self.emit(Operation::Punch {
                target,
                offset,
                length,
            })
        } else if mode == libc::FALLOC_FL_ZERO_RANGE.cast_unsigned() {
            self.emit(Operation::Zero {
                target,
                offset,
                length,
            })
        } else {
            Err(RANGES)
        }
    }
}

/// Rounded up to whole units.
fn round(length: u64) -> u64 {
    length.div_ceil(UNIT).saturating_mul(UNIT)
}

/// Where a symbolic link at a path leads.
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

/// Whether an operation that succeeds changes names, data or attributes, or makes them durable.
fn is_change(action: &Action) -> bool {
    match action {
        Action::Write { .. }
        | Action::Fsync { .. }
        | Action::Fdatasync { .. }
        | Action::SyncRange { .. }
        | Action::SyncFs { .. }
        | Action::Sync {}
        | Action::Truncate { .. }
        | Action::TruncateHandle { .. }
        | Action::Allocate { .. }
        | Action::Copy { .. }
        | Action::SendFile { to: Some(_), .. }
        | Action::SpliceTo { .. }
        | Action::Clone { .. }
        | Action::Rename { .. }
        | Action::Link { .. }
        | Action::LinkHandle { .. }
        | Action::Symlink { .. }
        | Action::Unlink { .. }
        | Action::RemoveDirectory { .. }
        | Action::MakeDirectory { .. }
        | Action::MakeNode { .. }
        | Action::ChangeMode { .. }
        | Action::ChangeOwner { .. }
        | Action::SetTimes { .. }
        | Action::SetXattr { .. }
        | Action::RemoveXattr { .. }
        | Action::SyncMap { .. } => true,
        Action::Fault { write, .. } => *write,
        // The rest reads, or depends on what there is: an open may create.
        _ => false,
    }
}

#[cfg(test)]
#[path = "recorded_tests.rs"]
mod tests;
