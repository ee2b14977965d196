//! Quotas of users in the file system of a guest (`quotactl_fd(2)`), and its stop without a sync.

use fsdyno_model::Bytes;
use rustix::fd::{AsRawFd, OwnedFd};
use rustix::fs::{Mode, OFlags, open};
use rustix::ioctl::{Opcode, Setter, ioctl};
use std::io;
use std::path::Path;

/// `FS_IOC_SHUTDOWN`, `_IOR('X', 125, __u32)` (include/uapi/linux/fs.h of Linux 6.12), and its flag
/// to write nothing first.
const SHUTDOWN: Opcode = 0x8004_587D;
const WITHOUT_LOG: u32 = 2;

/// The unit of limits (quotactl(2)).
const LIMIT_UNIT: u64 = 1024;

/// What a user is charged with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Charged {
    pub space: Bytes,
    pub files: u64,
}

/// Limits the space of a user in the file system of a directory.
pub fn limit(root: &Path, user: u32, space: Bytes) -> io::Result<()> {
    let mut limits = empty();
    limits.dqb_bhardlimit = space.0 / LIMIT_UNIT;
    limits.dqb_valid = libc::QIF_BLIMITS;
    quotactl(root, libc::Q_SETQUOTA, user, &mut limits)
}

/// What a user is charged with in the file system of a directory.
pub fn charged(root: &Path, user: u32) -> io::Result<Charged> {
    let mut found = empty();
    quotactl(root, libc::Q_GETQUOTA, user, &mut found)?;
    Ok(Charged {
        space: Bytes(found.dqb_curspace),
        files: found.dqb_curinodes,
    })
}

/// Stops the file system of a directory: nothing more is written to its disks.
pub fn stop_abruptly(root: &Path) -> io::Result<()> {
    let root = opened(root)?;
    // SAFETY: the kernel reads one integer, which the setter owns.
    Ok(unsafe { ioctl(root, Setter::<SHUTDOWN, u32>::new(WITHOUT_LOG)) }?)
}

fn opened(root: &Path) -> io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    Ok(open(root, flags, Mode::empty())?)
}

fn empty() -> libc::dqblk {
    // SAFETY: it has integers only.
    unsafe { std::mem::zeroed() }
}

fn quotactl(
    root: &Path,
    command: libc::c_int,
    user: u32,
    argument: &mut libc::dqblk,
) -> io::Result<()> {
    let root = opened(root)?;
    let command = libc::QCMD(command, libc::USRQUOTA);
    // SAFETY: the structure has the kernel's layout (quotactl(2)) and outlives the call.
    let result = unsafe {
        libc::syscall(
            libc::SYS_quotactl_fd,
            root.as_raw_fd(),
            command,
            user,
            std::ptr::from_mut(argument),
        )
    };
    match result {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}
