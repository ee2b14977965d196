//! What the options of a file system protect, or save: the same file system with it and without it.

/// A protection that options turn on or off.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Protection {
    /// Its name in a sentence: `checksums of data`.
    pub name: &'static str,
    /// The options with it, in the form of a contender after the name of the file system.
    pub with: &'static str,
    /// The options without it.
    pub without: &'static str,
    /// What else these options change, in a few words; none if nothing else.
    pub also: Option<&'static str>,
    /// The document that describes them, with its version.
    pub source: &'static str,
}
