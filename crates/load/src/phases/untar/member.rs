//! A member of an archive, and the reasons why an archive cannot be read.

use crate::engines::meta::{Kind, Meta, Timestamp};
use std::io;

/// The unit of an archive.
pub(super) const BLOCK: u64 = 512;
pub(super) const BLOCK_BYTES: usize = 512;

/// The reason why an archive cannot be read further.
#[derive(Debug)]
pub(super) enum Broken {
    Read(io::Error),
    Content(String),
}

impl From<io::Error> for Broken {
    fn from(error: io::Error) -> Self {
        if error.kind() == io::ErrorKind::UnexpectedEof {
            return Self::Content("ends in the middle of a member".to_owned());
        }
        Self::Read(error)
    }
}

/// One member. It is reused, so that names keep their buffers.
#[derive(Debug)]
pub(super) struct Member {
    pub path: Vec<u8>,
    pub link: Vec<u8>,
    pub hard_link: bool,
    /// Kind, mode, owner, times and the real size.
    pub meta: Meta,
    /// Bytes that follow in the archive, without padding.
    pub stored: u64,
    /// The ranges of the following bytes in a sparse file: offset and length.
    pub stretches: Option<Vec<(u64, u64)>>,
}

impl Member {
    /// A member with buffers for its names.
    pub fn new() -> Self {
        let timestamp = Timestamp::default();
        Self {
            path: Vec::with_capacity(BLOCK_BYTES),
            link: Vec::with_capacity(BLOCK_BYTES),
            hard_link: false,
            meta: Meta {
                kind: Kind::File,
                mode: 0,
                uid: 0,
                gid: 0,
                dev: 0,
                ino: 0,
                links: 1,
                rdev: 0,
                size: 0,
                space: 0,
                accessed: Timestamp::OMIT,
                modified: timestamp,
            },
            stored: 0,
            stretches: None,
        }
    }
}
