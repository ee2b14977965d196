//! Translates each recorded operation to operations of the program.

use super::{
    BOUND, IMPOSSIBLE, LeftOut, MAPPED, MAX_DATA, MAX_WRITE, OWNERS, Open, RANGES, SHORTENED,
    SPECIAL, Translation, UNKNOWN, XATTR,
};
use fsdyno_crash::simulation::{InodeId, Kind};
use fsdyno_crash::{Operation, SpecialKind, Target, WriteKind};
use fsdyno_trace::{Action, Handle, Object, Operation as Recorded, PathId};

impl Translation<'_> {
    pub(super) fn perform(&mut self, operation: &Recorded) -> Result<(), LeftOut> {
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
            Action::Reopen { of, flags, handle } => self.reopen(*of, *flags, *handle),
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
                let target = self.object(Object::Handle(*handle))?;
                self.emit(Operation::Fsync { target })
            }
            Action::Fdatasync { handle } => {
                let target = self.object(Object::Handle(*handle))?;
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
            Action::SyncRange {
                handle,
                offset,
                length,
                ..
            } => {
                let inode = self.inode(Object::Handle(*handle))?;
                // 0 is the whole file. Beyond its end nothing is written.
                let rest = self.size(inode).saturating_sub(*offset);
                let (target, offset) = (self.target(inode)?, *offset);
                let length = if *length == 0 {
                    rest
                } else {
                    rest.min(*length)
                };
                if length == 0 {
                    return Ok(());
                }
                self.emit(Operation::SyncRange {
                    target,
                    offset,
                    length,
                })
            }
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
                let (target, mode) = (self.object(*object)?, mode & 0o7777);
                self.emit(Operation::Chmod { target, mode })
            }
            Action::ChangeOwner { .. } | Action::SetTimes { .. } => Err(OWNERS),
            Action::SetXattr {
                object,
                name,
                length,
                ..
            } => {
                let target = self.object(*object)?;
                let name = name.clone();
                if !name.starts_with("user.") {
                    return Err(XATTR);
                }
                let length = (*length).max(1);
                self.emit(Operation::SetXattr {
                    target,
                    name,
                    length,
                })
            }
            Action::SetAcl { .. } => Err(XATTR),
            Action::RemoveXattr { object, name } => {
                let (target, name) = (self.object(*object)?, name.clone());
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
                let (from, to) = (self.object(Object::Handle(*handle))?, self.text(*to)?);
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
                let kind = match mode & libc::S_IFMT {
                    0 | libc::S_IFREG => None,
                    libc::S_IFIFO => Some(SpecialKind::Fifo),
                    libc::S_IFCHR => Some(SpecialKind::Device),
                    _ => return Err(SPECIAL),
                };
                let path = self.text(*path)?;
                self.emit(match kind {
                    None => Operation::Create { path },
                    Some(kind) => Operation::MakeNode { path, kind },
                })
            }
            // The rest reads.
            _ => Ok(()),
        }
    }

    fn reopen(&mut self, of: Handle, flags: u32, handle: Option<Handle>) -> Result<(), LeftOut> {
        let Some(handle) = handle else {
            return Ok(());
        };
        let open = self.handles.get(&of).ok_or(UNKNOWN)?;
        let inode = open.inode;
        let open = Open {
            inode,
            position: 0,
            appends: flags & libc::O_APPEND.cast_unsigned() != 0,
            kind: open.kind,
        };
        self.handles.insert(handle, open);
        if flags & libc::O_TRUNC.cast_unsigned() != 0 && self.size(inode) > 0 {
            return self.truncate(inode, 0);
        }
        Ok(())
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
        let target = self.target(inode)?;
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
        if done > MAX_WRITE {
            self.leave_out(SHORTENED);
        }
        let done = done.min(MAX_WRITE);
        let target = self.target(inode)?;
        let (offset, end) = if appends {
            (None, done)
        } else {
            (Some(start), start.saturating_add(done))
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
        if target != to || from < *offset || from > before || end - *offset > MAX_WRITE {
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
        let target = self.object(Object::Handle(handle))?;
        let keep_size = mode == libc::FALLOC_FL_KEEP_SIZE.cast_unsigned();
        let punch = (libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE).cast_unsigned();
        if mode == 0 || keep_size {
            if self.data + length > MAX_DATA {
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
        } else if mode == libc::FALLOC_FL_COLLAPSE_RANGE.cast_unsigned() {
            self.emit(Operation::Collapse {
                target,
                offset,
                length,
            })
        } else if mode == libc::FALLOC_FL_INSERT_RANGE.cast_unsigned() {
            if self.data + length > MAX_DATA {
                return Err(BOUND);
            }
            self.emit(Operation::Insert {
                target,
                offset,
                length,
            })
        } else {
            Err(RANGES)
        }
    }
}
