//! Applies each system call: records its operation, and updates the state for later calls.

use super::Tracker;
use super::arguments::{Skip, descriptor, flags, has, offset, transferred};
use crate::calls::Call;
use fsdyno_datasets::manifest::link_target;
use fsdyno_trace::{Action, MAX_ACL, Object};
use std::ffi::OsStr;
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

/// A call as an operation, or why it is none.
type Made = io::Result<Result<Action, Skip>>;

/// Ends a function with the reason why there is no operation.
macro_rules! have {
    ($value:expr) => {
        match $value {
            Ok(value) => value,
            Err(skip) => return Ok(Err(skip)),
        }
    };
}

/// `FICLONE` and `FICLONERANGE` of `ioctl_ficlone(2)`.
const FICLONE: u32 = 0x4004_9409;
const FICLONERANGE: u32 = 0x4020_940d;

/// Requests of `ioctl_iflags(2)` and `ioctl_xfs_fsgetxattr(2)`.
const GETFLAGS: u32 = 0x8008_6601;
const SETFLAGS: u32 = 0x4008_6602;
const FSGETXATTR: u32 = 0x801c_581f;
const FSSETXATTR: u32 = 0x401c_5820;

/// The permissions in an access list whose entries were not observed.
const UNKNOWN_ACL: u32 = 0o755;

impl<W: Write> Tracker<W> {
    /// Writes the operation of a call of a known thread.
    pub(super) fn apply(&mut self, call: &Call) -> io::Result<()> {
        let thread = self.tasks[&call.tid].thread;
        let made = match call.name {
            "open" | "creat" | "openat" | "openat2" => return self.open(call, thread),
            "close" | "close_range" => return self.close(call, thread),
            "dup" | "dup2" | "dup3" | "fcntl" => return self.duplicate(call, thread),
            "mmap" | "munmap" | "mremap" | "msync" => return self.map(call, thread),
            "chdir" | "fchdir" | "chroot" | "unshare" => {
                self.change_place(call);
                return Ok(());
            }
            "wait4" | "waitid" => return self.wait(call, thread),
            "io_uring_enter" => {
                // Completions alone concern requests that were counted.
                if call.args[1] > 0 && !self.observes_rings {
                    self.incomplete
                        .insert("programs used io_uring, whose requests are not recorded");
                }
                return Ok(());
            }
            "io_uring_register" => return self.register(call, thread),
            "io_submit" if !self.observes_aio => {
                self.incomplete
                    .insert("programs used io_submit, whose requests are not recorded");
                return Ok(());
            }
            "io_submit" | "io_getevents" | "io_pgetevents" => return Ok(()),
            "rename" | "renameat" | "renameat2" | "link" | "linkat" | "symlink" | "symlinkat"
            | "unlink" | "unlinkat" | "rmdir" | "mkdir" | "mkdirat" | "mknod" | "mknodat" => {
                self.change_names(call)?
            }
            _ if call.name.contains("xattr") => self.attribute(call)?,
            "stat" | "lstat" | "fstat" | "newfstatat" | "statx" | "access" | "faccessat"
            | "faccessat2" | "readlink" | "readlinkat" | "statfs" | "fstatfs" | "chmod"
            | "fchmod" | "fchmodat" | "chown" | "lchown" | "fchown" | "fchownat" | "utime"
            | "utimes" | "futimesat" | "utimensat" | "truncate" => self.inode(call)?,
            _ => self.transfer(call),
        };
        match made {
            Ok(action) => self.write(thread, call.start_ns, call.end_ns, action, call.result),
            Err(Skip::Outside) => {
                self.outside += 1;
                Ok(())
            }
            Err(Skip::Counted) => Ok(()),
        }
    }

