//! Simulates the effect of a program on its files: which operations can succeed, and what every
//! file is after each.

use crate::operation::{
    DIRECTORY_MODE, FILE_MODE, Operation, Program, SpecialKind, Target, WriteKind,
};
use crate::tree::{Run, Source};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::Arc;

/// The number of an inode; that of the root is 0.
pub type InodeId = usize;

/// A name in a directory.
pub type Name = (InodeId, String);

/// The largest file, bytes.
const MAX_FILE_BYTES: u64 = 64 << 20;

/// The longest attribute, bytes: it fits into one block with others.
const MAX_XATTR_BYTES: u64 = 2048;

/// The alignment of direct writes, and of ranges that file systems move.
const BLOCK: u64 = 4096;

/// The kind of an inode.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Kind {
    /// A regular file.
    File(Content),
    /// A directory: its names.
    Directory(BTreeMap<String, InodeId>),
    /// A symbolic link: its text.
    Symlink(String),
    /// A special file.
    Special(SpecialKind),
}

/// An inode.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Inode {
    /// Its kind.
    pub kind: Kind,
    /// Permissions.
    pub mode: u32,
    /// The attributes: the operation that set each, and the length.
    pub xattrs: BTreeMap<String, (u32, u64)>,
}

/// The content of a file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Content {
    /// Its length, bytes.
    pub size: u64,
    /// The written ranges by their first byte. The rest is zeros.
    pub written: BTreeMap<u64, Piece>,
}

/// Bytes that one operation wrote.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Piece {
    /// Their end.
    pub end: u64,
    /// The operation.
    pub operation: u32,
    /// The offset at which it wrote them, less that at which they are.
    pub by: i64,
    /// The range that it wrote.
    pub range: Range<u64>,
}

impl Piece {
    /// The byte at this offset.
    pub fn byte(&self, at: u64) -> u8 {
        let at = at.wrapping_add_signed(self.by);
        crate::content::byte(self.operation, at, &self.range)
    }
}

impl Run {
    /// Whether it shows the bytes of a piece in this range; without a piece, zeros.
    pub fn shows(&self, range: Range<u64>, piece: Option<&Piece>) -> bool {
        let same = match (self.source, piece) {
            (Source::Zeros, None) => true,
            (Source::Operation(operation), Some(piece)) => {
                (operation, 0) == (piece.operation, piece.by)
            }
            (Source::Moved { operation, by }, Some(piece)) => {
                (operation, by) == (piece.operation, piece.by)
            }
            _ => false,
        };
        // A part of a unit may show nothing but zeros.
        let expected = |at| piece.map_or(0, |piece| piece.byte(at));
        same || range.clone().all(|at| self.byte(at) == Some(expected(at)))
    }
}

impl Content {
    /// The piece with a byte.
    pub fn piece(&self, at: u64) -> Option<&Piece> {
        let (_, before) = self.written.range(..=at).next_back()?;
        (at < self.size && before.end > at).then_some(before)
    }

    /// The source of a byte; none after the end.
    pub fn source(&self, at: u64) -> Option<Source> {
        if at >= self.size {
            return None;
        }
        Some(match self.piece(at) {
            None => Source::Zeros,
            Some(Piece {
                operation, by: 0, ..
            }) => Source::Operation(*operation),
            Some(Piece { operation, by, .. }) => Source::Moved {
                operation: *operation,
                by: *by,
            },
        })
    }

    fn clear(&mut self, from: u64, to: u64) {
        let touched: Vec<u64> = self.written.range(..to).map(|(at, _)| *at).collect();
        for at in touched {
            if self.written[&at].end <= from {
                continue;
            }
            let Some(piece) = self.written.remove(&at) else {
                continue;
            };
            if piece.end > to {
                self.written.insert(to, piece.clone());
            }
            if at < from {
                self.written.insert(at, Piece { end: from, ..piece });
            }
        }
    }

