//! What a file system keeps in the blocks of its device.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a file system keeps in a block.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, JsonSchema, Serialize, Deserialize,
)]
#[serde(rename_all = "kebab-case")]
pub enum BlockRole {
    /// The journal or log, except for what commits a transaction.
    Journal,
    /// A block that commits a transaction.
    Commit,
    /// A superblock.
    Superblock,
    /// A bitmap, or another map of free space.
    AllocationMap,
    /// Inodes.
    InodeTable,
    /// Entries of a directory.
    Directory,
    /// Data of files.
    Data,
    /// Not known. Requests at near addresses then count as a group.
    Unknown,
}

impl BlockRole {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Journal => "journal",
            Self::Commit => "commit",
            Self::Superblock => "superblock",
            Self::AllocationMap => "allocation map",
            Self::InodeTable => "inode table",
            Self::Directory => "directory",
            Self::Data => "data",
            Self::Unknown => "other metadata",
        }
    }
}
