//! Entry points for the fuzz targets.

pub use crate::labs::ssh::fuzz::parse_all;
pub use crate::messages::{GuestMessage, Task};
pub use fsdyno_guests::protocol::{FrameReader, FrameWriter};

use crate::explorer_messages::Answer;

/// Reads a message of a guest that explores crash states; writes it again.
pub fn read_answer(message: &[u8]) -> Option<Vec<u8>> {
    let answer: Answer = serde_json::from_slice(message).ok()?;
    serde_json::to_vec(&answer).ok()
}
