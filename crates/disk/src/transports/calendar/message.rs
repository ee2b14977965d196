//! Messages between the calendar and a kernel in time-travel mode, 16 bytes each.
//!
//! Source: the kernel's `include/uapi/linux/um_timetravel.h`.

use crate::transports::stream::{self, StreamError, Timeout};
use std::os::fd::{AsFd, BorrowedFd};

/// Bytes of a message: operation, sequence number, time.
const LENGTH: usize = 16;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    /// ACK: the previous message is done.
    Ack,
    /// START: the kernel begins.
    Start,
    /// REQUEST: the kernel requests to run at this time.
    Request,
    /// WAIT: the kernel waits for its requested time.
    Wait,
    /// GET: the kernel requests the current time.
    Get,
    /// UPDATE: the kernel reports its current time.
    Update,
    /// RUN: the calendar allows the kernel to run.
    Run,
    /// `GET_TOD`: the kernel requests the time of day.
    GetTimeOfDay,
    /// BROADCAST: a message to all other clients, of which there are none.
    Broadcast,
}

impl Operation {
    const ALL: [(u32, Self); 9] = [
        (0, Self::Ack),
        (1, Self::Start),
        (2, Self::Request),
        (3, Self::Wait),
        (4, Self::Get),
        (5, Self::Update),
        (6, Self::Run),
        (8, Self::GetTimeOfDay),
        (9, Self::Broadcast),
    ];

    fn number(self) -> u32 {
        let of = Self::ALL.iter().find(|(_, operation)| *operation == self);
        of.map_or(0, |(number, _)| *number)
    }

    fn of(number: u32) -> Option<Self> {
        let of = Self::ALL.iter().find(|(of, _)| *of == number);
        of.map(|(_, operation)| *operation)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Message {
    pub operation: Operation,
    /// Sequence number. An acknowledgement repeats that of its message.
    pub number: u32,
    /// Time in nanoseconds, if the operation has one.
    pub time: u64,
}

/// A malformed message, or a connection error.
#[derive(Debug, thiserror::Error)]
pub enum MessageError {
    #[error(transparent)]
    Stream(#[from] StreamError),
    #[error("message {0}, which no kernel that travels in time sends")]
    Unknown(u32),
}

/// Reads the next message. Returns none if the kernel closed the connection.
pub fn receive(line: impl AsFd) -> Result<Option<Message>, MessageError> {
    let mut bytes = [0; LENGTH];
    if stream::receive(line, &mut bytes, Timeout::SHORT)?.is_none() {
        return Ok(None);
    }
    let half = |at: usize| u32::from_ne_bytes(std::array::from_fn(|n| bytes[at + n]));
    Ok(Some(Message {
        operation: Operation::of(half(0)).ok_or(MessageError::Unknown(half(0)))?,
        number: half(4),
        time: u64::from_ne_bytes(std::array::from_fn(|n| bytes[8 + n])),
    }))
}

pub fn send(
    line: impl AsFd,
    message: Message,
    descriptors: &[BorrowedFd<'_>],
) -> Result<(), StreamError> {
    let mut bytes = Vec::with_capacity(LENGTH);
    bytes.extend(message.operation.number().to_ne_bytes());
    bytes.extend(message.number.to_ne_bytes());
    bytes.extend(message.time.to_ne_bytes());
    stream::send(line, &bytes, descriptors, Timeout::SHORT)
}
