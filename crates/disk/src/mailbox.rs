//! A disk without contents, over which a guest receives commands and sends messages: a [`Mailbox`]
//! is its store, and a [`Client`] uses it in the guest.
//!
//! Requests of a guest in virtual time have one order over all its disks. So a message has its exact
//! place among the requests to the other disks, and the guest does not notice how long the host
//! takes for a command.
//!
//! A frame is its length (32 bits, little endian) and its bytes, in blocks of 4096 bytes. A read at
//! [`COMMAND_AT`] waits for the next command; reads after it return the rest of its frame. A message
//! is complete with the write of its first block at [`MESSAGE_AT`]; its other blocks are written
//! before.

use crate::store::Store;
use std::io::{self, ErrorKind};
use std::os::unix::fs::FileExt;

/// The size of the disk, bytes.
pub const BYTES: u64 = 64 << 20;

/// The offset of commands. The kernel reads the first and the last sectors of any disk.
pub const COMMAND_AT: u64 = 16 << 20;

pub const MESSAGE_AT: u64 = 32 << 20;

/// The maximum number of bytes of a frame, its length field included.
pub const MAX_SLOT: usize = 8 << 20;

const BLOCK: usize = 4096;

/// Bytes of the length.
const HEAD: usize = 4;

/// The next command for the guest. It waits until there is one; an error ends the disk.
pub type Next = Box<dyn FnMut() -> io::Result<Vec<u8>> + Send>;

/// Takes a message of the guest. An error ends the disk.
pub type Deliver = Box<dyn FnMut(&[u8]) -> io::Result<()> + Send>;

/// The host's end. A guest that writes anything but frames gets an error.
pub struct Mailbox {
    next: Next,
    deliver: Deliver,
    /// The frame of the current command.
    command: Vec<u8>,
    /// The blocks of the next message.
    message: Vec<u8>,
}

impl Mailbox {
    /// Creates the store from the source of commands and the receiver of messages.
    pub fn new(next: Next, deliver: Deliver) -> Self {
        Self {
            next,
            deliver,
            command: Vec::new(),
            message: Vec::new(),
        }
    }
}

impl Store for Mailbox {
    fn read_at(&mut self, at: u64, into: &mut [u8]) -> io::Result<()> {
        into.fill(0);
        if at == COMMAND_AT {
            self.command = frame(&(self.next)()?)?;
        }
        let from = at.checked_sub(COMMAND_AT).map(usize::try_from);
        if let Some(Ok(from)) = from
            && let Some(rest) = self.command.get(from..)
        {
            let count = rest.len().min(into.len());
            into[..count].copy_from_slice(&rest[..count]);
        }
        Ok(())
    }

    fn write_at(&mut self, at: u64, bytes: &[u8]) -> io::Result<()> {
        let from = at.checked_sub(MESSAGE_AT).map(usize::try_from);
        let Some(Ok(from)) = from else {
            return Err(invalid("it wrote outside the place of messages"));
        };
        let end = from + bytes.len();
        if end > MAX_SLOT {
            return Err(invalid("its message is too long"));
        }
        if self.message.len() < end {
            self.message.resize(end, 0);
        }
        self.message[from..end].copy_from_slice(bytes);
        if from != 0 {
            return Ok(());
        }
        let message = std::mem::take(&mut self.message);
        (self.deliver)(content(&message)?)
    }

    fn clear(&mut self, _at: u64, _length: u64) -> io::Result<()> {
        Err(invalid("it cleared the place of messages"))
    }
}

/// The guest's end of a mailbox.
#[derive(Debug)]
pub struct Client<F> {
    file: F,
    buffer: Vec<u8>,
}

impl<F: FileExt> Client<F> {
    /// Uses the disk, which is open for direct reads and writes (`O_DIRECT`).
    pub fn new(file: F) -> Self {
        Self {
            file,
            buffer: Vec::new(),
        }
    }

    /// Waits for the next command.
    pub fn receive(&mut self) -> io::Result<Vec<u8>> {
        let file = &self.file;
        let blocks = aligned(&mut self.buffer, BLOCK);
        file.read_exact_at(blocks, COMMAND_AT)?;
        let length = length(blocks)?;
        let mut all = blocks.to_vec();
        if length > BLOCK {
            let rest = aligned(&mut self.buffer, padded(length) - BLOCK);
            file.read_exact_at(rest, COMMAND_AT + BLOCK as u64)?;
            all.extend_from_slice(rest);
        }
        all.truncate(length);
        all.drain(..HEAD);
        Ok(all)
    }

    /// Sends a message. It has arrived when this returns.
    pub fn send(&mut self, message: &[u8]) -> io::Result<()> {
        let frame = frame(message)?;
        let blocks = aligned(&mut self.buffer, padded(frame.len()));
        blocks.fill(0);
        blocks[..frame.len()].copy_from_slice(&frame);
        let (first, rest) = blocks.split_at(BLOCK);
        if !rest.is_empty() {
            self.file.write_all_at(rest, MESSAGE_AT + BLOCK as u64)?;
        }
        self.file.write_all_at(first, MESSAGE_AT)
    }
}