    /// Copies a range of another file to the same place: the bytes keep their sources.
    fn copy(&mut self, other: &Self, from: u64, to: u64) {
        self.clear(from, to);
        for (at, piece) in other.written.range(..to) {
            if piece.end > from {
                let end = piece.end.min(to);
                let piece = piece.clone();
                self.written.insert((*at).max(from), Piece { end, ..piece });
            }
        }
        self.size = self.size.max(to);
    }

    fn write(&mut self, from: u64, to: u64, operation: u32) {
        self.clear(from, to);
        let piece = Piece {
            end: to,
            operation,
            by: 0,
            range: from..to,
        };
        self.written.insert(from, piece);
        self.size = self.size.max(to);
    }

    /// Moves everything from `from` on by this many bytes.
    fn shift(&mut self, from: u64, by: i64) {
        // A piece across `from` is divided.
        self.clear(from, from);
        for (at, mut piece) in self.written.split_off(&from) {
            piece.end = piece.end.wrapping_add_signed(by);
            piece.by = piece.by.wrapping_sub(by);
            self.written.insert(at.wrapping_add_signed(by), piece);
        }
        self.size = self.size.wrapping_add_signed(by);
    }
}

/// Files in memory.
#[derive(Debug, Clone)]
pub struct Simulation {
    /// All inodes, also those without a name.
    pub inodes: Vec<Arc<Inode>>,
    /// The names of each inode.
    pub names: Vec<BTreeSet<Name>>,
    /// The open descriptors.
    pub descriptors: BTreeMap<String, InodeId>,
    /// Inodes that have lost a name.
    was_named: BTreeSet<InodeId>,
}

/// The changes of an operation.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Changes {
    /// Inodes with other data, attributes or names in them.
    pub inodes: BTreeSet<InodeId>,
    /// Inodes that have other names.
    pub renamed: BTreeSet<InodeId>,
}

/// An operation that cannot succeed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("operation {number} (`{operation}`): {reason}")]
pub struct ProgramError {
    /// Its number.
    pub number: u32,
    /// Its text form.
    pub operation: String,
    /// Why, and what is allowed.
    pub reason: String,
}

impl Program {
    /// Checks that all operations can succeed on a new file system.
    pub fn check(&self) -> Result<(), ProgramError> {
        let mut files = Simulation::default();
        let cut = self.cut();
        for (number, operation) in self.numbered() {
            let allowed =
                if *operation == Operation::Cut && (number < self.first() || cut != Some(number)) {
                    Err("a program has one `cut`, and none in its setup".to_owned())
                } else {
                    Ok(())
                };
            allowed
                .and_then(|()| files.perform(number, operation))
                .map_err(|reason| ProgramError {
                    number,
                    operation: operation.to_string(),
                    reason,
                })?;
        }
        Ok(())
    }
}

impl Default for Simulation {
    fn default() -> Self {
        let root = Inode {
            kind: Kind::Directory(BTreeMap::new()),
            mode: DIRECTORY_MODE,
            xattrs: BTreeMap::new(),
        };
        Self {
            inodes: vec![Arc::new(root)],
            names: vec![BTreeSet::new()],
            descriptors: BTreeMap::new(),
            was_named: BTreeSet::new(),
        }
    }
}

impl Simulation {
    /// The inode of a path.
    pub fn find(&self, path: &str) -> Option<InodeId> {
        let mut names = path.split('/').filter(|_| !path.is_empty());
        names.try_fold(0, |at: InodeId, name| match &self.inodes[at].kind {
            Kind::Directory(names) => names.get(name).copied(),
            _ => None,
        })
    }

    /// The inode of a path or descriptor, or why there is none.
    pub fn target(&self, target: &Target) -> Result<InodeId, String> {
        match target {
            Target::Path(path) => self.existing(path),
            Target::Descriptor(name) => self.descriptors.get(name).copied().ok_or_else(|| {
                format!("descriptor {name} is not open. Open it first: `open PATH as {name}`")
            }),
        }
    }

