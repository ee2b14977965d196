//! The capabilities of file systems, and the phases that a file system cannot run without them.

use crate::units::{Bytes, Nanos};
use crate::warning::{Warning, WarningKind};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// The capabilities of a file system: of its format and its driver in Linux 6.12, made and mounted
/// with default options.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "independent facts, each checked by itself"
)]
pub struct Capabilities {
    /// How its metadata stays consistent across a power cut.
    pub consistency: Consistency,
    /// The reason why its driver is not maintained with the kernel; none if it is.
    pub unmaintained: Option<&'static str>,
    /// The daemon that frees overwritten and deleted space, which fsdyno does not run.
    pub cleaner: Option<&'static str>,
    /// Several names of one file: link(2).
    pub hard_links: bool,
    /// Symbolic links: symlink(2).
    pub symlinks: bool,
    /// FIFOs, sockets and device nodes: mknod(2).
    pub special_files: bool,
    /// The owner, the group and all permission bits of each file: chown(2), chmod(2).
    pub owners: bool,
    /// Extended attributes of users: setxattr(2).
    pub xattrs: bool,
    /// Holes that take no space on the device.
    pub sparse_files: bool,
    /// Files opened with `O_DIRECT`: open(2).
    pub direct_io: bool,
    /// The size of the largest file; none if it is 2^60 bytes or more.
    pub largest_file: Option<Bytes>,
    /// Whether names that differ only in case are the same name.
    pub case_folding: bool,
    /// Which names a file can have.
    pub names: NameRule,
    /// The resolution of the time of last modification.
    pub mtime_resolution: Nanos,
}

/// How the metadata of a file system stays consistent across a power cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Consistency {
    /// A journal, which is replayed before or at the next mount.
    Journal,
    /// Blocks are never overwritten in place: the newest complete state is found at mount.
    CopyOnWrite,
    /// Nothing: a program has to check and repair it.
    None,
    /// It does not survive a power cut, or fsdyno does not know its kind.
    Unknown,
}

impl Consistency {
    /// Whether metadata survive a power cut without a program that repairs them.
    pub fn survives_power_cuts(self) -> bool {
        matches!(self, Self::Journal | Self::CopyOnWrite)
    }

    /// Its name in lists.
    pub fn name(self) -> &'static str {
        match self {
            Self::Journal => "journal",
            Self::CopyOnWrite => "copy-on-write",
            Self::None => "none",
            Self::Unknown => "-",
        }
    }
}

impl Capabilities {
    /// All capabilities that POSIX and Linux define, without limits. A recipe starts from these and
    /// replaces the fields that differ.
    pub const ALL: Self = Self {
        consistency: Consistency::Unknown,
        unmaintained: None,
        cleaner: None,
        hard_links: true,
        symlinks: true,
        special_files: true,
        owners: true,
        xattrs: true,
        sparse_files: true,
        direct_io: true,
        largest_file: None,
        case_folding: false,
        names: NameRule::BYTES,
        mtime_resolution: Nanos(1),
    };

    /// The reason why the file system `name` lacks what is required; none if it has it.
    pub fn lacks(&self, name: &str, required: Required) -> Option<String> {
        let met = match required {
            Required::HardLinks => self.hard_links,
            Required::Symlinks => self.symlinks,
            Required::SparseFiles => self.sparse_files,
            Required::DirectIo => self.direct_io,
            Required::SpecialFiles => self.special_files,
            Required::FileOf(size) => self.largest_file.is_none_or(|largest| size <= largest),
        };
        if met {
            return None;
        }
        Some(match (required, self.largest_file) {
            (Required::FileOf(size), Some(largest)) => {
                format!(
                    "{name} stores files of up to {largest}, and this phase makes one of {size}"
                )
            }
            _ => format!("{name} has no {required}"),
        })
    }
}

/// A kind of directory entry, with the property that decides whether a file system can store it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EntryKind {
    /// A regular file of this size.
    File(u64),
    /// A directory.
    Directory,
    /// A further name of a file.
    HardLink,
    /// A symbolic link.
    Symlink,
    /// A FIFO, a socket or a device node.
    Special,
}

impl Capabilities {
    /// Checks whether an entry can be stored under this path or name; the error names its kind.
    pub fn stores(&self, kind: EntryKind, path: &[u8]) -> Result<(), &'static str> {
        let (can, what) = match kind {
            EntryKind::File(size) => {
                let fits = self.largest_file.is_none_or(|largest| size <= largest.0);
                (fits, "a file that is too large")
            }
            EntryKind::Directory => (true, "a directory"),
            EntryKind::HardLink => (self.hard_links, "a hard link"),
            EntryKind::Symlink => (self.symlinks, "a symbolic link"),
            EntryKind::Special => (self.special_files, "a special file"),
        };
        if !can {
            return Err(what);
        }
        let mut names = path.split(|byte| *byte == b'/');
        let allowed = |name: &[u8]| matches!(name, b"" | b".") || self.names.allows(name);
        if self.names.unicode && !names.all(allowed) {
            return Err("an entry with a name that it does not allow");
        }
        Ok(())
    }

    /// Whether there are entries that it cannot store, other than files that are too large.
    pub fn is_limited(&self) -> bool {
        !(self.hard_links && self.symlinks && self.special_files) || self.names != NameRule::BYTES
    }

    /// Whether two modification times (seconds and nanoseconds) are equal within the resolution of
    /// the file system.
    pub fn same_time(&self, one: (i64, u32), other: (i64, u32)) -> bool {
        let nanos =
            |(seconds, nanos): (i64, u32)| i128::from(seconds) * 1_000_000_000 + i128::from(nanos);
        let difference = (nanos(one) - nanos(other)).unsigned_abs();
        difference < u128::from(self.mtime_resolution.0)
    }
}

