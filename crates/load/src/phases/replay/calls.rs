//! System calls that rustix does not have.

use rustix::fd::{AsFd, AsRawFd};
use rustix::io::Errno;
use std::ffi::CStr;
use std::io;

/// The number of fchmodat2(2) on all architectures but alpha (Linux 6.6).
const FCHMODAT2: libc::c_long = 452;

/// An argument of ioctl `FICLONERANGE`: `struct file_clone_range` of `linux/fs.h`.
#[repr(C)]
struct CloneRange {
    from: i64,
    from_offset: u64,
    length: u64,
    to_offset: u64,
}

/// ioctl `FS_IOC_FSGETXATTR` and `FS_IOC_FSSETXATTR` of `linux/fs.h`.
const GET_EXTENDED: libc::Ioctl = 0x801c_581f_u32 as libc::Ioctl;
const SET_EXTENDED: libc::Ioctl = 0x401c_5820;

/// The flags of files that mean the same on all file systems (`linux/fs.h`): those of chattr, and of
/// `struct fsxattr`. Others, such as that of extents, say how a file is stored. A file that is
/// immutable or append-only could not be removed.
const FLAGS: u32 = 0x0001 // FS_SECRM_FL
    | 0x0002 // FS_UNRM_FL
    | 0x0004 // FS_COMPR_FL
    | 0x0008 // FS_SYNC_FL
    | 0x0040 // FS_NODUMP_FL
    | 0x0080 // FS_NOATIME_FL
    | 0x0400 // FS_NOCOMP_FL
    | 0x4000 // FS_JOURNAL_DATA_FL
    | 0x8000 // FS_NOTAIL_FL
    | 0x0001_0000 // FS_DIRSYNC_FL
    | 0x0002_0000 // FS_TOPDIR_FL
    | 0x0080_0000; // FS_NOCOW_FL
const EXTENDED_FLAGS: u32 = 0x0020 // FS_XFLAG_SYNC
    | 0x0040 // FS_XFLAG_NOATIME
    | 0x0080; // FS_XFLAG_NODUMP

/// `struct fsxattr`.
#[repr(C)]
#[derive(Default)]
struct Extended {
    flags: u32,
    extent: u32,
    extents: u32,
    project: u32,
    copied: u32,
    unused: [u8; 8],
}

fn checked(result: libc::c_long) -> rustix::io::Result<u64> {
    u64::try_from(result)
        .map_err(|_| Errno::from_io_error(&io::Error::last_os_error()).unwrap_or(Errno::INVAL))
}

/// getdents64(2); the entries are not used.
pub(super) fn list(directory: impl AsFd, into: &mut [u8]) -> rustix::io::Result<u64> {
    let directory = directory.as_fd().as_raw_fd();
    // SAFETY: the kernel writes at most the length of the buffer, which is borrowed here.
    checked(unsafe {
        libc::syscall(
            libc::SYS_getdents64,
            directory,
            into.as_mut_ptr(),
            into.len(),
        )
    })
}

/// readahead(2).
pub(super) fn read_ahead(file: impl AsFd, offset: u64, length: usize) -> rustix::io::Result<u64> {
    // SAFETY: it takes numbers only.
    let result = unsafe { libc::readahead(file.as_fd().as_raw_fd(), offset.cast_signed(), length) };
    checked(result as libc::c_long)
}

/// `sync_file_range(2)`.
pub(super) fn sync_range(
    file: impl AsFd,
    offset: u64,
    length: u64,
    flags: u32,
) -> rustix::io::Result<u64> {
    let (offset, length) = (offset.cast_signed(), length.cast_signed());
    // SAFETY: it takes numbers only.
    let result = unsafe { libc::sync_file_range(file.as_fd().as_raw_fd(), offset, length, flags) };
    checked(result.into())
}

/// ioctl `FICLONERANGE`.
pub(super) fn clone_range(
    from: impl AsFd,
    from_offset: u64,
    to: impl AsFd,
    to_offset: u64,
    length: u64,
) -> rustix::io::Result<u64> {
    let range = CloneRange {
        from: from.as_fd().as_raw_fd().into(),
        from_offset,
        length,
        to_offset,
    };
    let to = to.as_fd().as_raw_fd();
    // SAFETY: the pointer is to a live structure of the layout that the request has.
    let result = unsafe { libc::ioctl(to, libc::FICLONERANGE, &raw const range) };
    checked(result.into())
}

/// The flags of a file.
pub(super) fn flags(file: impl AsFd, extended: bool) -> rustix::io::Result<u32> {
    if extended {
        return self::extended(&file).map(|all| all.flags);
    }
    // The kernel writes an `int`; the request has the size of a `long`.
    let mut flags: libc::c_long = 0;
    let file = file.as_fd().as_raw_fd();
    // SAFETY: the pointer is to a live number that is large enough.
    let result = unsafe { libc::ioctl(file, libc::FS_IOC_GETFLAGS, &raw mut flags) };
    checked(result.into())?;
    Ok((flags.cast_unsigned() & 0xffff_ffff) as u32)
}

fn extended(file: &impl AsFd) -> rustix::io::Result<Extended> {
    let mut all = Extended::default();
    // SAFETY: the pointer is to a live structure of the layout that the request has.
    let result = unsafe { libc::ioctl(file.as_fd().as_raw_fd(), GET_EXTENDED, &raw mut all) };
    checked(result.into()).map(|_| all)
}

/// Sets the flags of a file that mean the same on all file systems, and keeps its others.
pub(super) fn set_flags(file: impl AsFd, to: u32, extended: bool) -> rustix::io::Result<u64> {
    let result = if extended {
        let mut all = self::extended(&file)?;
        all.flags = all.flags & !EXTENDED_FLAGS | to & EXTENDED_FLAGS;
        // SAFETY: the pointer is to a live structure of the layout that the request has.
        unsafe { libc::ioctl(file.as_fd().as_raw_fd(), SET_EXTENDED, &raw const all) }
    } else {
        let all = flags(&file, false)? & !FLAGS | to & FLAGS;
        let all = libc::c_long::from(all.cast_signed());
        // SAFETY: the pointer is to a live number that is large enough.
        unsafe {
            libc::ioctl(
                file.as_fd().as_raw_fd(),
                libc::FS_IOC_SETFLAGS,
                &raw const all,
            )
        }
    };
    checked(result.into())
}

/// `posix_fadvise(2)`, with any advice.
pub(super) fn advise(
    file: impl AsFd,
    offset: u64,
    length: u64,
    advice: u32,
) -> rustix::io::Result<u64> {
    let (offset, length) = (offset.cast_signed(), length.cast_signed());
    let (file, advice) = (file.as_fd().as_raw_fd(), advice.cast_signed());
    // SAFETY: it takes numbers only.
    match unsafe { libc::posix_fadvise(file, offset, length, advice) } {
        0 => Ok(0),
        errno => Err(Errno::from_raw_os_error(errno)),
    }
}

/// Sets the permissions of a name, without following a symbolic link; `ENOSYS` before Linux 6.6.
pub(super) fn change_mode(directory: impl AsFd, name: &CStr, mode: u32) -> rustix::io::Result<u64> {
    let directory = directory.as_fd().as_raw_fd();
    // SAFETY: the name is a live string that ends with a zero byte.
    checked(unsafe {
        libc::syscall(
            FCHMODAT2,
            directory,
            name.as_ptr(),
            mode,
            libc::AT_SYMLINK_NOFOLLOW,
        )
    })
}