    /// Calls that only use descriptors.
    fn transfer(&mut self, call: &Call) -> Result<Action, Skip> {
        let handle = || self.handle(call, 0);
        let args = call.args;
        // Lengths of vectors are in memory: what was transferred counts.
        let moved = u64::try_from(call.result).unwrap_or(0);
        let buffers = flags(args[2]);
        Ok(match call.name {
            "read" | "pread64" | "readv" | "preadv" | "preadv2" => {
                let (at, length, buffers, bits) = transfer_arguments(call, moved, buffers);
                Action::Read {
                    handle: handle()?,
                    offset: at,
                    length,
                    buffers,
                    flags: bits,
                }
            }
            "write" | "pwrite64" | "writev" | "pwritev" | "pwritev2" => {
                let (at, length, buffers, bits) = transfer_arguments(call, moved, buffers);
                Action::Write {
                    handle: handle()?,
                    offset: at,
                    length,
                    buffers,
                    flags: bits,
                }
            }
            "lseek" => Action::Seek {
                handle: handle()?,
                offset: args[1].cast_signed(),
                whence: flags(args[2]),
            },
            "fsync" => Action::Fsync { handle: handle()? },
            "fdatasync" => Action::Fdatasync { handle: handle()? },
            "sync_file_range" => Action::SyncRange {
                handle: handle()?,
                offset: offset(args[1]),
                length: offset(args[2]),
                flags: flags(args[3]),
            },
            "syncfs" => Action::SyncFs { handle: handle()? },
            "sync" => Action::Sync {},
            "ftruncate" => Action::TruncateHandle {
                handle: handle()?,
                length: offset(args[1]),
            },
            "fallocate" => Action::Allocate {
                handle: handle()?,
                mode: flags(args[1]),
                offset: offset(args[2]),
                length: offset(args[3]),
            },
            "fadvise64" => Action::Advise {
                handle: handle()?,
                offset: offset(args[1]),
                length: offset(args[2]),
                advice: flags(args[3]),
            },
            "readahead" => Action::ReadAhead {
                handle: handle()?,
                offset: offset(args[1]),
                length: offset(args[2]),
            },
            "getdents" | "getdents64" => Action::ReadDirectory {
                handle: handle()?,
                length: transferred(args[2]),
            },
            "copy_file_range" | "sendfile" | "splice" => self.copy(call)?,
            "ioctl" => self.request(call)?,
            _ => return Err(Skip::Outside),
        })
    }

    /// Calls that move data between two descriptors.
    fn copy(&self, call: &Call) -> Result<Action, Skip> {
        let handle = || self.handle(call, 0);
        let args = call.args;
        Ok(match call.name {
            "copy_file_range" => Action::Copy {
                from: handle()?,
                from_offset: call.numbers[0].map(offset),
                to: self.handle(call, 2)?,
                to_offset: call.numbers[1].map(offset),
                length: transferred(args[4]),
            },
            "sendfile" => Action::SendFile {
                from: self.handle(call, 1)?,
                offset: call.numbers[0].map(offset),
                to: handle().ok(),
                length: transferred(args[3]),
            },
            _ => {
                let (length, bits) = (transferred(args[4]), flags(args[5]));
                let at = |number: Option<u64>| number.map(offset);
                match (handle(), self.handle(call, 2)) {
                    (Ok(handle), _) => {
                        let offset = at(call.numbers[0]);
                        Action::SpliceFrom {
                            handle,
                            offset,
                            length,
                            flags: bits,
                        }
                    }
                    (_, Ok(handle)) => {
                        let offset = at(call.numbers[1]);
                        Action::SpliceTo {
                            handle,
                            offset,
                            length,
                            flags: bits,
                        }
                    }
                    _ => return Err(Skip::Outside),
                }
            }
        })
    }

