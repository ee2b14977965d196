//! Frames between host and guest: as they come, and as messages in correct frames. What is read is
//! sent again and read back to the same.

use fsdyno_lab::fuzz::{FrameReader, FrameWriter, GuestMessage, Task};
use serde::Serialize;
use serde::de::DeserializeOwned;

pub fn check(input: &[u8]) {
    both(input);
    // As a message with the right checksum, where mutations of bytes would not come otherwise.
    both(&framed(input));
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
