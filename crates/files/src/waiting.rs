//! Calls that a signal interrupts. The kernel restarts most calls after a signal handler of fsdyno,
//! but not waits with a timeout (signal(7)): these return EINTR, which is no failure of anything.

use rustix::event::{PollFd, Timespec};
use rustix::fs::FlockOperation;
use rustix::io::Errno;
use std::io;
use std::os::fd::AsFd;
use std::time::Duration;

/// An error that a signal may be the cause of.
pub trait CallError {
    /// Whether a signal interrupted the call.
    fn is_interrupted(&self) -> bool;
}

impl CallError for Errno {
    #[inline]
    fn is_interrupted(&self) -> bool {
        *self == Self::INTR
    }
}

impl CallError for io::Error {
    #[inline]
    fn is_interrupted(&self) -> bool {
        self.kind() == io::ErrorKind::Interrupted
    }
}

/// Repeats a call until no signal interrupts it.
#[inline]
pub fn uninterrupted<T, E: CallError>(mut call: impl FnMut() -> Result<T, E>) -> Result<T, E> {
    loop {
        match call() {
            Err(error) if error.is_interrupted() => {}
            result => return result,
        }
    }
}

/// Waits until a descriptor is ready, the time is over, or a signal arrives. The caller then checks
/// for cancellation. Returns the number of ready descriptors: 0 after the time or a signal.
pub fn poll(descriptors: &mut [PollFd<'_>], timeout: Option<Duration>) -> Result<usize, Errno> {
    // A time that is too long for the kernel has no end.
    let timeout = timeout.and_then(|timeout| Timespec::try_from(timeout).ok());
    match rustix::event::poll(descriptors, timeout.as_ref()) {
        Err(Errno::INTR) => {
            // The kernel leaves the events of an interrupted call as they were.
            for descriptor in descriptors {
                descriptor.clear_revents();
            }
            Ok(0)
        }
        result => result,
    }
}

/// Locks a file (flock(2)), also if a signal interrupts the wait for the lock.
pub fn flock(file: impl AsFd, operation: FlockOperation) -> Result<(), Errno> {
    uninterrupted(|| rustix::fs::flock(&file, operation))
}