    fn request(&self, call: &Call) -> Result<Action, Skip> {
        let request = flags(call.args[1]);
        let extended = matches!(request, FSGETXATTR | FSSETXATTR);
        if matches!(request, GETFLAGS | FSGETXATTR) {
            let handle = self.handle(call, 0)?;
            return Ok(Action::GetFlags { handle, extended });
        }
        if matches!(request, SETFLAGS | FSSETXATTR) {
            // The first four bytes of the argument.
            return Ok(Action::SetFlags {
                handle: self.handle(call, 0)?,
                flags: flags(call.numbers[0].unwrap_or(0) & 0xffff_ffff),
                extended,
            });
        }
        let (from, range) = match request {
            FICLONE => (call.args[2], [None, Some(0), Some(0), Some(0)]),
            FICLONERANGE => (call.numbers[0].unwrap_or(u64::MAX), call.numbers),
            // Other requests are not recorded.
            _ => return Err(Skip::Counted),
        };
        let [_, from_offset, length, to_offset] = range.map(|value| offset(value.unwrap_or(0)));
        let from = self.description(call.tid, descriptor(from));
        let from = from.and_then(|from| from.handle).ok_or(Skip::Outside)?;
        Ok(Action::Clone {
            from,
            from_offset,
            to: self.handle(call, 0)?,
            to_offset,
            length,
        })
    }

    fn change_names(&mut self, call: &Call) -> Made {
        let ok = call.result >= 0;
        let at = |first: usize| call.name.contains("at").then_some(first);
        Ok(Ok(match call.name {
            "rename" | "renameat" | "renameat2" => return self.rename(call),
            "link" | "linkat" => {
                let bits = if call.name == "linkat" {
                    call.args[4]
                } else {
                    0
                };
                let to = have!(self.path(call, 1, at(2), false)?);
                if has(bits, libc::AT_EMPTY_PATH)
                    && call.texts[0].as_ref().is_some_and(Vec::is_empty)
                {
                    let handle = have!(self.handle(call, 0));
                    return Ok(Ok(Action::LinkHandle { handle, to: to.id }));
                }
                let follow = has(bits, libc::AT_SYMLINK_FOLLOW);
                let found = have!(self.found(call, 0, at(0), follow));
                if let Some((pid, number)) = found.descriptor
                    && let Some(file) = self.description(pid, number)
                {
                    let handle = have!(file.handle.ok_or(Skip::Outside));
                    return Ok(Ok(Action::LinkHandle { handle, to: to.id }));
                }
                let from = have!(self.in_tree(found)?);
                if ok {
                    match self.links.text(&from.relative).cloned() {
                        Some(text) if !follow => self.links.made(&to.relative, &text),
                        _ => self.links.removed(&to.relative),
                    }
                }
                Action::Link {
                    from: from.id,
                    to: to.id,
                    follow,
                }
            }
            "symlink" | "symlinkat" => {
                let path = have!(self.path(call, 1, at(1), false)?);
                let text = have!(call.texts[0].clone().ok_or(Skip::Counted));
                if ok {
                    self.links.made(&path.relative, &text);
                }
                let root = self.links.root().to_vec();
                let root = Path::new(OsStr::from_bytes(&root));
                let link = Path::new(OsStr::from_bytes(&path.relative));
                let target = link_target(&mut self.writer, root, link, &text)?;
                Action::Symlink {
                    path: path.id,
                    target,
                }
            }
            "rmdir" => Action::RemoveDirectory {
                path: have!(self.path(call, 0, None, false)?).id,
            },
            "unlink" | "unlinkat" => {
                let path = have!(self.path(call, 0, at(0), false)?);
                if has(at(2).map_or(0, |at| call.args[at]), libc::AT_REMOVEDIR) {
                    return Ok(Ok(Action::RemoveDirectory { path: path.id }));
                }
                if ok {
                    self.links.removed(&path.relative);
                }
                Action::Unlink { path: path.id }
            }
            "mkdir" | "mkdirat" => {
                let path = have!(self.path(call, 0, at(0), false)?).id;
                let mode = flags(call.args[at(2).unwrap_or(1)]) & 0o7777;
                Action::MakeDirectory { path, mode }
            }
            _ => {
                let path = have!(self.path(call, 0, at(0), false)?).id;
                let mode = flags(call.args[at(2).unwrap_or(1)]);
                Action::MakeNode { path, mode }
            }
        }))
    }