    /// All paths, with the inode of each, in order.
    pub fn paths(&self) -> BTreeMap<String, InodeId> {
        let mut paths = BTreeMap::from([(String::new(), 0)]);
        let mut rest = vec![(String::new(), 0)];
        while let Some((path, inode)) = rest.pop() {
            let Kind::Directory(names) = &self.inodes[inode].kind else {
                continue;
            };
            for (name, inode) in names {
                let separator = if path.is_empty() { "" } else { "/" };
                let below = format!("{path}{separator}{name}");
                paths.insert(below.clone(), *inode);
                rest.push((below, *inode));
            }
        }
        paths
    }

    fn existing(&self, path: &str) -> Result<InodeId, String> {
        check_path(path)?;
        let missing = || format!("`{path}` does not exist. Create it first");
        self.find(path).ok_or_else(missing)
    }

    /// The directory and the name of a path that is not the root.
    fn place(&self, path: &str) -> Result<Name, String> {
        check_path(path)?;
        let (parent, name) = path.rsplit_once('/').unwrap_or(("", path));
        if name.is_empty() {
            return Err("the root cannot be changed like this. Name an entry of it".to_owned());
        }
        let directory = self.existing(parent)?;
        match self.inodes[directory].kind {
            Kind::Directory(_) => Ok((directory, name.to_owned())),
            _ => Err(format!("`{parent}` is no directory")),
        }
    }

    /// The place of a name that does not exist.
    fn free(&self, path: &str) -> Result<Name, String> {
        let place = self.place(path)?;
        match self.find(path) {
            None => Ok(place),
            Some(_) => Err(format!("`{path}` exists already")),
        }
    }

    fn names_in(&mut self, directory: InodeId) -> &mut BTreeMap<String, InodeId> {
        match &mut Arc::make_mut(&mut self.inodes[directory]).kind {
            Kind::Directory(names) => names,
            _ => unreachable!("a place is in a directory"),
        }
    }

    fn bind(&mut self, place: Name, inode: InodeId, changes: &mut Changes) {
        changes.inodes.insert(place.0);
        changes.renamed.insert(inode);
        self.names_in(place.0).insert(place.1.clone(), inode);
        self.names[inode].insert(place);
    }

    fn unbind(&mut self, place: &Name, changes: &mut Changes) -> Option<InodeId> {
        let inode = self.names_in(place.0).remove(&place.1)?;
        changes.inodes.insert(place.0);
        changes.renamed.insert(inode);
        self.names[inode].remove(place);
        self.was_named.insert(inode);
        Some(inode)
    }

    fn add(&mut self, kind: Kind, mode: u32, changes: &mut Changes) -> InodeId {
        let xattrs = BTreeMap::new();
        self.inodes.push(Arc::new(Inode { kind, mode, xattrs }));
        self.names.push(BTreeSet::new());
        changes.inodes.insert(self.inodes.len() - 1);
        self.inodes.len() - 1
    }

    /// The files as a recovery left them: each inode that has a name, with its names. Others have
    /// none any more, and no descriptor is open.
    #[must_use]
    pub fn recovered(&self, found: BTreeMap<InodeId, (Inode, BTreeSet<Name>)>) -> Self {
        let mut files = self.clone();
        files.descriptors.clear();
        for (inode, names) in files.names.iter_mut().enumerate() {
            if !names.is_empty() {
                files.was_named.insert(inode);
            }
            names.clear();
        }
        for (id, (inode, names)) in found {
            files.inodes[id] = Arc::new(inode);
            files.names[id] = names;
        }
        files
    }

    /// Performs an operation; the error is why it cannot succeed, and then nothing has changed.
    pub fn perform(&mut self, number: u32, operation: &Operation) -> Result<Changes, String> {
        let mut changes = Changes::default();
        self.perform_on_names(operation, &mut changes)?;
        self.perform_on_files(number, operation, &mut changes)?;
        Ok(changes)
    }

