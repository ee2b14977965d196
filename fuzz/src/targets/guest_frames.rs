//! Frames between host and guest: as they come, and as messages in correct frames, over the line and
//! over a mailbox. What is read is sent again and read back to the same.

use fsdyno_disk::Store;
use fsdyno_disk::mailbox::{MESSAGE_AT, Mailbox};
use fsdyno_lab::fuzz::{FrameReader, FrameWriter, GuestMessage, Task, read_answer};
use serde::Serialize;
use serde::de::DeserializeOwned;

pub fn check(input: &[u8]) {
    both(input);
    // As a message with the right checksum, where mutations of bytes would not come otherwise.
    both(&framed(input));
    posted(input);
    let mut frame = u32::try_from(input.len())
        .unwrap_or(u32::MAX)
        .to_le_bytes()
        .to_vec();
    frame.extend(input);
    posted(&frame);
}

/// Writes a message to a mailbox, its first block last.
fn posted(frame: &[u8]) {
    let deliver = |message: &[u8]| {
        if let Some(sent) = read_answer(message) {
            assert_eq!(read_answer(&sent).as_ref(), Some(&sent));
        }
        Ok(())
    };
    let next = || Ok(Vec::new());
    let mut mailbox = Mailbox::new(Box::new(next), Box::new(deliver));
    let (first, rest) = frame.split_at(frame.len().min(4096));
    // An error ends the guest.
    let _ = mailbox.write_at(MESSAGE_AT + 4096, rest);
    let _ = mailbox.write_at(MESSAGE_AT, first);
}

fn both(line: &[u8]) {
    messages::<GuestMessage>(line);
    messages::<Task>(line);
}

fn messages<M: Serialize + DeserializeOwned>(line: &[u8]) {
    let mut reader: FrameReader<_, M> = FrameReader::new(line);
    while let Ok(Some(message)) = reader.read() {
        let mut sent = Vec::new();
        if FrameWriter(&mut sent).write(&message).is_err() {
            continue;
        }
        let again = FrameReader::<_, M>::new(sent.as_slice()).read();
        let again = again.expect("a written frame is read").expect("a message");
        assert_eq!(
            serde_json::to_value(&again).ok(),
            serde_json::to_value(&message).ok()
        );
    }
}

fn framed(message: &[u8]) -> Vec<u8> {
    let mut frame = b"\x1efd\x1f".to_vec();
    frame.extend(
        u32::try_from(message.len())
            .unwrap_or(u32::MAX)
            .to_le_bytes(),
    );
    frame.extend(crc32fast::hash(message).to_le_bytes());
    frame.extend(message);
    frame
}
