//! Programs of operations: what is done to a file system before a power cut.

use fsdyno_model::Nanos;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// The mode of a new file.
pub const FILE_MODE: u32 = 0o644;

/// The mode of a new directory.
pub const DIRECTORY_MODE: u32 = 0o755;

/// A program. Its setup is made durable (`sync`) before the first operation begins, and nothing is
/// recorded until then. Operations have numbers from 0: first the setup, then the operations.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Program {
    /// Makes the small tree that the operations work on.
    pub setup: Vec<Operation>,
    /// The operations under test. After each that returns, its mark is recorded.
    pub operations: Vec<Operation>,
}

/// A program of several activities, whose operations begin at given times.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TimedProgram {
    /// The program.
    pub program: Program,
    /// When each operation under test begins at the earliest, after the setup.
    pub begins: Vec<Nanos>,
    /// The names of the activities.
    pub activities: Vec<String>,
    /// The activity of each operation, first of those of the setup.
    pub activity_of: Vec<usize>,
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

/// A special file, which is made and never opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SpecialKind {
    /// A FIFO.
    Fifo,
    /// The character device of [`DEVICE`].
    Device,
}

/// The major and minor number of a [`SpecialKind::Device`]: those of `/dev/null`.
pub const DEVICE: (u32, u32) = (1, 3);

/// One operation.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Operation {
    /// `mkdir`, with the mode [`DIRECTORY_MODE`].
    Mkdir {
        /// The new directory.
        path: String,
    },
    /// `open(O_CREAT | O_EXCL)`, with the mode [`FILE_MODE`], and `close`.
    Create {
        /// The new file.
        path: String,
    },
    /// Writes `length` bytes of [`content`](crate::content) from `offset` on. Without an offset it
    /// appends.
    Write {
        /// The file.
        target: Target,
        /// First byte; none for the end of the file.
        offset: Option<u64>,
        /// Number of bytes.
        length: u64,
        /// The system call.
        kind: WriteKind,
    },
    /// `fallocate`; `keep_size` is `FALLOC_FL_KEEP_SIZE`.
    Allocate {
        /// The file.
        target: Target,
        /// First byte.
        offset: u64,
        /// Number of bytes.
        length: u64,
        /// Whether the file keeps its size.
        keep_size: bool,
    },
    /// `fallocate(FALLOC_FL_PUNCH_HOLE)`.
    Punch {
        /// The file.
        target: Target,
        /// First byte.
        offset: u64,
        /// Number of bytes.
        length: u64,
    },
    /// `fallocate(FALLOC_FL_ZERO_RANGE)`.
    Zero {
        /// The file.
        target: Target,
        /// First byte.
        offset: u64,
        /// Number of bytes.
        length: u64,
    },
    /// `fallocate(FALLOC_FL_COLLAPSE_RANGE)`: removes a range, and what follows moves to it.
    Collapse {
        /// The file.
        target: Target,
        /// First byte; it and the length are multiples of 4096.
        offset: u64,
        /// Number of bytes.
        length: u64,
    },
    /// `fallocate(FALLOC_FL_INSERT_RANGE)`: what follows moves away, and zeros are there.
    Insert {
        /// The file.
        target: Target,
        /// First byte; it and the length are multiples of 4096.
        offset: u64,
        /// Number of bytes.
        length: u64,
    },
    /// Copies a range of a file to the same place in another one.
    Copy {
        /// The file that is read.
        from: Target,
        /// The file that is written.
        to: Target,
        /// First byte in both.
        offset: u64,
        /// Number of bytes.
        length: u64,
        /// Whether both then share the blocks (`FICLONERANGE`); else `copy_file_range`.
        shared: bool,
    },
    /// `truncate`.
    Truncate {
        /// The file.
        target: Target,
        /// Its new length, bytes.
        length: u64,
    },
    /// `link`; from a descriptor, `linkat(AT_EMPTY_PATH)`.
    Link {
        /// The file.
        from: Target,
        /// Its new name.
        to: String,
    },
    /// `symlink`.
    Symlink {
        /// The target text. No operation follows the link.
        text: String,
        /// The new symbolic link.
        path: String,
    },
    /// `mknod`, with the mode [`FILE_MODE`].
    MakeNode {
        /// The new file.
        path: String,
        /// What it is.
        kind: SpecialKind,
    },
    /// `rename`.
    Rename {
        /// The old name.
        from: String,
        /// The new name. A file or an empty directory of this name is replaced.
        to: String,
    },
    /// `renameat2(RENAME_EXCHANGE)`.
    Exchange {
        /// A name.
        one: String,
        /// The name that it changes places with.
        other: String,
    },
    /// `unlink`.
    Unlink {
        /// The name.
        path: String,
    },
    /// `rmdir`.
    Rmdir {
        /// The empty directory.
        path: String,
    },
    /// `setxattr` of a `user.` attribute, with [`content`](crate::content) as its value.
    SetXattr {
        /// The file.
        target: Target,
        /// The attribute.
        name: String,
        /// Number of bytes.
        length: u64,
    },
    /// `removexattr`.
    RemoveXattr {
        /// The file.
        target: Target,
        /// The attribute.
        name: String,
    },
    /// `chmod`.
    Chmod {
        /// The file.
        target: Target,
        /// Permissions: 12 bits.
        mode: u32,
    },
    /// Opens a file and keeps the descriptor under this name.
    Open {
        /// The file or directory.
        path: String,
        /// The name of its descriptor.
        descriptor: String,
    },
    /// `open(O_TMPFILE)` in a directory, with the mode [`FILE_MODE`]; keeps the descriptor.
    Temporary {
        /// The directory.
        directory: String,
        /// The name of its descriptor.
        descriptor: String,
    },
    /// Closes a descriptor.
    Close {
        /// The name of the descriptor.
        descriptor: String,
    },
    /// `fsync` of a file or a directory.
    Fsync {
        /// The file or directory.
        target: Target,
    },
    /// `fdatasync`.
    Fdatasync {
        /// The file or directory.
        target: Target,
    },
    /// `msync(MS_SYNC)` of a shared mapping of a range.
    Msync {
        /// The file.
        target: Target,
        /// First byte.
        offset: u64,
        /// Number of bytes.
        length: u64,
    },
    /// `sync_file_range`, which waits for the writes of a range. It makes nothing durable.
    SyncRange {
        /// The file.
        target: Target,
        /// First byte.
        offset: u64,
        /// Number of bytes.
        length: u64,
    },
    /// Evicts inodes, names and data from memory that are on the disk: `/proc/sys/vm/drop_caches`.
    DropCaches,
    /// `sync`.
    Sync,
    /// `syncfs`.
    Syncfs,
    /// A power cut, after the operations before it or during them. After the recovery, those of the
    /// later operations are performed that can succeed, and the power is cut again.
    Cut,
    /// `pread` of a range; without one, `read` until the end of the file.
    Read {
        /// The file.
        target: Target,
        /// First byte and number of bytes.
        range: Option<(u64, u64)>,
    },
    /// `stat`; of a descriptor, `fstat`.
    Stat {
        /// The file or directory.
        target: Target,
    },
    /// `getdents` of a whole directory.
    List {
        /// The directory.
        path: String,
    },
}

