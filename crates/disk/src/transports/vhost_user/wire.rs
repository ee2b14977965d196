//! The words of the vhost-user protocol: messages of a head, a payload and descriptors, over a
//! stream socket. What they mean is the business of `connection`.
//!
//! After the vhost-user specification of QEMU (docs/interop/vhost-user.rst).

use crate::transports::stream::{self, Patience, StreamError};
use std::os::fd::{AsFd, OwnedFd};

/// Bytes of a head: request, flags, bytes of the payload.
const HEAD: usize = 12;

/// The longest payload that any message we know has: a table of eight regions, or the
/// configuration space, whichever is longer.
const LONGEST: usize = 512;

/// The version of the protocol, in the low bits of the flags.
const VERSION: u32 = 1;
const VERSION_MASK: u32 = 3;

/// The message is an answer.
const REPLY: u32 = 1 << 2;

/// The sender waits to be told whether it was carried out.
const NEED_REPLY: u32 = 1 << 3;

/// Over the back channel: there is something in the used ring.
const BACKEND_VRING_CALL: u32 = 4;

/// What a front end asks for. Requests that belong to a feature which is not offered have no name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ask {
    GetFeatures,
    SetFeatures,
    SetOwner,
    ResetOwner,
    SetMemTable,
    SetVringNum,
    SetVringAddr,
    SetVringBase,
    GetVringBase,
    SetVringKick,
    SetVringCall,
    SetVringErr,
    GetProtocolFeatures,
    SetProtocolFeatures,
    SetVringEnable,
    SetBackendReqFd,
    GetConfig,
    SetConfig,
    VringKick,
}

impl Ask {
    fn of(number: u32) -> Option<Self> {
        Some(match number {
            1 => Self::GetFeatures,
            2 => Self::SetFeatures,
            3 => Self::SetOwner,
            4 => Self::ResetOwner,
            5 => Self::SetMemTable,
            8 => Self::SetVringNum,
            9 => Self::SetVringAddr,
            10 => Self::SetVringBase,
            11 => Self::GetVringBase,
            12 => Self::SetVringKick,
            13 => Self::SetVringCall,
            14 => Self::SetVringErr,
            15 => Self::GetProtocolFeatures,
            16 => Self::SetProtocolFeatures,
            18 => Self::SetVringEnable,
            21 => Self::SetBackendReqFd,
            24 => Self::GetConfig,
            25 => Self::SetConfig,
            35 => Self::VringKick,
            _ => return None,
        })
    }
}

/// A message that came whole.
#[derive(Debug)]
pub struct Message {
    /// What is asked; none where we do not know it.
    pub ask: Option<Ask>,
    /// The number of the request.
    pub number: u32,
    /// Whether the sender waits for an acknowledgement.
    pub need_reply: bool,
    /// The payload.
    pub payload: Vec<u8>,
    /// Descriptors that came with it.
    pub descriptors: Vec<OwnedFd>,
}

impl Message {
    /// A number of the payload that is to begin there.
    pub fn u64_at(&self, at: usize) -> Result<u64, WireError> {
        let bytes = self.payload.get(at..at + 8);
        let bytes = bytes.and_then(|bytes| bytes.try_into().ok());
        bytes.map(u64::from_ne_bytes).ok_or(WireError::Short {
            number: self.number,
            length: self.payload.len(),
        })
    }

    /// A number of the payload that is to begin there.
    pub fn u32_at(&self, at: usize) -> Result<u32, WireError> {
        let bytes = self.payload.get(at..at + 4);
        let bytes = bytes.and_then(|bytes| bytes.try_into().ok());
        bytes.map(u32::from_ne_bytes).ok_or(WireError::Short {
            number: self.number,
            length: self.payload.len(),
        })
    }
}

