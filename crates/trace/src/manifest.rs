//! The tree at the start of a recording: one entry for each name. Contents are never recorded.

use crate::PathId;
use serde::{Deserialize, Serialize};

/// A name in the tree, and what it names.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// Its path. The first entry of a recording is the root, a directory.
    pub path: PathId,
    /// Permissions, with set-user-ID, set-group-ID and sticky: 12 bits.
    pub mode: u32,
    pub kind: EntryKind,
    /// Its extended attributes.
    pub xattrs: Vec<XattrSize>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum EntryKind {
    Directory,
    File {
        /// Bytes.
        size: u64,
        /// Ranges without data, in ascending order, at most [`crate::MAX_HOLES`].
        holes: Vec<Hole>,
        /// Extents on the device, as `filefrag` counts them. None if the file system has no map.
        extents: Option<u32>,
        /// Compressed size of a sample, in thousandths of its size: 1000 is incompressible. None if
        /// there is no data to read.
        compressed_permille: Option<u16>,
    },
    /// Another name of a regular file that has an entry already.
    HardLink {
        /// The earlier path of the same file.
        to: PathId,
    },
    Symlink {
        target: LinkTarget,
    },
    Fifo,
    /// A socket in the file system.
    Socket,
    /// A block or character device. A replay does not create it.
    Device,
}

/// A range of a file without data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hole {
    /// First byte.
    pub offset: u64,
    /// Bytes.
    pub length: u64,
}

/// The target of a symbolic link. The text of a link that leads out of the tree is not recorded.
///
/// A rename of a directory can make a relative link lead out of the tree. So a replay must resolve
/// paths with `RESOLVE_BENEATH` (openat2(2)) or equivalent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum LinkTarget {
    /// Relative text: no `..` after a name, and no more of them than directories above the link.
    Relative(Vec<u8>),
    /// An absolute link to a path in the tree.
    Inside(PathId),
    /// A link out of the tree. A replay creates a dangling link of this length.
    Outside {
        /// Bytes of the text.
        length: u32,
    },
}

/// An extended attribute: its name, and the size of its value.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct XattrSize {
    /// Name, as `user.comment`.
    pub name: String,
    /// Bytes of the value.
    pub size: u32,
}