/// Entries of a dataset that were omitted because a file system cannot store them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LeftOut {
    count: u64,
    first: Option<(String, &'static str)>,
}

impl LeftOut {
    /// Adds an entry: its path and its kind.
    pub fn add(&mut self, path: impl FnOnce() -> String, what: &'static str) {
        self.count += 1;
        self.first.get_or_insert_with(|| (path(), what));
    }

    /// How many there are.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The warning for the report; none if no entry was omitted.
    pub fn warning(&self) -> Option<Warning> {
        let (path, what) = self.first.as_ref()?;
        Some(Warning::new(
            WarningKind::Entry,
            format!(
                "{} entries were left out, because the file system cannot store them; the first is \
                 {path}, {what}",
                self.count
            ),
            "its trees are smaller than those of other contenders: leave such entries out of the \
             dataset for equal work",
        ))
    }
}

/// Which names a file can have. No name contains `/` or NUL.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NameRule {
    /// Whether a name must be UTF-8.
    unicode: bool,
    /// Characters that no name contains. If there are any, no name ends with a dot or a space, and
    /// none contains a control character.
    reserved: &'static str,
}

impl NameRule {
    /// Any bytes, as in POSIX.
    pub const BYTES: Self = Self {
        unicode: false,
        reserved: "",
    };

    /// Any text: names are stored in UTF-16.
    pub const UNICODE: Self = Self {
        unicode: true,
        reserved: "",
    };

    /// Text without the characters that Windows reserves.
    pub const WINDOWS: Self = Self {
        unicode: true,
        reserved: "\"*:<>?\\|",
    };

    /// Whether a file can have this name. For any other, the kernel returns an error or stores
    /// another name.
    pub fn allows(&self, name: &[u8]) -> bool {
        if !self.unicode {
            return true;
        }
        let Ok(name) = std::str::from_utf8(name) else {
            return false;
        };
        let reserved = |c: char| c.is_control() || self.reserved.contains(c);
        self.reserved.is_empty() || !(name.ends_with(['.', ' ']) || name.chars().any(reserved))
    }
}

/// A capability of the file system that a phase requires.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Required {
    /// Several names of one file.
    HardLinks,
    /// Symbolic links.
    Symlinks,
    /// Files with holes.
    SparseFiles,
    /// Files opened with `O_DIRECT`.
    DirectIo,
    /// Device nodes.
    SpecialFiles,
    /// A file of this size.
    FileOf(Bytes),
}

impl fmt::Display for Required {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::HardLinks => f.write_str("hard links"),
            Self::Symlinks => f.write_str("symbolic links"),
            Self::SparseFiles => f.write_str("sparse files"),
            Self::DirectIo => f.write_str("direct I/O"),
            Self::SpecialFiles => f.write_str("special files"),
            Self::FileOf(size) => write!(f, "files of {size}"),
        }
    }
}

/// A phase that a contender does not run, because its file system cannot.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct SkippedPhase {
    /// The label of the contender.
    pub contender: String,
    /// The name of the workload.
    pub workload: String,
    /// The label of the phase.
    pub phase: String,
    /// The missing capability: `hard links`.
    pub requirement: String,
    /// The reason, one sentence.
    pub reason: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_capability_is_named_with_its_limit() {
        let few = Capabilities {
            hard_links: false,
            largest_file: Some(Bytes(1 << 32)),
            ..Capabilities::ALL
        };
        let lacks = |required| few.lacks("smallfs", required);
        assert_eq!(lacks(Required::Symlinks), None);
        assert_eq!(lacks(Required::FileOf(Bytes(1 << 32))), None);
        let reason = lacks(Required::HardLinks).unwrap();
        assert_eq!(reason, "smallfs has no hard links");
        let reason = lacks(Required::FileOf(Bytes(5 << 30))).unwrap();
        assert!(
            reason.contains("4.00 GiB") && reason.contains("5.00 GiB"),
            "{reason}"
        );
    }

    #[test]
    fn entries_that_cannot_be_stored_are_named_with_their_kind() {
        let fat = Capabilities {
            symlinks: false,
            largest_file: Some(Bytes(100)),
            names: NameRule::WINDOWS,
            ..Capabilities::ALL
        };
        assert_eq!(fat.stores(EntryKind::File(100), b"./a/b/"), Ok(()));
        assert_eq!(fat.stores(EntryKind::Special, b"a"), Ok(()));
        for (kind, path) in [
            (EntryKind::File(101), &b"a"[..]),
            (EntryKind::Symlink, b"a"),
            (EntryKind::Directory, b"a:/b"),
        ] {
            assert!(fat.stores(kind, path).is_err(), "{kind:?}");
            assert_eq!(Capabilities::ALL.stores(kind, path), Ok(()));
        }
        let mut left_out = LeftOut::default();
        assert_eq!(left_out.warning(), None);
        left_out.add(|| "a/link".to_owned(), "a symbolic link");
        left_out.add(|| "b".to_owned(), "a hard link");
        let message = left_out.warning().unwrap().message;
        assert!(message.starts_with("2 entries") && message.contains("a/link, a symbolic link"));
    }

    #[test]
    fn names_are_refused_where_characters_are_reserved() {
        for name in [&b"a:b"[..], b"dot.", b"blank ", b"tab\t"] {
            assert!(!NameRule::WINDOWS.allows(name), "{name:?}");
            assert!(NameRule::UNICODE.allows(name), "{name:?}");
        }
        assert!(NameRule::WINDOWS.allows("Straße.txt".as_bytes()));
        assert!(!NameRule::UNICODE.allows(b"\xff"));
        assert!(NameRule::BYTES.allows(b"\xff:"));
    }
}
