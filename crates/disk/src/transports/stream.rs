//! Bytes and descriptors over stream sockets, with a timeout for every wait.
//!
//! A peer that starts a message must finish it in time, and it must read what it receives.
//! Otherwise its connection ends with an error.

use fsdyno_files::{poll, uninterrupted};
use rustix::event::{PollFd, PollFlags};
use rustix::io::Errno;
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, recvmsg, sendmsg,
};
use std::io::{IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

/// Maximum number of descriptors in a message.
const MAX_DESCRIPTORS: usize = 8;

/// Timeout for a peer in the middle of a message.
#[derive(Debug, Clone, Copy)]
pub struct Timeout(pub Duration);

impl Timeout {
    /// Timeout for the rest of a message. Peers write messages at once.
    pub const SHORT: Self = Self(Duration::from_secs(10));
}

#[derive(Debug, thiserror::Error)]
pub enum StreamError {
    /// The peer closed the connection within a message.
    #[error("the other side closed the connection in the midst of a message")]
    Disconnected,
    /// The peer neither sent nor read data before the timeout.
    #[error("the other side has been silent for {} s in the midst of a message", .0.as_secs())]
    Silent(Duration),
    #[error("the socket: {0}")]
    Socket(#[source] std::io::Error),
}

impl From<Errno> for StreamError {
    fn from(error: Errno) -> Self {
        match error {
            Errno::CONNRESET | Errno::PIPE => Self::Disconnected,
            error => Self::Socket(error.into()),
        }
    }
}

/// Waits until a descriptor is ready. Returns none after a timeout.
pub fn wait(lines: &mut [PollFd<'_>], deadline: Option<Instant>) -> Result<bool, StreamError> {
    loop {
        let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
        if poll(lines, left)? > 0 {
            return Ok(true);
        }
        if left.is_some_and(|left| left.is_zero()) {
            return Ok(false);
        }
    }
}

fn ready(line: BorrowedFd<'_>, what: PollFlags, timeout: Timeout) -> Result<(), StreamError> {
    let mut lines = [PollFd::from_borrowed_fd(line, what)];
    if wait(&mut lines, Some(Instant::now() + timeout.0))? {
        Ok(())
    } else {
        Err(StreamError::Silent(timeout.0))
    }
}

/// Fills `bytes` and receives the descriptors that arrive with them. Returns none if the peer
/// closed the connection before the first byte.
pub fn receive(
    line: impl AsFd,
    bytes: &mut [u8],
    timeout: Timeout,
) -> Result<Option<Vec<OwnedFd>>, StreamError> {
    let mut descriptors = Vec::new();
    let mut filled = 0;
    while filled < bytes.len() {
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MAX_DESCRIPTORS))];
        let mut control = RecvAncillaryBuffer::new(&mut space);
        let mut parts = [IoSliceMut::new(&mut bytes[filled..])];
        let flags = RecvFlags::DONTWAIT | RecvFlags::CMSG_CLOEXEC;
        match uninterrupted(|| recvmsg(&line, &mut parts, &mut control, flags)) {
            Ok(got) if got.bytes == 0 && filled == 0 => return Ok(None),
            Ok(got) if got.bytes == 0 => return Err(StreamError::Disconnected),
            Ok(got) => filled += got.bytes,
            Err(Errno::AGAIN) => ready(line.as_fd(), PollFlags::IN, timeout)?,
            Err(Errno::CONNRESET) if filled == 0 => return Ok(None),
            Err(error) => return Err(error.into()),
        }
        for message in control.drain() {
            if let RecvAncillaryMessage::ScmRights(rights) = message {
                descriptors.extend(rights);
            }
        }
    }
    Ok(Some(descriptors))
}

/// Sends all bytes, with the descriptors attached to the first.
pub fn send(
    line: impl AsFd,
    bytes: &[u8],
    descriptors: &[BorrowedFd<'_>],
    timeout: Timeout,
) -> Result<(), StreamError> {
    let mut sent = 0;
    while sent < bytes.len() {
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MAX_DESCRIPTORS))];
        let mut control = SendAncillaryBuffer::new(&mut space);
        if sent == 0 && !descriptors.is_empty() {
            // Callers send no more descriptors than the buffer holds.
            control.push(SendAncillaryMessage::ScmRights(descriptors));
        }
        let flags = SendFlags::DONTWAIT | SendFlags::NOSIGNAL;
        let part = [IoSlice::new(&bytes[sent..])];
        match uninterrupted(|| sendmsg(&line, &part, &mut control, flags)) {
            Ok(part) => sent += part,
            Err(Errno::AGAIN) => ready(line.as_fd(), PollFlags::OUT, timeout)?,
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}