    fn perform_on_names(
        &mut self,
        operation: &Operation,
        done: &mut Changes,
    ) -> Result<(), String> {
        match operation {
            Operation::Mkdir { path } => {
                let place = self.free(path)?;
                let kind = Kind::Directory(BTreeMap::new());
                let inode = self.add(kind, DIRECTORY_MODE, done);
                self.bind(place, inode, done);
            }
            Operation::Create { path } => {
                let place = self.free(path)?;
                let inode = self.add(Kind::File(Content::default()), FILE_MODE, done);
                self.bind(place, inode, done);
            }
            Operation::MakeNode { path, kind } => {
                let place = self.free(path)?;
                let inode = self.add(Kind::Special(*kind), FILE_MODE, done);
                self.bind(place, inode, done);
            }
            Operation::Symlink { text, path } => {
                let place = self.free(path)?;
                if text.is_empty() || text.len() > 1000 || text.contains(char::is_control) {
                    return Err(
                        "the text of a symbolic link has 1 to 1000 bytes and no control \
                                characters"
                            .to_owned(),
                    );
                }
                let inode = self.add(Kind::Symlink(text.clone()), 0o777, done);
                self.bind(place, inode, done);
            }
            Operation::Link { from, to } => {
                let inode = self.target(from)?;
                if matches!(self.inodes[inode].kind, Kind::Directory(_)) {
                    return Err(format!("`{from}` is a directory, which has one name only"));
                }
                let place = self.free(to)?;
                let unlinked = self.names[inode].is_empty();
                // linkat(2): a file whose last name was removed can get none; a temporary file can.
                if unlinked && self.was_named.contains(&inode) {
                    return Err(format!("`{from}` has no name any more and can get none"));
                }
                self.bind(place, inode, done);
            }
            Operation::Rename { from, to } => self.rename(from, to, done)?,
            Operation::Exchange { one, other } => {
                let (first, second) = (self.existing(one)?, self.existing(other)?);
                let (place, other_place) = (self.place(one)?, self.place(other)?);
                if is_below(one, other) || is_below(other, one) || first == second {
                    return Err(format!("`{one}` and `{other}` cannot change places"));
                }
                self.unbind(&place, done);
                self.unbind(&other_place, done);
                self.bind(place, second, done);
                self.bind(other_place, first, done);
            }
            Operation::Unlink { path } | Operation::Rmdir { path } => {
                let (inode, place) = (self.existing(path)?, self.place(path)?);
                let rmdir = matches!(operation, Operation::Rmdir { .. });
                match &self.inodes[inode].kind {
                    Kind::Directory(names) if rmdir && names.is_empty() => {}
                    Kind::Directory(_) if rmdir => return Err(format!("`{path}` is not empty")),
                    Kind::Directory(_) => {
                        return Err(format!("`{path}` is a directory: use rmdir"));
                    }
                    _ if rmdir => return Err(format!("`{path}` is no directory: use unlink")),
                    _ => {}
                }
                self.unbind(&place, done);
            }
            _ => {}
        }
        Ok(())
    }

