//! Messages as frames: a marker, a length, a checksum, and the bytes. Bytes before the first marker
//! are skipped, because a terminal that is not yet in raw mode echoes. Later ones are an error.

use std::io::{self, ErrorKind};

/// The marker at the start of a frame.
const MARKER: [u8; 4] = *b"\x1efd\x1f";

/// The size of the frame header.
const HEADER: usize = MARKER.len() + 8;

/// The maximum size of a message. It exceeds the output of all programs of a cell.
const MAX_MESSAGE: usize = 256 << 20;

pub fn framed(message: &[u8]) -> io::Result<Vec<u8>> {
    let length = u32::try_from(message.len())
        .ok()
        .filter(|length| *length as usize <= MAX_MESSAGE)
        .ok_or_else(|| io::Error::new(ErrorKind::InvalidInput, "a message is too long"))?;
    let mut frame = Vec::with_capacity(HEADER + message.len());
    frame.extend(MARKER);
    frame.extend(length.to_le_bytes());
    frame.extend(crc32fast::hash(message).to_le_bytes());
    frame.extend(message);
    Ok(frame)
}

/// Received bytes, and the messages in them.
#[derive(Debug, Default)]
pub struct Frames {
    bytes: Vec<u8>,
    begun: bool,
}

impl Frames {
    pub fn feed(&mut self, bytes: &[u8]) {
        self.bytes.extend(bytes);
        if !self.begun {
            let mark = self.bytes.windows(MARKER.len()).position(|w| w == MARKER);
            self.begun = mark.is_some();
            let kept = self.bytes.len().saturating_sub(MARKER.len() - 1);
            self.bytes.drain(..mark.unwrap_or(kept));
        }
    }

    /// The next complete message.
    pub fn next(&mut self) -> io::Result<Option<Vec<u8>>> {
        let broken = |what| Err(io::Error::new(ErrorKind::InvalidData, what));
        if !self.begun || self.bytes.len() < HEADER {
            return Ok(None);
        }
        if self.bytes[..MARKER.len()] != MARKER {
            return broken("the line to the guest is out of step");
        }
        let number = |at: usize| {
            let mut four = [0; 4];
            four.copy_from_slice(&self.bytes[at..at + 4]);
            u32::from_le_bytes(four)
        };
        let (length, sum) = (number(MARKER.len()) as usize, number(MARKER.len() + 4));
        if length > MAX_MESSAGE {
            return broken("the line to the guest announces a message that is too long");
        }
        if self.bytes.len() < HEADER + length {
            return Ok(None);
        }
        let message = self.bytes[HEADER..HEADER + length].to_vec();
        self.bytes.drain(..HEADER + length);
        if crc32fast::hash(&message) != sum {
            return broken("a message over the line to the guest was damaged");
        }
        Ok(Some(message))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(frames: &mut Frames) -> Vec<Vec<u8>> {
        std::iter::from_fn(|| frames.next().unwrap()).collect()
    }

    #[test]
    fn messages_come_out_however_their_bytes_come_in() {
        let messages: [&[u8]; 3] = [b"", b"one \x1efd\x1f two", &[0xff; 5000]];
        let mut line = b"echoed\r\n".to_vec();
        for message in messages {
            line.extend(framed(message).unwrap());
        }
        for step in [1, 3, 4, 7, 4096, line.len()] {
            let mut frames = Frames::default();
            let mut received = Vec::new();
            for bytes in line.chunks(step) {
                frames.feed(bytes);
                received.extend(all(&mut frames));
            }
            assert_eq!(received, messages, "{step} at a time");
        }
    }

    #[test]
    fn damage_is_an_error_and_never_a_message() {
        let line = framed(b"a message").unwrap();
        for at in MARKER.len()..line.len() {
            let mut damaged = line.clone();
            damaged[at] ^= 0x41;
            let mut frames = Frames::default();
            frames.feed(&damaged);
            assert!(!matches!(frames.next(), Ok(Some(_))), "byte {at}");
        }
        let mut frames = Frames::default();
        frames.feed(&framed(b"one").unwrap());
        frames.feed(b"stray bytes of another writer");
        assert!(matches!(frames.next(), Ok(Some(_))));
        assert!(frames.next().is_err());
    }
}
