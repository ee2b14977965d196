//! What a file system keeps in the blocks of its device.

/// What a file system keeps in a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
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
