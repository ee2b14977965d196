//! Programs of operations: what is done to a file system before a power cut.

use serde::{Deserialize, Serialize};

/// A program. Its setup is made durable (`sync`) before the first operation begins, and nothing is
/// recorded until then. Operations have numbers from 0: first the setup, then the operations.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Program {
    /// Makes the small tree that the operations work on.
    pub setup: Vec<Operation>,
    /// The operations under test. After each that returns, its mark is recorded.
    pub operations: Vec<Operation>,
}

/// A file by its path, or by a descriptor that a former operation opened. Paths are relative to the
/// root of the file system and contain no `.` or `..`; the root itself is the empty path.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Target {
    /// A path.
    Path(String),
    /// A name of an open descriptor.
    Descriptor(String),
}

/// How data is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WriteKind {
    /// `pwrite`.
    Plain,
    /// Stores to a shared mapping, without `msync`.
    Mapped,
    /// `pwrite` to a descriptor that was opened with `O_DSYNC`.
    DataSync,
    /// `pwrite` to a descriptor that was opened with `O_SYNC`.
    Sync,
    /// `pwrite` to a descriptor that was opened with `O_DIRECT`; offset and length are multiples of
    /// 4096.
    Direct,
}

/// One operation.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Operation {
    /// `mkdir`.
    Mkdir { path: String },
    /// `open(O_CREAT | O_EXCL)` and `close`.
    Create { path: String },
    /// Writes `length` bytes of [`content`](crate::content) from `offset` on. Without an offset it
    /// appends.
    Write {
        target: Target,
        offset: Option<u64>,
        length: u64,
        kind: WriteKind,
    },
    /// `fallocate`; `keep_size` is `FALLOC_FL_KEEP_SIZE`.
    Allocate {
        target: Target,
        offset: u64,
        length: u64,
        keep_size: bool,
    },
    /// `fallocate(FALLOC_FL_PUNCH_HOLE)`.
    Punch {
        target: Target,
        offset: u64,
        length: u64,
    },
    /// `fallocate(FALLOC_FL_ZERO_RANGE)`.
    Zero {
        target: Target,
        offset: u64,
        length: u64,
    },
    /// `truncate`.
    Truncate { target: Target, length: u64 },
    /// `link`; from a descriptor, `linkat(AT_EMPTY_PATH)`.
    Link { from: Target, to: String },
    /// `symlink`.
    Symlink { text: String, path: String },
    /// `rename`.
    Rename { from: String, to: String },
    /// `renameat2(RENAME_EXCHANGE)`.
    Exchange { one: String, other: String },
    /// `unlink`.
    Unlink { path: String },
    /// `rmdir`.
    Rmdir { path: String },
    /// `setxattr` of a `user.` attribute, with [`content`](crate::content) as its value.
    SetXattr {
        target: Target,
        name: String,
        length: u64,
    },
    /// `removexattr`.
    RemoveXattr { target: Target, name: String },
    /// `chmod`.
    Chmod { target: Target, mode: u32 },
    /// Opens a file and keeps the descriptor under this name.
    Open { path: String, descriptor: String },
    /// `open(O_TMPFILE)` in a directory; keeps the descriptor.
    Temporary {
        directory: String,
        descriptor: String,
    },
    /// Closes a descriptor.
    Close { descriptor: String },
    /// `fsync` of a file or a directory.
    Fsync { target: Target },
    /// `fdatasync`.
    Fdatasync { target: Target },
    /// `sync`.
    Sync,
    /// `syncfs`.
    Syncfs,
}
