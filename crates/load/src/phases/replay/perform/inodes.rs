//! Operations on inodes, by a path or an open file: status, permissions, owners, times, extended
//! attributes.

use super::opens::by_descriptor;
use super::{Call, Done, PERMISSIONS, Target, done};
use crate::descriptor::Descriptor;
use crate::phases::replay::calls;
use fsdyno_datasets::recorded::{acl, equivalent};
use fsdyno_trace::{Action, Object};
use rustix::fd::{AsFd, AsRawFd, BorrowedFd};
use rustix::fs::{self, Mode, Timespec, Timestamps, XattrFlags};
use rustix::io::Errno;
use std::ffi::{CStr, CString};

const ACL_ACCESS: &str = "system.posix_acl_access";
const ACL_DEFAULT: &str = "system.posix_acl_default";

/// The permissions in an access list of an older recording, which has none.
const DEFAULT_MODE: u32 = 0o755;

impl Call<'_, '_> {
    /// Operations on a path or an open file.
    pub(super) fn on_object(&mut self, action: &Action) -> Done {
        match action {
            Action::Stat { object } => {
                let Target { at, name, flags } = self.target(*object)?;
                fs::statat(at, name, flags).map(|_| Some(0))
            }
            Action::Access { object, mode } => {
                let mode = fs::Access::from_bits_retain(mode & 7);
                let Target { at, name, flags } = self.target(*object)?;
                done(fs::accessat(at, name, mode, flags))
            }
            Action::StatFs { object } => fs::fstatfs(self.target(*object)?.at).map(|_| Some(0)),
            Action::ChangeMode { object, mode } => self.change_mode(*object, mode & PERMISSIONS),
            // Owners are not recorded: the inode changes, its owner stays.
            Action::ChangeOwner { object } => {
                let owner = Some(rustix::process::geteuid());
                let group = Some(rustix::process::getegid());
                let Target { at, name, flags } = self.target(*object)?;
                done(fs::chownat(at, name, owner, group, flags))
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
                let Target { at, name, flags } = self.target(*object)?;
                done(fs::utimensat(at, name, &times, flags))
            }
            attribute => self.attribute(attribute),
        }
    }

    fn change_mode(&self, object: Object, mode: u32) -> Done {
        let target = self.target(object)?;
        if target.is_name() {
            match calls::change_mode(&target.at, target.name, mode) {
                Err(Errno::NOSYS) => {}
                changed => return changed.map(Some),
            }
        }
        let (file, mode) = (self.to_read(object)?, Mode::from_raw_mode(mode));
        done(match fs::fchmod(&file, mode) {
            // Opened with `O_PATH`.
            Err(Errno::BADF) => fs::chmod(by_descriptor(&file), mode),
            changed => changed,
        })
    }

    /// Operations on extended attributes. Before Linux 6.13 no system call accesses those of a name
    /// in a directory, which procfs reaches.
    fn attribute(&mut self, action: &Action) -> Done {
        let (object, name) = match action {
            Action::GetXattr { object, name, .. }
            | Action::SetXattr { object, name, .. }
            | Action::RemoveXattr { object, name } => (*object, name.as_str()),
            Action::SetAcl {
                object, default, ..
            } => (*object, if *default { ACL_DEFAULT } else { ACL_ACCESS }),
            Action::ListXattrs { object, .. } => (*object, ""),
            // All others are in `perform`, `on_path` and `on_object`.
            _ => return Ok(None),
        };
        let target = self.target(object)?;
        let (path, held) = if target.is_name() {
            (Some(below(&target.at, target.name)), target.at)
        } else {
            (None, self.to_read(object)?)
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
                // Without a buffer, the call returns the size of the value.
                let got = match path {
                    Some(path) if into.is_empty() => fs::lgetxattr_query(path, name),
                    Some(path) => fs::lgetxattr(path, name, into),
                    None if into.is_empty() => fs::fgetxattr_query(file, name),
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
                let length = length(*requested);
                match equivalent(name, length, DEFAULT_MODE) {
                    Some(value) => set(path, file, name, &value, *flags),
                    None => set(path, file, name, &self.stage.content[..length], *flags),
                }
            }
            (
                Action::SetAcl {
                    entries,
                    permissions,
                    flags,
                    ..
                },
                path,
            ) => set(path, file, name, &acl(*entries, *permissions), *flags),
            (_, Some(path)) => done(fs::lremovexattr(path, name)),
            (_, None) => done(fs::fremovexattr(file, name)),
        }
    }
}

/// Sets an attribute of a path, or of a file.
fn set(path: Option<CString>, file: BorrowedFd<'_>, name: &str, value: &[u8], flags: u32) -> Done {
    let flags = XattrFlags::from_bits_retain(flags);
    done(match path {
        Some(path) => fs::lsetxattr(path, name, value, flags),
        None => fs::fsetxattr(file, name, value, flags),
    })
}

/// The path of a name in a directory through procfs.
fn below(directory: &Descriptor, name: &CStr) -> CString {
    let mut path = format!("/proc/self/fd/{}/", directory.as_raw_fd()).into_bytes();
    path.extend_from_slice(name.to_bytes());
    // A name contains no zero byte.
    CString::new(path).unwrap_or_default()
}
