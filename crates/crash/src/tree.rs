//! The files of a recovered file system, as far as they are compared ([`crate::attributes`]).

use crate::operation::SpecialKind;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A tree: its entries by path, the root as the empty path.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Tree {
    /// The entries.
    pub entries: BTreeMap<String, Entry>,
    /// A hash of the data with bytes of [`Source::Other`]; 0 without any.
    #[serde(default)]
    pub other: u64,
}

/// One entry of a directory.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Entry {
    /// Its kind.
    pub kind: EntryKind,
    /// Permissions; none of a symbolic link.
    pub mode: Option<u32>,
    /// Number of links; none of a directory.
    pub links: Option<u64>,
    /// The same number for each name of one inode, counted from 0 in the order of paths.
    pub inode: u32,
    /// The `user.` attributes: their names and the sources of their values.
    pub xattrs: BTreeMap<String, Vec<Run>>,
    /// The name of the errno if a part could not be read; the parts that could be read are valid.
    pub unreadable: Option<String>,
}

/// The kind of an entry.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum EntryKind {
    /// A regular file.
    File {
        /// Its length, bytes.
        size: u64,
        /// The sources of its bytes.
        runs: Vec<Run>,
    },
    /// A directory.
    Directory,
    /// A symbolic link.
    Symlink {
        /// Its text.
        text: String,
    },
    /// A FIFO, or a device with the number of [`DEVICE`](crate::DEVICE).
    Special {
        /// Which of them.
        kind: SpecialKind,
    },
    /// Another kind, which no operation makes.
    Other,
}

/// Bytes of one source.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Run {
    /// First byte.
    pub offset: u64,
    /// Number of bytes.
    pub length: u64,
    /// Their source.
    pub source: Source,
}

/// The source of bytes of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Source {
    /// The operation of this number wrote them, at this offset.
    Operation(u32),
    /// The operation of this number wrote them, at an offset that is greater by `by`.
    Moved {
        /// The operation.
        operation: u32,
        /// The offset at which it wrote them, less that at which they are.
        by: i64,
    },
    /// These bytes, which several operations wrote, or one in part: at most one unit of
    /// [`content`](crate::content), with zeros behind it.
    Bytes([u8; 16]),
    /// Zeros.
    Zeros,
    /// Free space of the disk, which nothing had written.
    Free,
    /// None of these.
    Other,
}