/// What cannot be understood as a message.
#[derive(Debug, thiserror::Error)]
pub enum WireError {
    /// The line broke.
    #[error(transparent)]
    Stream(#[from] StreamError),
    /// The head is none.
    #[error("a message with flags {flags:#x}, which no vhost-user front end of version 1 sends")]
    Flags {
        /// Its flags.
        flags: u32,
    },
    /// It is too long to be one.
    #[error("message {number} announces {length} bytes, and none is longer than {LONGEST}")]
    Long {
        /// The number of the request.
        number: u32,
        /// Bytes announced.
        length: u32,
    },
    /// Something is missing from it.
    #[error("message {number} has {length} bytes, too few for what it says")]
    Short {
        /// The number of the request.
        number: u32,
        /// Bytes it has.
        length: usize,
    },
}

/// The next message; none where the other side has closed the line between two messages.
pub fn receive(line: impl AsFd, patience: Patience) -> Result<Option<Message>, WireError> {
    let mut head = [0; HEAD];
    let Some(mut descriptors) = stream::receive(&line, &mut head, patience)? else {
        return Ok(None);
    };
    let field =
        |at: usize| u32::from_ne_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]);
    let (number, flags, length) = (field(0), field(4), field(8));
    if flags & VERSION_MASK != VERSION || flags & REPLY != 0 {
        return Err(WireError::Flags { flags });
    }
    if length as usize > LONGEST {
        return Err(WireError::Long { number, length });
    }
    let mut payload = vec![0; length as usize];
    if !payload.is_empty() {
        let more = stream::receive(&line, &mut payload, patience)?;
        descriptors.extend(more.ok_or(StreamError::Cut)?);
    }
    Ok(Some(Message {
        ask: Ask::of(number),
        number,
        need_reply: flags & NEED_REPLY != 0,
        payload,
        descriptors,
    }))
}

fn framed(number: u32, flags: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).unwrap_or_default();
    let mut bytes = Vec::with_capacity(HEAD + payload.len());
    for field in [number, VERSION | flags, length] {
        bytes.extend(field.to_ne_bytes());
    }
    bytes.extend(payload);
    bytes
}

/// An answer, ready to be sent.
pub fn reply(number: u32, payload: &[u8]) -> Vec<u8> {
    framed(number, REPLY, payload)
}

/// The message over the back channel that tells of completions; it is answered.
pub fn ring_call(queue: u32) -> Vec<u8> {
    let mut payload = queue.to_ne_bytes().to_vec();
    payload.extend(0_u32.to_ne_bytes());
    framed(BACKEND_VRING_CALL, NEED_REPLY, &payload)
}

/// Takes the answer to a [`ring_call`]: whether the guest has that queue.
pub fn ring_called(line: impl AsFd, patience: Patience) -> Result<bool, WireError> {
    let mut bytes = [0; HEAD + 8];
    stream::receive(&line, &mut bytes, patience)?.ok_or(StreamError::Cut)?;
    let flags = u32::from_ne_bytes([bytes[4], bytes[5], bytes[6], bytes[7]]);
    if flags & VERSION_MASK != VERSION || flags & REPLY == 0 || bytes[8] != 8 {
        return Err(WireError::Flags { flags });
    }
    Ok(bytes[HEAD..].iter().all(|byte| *byte == 0))
}

#[cfg(test)]
pub mod tests {
    use super::*;
    use std::os::unix::net::UnixStream;

    /// A message as a front end sends it.
    pub fn asked(number: u32, need_reply: bool, payload: &[u8]) -> Vec<u8> {
        framed(number, if need_reply { NEED_REPLY } else { 0 }, payload)
    }

    fn received(bytes: &[u8]) -> Result<Option<Message>, WireError> {
        let (ours, theirs) = UnixStream::pair().unwrap();
        std::io::Write::write_all(&mut &theirs, bytes).unwrap();
        drop(theirs);
        receive(&ours, Patience::SHORT)
    }

    #[test]
    fn a_message_comes_whole_or_is_an_error_and_an_end_between_two_is_the_end() {
        let bytes = asked(9, true, &[7; 40]);
        let message = received(&bytes).unwrap().unwrap();
        assert_eq!(message.ask, Some(Ask::SetVringAddr));
        assert!(message.need_reply && message.payload == [7; 40]);
        assert!(message.u64_at(32).is_ok() && message.u64_at(33).is_err());
        for length in 1..bytes.len() {
            let cut = received(&bytes[..length]);
            assert!(
                matches!(cut, Err(WireError::Stream(StreamError::Cut))),
                "{length}"
            );
        }
        assert!(received(&[]).unwrap().is_none());
    }

    #[test]
    fn what_is_too_long_or_of_another_version_is_refused_before_it_is_read() {
        let mut long = asked(5, false, &[]);
        long[8..12].copy_from_slice(&u32::MAX.to_ne_bytes());
        assert!(matches!(received(&long), Err(WireError::Long { .. })));
        let mut other = asked(1, false, &[]);
        other[4] = 2;
        assert!(matches!(received(&other), Err(WireError::Flags { .. })));
    }
}