impl Program {
    /// All operations with their numbers: first the setup.
    pub fn numbered(&self) -> impl Iterator<Item = (u32, &Operation)> {
        (0..).zip(self.setup.iter().chain(&self.operations))
    }

    /// The number of the first operation under test.
    pub fn first(&self) -> u32 {
        u32::try_from(self.setup.len()).unwrap_or(u32::MAX)
    }

    /// The operation of this number.
    pub fn operation(&self, number: u32) -> Option<&Operation> {
        let number = usize::try_from(number).ok()?;
        let (setup, tested) = (&self.setup, &self.operations);
        setup
            .get(number)
            .or_else(|| tested.get(number.checked_sub(setup.len())?))
    }

    /// The number of its power cut, if operations follow one.
    pub fn cut(&self) -> Option<u32> {
        let mut operations = self.numbered();
        operations
            .find(|(_, operation)| **operation == Operation::Cut)
            .map(|(number, _)| number)
    }

    /// The program until its power cut.
    #[must_use]
    pub fn before_cut(&self) -> Self {
        let before = self.operations.iter();
        Self {
            setup: self.setup.clone(),
            operations: before
                .take_while(|operation| **operation != Operation::Cut)
                .cloned()
                .collect(),
        }
    }

    /// This program with those lines of its setup whose files its operations use; unchanged if it
    /// cannot succeed with these alone.
    #[must_use]
    pub fn with_needed_setup(&self) -> Self {
        let mut named: BTreeSet<&str> = self.operations.iter().flat_map(places).collect();
        let mut setup = Vec::new();
        for operation in self.setup.iter().rev() {
            if operation.paths().iter().any(|path| named.contains(path)) {
                named.extend(places(operation));
                setup.insert(0, operation.clone());
            }
        }
        let program = Self {
            setup,
            operations: self.operations.clone(),
        };
        // A moved directory has its files under other paths: then all are needed.
        match program.check() {
            Ok(()) => program,
            Err(_) => self.clone(),
        }
    }
}