    fn perform_on_files(
        &mut self,
        number: u32,
        operation: &Operation,
        done: &mut Changes,
    ) -> Result<(), String> {
        match operation {
            Operation::Open { path, descriptor } => {
                let inode = self.existing(path)?;
                self.can_be_opened(inode, path)?;
                self.keep(descriptor, inode)?;
            }
            Operation::Temporary {
                directory,
                descriptor,
            } => {
                self.place(format!("{directory}/x").trim_start_matches('/'))?;
                self.keep(descriptor, self.inodes.len())?;
                self.add(Kind::File(Content::default()), FILE_MODE, done);
            }
            Operation::Close { descriptor } => {
                self.target(&Target::Descriptor(descriptor.clone()))?;
                self.descriptors.remove(descriptor);
            }
            Operation::Cut => self.descriptors.clear(),
            Operation::Fsync { target }
            | Operation::Fdatasync { target }
            | Operation::Stat { target } => {
                let inode = self.target(target)?;
                self.can_be_opened(inode, &target.to_string())?;
            }
            Operation::Msync { .. } | Operation::SyncRange { .. } => self.check_range(operation)?,
            Operation::Read { target, .. } => {
                let inode = self.target(target)?;
                if !matches!(self.inodes[inode].kind, Kind::File(_)) {
                    return Err(format!("`{target}` is no regular file"));
                }
            }
            Operation::List { path } => {
                let inode = self.existing(path)?;
                if !matches!(self.inodes[inode].kind, Kind::Directory(_)) {
                    return Err(format!("`{path}` is no directory"));
                }
            }
            Operation::SetXattr { target, .. }
            | Operation::RemoveXattr { target, .. }
            | Operation::Chmod { target, .. } => {
                let inode = self.target(target)?;
                self.can_be_opened(inode, &target.to_string())?;
                self.attributes(number, inode, operation)?;
                done.inodes.insert(inode);
            }
            Operation::Copy { to, .. } => {
                let inode = self.target(to)?;
                let content = self.copied(operation)?;
                Arc::make_mut(&mut self.inodes[inode]).kind = Kind::File(content);
                done.inodes.insert(inode);
            }
            Operation::Write { target, .. }
            | Operation::Allocate { target, .. }
            | Operation::Punch { target, .. }
            | Operation::Zero { target, .. }
            | Operation::Collapse { target, .. }
            | Operation::Insert { target, .. }
            | Operation::Truncate { target, .. } => {
                let inode = self.target(target)?;
                let Kind::File(content) = &self.inodes[inode].kind else {
                    return Err(format!("`{target}` is no regular file"));
                };
                let mut content = content.clone();
                change_data(&mut content, number, operation)?;
                Arc::make_mut(&mut self.inodes[inode]).kind = Kind::File(content);
                done.inodes.insert(inode);
            }
            _ => {}
        }
        Ok(())
    }

    /// Checks that a file has the range of an operation.
    fn check_range(&self, operation: &Operation) -> Result<(), String> {
        let (Operation::Msync {
            target,
            offset,
            length,
        }
        | Operation::SyncRange {
            target,
            offset,
            length,
        }) = operation
        else {
            return Ok(());
        };
        let Kind::File(content) = &self.inodes[self.target(target)?].kind else {
            return Err(format!("`{target}` is no regular file"));
        };
        let end = offset.checked_add(*length);
        if *length == 0 || end.is_none_or(|end| end > content.size) {
            return Err(format!(
                "`{target}` has {} bytes: the range must be within them",
                content.size
            ));
        }
        Ok(())
    }

    /// The content of the file that a copy writes.
    fn copied(&self, operation: &Operation) -> Result<Content, String> {
        let Operation::Copy {
            from,
            to,
            offset,
            length,
            shared,
        } = operation
        else {
            return Err(format!("`{operation}` copies nothing"));
        };
        let (source, inode) = (self.target(from)?, self.target(to)?);
        let (Kind::File(read), Kind::File(written)) =
            (&self.inodes[source].kind, &self.inodes[inode].kind)
        else {
            return Err(format!("`{from}` and `{to}` must be regular files"));
        };
        if source == inode {
            return Err(format!("`{from}` and `{to}` are one file. Name two"));
        }
        let end = offset.checked_add(*length).filter(|end| *end <= read.size);
        let Some(end) = end.filter(|_| *length > 0) else {
            return Err(format!(
                "the range must be within the {} bytes of `{from}`",
                read.size
            ));
        };
        // ioctl_ficlonerange(2); a part of a block is shared only as the end of both files.
        let to_end = end == read.size && end >= written.size;
        if *shared && (offset % BLOCK != 0 || (length % BLOCK != 0 && !to_end)) {
            return Err(format!(
                "files share whole blocks: a range begins and ends at multiples of {BLOCK} bytes, \
                 or at the end of both files"
            ));
        }
        let mut content = written.clone();
        content.copy(read, *offset, end);
        Ok(content)
    }

