//! Operations on what a path or an open file names: status, permissions, owners, times, extended
//! attributes.

use super::{Call, Done, PERMISSIONS, Target, done};
use crate::phases::replay::calls;
use fsdyno_trace::{Action, Object};
use rustix::fd::{AsFd, AsRawFd, OwnedFd};
use rustix::fs::{self, AtFlags, Gid, Mode, Timespec, Timestamps, Uid, XattrFlags};
use rustix::io::Errno;
use std::ffi::{CStr, CString};

impl Call<'_, '_> {
    /// Operations on a path or an open file.
    pub(super) fn on_object(&mut self, action: &Action) -> Done {
        let nofollow = AtFlags::SYMLINK_NOFOLLOW;
        match action {
            Action::Stat { object } => match self.target(*object)? {
                Target::Name(directory, name) => {
                    fs::statat(directory, name, nofollow).map(|_| Some(0))
                }
                Target::File(file) => fs::statat(file, c"", AtFlags::EMPTY_PATH).map(|_| Some(0)),
            },
            Action::Access { object, mode } => {
                let mode = fs::Access::from_bits_retain(mode & 7);
                match self.target(*object)? {
                    Target::Name(directory, name) => {
                        done(fs::accessat(directory, name, mode, nofollow))
                    }
                    Target::File(file) => done(fs::accessat(file, c"", mode, AtFlags::EMPTY_PATH)),
                }
            }
            Action::StatFs { object } => match self.target(*object)? {
                Target::Name(directory, _) | Target::File(directory) => {
                    fs::fstatfs(directory).map(|_| Some(0))
                }
            },
            Action::ChangeMode { object, mode } => self.change_mode(*object, mode & PERMISSIONS),
            // Owners are not recorded: the inode changes, its owner stays.
            Action::ChangeOwner { object } => {
                let owner = Some(rustix::process::geteuid());
                let group = Some(rustix::process::getegid());
                self.change_owner(*object, owner, group)
            }
            Action::SetTimes { object } => {
                let now = Timespec {
                    tv_sec: 0,
                    tv_nsec: fs::UTIME_NOW,
                };
                let times = Timestamps {
                    last_access: now,
                    last_modification: now,
                };
                match self.target(*object)? {
                    Target::Name(directory, name) => {
                        done(fs::utimensat(directory, name, &times, nofollow))
                    }
                    Target::File(file) => {
                        done(fs::utimensat(file, c"", &times, AtFlags::EMPTY_PATH))
                    }
                }
            }
            attribute => self.attribute(attribute),
        }
    }

    fn change_owner(&self, object: Object, owner: Option<Uid>, group: Option<Gid>) -> Done {
        let flags = AtFlags::SYMLINK_NOFOLLOW;
        match self.target(object)? {
            Target::Name(directory, name) => {
                done(fs::chownat(directory, name, owner, group, flags))
            }
            Target::File(file) => done(fs::chownat(file, c"", owner, group, AtFlags::EMPTY_PATH)),
        }
    }

    fn change_mode(&self, object: Object, mode: u32) -> Done {
        if let Target::Name(directory, name) = self.target(object)? {
            match calls::change_mode(&directory, name, mode) {
                Err(Errno::NOSYS) => {}
                changed => return changed.map(Some),
            }
        }
        done(fs::fchmod(self.to_read(object)?, Mode::from_raw_mode(mode)))
    }

    /// Operations on extended attributes. Before Linux 6.13 no system call accesses those of a name
    /// in a directory, which procfs reaches.
    fn attribute(&mut self, action: &Action) -> Done {
        let (object, name) = match action {
            Action::GetXattr { object, name, .. }
            | Action::SetXattr { object, name, .. }
            | Action::RemoveXattr { object, name } => (*object, name.as_str()),
            Action::ListXattrs { object, .. } => (*object, ""),
            // All others are in `perform`, `on_path` and `on_object`.
            _ => return Ok(None),
        };
        let (path, held) = match self.target(object)? {
            Target::Name(directory, name) => (Some(below(&directory, name)), directory),
            Target::File(_) => (None, self.to_read(object)?),
        };
        let file = held.as_fd();
        let most = self.buffer.len();
        let length = |requested: u64| usize::try_from(requested).unwrap_or(most).min(most);
        match (action, path) {
            (
                Action::GetXattr {
                    length: requested, ..
                },
                path,
            ) => {
                let into = &mut self.buffer[..length(*requested)];
                let got = match path {
                    Some(path) if into.is_empty() => fs::lgetxattr(path, name, &mut [0; 0]),
                    Some(path) => fs::lgetxattr(path, name, into),
                    None => fs::fgetxattr(file, name, into),
                };
                got.map(|got| Some(got as u64))
            }
            (
                Action::ListXattrs {
                    length: requested, ..
                },
                path,
            ) => {
                let into = &mut self.buffer[..length(*requested)];
                let got = match path {
                    Some(path) => fs::llistxattr(path, into),
                    None => fs::flistxattr(file, into),
                };
                got.map(|got| Some(got as u64))
            }
            (
                Action::SetXattr {
                    length: requested,
                    flags,
                    ..
                },
                path,
            ) => {
                let flags = XattrFlags::from_bits_retain(*flags);
                let value = &self.stage.content[..length(*requested)];
                done(match path {
                    Some(path) => fs::lsetxattr(path, name, value, flags),
                    None => fs::fsetxattr(file, name, value, flags),
                })
            }
            (_, Some(path)) => done(fs::lremovexattr(path, name)),
            (_, None) => done(fs::fremovexattr(file, name)),
        }
    }
}

/// The path of a name in a directory through procfs.
fn below(directory: &OwnedFd, name: &CStr) -> CString {
    let mut path = format!("/proc/self/fd/{}/", directory.as_raw_fd()).into_bytes();
    path.extend_from_slice(name.to_bytes());
    // A name contains no zero byte.
    CString::new(path).unwrap_or_default()
}