/// The paths of an operation and their directories.
fn places(operation: &Operation) -> Vec<&str> {
    let mut places = Vec::new();
    for path in operation.paths() {
        let slashes = path.match_indices('/').map(|(at, _)| at);
        places.extend(slashes.chain([path.len()]).map(|end| &path[..end]));
    }
    places
}

impl Operation {
    /// Whether its return promises that something is durable.
    pub fn is_persistence(&self) -> bool {
        matches!(
            self,
            Self::Fsync { .. }
                | Self::Fdatasync { .. }
                | Self::Msync { .. }
                | Self::Sync
                | Self::Syncfs
                | Self::Write {
                    kind: WriteKind::DataSync | WriteKind::Sync,
                    ..
                }
        )
    }

    /// What it does to a file, as the first word of its text form.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Mkdir { .. } => "mkdir",
            Self::Create { .. } => "create",
            Self::Write {
                offset: Some(_),
                kind,
                ..
            } => match kind {
                WriteKind::Plain => "write",
                WriteKind::Mapped => "write-mapped",
                WriteKind::DataSync => "write-dsync",
                WriteKind::Sync => "write-sync",
                WriteKind::Direct => "write-direct",
            },
            Self::Write {
                offset: None, kind, ..
            } => match kind {
                WriteKind::Plain => "append",
                WriteKind::Mapped => "append-mapped",
                WriteKind::DataSync => "append-dsync",
                WriteKind::Sync => "append-sync",
                WriteKind::Direct => "append-direct",
            },
            Self::Allocate { .. } => "allocate",
            Self::Punch { .. } => "punch",
            Self::Zero { .. } => "zero",
            Self::Collapse { .. } => "collapse",
            Self::Insert { .. } => "insert",
            Self::Copy { shared, .. } => {
                if *shared {
                    "clone"
                } else {
                    "copy"
                }
            }
            Self::Truncate { .. } => "truncate",
            Self::Link { .. } => "link",
            Self::Symlink { .. } => "symlink",
            Self::MakeNode { kind, .. } => match kind {
                SpecialKind::Fifo => "fifo",
                SpecialKind::Device => "device",
            },
            Self::Rename { .. } => "rename",
            Self::Exchange { .. } => "exchange",
            Self::Unlink { .. } => "unlink",
            Self::Rmdir { .. } => "rmdir",
            Self::SetXattr { .. } => "setxattr",
            Self::RemoveXattr { .. } => "removexattr",
            Self::Chmod { .. } => "chmod",
            Self::Open { .. } => "open",
            Self::Temporary { .. } => "temporary",
            Self::Close { .. } => "close",
            Self::Fsync { .. } => "fsync",
            Self::Fdatasync { .. } => "fdatasync",
            Self::Msync { .. } => "msync",
            Self::SyncRange { .. } => "sync-range",
            Self::DropCaches => "drop-caches",
            Self::Cut => "cut",
            Self::Sync => "sync",
            Self::Syncfs => "syncfs",
            Self::Read { .. } => "read",
            Self::Stat { .. } => "stat",
            Self::List { .. } => "list",
        }
    }

    /// The paths that it names.
    pub fn paths(&self) -> Vec<&str> {
        match self {
            Self::Mkdir { path }
            | Self::Create { path }
            | Self::MakeNode { path, .. }
            | Self::Symlink { path, .. }
            | Self::Unlink { path }
            | Self::Rmdir { path }
            | Self::List { path }
            | Self::Open { path, .. } => vec![path],
            Self::Rename { from, to } => vec![from, to],
            Self::Exchange { one, other } => vec![one, other],
            Self::Copy { from, to, .. } => from.path().into_iter().chain(to.path()).collect(),
            Self::Temporary { directory, .. } => vec![directory],
            Self::Link { from, to } => from.path().into_iter().chain([&**to]).collect(),
            Self::Write { target, .. }
            | Self::Allocate { target, .. }
            | Self::Punch { target, .. }
            | Self::Zero { target, .. }
            | Self::Collapse { target, .. }
            | Self::Insert { target, .. }
            | Self::Truncate { target, .. }
            | Self::SetXattr { target, .. }
            | Self::RemoveXattr { target, .. }
            | Self::Chmod { target, .. }
            | Self::Read { target, .. }
            | Self::Stat { target }
            | Self::Msync { target, .. }
            | Self::SyncRange { target, .. }
            | Self::Fsync { target }
            | Self::Fdatasync { target } => target.path().into_iter().collect(),
            Self::Close { .. } | Self::DropCaches | Self::Cut | Self::Sync | Self::Syncfs => {
                Vec::new()
            }
        }
    }
}

impl Target {
    /// Its path, if it is one.
    pub fn path(&self) -> Option<&str> {
        match self {
            Self::Path(path) => Some(path),
            Self::Descriptor(_) => None,
        }
    }
}
