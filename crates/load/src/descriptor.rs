//! Descriptors that are closed with one system call in every build: with debug assertions, `OwnedFd`
//! makes another one, which the kernel of a guest counts.

use rustix::fd::{AsFd, AsRawFd, BorrowedFd, IntoRawFd as _, OwnedFd, RawFd};
use rustix::io::Errno;
use std::io;
use std::mem::ManuallyDrop;

/// `close(2)` with its result, which `OwnedFd` ignores.
#[inline]
pub(crate) fn close(fd: OwnedFd) -> Result<(), Errno> {
    let number = fd.into_raw_fd();
    // SAFETY: the descriptor was owned, and no owner is left.
    if unsafe { libc::close(number) } == 0 {
        return Ok(());
    }
    match Errno::from_io_error(&io::Error::last_os_error()) {
        // On Linux the descriptor is closed in any case (close(2)).
        Some(Errno::INTR) => Ok(()),
        errno => Err(errno.unwrap_or(Errno::IO)),
    }
}

/// An open file or directory.
#[derive(Debug)]
pub(crate) struct Descriptor(ManuallyDrop<OwnedFd>);

impl From<OwnedFd> for Descriptor {
    fn from(fd: OwnedFd) -> Self {
        Self(ManuallyDrop::new(fd))
    }
}

impl Drop for Descriptor {
    fn drop(&mut self) {
        // SAFETY: it is taken once, and never used again.
        let fd = unsafe { ManuallyDrop::take(&mut self.0) };
        // As `OwnedFd` does: whoever needs the result calls `close`.
        let _ = close(fd);
    }
}

impl AsFd for Descriptor {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

impl AsRawFd for Descriptor {
    fn as_raw_fd(&self) -> RawFd {
        self.0.as_raw_fd()
    }
}