    fn rename(&mut self, call: &Call) -> Made {
        let ok = call.result >= 0;
        let (from, to) = match call.name {
            "rename" => (None, None),
            _ => (Some(0), Some(2)),
        };
        let bits = if call.name == "renameat2" {
            flags(call.args[4])
        } else {
            0
        };
        let from = self.path(call, 0, from, false)?;
        let to = self.path(call, 1, to, false)?;
        let (from, to) = match (from, to) {
            (Ok(from), Ok(to)) => (from, to),
            (Err(Skip::Outside), Err(Skip::Outside)) => return Ok(Err(Skip::Outside)),
            (Err(Skip::Counted), _) | (_, Err(Skip::Counted)) => return Ok(Err(Skip::Counted)),
            _ if !ok => return Ok(Err(Skip::Outside)),
            _ => {
                self.not_known("renames into the tree, or out of it");
                return Ok(Err(Skip::Counted));
            }
        };
        if ok {
            // RENAME_EXCHANGE
            let exchange = bits & 2 != 0;
            self.links.renamed(&from.relative, &to.relative, exchange);
            if exchange {
                let between = b"\0exchange".to_vec();
                self.moved(&to.found.named, &between);
                self.moved(&from.found.named, &to.found.named);
                self.moved(&between, &from.found.named);
            } else {
                self.moved(&from.found.named, &to.found.named);
            }
        }
        Ok(Ok(Action::Rename {
            from: from.id,
            to: to.id,
            flags: bits,
        }))
    }

    /// Calls on the inode of a path or descriptor.
    fn inode(&mut self, call: &Call) -> Made {
        let args = call.args;
        let follow = |bits: u64| !has(bits, libc::AT_SYMLINK_NOFOLLOW);
        let by_handle = matches!(call.name, "fstat" | "fstatfs" | "fchmod" | "fchown");
        let object = if by_handle {
            self.handle(call, 0).map(Object::Handle)
        } else {
            let (directory, follow) = match call.name {
                "lstat" | "lchown" | "readlink" => (None, false),
                "newfstatat" | "faccessat2" | "utimensat" => (Some(0), follow(args[3])),
                "statx" => (Some(0), follow(args[2])),
                "fchownat" => (Some(0), follow(args[4])),
                "readlinkat" => (Some(0), false),
                "faccessat" | "fchmodat" | "futimesat" => (Some(0), true),
                _ => (None, true),
            };
            self.object(call, 0, directory, follow)?
        };
        let object = have!(object);
        let id = |object: Object| match object {
            Object::Path(id) | Object::NoFollow(id) => Ok(id),
            Object::Handle(_) => Err(Skip::Outside),
        };
        let at = call.name.ends_with("at") || call.name.ends_with("at2");
        let second = args[if at && call.name != "fstat" { 2 } else { 1 }];
        Ok(Ok(match call.name {
            "access" | "faccessat" | "faccessat2" => Action::Access {
                object,
                mode: flags(second),
            },
            "readlink" | "readlinkat" => {
                let length = transferred(args[if call.name == "readlink" { 2 } else { 3 }]);
                Action::ReadLink {
                    path: have!(id(object)),
                    length,
                }
            }
            "statfs" | "fstatfs" => Action::StatFs { object },
            "chmod" | "fchmod" | "fchmodat" => Action::ChangeMode {
                object,
                mode: flags(second) & 0o7777,
            },
            "chown" | "lchown" | "fchown" | "fchownat" => Action::ChangeOwner { object },
            "utime" | "utimes" | "futimesat" | "utimensat" => Action::SetTimes { object },
            "truncate" => match object {
                Object::Handle(handle) => Action::TruncateHandle {
                    handle,
                    length: offset(args[1]),
                },
                Object::Path(path) | Object::NoFollow(path) => Action::Truncate {
                    path,
                    length: offset(args[1]),
                },
            },
            _ => Action::Stat { object },
        }))
    }

