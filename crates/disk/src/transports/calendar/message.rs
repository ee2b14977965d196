//! The messages between the calendar and a kernel that travels in time: sixteen bytes each.
//!
//! After the kernel's `include/uapi/linux/um_timetravel.h`.

use crate::transports::stream::{self, Patience, StreamError};
use std::os::fd::{AsFd, BorrowedFd};

/// Bytes of a message: what, number, time.
const LENGTH: usize = 16;

/// What is said.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Word {
    /// Whatever was said is done.
    Ack,
    /// The kernel begins.
    Start,
    /// The kernel wants to run at that time.
    Request,
    /// The kernel waits for what it has asked for.
    Wait,
    /// The kernel asks for the time.
    Get,
    /// The kernel tells the time it has come to.
    Update,
    /// The calendar lets the kernel run.
    Run,
    /// The kernel asks for the time of day.
    GetTimeOfDay,
    /// The kernel tells something to all others, and there are none.
    Broadcast,
}

impl Word {
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
        let of = Self::ALL.iter().find(|(_, word)| *word == self);
        of.map_or(0, |(number, _)| *number)
    }

    fn of(number: u32) -> Option<Self> {
        let of = Self::ALL.iter().find(|(of, _)| *of == number);
        of.map(|(_, word)| *word)
    }
}

/// A message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Message {
    /// What is said.
    pub word: Word,
    /// Its number; an acknowledgement bears that of what it answers.
    pub number: u32,
    /// Nanoseconds, where the word has any.
    pub time: u64,
}

/// What is no message of a calendar.
#[derive(Debug, thiserror::Error)]
pub enum MessageError {
    /// The line broke.
    #[error(transparent)]
    Stream(#[from] StreamError),
    /// Nobody knows it.
    #[error("message {0}, which no kernel that travels in time sends")]
    Unknown(u32),
}

/// The next message; none where the kernel has gone.
pub fn receive(line: impl AsFd) -> Result<Option<Message>, MessageError> {
    let mut bytes = [0; LENGTH];
    if stream::receive(line, &mut bytes, Patience::SHORT)?.is_none() {
        return Ok(None);
    }
    let half = |at: usize| u32::from_ne_bytes(std::array::from_fn(|n| bytes[at + n]));
    Ok(Some(Message {
        word: Word::of(half(0)).ok_or(MessageError::Unknown(half(0)))?,
        number: half(4),
        time: u64::from_ne_bytes(std::array::from_fn(|n| bytes[8 + n])),
    }))
}

/// Sends a message.
pub fn send(
    line: impl AsFd,
    message: Message,
    descriptors: &[BorrowedFd<'_>],
) -> Result<(), StreamError> {
    let mut bytes = Vec::with_capacity(LENGTH);
    bytes.extend(message.word.number().to_ne_bytes());
    bytes.extend(message.number.to_ne_bytes());
    bytes.extend(message.time.to_ne_bytes());
    stream::send(line, &bytes, descriptors, Patience::SHORT)
}
