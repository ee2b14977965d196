//! Errors of reading a recording.

use crate::check::Invalid;
use std::io;
use std::path::PathBuf;

/// A recording that cannot be read, or not further.
#[derive(Debug, thiserror::Error)]
pub enum TraceError {
    #[error("cannot open the recording {}: {source}", path.display())]
    Open { path: PathBuf, source: io::Error },
    /// The file does not start with the mark of a recording.
    #[error("this is not a recording of fsdyno: `fsdyno record` writes one")]
    NoRecording,
    /// The format is newer than this program.
    #[error(
        "the recording has format {found}, and this fsdyno reads formats up to {}: use a newer fsdyno",
        crate::VERSION
    )]
    Newer {
        /// The version of the file.
        found: u32,
    },
    /// The file ends early.
    #[error(
        "the recording is truncated at byte {at}: its recorder was killed, or the copy is not complete"
    )]
    Truncated {
        /// Offset in the file.
        at: u64,
    },
    /// The bytes are not those that were written.
    #[error("the recording is corrupt at byte {at}: {what}")]
    Corrupt {
        /// Offset of the block in the file.
        at: u64,
        what: &'static str,
    },
    #[error("the recording is invalid in the block at byte {at}, item {item}: {source}")]
    Invalid {
        /// Offset of the block in the file.
        at: u64,
        /// Number of the item in the recording, from 1.
        item: u64,
        source: Invalid,
    },
    #[error("cannot read the recording at byte {at}: {source}")]
    Read {
        /// Offset in the file.
        at: u64,
        source: io::Error,
    },
}
