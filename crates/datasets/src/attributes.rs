//! Mode, owner, dates and extended attributes of an entry, and how a new one gets them.

use crate::entry::{self, Xattr};
use fsdyno_model::Capabilities;
use rustix::fd::BorrowedFd;
use rustix::fs::{self, AtFlags, FileType, Gid, Mode, Stat, Timespec, Timestamps, Uid};
use rustix::io::Errno;
use std::ffi::CStr;

/// The attributes of an entry other than its data.
#[derive(Debug)]
pub struct Attributes {
    pub kind: FileType,
    pub mode: u32,
    pub owner: u32,
    pub group: u32,
    pub accessed: Timespec,
    pub modified: Timespec,
    pub xattrs: Vec<Xattr>,
}

/// The attributes that the system did not permit.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Lost {
    /// Entries owned by the current user instead of their owner.
    pub owners: u64,
    /// Entries without some of their extended attributes.
    pub xattrs: u64,
}

impl Attributes {
    /// Reads the attributes of an existing entry.
    pub fn of(stat: &Stat, directory: BorrowedFd<'_>, name: &CStr) -> rustix::io::Result<Self> {
        let xattrs = entry::xattrs(directory, name)?;
        Ok(Self {
            kind: entry::kind(stat),
            mode: stat.st_mode & 0o7777,
            owner: stat.st_uid,
            group: stat.st_gid,
            accessed: timespec(stat.st_atime, stat.st_atime_nsec),
            modified: timespec(stat.st_mtime, stat.st_mtime_nsec),
            xattrs,
        })
    }

    /// Sets them on an entry, without following a symbolic link.
    pub fn apply(
        &self,
        directory: BorrowedFd<'_>,
        name: &CStr,
        stores: &Capabilities,
        lost: &mut Lost,
    ) -> Result<(), (&'static str, Errno)> {
        let nofollow = AtFlags::SYMLINK_NOFOLLOW;
        let (owner, group) = (Uid::from_raw(self.owner), Gid::from_raw(self.group));
        // First the owner: a change of owner clears set-user-ID and capabilities.
        let kept_owner = match fs::chownat(directory, name, Some(owner), Some(group), nofollow) {
            Ok(()) => true,
            Err(Errno::PERM | Errno::INVAL) => {
                lost.owners += 1;
                false
            }
            Err(errno) => return Err(("set the owner of", errno)),
        };
        // Next these, while the mode still permits the owner to write.
        let mut all_set = true;
        for xattr in &self.xattrs {
            match entry::set_xattr(directory, name, xattr) {
                Ok(()) => {}
                Err(Errno::NOTSUP | Errno::PERM | Errno::ACCESS) => all_set = false,
                Err(errno) => return Err(("set an extended attribute of", errno)),
            }
        }
        lost.xattrs += u64::from(!all_set);
        if self.kind != FileType::Symlink && stores.owners {
            // A set-user-ID program must not belong to another owner, as with `cp -a`.
            let mode = if kept_owner {
                self.mode
            } else {
                self.mode & 0o1777
            };
            fs::chmodat(directory, name, Mode::from_raw_mode(mode), AtFlags::empty())
                .map_err(|errno| ("set the mode of", errno))?;
        }
        let times = Timestamps {
            last_access: self.accessed,
            last_modification: self.modified,
        };
        fs::utimensat(directory, name, &times, nofollow)
            .map_err(|errno| ("set the dates of", errno))
    }
}

fn timespec(seconds: impl TryInto<i64>, nanos: impl TryInto<i64>) -> Timespec {
    Timespec {
        tv_sec: seconds.try_into().unwrap_or(0),
        tv_nsec: nanos.try_into().unwrap_or(0),
    }
}