    fn attribute(&mut self, call: &Call) -> Made {
        let by_handle = call.name.starts_with('f');
        let object = if by_handle {
            self.handle(call, 0).map(Object::Handle)
        } else {
            self.object(
                call,
                0,
                None,
                !call.name.starts_with('l') || call.name == "listxattr",
            )?
        };
        let object = have!(object);
        let kind = call.name.trim_start_matches('f');
        if kind.ends_with("listxattr") {
            let length = transferred(call.args[2]);
            return Ok(Ok(Action::ListXattrs { object, length }));
        }
        let text = usize::from(!by_handle);
        let name = call.texts[text]
            .clone()
            .and_then(|name| String::from_utf8(name).ok());
        let Some(name) = name else {
            self.not_known("calls whose name of an attribute could not be read");
            return Ok(Err(Skip::Counted));
        };
        let length = transferred(call.args[3]);
        Ok(Ok(if kind.contains("getxattr") {
            Action::GetXattr {
                object,
                name,
                length,
            }
        } else if let Some((default, entries, permissions)) = acl(call, &name, length) {
            Action::SetAcl {
                object,
                default,
                entries,
                permissions,
                flags: flags(call.args[4]),
            }
        } else if kind.contains("setxattr") {
            Action::SetXattr {
                object,
                name,
                length,
                flags: flags(call.args[4]),
            }
        } else {
            Action::RemoveXattr { object, name }
        }))
    }
}

/// What is recorded of an access list that a call sets: whether it is a default one, the number of its
/// entries, and the permissions of owner, group or mask, and others. The observers report its first
/// entries, which are all of an ordinary mode.
fn acl(call: &Call, name: &str, length: u64) -> Option<(bool, u32, u32)> {
    let default = match name {
        "system.posix_acl_access" => false,
        "system.posix_acl_default" => true,
        _ => return None,
    };
    if !call.name.contains("setxattr") || call.args[2] == 0 {
        return None;
    }
    let entries = length.checked_sub(4).filter(|rest| rest % 8 == 0)? / 8;
    let entries = u32::try_from(entries).ok()?;
    if !(3..=MAX_ACL).contains(&entries) {
        return None;
    }
    let numbers = call.numbers.iter().map_while(|number| *number);
    let bytes: Vec<u8> = numbers.flat_map(u64::to_ne_bytes).collect();
    let mut permissions = UNKNOWN_ACL;
    let known = bytes.get(4..).unwrap_or_default().chunks_exact(8);
    for entry in known.take(entries as usize) {
        let bits = u32::from(entry[2] & 7);
        // The tags of `linux/posix_acl.h`: owner, group, mask, others.
        let shift = match entry[0] {
            0x01 => 6,
            0x04 | 0x10 => 3,
            0x20 => 0,
            _ => continue,
        };
        permissions = permissions & !(7 << shift) | bits << shift;
    }
    Some((default, entries, permissions))
}

/// Offset, length, number of buffers and flags of a read or write.
fn transfer_arguments(call: &Call, moved: u64, buffers: u32) -> (Option<u64>, u64, u32, u32) {
    let [_, _, length, _, _, bits] = call.args;
    // A read at -1 with preadv2 is one at the position.
    let at = |value: u64| (value != u64::MAX).then(|| offset(value));
    match call.name {
        "read" | "write" => (None, transferred(length), 1, 0),
        "pread64" | "pwrite64" => (Some(offset(call.args[3])), transferred(length), 1, 0),
        "readv" | "writev" => (None, moved, buffers, 0),
        "preadv" | "pwritev" => (at(call.args[3]), moved, buffers, 0),
        _ => (at(call.args[3]), moved, buffers, flags(bits)),
    }
}
