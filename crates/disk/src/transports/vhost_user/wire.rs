//! The vhost-user wire format: messages of a header, a payload and descriptors over a stream
//! socket. `connection` gives them their meaning.
//!
//! Source: the vhost-user specification of QEMU (docs/interop/vhost-user.rst).

use crate::transports::stream::{self, StreamError, Timeout};
use std::os::fd::{AsFd, OwnedFd};

/// Bytes of a header: request, flags, payload size.
const HEADER: usize = 12;

/// Maximum payload of the supported messages: a table of eight regions or the configuration space.
const MAX_PAYLOAD: usize = 512;

/// Protocol version, in the low bits of the flags.
const VERSION: u32 = 1;
const VERSION_MASK: u32 = 3;

/// Flag: the message is a reply.
const REPLY: u32 = 1 << 2;

/// Flag: the sender waits for an acknowledgement.
const NEED_REPLY: u32 = 1 << 3;

/// Back-channel request: the used ring has new entries.
const BACKEND_VRING_CALL: u32 = 4;

/// Requests of the guest. Requests of features that are not offered have no name here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FrontendRequest {
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

impl FrontendRequest {
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

#[derive(Debug)]
pub struct Message {
    /// The request, or none if unknown.
    pub request: Option<FrontendRequest>,
    /// Number of the request.
    pub number: u32,
    /// Whether the sender waits for an acknowledgement.
    pub need_reply: bool,
    pub payload: Vec<u8>,
    pub descriptors: Vec<OwnedFd>,
}

impl Message {
    /// A 64-bit number of the payload at an offset.
    pub fn u64_at(&self, at: usize) -> Result<u64, WireError> {
        self.bytes_at(at).map(u64::from_ne_bytes)
    }

    /// A 32-bit number of the payload at an offset.
    pub fn u32_at(&self, at: usize) -> Result<u32, WireError> {
        self.bytes_at(at).map(u32::from_ne_bytes)
    }

    fn bytes_at<const N: usize>(&self, at: usize) -> Result<[u8; N], WireError> {
        let bytes = self.payload.get(at..).and_then(|rest| rest.first_chunk());
        bytes.copied().ok_or(WireError::Short {
            number: self.number,
            length: self.payload.len(),
        })
    }
}

/// A malformed message, or a connection error.
#[derive(Debug, thiserror::Error)]
pub enum WireError {
    #[error(transparent)]
    Stream(#[from] StreamError),
    #[error("a message with flags {flags:#x}, which vhost-user version 1 does not define")]
    Flags { flags: u32 },
    #[error("message {number} announces {length} bytes, and none is longer than {MAX_PAYLOAD}")]
    Long { number: u32, length: u32 },
    #[error("message {number} has {length} bytes, fewer than its header states")]
    Short { number: u32, length: usize },
}

/// Reads the next message. Returns none if the peer closed the connection between two messages.
pub fn receive(line: impl AsFd, timeout: Timeout) -> Result<Option<Message>, WireError> {
    let mut head = [0; HEADER];
    let Some(mut descriptors) = stream::receive(&line, &mut head, timeout)? else {
        return Ok(None);
    };
    let field =
        |at: usize| u32::from_ne_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]);
    let (number, flags, length) = (field(0), field(4), field(8));
    if flags & VERSION_MASK != VERSION || flags & REPLY != 0 {
        return Err(WireError::Flags { flags });
    }
    if length as usize > MAX_PAYLOAD {
        return Err(WireError::Long { number, length });
    }
    let mut payload = vec![0; length as usize];
    if !payload.is_empty() {
        let more = stream::receive(&line, &mut payload, timeout)?;
        descriptors.extend(more.ok_or(StreamError::Disconnected)?);
    }
    Ok(Some(Message {
        request: FrontendRequest::of(number),
        number,
        need_reply: flags & NEED_REPLY != 0,
        payload,
        descriptors,
    }))
}

fn framed(number: u32, flags: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).unwrap_or_default();
    let mut bytes = Vec::with_capacity(HEADER + payload.len());
    for field in [number, VERSION | flags, length] {
        bytes.extend(field.to_ne_bytes());
    }
    bytes.extend(payload);
    bytes
}

pub fn reply(number: u32, payload: &[u8]) -> Vec<u8> {
    framed(number, REPLY, payload)
}

/// The back-channel message for new completions. The guest acknowledges it.
pub fn ring_call(queue: u32) -> Vec<u8> {
    let mut payload = queue.to_ne_bytes().to_vec();
    payload.extend(0_u32.to_ne_bytes());
    framed(BACKEND_VRING_CALL, NEED_REPLY, &payload)
}

/// Reads the acknowledgement of a [`ring_call`]: whether the guest has that queue.
pub fn ring_called(line: impl AsFd, timeout: Timeout) -> Result<bool, WireError> {
    let mut bytes = [0; HEADER + 8];
    stream::receive(&line, &mut bytes, timeout)?.ok_or(StreamError::Disconnected)?;
    let flags = u32::from_ne_bytes([bytes[4], bytes[5], bytes[6], bytes[7]]);
    if flags & VERSION_MASK != VERSION || flags & REPLY == 0 || bytes[8] != 8 {
        return Err(WireError::Flags { flags });
    }
    Ok(bytes[HEADER..].iter().all(|byte| *byte == 0))
}

#[cfg(test)]
pub mod tests {
    use super::*;
    use std::os::unix::net::UnixStream;

    /// A message in the form that a guest sends.
    pub fn request_bytes(number: u32, need_reply: bool, payload: &[u8]) -> Vec<u8> {
        framed(number, if need_reply { NEED_REPLY } else { 0 }, payload)
    }

    fn received(bytes: &[u8]) -> Result<Option<Message>, WireError> {
        let (ours, theirs) = UnixStream::pair().unwrap();
        std::io::Write::write_all(&mut &theirs, bytes).unwrap();
        drop(theirs);
        receive(&ours, Timeout::SHORT)
    }

    #[test]
    fn a_truncated_message_is_an_error_and_a_close_between_messages_is_not() {
        let bytes = request_bytes(9, true, &[7; 40]);
        let message = received(&bytes).unwrap().unwrap();
        assert_eq!(message.request, Some(FrontendRequest::SetVringAddr));
        assert!(message.need_reply && message.payload == [7; 40]);
        assert!(message.u64_at(32).is_ok() && message.u64_at(33).is_err());
        for length in 1..bytes.len() {
            let truncated = received(&bytes[..length]);
            assert!(
                matches!(truncated, Err(WireError::Stream(StreamError::Disconnected))),
                "{length}"
            );
        }
        assert!(received(&[]).unwrap().is_none());
    }

    #[test]
    fn oversized_messages_and_other_versions_are_rejected_by_header() {
        let mut long = request_bytes(5, false, &[]);
        long[8..12].copy_from_slice(&u32::MAX.to_ne_bytes());
        assert!(matches!(received(&long), Err(WireError::Long { .. })));
        let mut other = request_bytes(1, false, &[]);
        other[4] = 2;
        assert!(matches!(received(&other), Err(WireError::Flags { .. })));
    }
}