    fn rename(&mut self, from: &str, to: &str, changes: &mut Changes) -> Result<(), String> {
        let (inode, place) = (self.existing(from)?, self.place(from)?);
        let to_place = self.place(to)?;
        if is_below(from, to) {
            return Err(format!("`{from}` cannot be moved below itself"));
        }
        if let Some(replaced) = self.find(to) {
            if replaced == inode {
                return Err(format!("`{from}` and `{to}` are names of one file already"));
            }
            match (&self.inodes[inode].kind, &self.inodes[replaced].kind) {
                (Kind::Directory(_), Kind::Directory(names)) if names.is_empty() => {}
                (Kind::Directory(_), _) | (_, Kind::Directory(_)) => {
                    return Err(format!(
                        "`{to}` exists. A directory can replace only an empty one"
                    ));
                }
                _ => {}
            }
            self.unbind(&to_place, changes);
        }
        self.unbind(&place, changes);
        self.bind(to_place, inode, changes);
        Ok(())
    }

    fn can_be_opened(&self, inode: InodeId, path: &str) -> Result<(), String> {
        match self.inodes[inode].kind {
            Kind::Symlink(_) => Err(format!(
                "`{path}` is a symbolic link, which is not followed"
            )),
            Kind::Special(_) => Err(format!(
                "`{path}` is a FIFO or a device, which is not opened"
            )),
            _ => Ok(()),
        }
    }

    fn keep(&mut self, descriptor: &str, inode: InodeId) -> Result<(), String> {
        if descriptor.is_empty() || self.descriptors.contains_key(descriptor) {
            return Err(format!(
                "descriptor `{descriptor}` is open already, or has no name. Take another name"
            ));
        }
        self.descriptors.insert(descriptor.to_owned(), inode);
        Ok(())
    }

    fn attributes(
        &mut self,
        number: u32,
        inode: InodeId,
        operation: &Operation,
    ) -> Result<(), String> {
        let inode = Arc::make_mut(&mut self.inodes[inode]);
        match operation {
            Operation::SetXattr { name, length, .. } => {
                let plain = name.strip_prefix("user.").unwrap_or_default();
                if plain.is_empty() || name.len() > 200 || name.contains(char::is_control) {
                    return Err(format!("`{name}`: an attribute is called `user.NAME`"));
                }
                if !(1..=MAX_XATTR_BYTES).contains(length) {
                    return Err(format!("an attribute has 1 to {MAX_XATTR_BYTES} bytes"));
                }
                inode.xattrs.insert(name.clone(), (number, *length));
            }
            Operation::RemoveXattr { name, .. } => {
                let none = || format!("there is no attribute `{name}`. Set it first");
                inode.xattrs.remove(name).ok_or_else(none)?;
            }
            Operation::Chmod { mode, .. } if *mode <= 0o7777 => inode.mode = *mode,
            _ => return Err("a mode is 0 to 7777, octal".to_owned()),
        }
        Ok(())
    }
}

fn is_below(directory: &str, path: &str) -> bool {
    path == directory
        || path
            .strip_prefix(directory)
            .is_some_and(|rest| rest.starts_with('/'))
}

fn change_data(content: &mut Content, number: u32, operation: &Operation) -> Result<(), String> {
    let range = |offset: u64, length: u64| {
        let end = offset
            .checked_add(length)
            .filter(|end| *end <= MAX_FILE_BYTES);
        let end = end.ok_or_else(|| format!("a file has at most {MAX_FILE_BYTES} bytes"))?;
        if length == 0 {
            return Err("the length is 0. Take at least 1".to_owned());
        }
        Ok(end)
    };
    match operation {
        Operation::Write {
            offset,
            length,
            kind,
            ..
        } => {
            let from = offset.unwrap_or(content.size);
            let end = range(from, *length)?;
            if *kind == WriteKind::Direct && (from % BLOCK, length % BLOCK) != (0, 0) {
                return Err(format!(
                    "a direct write begins and ends at multiples of {BLOCK} bytes"
                ));
            }
            content.write(from, end, number);
        }
        Operation::Allocate {
            offset,
            length,
            keep_size,
            ..
        } => {
            let end = range(*offset, *length)?;
            if !keep_size {
                content.size = content.size.max(end);
            }
        }
        Operation::Punch { offset, length, .. } => content.clear(*offset, range(*offset, *length)?),
        Operation::Zero { offset, length, .. } => {
            let end = range(*offset, *length)?;
            content.clear(*offset, end);
            content.size = content.size.max(end);
        }
        Operation::Collapse { offset, length, .. } | Operation::Insert { offset, length, .. } => {
            let end = range(*offset, *length)?;
            if (offset % BLOCK, length % BLOCK) != (0, 0) {
                return Err(format!(
                    "a file system moves whole blocks: offset and length are multiples of {BLOCK}"
                ));
            }
            // The limits of fallocate(2).
            let collapses = matches!(operation, Operation::Collapse { .. });
            if *offset >= content.size || (collapses && end >= content.size) {
                return Err(format!(
                    "the range must be before the end of the file, which has {} bytes",
                    content.size
                ));
            }
            let by = length.cast_signed();
            if collapses {
                content.clear(*offset, end);
                content.shift(end, -by);
            } else {
                range(content.size, *length)?;
                content.shift(*offset, by);
            }
        }
        Operation::Truncate { length, .. } => {
            range(0, (*length).max(1))?;
            content.clear(*length, u64::MAX);
            content.size = *length;
        }
        _ => {}
    }
    Ok(())
}

