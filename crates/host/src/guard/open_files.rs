//! Which processes have a device open, and whether the kernel claims it, tested by an exclusive
//! read-only open. Also what a path is, without waiting for a network server.

use super::family::{Relative, find_number};
use super::proc::processes;
use super::{GuardError, How, Use};
use crate::sysfs::{Block, entries, split};
use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, StatxFlags, statx};
use rustix::io::Errno;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::{fs, io};

/// Processes other than this one that have a device of the family open, or its backing file.
pub(super) fn find_openers(family: &[Relative], block: &Block) -> io::Result<Vec<Use>> {
    let backing = block.backing_file();
    let backing_number = backing.as_deref().and_then(file_number);
    let mut users = Vec::new();
    for (pid, process) in processes()? {
        if pid == std::process::id() {
            continue;
        }
        for descriptor in entries(&process.join("fd")).unwrap_or_default() {
            let Some(facts) = cached_facts(&descriptor) else {
                continue;
            };
            let name = || fs::read_to_string(process.join("comm")).unwrap_or_default();
            if let Some(relative) = find_number(family, facts.device) {
                let process = name().trim().to_owned();
                users.push(relative.used(How::Open { process, pid }));
            } else if let Some(file) = &backing
                && facts.file.is_some()
                && facts.file == backing_number
            {
                users.push(Use {
                    subject: "it".to_owned(),
                    how: How::BackingFile {
                        file: file.clone(),
                        serves: format!("is open in {} (process {pid})", name().trim()),
                    },
                });
            }
        }
    }
    users.dedup();
    Ok(users)
}

/// Whether the kernel grants an exclusive open, which is closed again at once.
pub(super) fn exclusive_open(relative: &Relative) -> Result<Option<Use>, GuardError> {
    let node = relative.block.node();
    let unreadable =
        |error: Errno| GuardError::unreadable(node.display().to_string())(error.into());
    let flags = OFlags::RDONLY | OFlags::EXCL | OFlags::NONBLOCK | OFlags::CLOEXEC;
    match rustix::fs::open(&node, flags, Mode::empty()) {
        Ok(device) => {
            let facts = rustix::fs::fstat(&device).map_err(unreadable)?;
            // A stale node would have answered for another device.
            if split(facts.st_rdev) == relative.block.number {
                return Ok(None);
            }
            Err(unreadable(Errno::NODEV))
        }
        Err(Errno::BUSY) => Ok(Some(relative.used(How::Claimed))),
        Err(error) => Err(unreadable(error)),
    }
}

/// The identity of an open file: a block device of this number, or the regular file of this
/// identity.
struct Facts {
    device: Option<(u32, u32)>,
    file: Option<(u32, u32, u64)>,
}

/// Stats a path without a request to a server: a dead network file system must not block the guard.
fn cached_facts(path: &Path) -> Option<Facts> {
    let required = StatxFlags::TYPE | StatxFlags::INO;
    let facts = statx(CWD, path, AtFlags::STATX_DONT_SYNC, required).ok()?;
    let kind = FileType::from_raw_mode(facts.stx_mode.into());
    Some(Facts {
        device: (kind == FileType::BlockDevice)
            .then_some((facts.stx_rdev_major, facts.stx_rdev_minor)),
        file: (kind == FileType::RegularFile).then_some((
            facts.stx_dev_major,
            facts.stx_dev_minor,
            facts.stx_ino,
        )),
    })
}

/// The number of the block device a path names, if it names one.
pub(super) fn device_number(path: &Path) -> Option<(u32, u32)> {
    // `proc` or `server:/export` are no paths of ours to look at.
    if !path.as_os_str().as_bytes().starts_with(b"/") {
        return None;
    }
    cached_facts(path)?.device
}

/// The identity of a regular file.
pub(super) fn file_number(path: &Path) -> Option<(u32, u32, u64)> {
    cached_facts(path)?.file
}
