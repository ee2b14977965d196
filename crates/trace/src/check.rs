//! The rules of a valid recording. Reader and writer check each item.

use crate::{
    Action, Ending, Entry, EntryKind, Handle, MAX_ACL, MAX_HOLES, MAX_NUMBER, MAX_OPEN,
    MAX_THREADS, MAX_TRANSFER, Mapping, Object, Operation, PathId, Paths, Thread, ThreadId,
};
use std::collections::HashSet;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Invalid {
    /// A name that is empty, `.` or `..`, or contains `/` or NUL.
    #[error("{0:?} is not a name of a file")]
    Name(String),
    /// A name or path that is longer than Linux permits.
    #[error("a name or path is too long")]
    LongPath,
    #[error("path {0} is not defined")]
    NoSuchPath(u32),
    /// A path that is in the table already.
    #[error("path {0} is defined twice")]
    PathTwice(u32),
    #[error("thread {0} is not defined")]
    NoSuchThread(u32),
    /// A descriptor or mapping that is not open.
    #[error("descriptor or mapping {0} is not open")]
    NotOpen(u64),
    /// A descriptor or mapping that is open already.
    #[error("descriptor or mapping {0} is opened twice")]
    OpenTwice(u64),
    /// Too many of something.
    #[error("too many {0}")]
    Many(&'static str),
    /// A number that is too large for the system.
    #[error("{what} is {value}, and at most {most} is permitted")]
    Large {
        what: &'static str,
        value: u64,
        /// The largest permitted value.
        most: u64,
    },
    /// A symbolic link whose text leads out of the tree.
    #[error("a symbolic link leads out of the tree")]
    LinkLeavesTree,
    /// An entry without a directory above it, or one that has an entry already.
    #[error("entry {0} of the tree is listed twice, or before its directory")]
    Order(u32),
    /// A hard link to something that is no regular file listed before.
    #[error("a hard link leads to path {0}, which is no regular file listed before")]
    HardLink(u32),
    /// Holes that overlap or are not in the file.
    #[error("the holes of a file overlap, or are not within it")]
    Holes,
    /// The name of an extended attribute.
    #[error("{0:?} is not a name of an extended attribute")]
    Xattr(String),
    /// A return value that the call cannot have.
    #[error("{kind} cannot return {result}")]
    Returned {
        kind: &'static str,
        /// The return value.
        result: i64,
    },
    /// An operation that returns before it starts.
    #[error("an operation returns before it starts")]
    Backwards,
    /// An item after operations, or after the end.
    #[error("{0} is not permitted here")]
    Place(&'static str),
    /// The count at the end differs from the operations.
    #[error("the end counts {stated} operations, and there are {found}")]
    Count {
        /// Operations by the end.
        stated: u64,
        /// Operations in the file.
        found: u64,
    },
}

/// The kind of a path in the manifest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Listed {
    No,
    Directory,
    File,
    Other,
}

/// The entries of a tree so far, by their paths.
#[derive(Debug, Default)]
struct Listing(Vec<Listed>);

/// Checks items in the order of the recording.
#[derive(Debug, Default)]
pub(crate) struct Checker {
    first: Listing,
    /// The tree at the end.
    last: Listing,
    threads: u32,
    handles: HashSet<u64>,
    mappings: HashSet<u64>,
    operations: u64,
    started: bool,
    /// Whether the tree at the end has an entry.
    over: bool,
}

impl Listing {
    fn entry(&mut self, entry: &Entry, paths: &Paths) -> Result<(), Invalid> {
        known(paths, entry.path)?;
        most("a mode", entry.mode.into(), 0o7777)?;
        let order = Invalid::Order(entry.path.0);
        match paths.parent(entry.path) {
            Some(above) if self.listed(above) != Listed::Directory => return Err(order),
            None if entry.kind != EntryKind::Directory => return Err(order),
            _ => {}
        }
        if self.listed(entry.path) != Listed::No {
            return Err(order);
        }
        let listed = match &entry.kind {
            EntryKind::Directory => Listed::Directory,
            EntryKind::File {
                size,
                holes,
                compressed_permille,
                ..
            } => {
                most("the size of a file", *size, MAX_NUMBER)?;
                if holes.len() > MAX_HOLES {
                    return Err(Invalid::Many("holes in a file"));
                }
                let mut at = 0;
                for hole in holes {
                    let end = hole.offset.checked_add(hole.length);
                    let end = end.filter(|end| hole.offset >= at && *end <= *size);
                    at = end.ok_or(Invalid::Holes)?;
                }
                most("a share", compressed_permille.unwrap_or(0).into(), 1000)?;
                Listed::File
            }
            EntryKind::HardLink { to } => {
                if self.listed(*to) != Listed::File {
                    return Err(Invalid::HardLink(to.0));
                }
                Listed::Other
            }
            EntryKind::Symlink { target } => {
                paths.check_target(entry.path, target)?;
                Listed::Other
            }
            EntryKind::Fifo | EntryKind::Socket | EntryKind::Device => Listed::Other,
        };
        if entry.xattrs.len() > 4096 {
            return Err(Invalid::Many("extended attributes"));
        }
        for xattr in &entry.xattrs {
            xattr_name(&xattr.name)?;
            most("the size of an attribute", xattr.size.into(), 1 << 24)?;
        }
        let at = entry.path.0 as usize;
        if at >= self.0.len() {
            self.0.resize(at + 1, Listed::No);
        }
        self.0[at] = listed;
        Ok(())
    }

    fn listed(&self, path: PathId) -> Listed {
        let listed = self.0.get(path.0 as usize);
        listed.copied().unwrap_or(Listed::No)
    }
}

impl Checker {
    /// An entry of the tree at the start.
    pub fn entry(&mut self, entry: &Entry, paths: &Paths) -> Result<(), Invalid> {
        if self.started || self.over {
            return Err(Invalid::Place("an entry of the tree after operations"));
        }
        self.first.entry(entry, paths)
    }

    /// An entry of the tree at the end.
    pub fn last_entry(&mut self, entry: &Entry, paths: &Paths) -> Result<(), Invalid> {
        self.over = true;
        self.last.entry(entry, paths)
    }

    /// After the tree at the end nothing happens.
    fn begins(&mut self) -> Result<(), Invalid> {
        self.started = true;
        if self.over {
            return Err(Invalid::Place("an operation after the tree at the end"));
        }
        Ok(())
    }

    pub fn thread(&mut self, thread: &Thread) -> Result<(), Invalid> {
        self.begins()?;
        if thread.id.0 != self.threads || thread.process > thread.id {
            return Err(Invalid::NoSuchThread(thread.id.0));
        }
        if self.threads >= MAX_THREADS {
            return Err(Invalid::Many("threads"));
        }
        if let Some(parent) = thread.parent.filter(|parent| parent.0 >= self.threads) {
            return Err(Invalid::NoSuchThread(parent.0));
        }
        most("a time", thread.start_ns, MAX_NUMBER)?;
        self.threads += 1;
        Ok(())
    }

    fn thread_known(&self, thread: ThreadId) -> Result<(), Invalid> {
        if thread.0 < self.threads {
            Ok(())
        } else {
            Err(Invalid::NoSuchThread(thread.0))
        }
    }

    pub fn operation(&mut self, operation: &Operation, paths: &Paths) -> Result<(), Invalid> {
        self.begins()?;
        self.thread_known(operation.thread)?;
        if operation.end_ns < operation.start_ns {
            return Err(Invalid::Backwards);
        }
        most("a time", operation.end_ns, MAX_NUMBER)?;
        self.references(&operation.action, paths)?;
        Self::limits(operation, paths)?;
        self.open_and_close(operation)?;
        self.operations += 1;
        Ok(())
    }

    /// Paths, descriptors and mappings that the operation uses.
    fn references(&self, action: &Action, paths: &Paths) -> Result<(), Invalid> {
        use Action as A;
        match action {
            A::Open { path, .. }
            | A::Inherit { path, .. }
            | A::Truncate { path, .. }
            | A::Symlink { path, .. }
            | A::Unlink { path }
            | A::RemoveDirectory { path }
            | A::MakeDirectory { path, .. }
            | A::MakeNode { path, .. }
            | A::ReadLink { path, .. } => known(paths, *path),
            A::Rename { from, to, .. } | A::Link { from, to, .. } => {
                known(paths, *from)?;
                known(paths, *to)
            }
            A::LinkHandle { handle, to } => {
                known(paths, *to)?;
                self.handle(*handle)
            }
            A::Close { handle }
            | A::Read { handle, .. }
            | A::Write { handle, .. }
            | A::Seek { handle, .. }
            | A::Fsync { handle }
            | A::Fdatasync { handle }
            | A::SyncRange { handle, .. }
            | A::SyncFs { handle }
            | A::TruncateHandle { handle, .. }
            | A::Allocate { handle, .. }
            | A::Advise { handle, .. }
            | A::ReadAhead { handle, .. }
            | A::SpliceFrom { handle, .. }
            | A::SpliceTo { handle, .. }
            | A::ReadDirectory { handle, .. }
            | A::Reopen { of: handle, .. }
            | A::GetFlags { handle, .. }
            | A::SetFlags { handle, .. }
            | A::Map { handle, .. } => self.handle(*handle),
            A::SendFile { from, to, .. } => {
                self.handle(*from)?;
                to.map_or(Ok(()), |to| self.handle(to))
            }
            A::Copy { from, to, .. } | A::Clone { from, to, .. } => {
                self.handle(*from)?;
                self.handle(*to)
            }
            A::Stat { object }
            | A::Access { object, .. }
            | A::StatFs { object }
            | A::ChangeMode { object, .. }
            | A::ChangeOwner { object }
            | A::SetTimes { object }
            | A::ListXattrs { object, .. } => self.object(*object, paths),
            A::SetAcl {
                object,
                entries,
                permissions,
                ..
            } => {
                most("the number of entries", (*entries).into(), MAX_ACL.into())?;
                most("permissions", (*permissions).into(), 0o777)?;
                self.object(*object, paths)
            }
            A::GetXattr { object, name, .. }
            | A::SetXattr { object, name, .. }
            | A::RemoveXattr { object, name } => {
                xattr_name(name)?;
                self.object(*object, paths)
            }
            A::Unmap { mapping } | A::SyncMap { mapping, .. } | A::Fault { mapping, .. } => {
                self.mapping(*mapping)
            }
            A::Wait { process } => self.thread_known(*process),
            A::Sync {} => Ok(()),
        }
    }

    /// Sizes, offsets and return values.
    fn limits(operation: &Operation, paths: &Paths) -> Result<(), Invalid> {
        use Action as A;
        let result = operation.result;
        let returned = Invalid::Returned {
            kind: operation.action.kind(),
            result,
        };
        if result < -4095 {
            return Err(returned);
        }
        let offset = |offset: &Option<u64>| most("an offset", offset.unwrap_or(0), MAX_NUMBER);
        let transferred = match &operation.action {
            A::Read {
                offset: at, length, ..
            }
            | A::Write {
                offset: at, length, ..
            }
            | A::SendFile {
                offset: at, length, ..
            }
            | A::SpliceFrom {
                offset: at, length, ..
            }
            | A::SpliceTo {
                offset: at, length, ..
            } => {
                offset(at)?;
                Some(*length)
            }
            A::Copy {
                from_offset,
                to_offset,
                length,
                ..
            } => {
                offset(from_offset)?;
                offset(to_offset)?;
                Some(*length)
            }
            A::ReadDirectory { length, .. }
            | A::GetXattr { length, .. }
            | A::SetXattr { length, .. }
            | A::ListXattrs { length, .. }
            | A::ReadLink { length, .. } => {
                most("a length", *length, MAX_TRANSFER)?;
                None
            }
            A::SyncRange { offset, length, .. }
            | A::Allocate { offset, length, .. }
            | A::Advise { offset, length, .. }
            | A::ReadAhead { offset, length, .. }
            | A::Map { offset, length, .. }
            | A::SyncMap { offset, length, .. } => {
                most("an offset", *offset, MAX_NUMBER)?;
                most("a length", *length, MAX_NUMBER)?;
                None
            }
            A::Clone {
                from_offset,
                to_offset,
                length,
                ..
            } => {
                for value in [from_offset, to_offset, length] {
                    most("an offset", *value, MAX_NUMBER)?;
                }
                None
            }
            A::Truncate { length, .. } | A::TruncateHandle { length, .. } => {
                most("a length", *length, MAX_NUMBER)?;
                None
            }
            A::Inherit { position: at, .. } | A::Fault { offset: at, .. } => {
                most("an offset", *at, MAX_NUMBER)?;
                None
            }
            A::MakeDirectory { mode, .. } | A::ChangeMode { mode, .. } => {
                most("a mode", (*mode).into(), 0o17_7777)?;
                None
            }
            A::Symlink { path, target } => {
                paths.check_target(*path, target)?;
                None
            }
            _ => None,
        };
        if let Some(length) = transferred {
            most("a length", length, MAX_TRANSFER)?;
            if result > 0 && result.unsigned_abs() > length {
                return Err(returned);
            }
        }
        Ok(())
    }

    /// Descriptors and mappings that start and end. One starts exactly if the call succeeded.
    fn open_and_close(&mut self, operation: &Operation) -> Result<(), Invalid> {
        let result = operation.result;
        let kind = operation.action.kind();
        let agrees = |some: bool| {
            if some == (result >= 0) {
                Ok(())
            } else {
                Err(Invalid::Returned { kind, result })
            }
        };
        match &operation.action {
            Action::Open { handle, .. } | Action::Reopen { handle, .. } => {
                agrees(handle.is_some())?;
                handle.map_or(Ok(()), |handle| open(&mut self.handles, handle.0))
            }
            Action::Inherit { handle, .. } => open(&mut self.handles, handle.0),
            Action::Map { mapping, .. } => {
                agrees(mapping.is_some())?;
                mapping.map_or(Ok(()), |mapping| open(&mut self.mappings, mapping.0))
            }
            Action::Close { handle } => {
                self.handles.remove(&handle.0);
                Ok(())
            }
            Action::Unmap { mapping } => {
                self.mappings.remove(&mapping.0);
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn handle(&self, handle: Handle) -> Result<(), Invalid> {
        if self.handles.contains(&handle.0) {
            Ok(())
        } else {
            Err(Invalid::NotOpen(handle.0))
        }
    }

    fn mapping(&self, mapping: Mapping) -> Result<(), Invalid> {
        if self.mappings.contains(&mapping.0) {
            Ok(())
        } else {
            Err(Invalid::NotOpen(mapping.0))
        }
    }

    fn object(&self, object: Object, paths: &Paths) -> Result<(), Invalid> {
        match object {
            Object::Path(path) | Object::NoFollow(path) => known(paths, path),
            Object::Handle(handle) => self.handle(handle),
        }
    }

    pub fn ending(&self, ending: &Ending) -> Result<(), Invalid> {
        if ending.operations == self.operations {
            return Ok(());
        }
        Err(Invalid::Count {
            stated: ending.operations,
            found: self.operations,
        })
    }

    pub fn operations(&self) -> u64 {
        self.operations
    }
}

fn open(set: &mut HashSet<u64>, number: u64) -> Result<(), Invalid> {
    if set.len() >= MAX_OPEN {
        return Err(Invalid::Many("open descriptors or mappings"));
    }
    if set.insert(number) {
        Ok(())
    } else {
        Err(Invalid::OpenTwice(number))
    }
}

fn known(paths: &Paths, path: PathId) -> Result<(), Invalid> {
    if paths.contains(path) {
        Ok(())
    } else {
        Err(Invalid::NoSuchPath(path.0))
    }
}

fn most(what: &'static str, value: u64, most: u64) -> Result<(), Invalid> {
    if value <= most {
        Ok(())
    } else {
        Err(Invalid::Large { what, value, most })
    }
}

fn xattr_name(name: &str) -> Result<(), Invalid> {
    if (1..=255).contains(&name.len()) && !name.contains('\0') {
        Ok(())
    } else {
        Err(Invalid::Xattr(name.to_owned()))
    }
}
