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