fn check_path(path: &str) -> Result<(), String> {
    let bad = |name: &str| matches!(name, "" | "." | "..") || name.len() > 255;
    if path.is_empty() {
        return Ok(());
    }
    if path.len() > 1000 || path.contains(char::is_control) || path.split('/').any(bad) {
        return Err(format!(
            "`{path}` is no path: names of 1 to 255 bytes with `/` between them, without `.`, `..` \
             and control characters"
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_cannot_succeed_is_refused_with_its_operation() {
        let cases = [
            ("create A/f", "`A` does not exist"),
            ("mkdir A/../B", "is no path"),
            (
                "create f\ncreate f",
                "operation 1 (`create f`): `f` exists already",
            ),
            ("fsync @h", "descriptor h is not open. Open it first"),
            ("create f\nappend f 0", "Take at least 1"),
            (
                "create f\nappend f 9000\ninsert f 5 4096",
                "multiples of 4096",
            ),
            (
                "create f\nappend f 9000\ncollapse f 4096 8192",
                "before the end of the file, which has 9000 bytes",
            ),
            ("create f\nwrite-direct f 16 4096", "multiples of 4096"),
            ("mkdir A\nrename A A/B", "below itself"),
            ("mkdir A\nunlink A", "use rmdir"),
            ("mkdir A\ncreate A/f\nrmdir A", "is not empty"),
            ("create f\nopen f as h\nunlink f\nlink @h g", "can get none"),
            ("symlink x s\nfsync s", "is not followed"),
            ("create f\nsetxattr f trusted.x 16", "`user.NAME`"),
            ("create f\nremovexattr f user.x", "Set it first"),
            ("unlink /", "the root"),
        ];
        for (text, reason) in cases {
            let error = text.parse::<Program>().unwrap().check().unwrap_err();
            assert!(error.to_string().contains(reason), "{error}");
        }
    }

    #[test]
    fn names_and_data_are_those_that_the_operations_leave() {
        let text = "mkdir A\ncreate A/f\nwrite A/f 0 8192\npunch A/f 16 16\ntruncate A/f 4096\n\
                    append A/f 32\ntemporary A as t\nlink @t A/t\nopen A/f as h\nrename A/t A/f\n\
                    write @h 0 16\nlink A/f g";
        let program: Program = text.parse().unwrap();
        let mut files = Simulation::default();
        for (number, operation) in program.numbered() {
            files.perform(number, operation).unwrap();
        }
        let paths: Vec<String> = files.paths().into_keys().collect();
        assert_eq!(paths, ["", "A", "A/f", "g"]);
        assert_eq!(files.find("A/f"), files.find("g"));
        let Kind::File(content) = &files.inodes[files.descriptors["h"]].kind else {
            panic!("no file");
        };
        let sources = [0, 16, 32, 4096, 4128].map(|at| content.source(at));
        let by = |operation| Some(Source::Operation(operation));
        assert_eq!(sources, [by(10), Some(Source::Zeros), by(2), by(5), None]);
    }
}
