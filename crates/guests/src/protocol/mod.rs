//! Messages between host and guest: JSON in checksummed frames over a separate channel.
//!
//! The crate `lab` defines the messages.

mod frames;

use frames::Frames;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::io::{self, ErrorKind, Read, Write};
use std::marker::PhantomData;

/// Writes messages to a channel.
#[derive(Debug)]
pub struct FrameWriter<W>(pub W);

impl<W: Write> FrameWriter<W> {
    pub fn write(&mut self, message: &impl Serialize) -> io::Result<()> {
        let text = serde_json::to_vec(message)?;
        self.0.write_all(&frames::framed(&text)?)?;
        self.0.flush()
    }
}

/// Reads messages from a channel.
#[derive(Debug)]
pub struct FrameReader<R, M> {
    line: R,
    frames: Frames,
    messages: PhantomData<M>,
}

impl<R: Read, M: DeserializeOwned> FrameReader<R, M> {
    /// Creates a reader of a channel.
    pub fn new(line: R) -> Self {
        Self {
            line,
            frames: Frames::default(),
            messages: PhantomData,
        }
    }

    /// The next message; none if the read timeout of the channel has passed. A closed channel and
    /// an invalid message are errors.
    pub fn read(&mut self) -> io::Result<Option<M>> {
        let mut bytes = [0; 16 << 10];
        loop {
            if let Some(text) = self.frames.next()? {
                return Ok(Some(serde_json::from_slice(&text)?));
            }
            match self.line.read(&mut bytes) {
                Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
                Ok(length) => self.frames.feed(&bytes[..length]),
                Err(error) => match error.kind() {
                    ErrorKind::WouldBlock | ErrorKind::TimedOut => return Ok(None),
                    ErrorKind::Interrupted => {}
                    _ => return Err(error),
                },
            }
        }
    }
}