/// A part of the buffer that begins at a multiple of the block size, as direct I/O needs it.
fn aligned(buffer: &mut Vec<u8>, length: usize) -> &mut [u8] {
    if buffer.len() < length + BLOCK {
        buffer.resize(length + BLOCK, 0);
    }
    let skip = buffer.as_ptr().align_offset(BLOCK).min(BLOCK);
    &mut buffer[skip..skip + length]
}

fn padded(length: usize) -> usize {
    length.div_ceil(BLOCK) * BLOCK
}

fn frame(bytes: &[u8]) -> io::Result<Vec<u8>> {
    let length = u32::try_from(bytes.len()).ok();
    let length = length.filter(|_| bytes.len() + HEAD <= MAX_SLOT);
    let length = length.ok_or_else(|| invalid("the message is too long"))?;
    let mut frame = Vec::with_capacity(HEAD + bytes.len());
    frame.extend(length.to_le_bytes());
    frame.extend(bytes);
    Ok(frame)
}

/// The length of a frame that begins with these bytes, its head included.
fn length(begin: &[u8]) -> io::Result<usize> {
    let head = begin.first_chunk::<HEAD>();
    let length = head.map_or(usize::MAX, |head| u32::from_le_bytes(*head) as usize);
    match length.checked_add(HEAD) {
        Some(length) if length <= MAX_SLOT => Ok(length),
        _ => Err(invalid("the length of the message is impossible")),
    }
}

fn content(frame: &[u8]) -> io::Result<&[u8]> {
    let content = frame.get(HEAD..length(frame)?);
    content.ok_or_else(|| invalid("its message is incomplete"))
}

fn invalid(what: &str) -> io::Error {
    io::Error::new(ErrorKind::InvalidData, format!("a guest's mailbox: {what}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::sync::mpsc::{Receiver, Sender, channel};
    use std::sync::{Mutex, PoisonError};

    struct Shared(Mutex<Mailbox>);

    impl FileExt for Shared {
        fn read_at(&self, into: &mut [u8], at: u64) -> io::Result<usize> {
            assert_eq!(into.as_ptr().align_offset(512), 0);
            let mut store = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            // The kernel splits large requests.
            let count = into.len().min(3 * BLOCK);
            store.read_at(at, &mut into[..count]).map(|()| count)
        }

        fn write_at(&self, bytes: &[u8], at: u64) -> io::Result<usize> {
            assert_eq!(bytes.as_ptr().align_offset(512), 0);
            let mut store = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            let count = bytes.len().min(3 * BLOCK);
            store.write_at(at, &bytes[..count]).map(|()| count)
        }
    }

    fn mailbox() -> (Mailbox, Sender<Vec<u8>>, Receiver<Vec<u8>>) {
        let (commands, next) = channel();
        let (deliver, messages) = channel();
        let next = move || next.try_recv().map_err(io::Error::other);
        let deliver =
            move |message: &[u8]| deliver.send(message.to_vec()).map_err(io::Error::other);
        let mailbox = Mailbox::new(Box::new(next), Box::new(deliver));
        (mailbox, commands, messages)
    }

    #[test]
    fn frames_of_any_length_arrive_in_both_directions() {
        let (mailbox, commands, messages) = mailbox();
        let mut client = Client::new(Shared(Mutex::new(mailbox)));
        for length in [
            0,
            1,
            BLOCK - HEAD,
            BLOCK - HEAD + 1,
            70_001,
            MAX_SLOT - HEAD,
        ] {
            let bytes: Vec<u8> = (0..length)
                .map(|n| u8::try_from(n % 251).unwrap())
                .collect();
            commands.send(bytes.clone()).unwrap();
            assert!(client.receive().unwrap() == bytes, "{length}");
            client.send(&bytes).unwrap();
            assert!(messages.try_recv().unwrap() == bytes, "{length}");
        }
        assert!(client.send(&vec![0; MAX_SLOT]).is_err());
        assert!(client.receive().is_err(), "no host");
    }

    #[test]
    fn the_kernel_may_read_the_partitions_of_the_disk() {
        let (mut mailbox, _commands, _messages) = mailbox();
        for at in [0, 512, BYTES - 4096, COMMAND_AT - 4096, COMMAND_AT + 4096] {
            let mut read = [1; 4096];
            mailbox.read_at(at, &mut read).unwrap();
            assert!(read.iter().all(|byte| *byte == 0));
        }
    }

    proptest! {
        #[test]
        fn garbage_of_a_guest_is_an_error_and_no_panic(
            writes in proptest::collection::vec(
                (
                    prop_oneof![
                        Just(MESSAGE_AT),
                        MESSAGE_AT..MESSAGE_AT + 2 * MAX_SLOT as u64,
                        any::<u64>(),
                    ],
                    proptest::collection::vec(any::<u8>(), 0..5000),
                ),
                0..8,
            )
        ) {
            let (mut mailbox, _commands, messages) = mailbox();
            for (at, bytes) in writes {
                let _ = mailbox.write_at(at, &bytes);
                while let Ok(message) = messages.try_recv() {
                    prop_assert!(message.len() < MAX_SLOT);
                }
            }
        }
    }
}
