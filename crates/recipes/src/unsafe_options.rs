//! The type of options that give up safety for speed. The recipe of a file system has its own.

/// An option that gives up safety for speed, with the document that describes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UnsafeOption {
    /// A mount option, or a value of an option of mkfs: `data=writeback`, `^has_journal`.
    pub word: &'static str,
    /// What a power cut can take, in a few words.
    pub cost: &'static str,
    /// The document, with its version.
    pub source: &'static str,
}

/// The cost of a mount without flushes of the disk's cache.
pub const NO_FLUSHES: &str =
    "a power cut can take what fsync acknowledged, because the disk's cache is not flushed";
