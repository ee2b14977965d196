//! What can go wrong with a dataset: before and while it is created.

use fsdyno_model::Bytes;
use fsdyno_model::printable::is_steering;
use std::fmt::Write as _;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// A dataset that cannot be opened or created.
#[derive(Debug, thiserror::Error)]
pub enum DatasetError {
    /// No generator has that name.
    #[error(
        "`{name}` is no dataset fsdyno knows; it knows {known}, and tree:DIR, tar:FILE, file:FILE"
    )]
    Unknown {
        /// What was requested.
        name: String,
        /// The names there are.
        known: String,
    },
    /// The scale is no number to multiply by.
    #[error("a dataset cannot be scaled by {scale}; give a number above 0 and up to 1000")]
    Scale {
        /// What was requested.
        scale: f64,
    },
    /// A system call failed.
    #[error("cannot {doing} {}: {source}", shown(.path))]
    Io {
        /// What was attempted, as a verb: `open`, `write to`.
        doing: &'static str,
        /// On what.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// The path is not of the kind its prefix states.
    #[error("{} is {is}, not {wanted}; {way_out}", shown(.path))]
    WrongKind {
        /// The path.
        path: PathBuf,
        /// What it is.
        is: &'static str,
        /// What it should be.
        wanted: &'static str,
        /// What to type instead.
        way_out: &'static str,
    },
    /// Entries of a tree cannot be read, or cannot be made by this user.
    #[error("{} cannot be taken as `cp -a` would: {}", shown(.tree), refusal_list(.first, *.count))]
    Refused {
        /// The tree.
        tree: PathBuf,
        /// How many entries are refused.
        count: u64,
        /// The first of them, with the reason.
        first: Vec<Refusal>,
    },
    /// The work directory is inside the tree to be copied.
    #[error("{} holds the place it would be copied to, {}; work elsewhere", shown(.tree), shown(.work_dir))]
    Inside {
        /// The tree.
        tree: PathBuf,
        /// Where it was to be created.
        work_dir: PathBuf,
    },
    /// An archive that is not whole, or in no format known here.
    #[error("{} cannot be read as an archive{}: {source}", shown(.path), after_member(.member.as_deref()))]
    Archive {
        /// The archive.
        path: PathBuf,
        /// The last member that could be read, where there was one.
        member: Option<PathBuf>,
        /// The reason.
        source: io::Error,
    },
    /// A member that would be written outside of the place it is unpacked in, or that cannot be.
    #[error("{} is refused: its member {} {why}", shown(.path), shown(.member))]
    Member {
        /// The archive.
        path: PathBuf,
        /// The member.
        member: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// An archive that holds more than there is room for.
    #[error(
        "{} is refused: up to its member {} it needs more than {room} unpacked, and no more is free; \
         make room, or name a place with more",
        shown(.path), shown(.member)
    )]
    TooLarge {
        /// The archive.
        path: PathBuf,
        /// The first member that does not fit.
        member: PathBuf,
        /// The room that there is.
        room: Bytes,
    },
    /// The dataset is not delivered as an archive.
    #[error("`{name}` is not an archive: only `ports` and tar:FILE can be unpacked")]
    NoArchive {
        /// The dataset.
        name: String,
    },
    /// It changed between the beginning and the end of reading it.
    #[error("the dataset {dataset} changed while it was read; keep it unchanged during a run")]
    Changed {
        /// The dataset, as typed.
        dataset: String,
    },
    /// A stop was requested.
    #[error("stopped while reading or creating the dataset")]
    Stopped,
}

/// One entry that is refused.
#[derive(Debug)]
pub struct Refusal {
    /// The entry.
    pub path: PathBuf,
    /// Why.
    pub reason: String,
}

impl DatasetError {
    /// A system call that failed.
    pub(crate) fn io(
        doing: &'static str,
        path: impl Into<PathBuf>,
        source: impl Into<io::Error>,
    ) -> Self {
        Self::Io {
            doing,
            path: path.into(),
            source: source.into(),
        }
    }

    /// The number of the system's reason (`ENOSPC` is 28), where the system gave one.
    pub fn errno(&self) -> Option<i32> {
        match self {
            Self::Io { source, .. } | Self::Archive { source, .. } => source.raw_os_error(),
            _ => None,
        }
    }
}

/// A path on one line: characters that steer a terminal are escaped, what is not UTF-8 is `\xNN`.
pub(crate) fn shown(path: &Path) -> String {
    let mut text = String::new();
    for chunk in path.as_os_str().as_bytes().utf8_chunks() {
        for letter in chunk.valid().chars() {
            if is_steering(letter) {
                let _ = write!(text, "{}", letter.escape_default());
            } else {
                text.push(letter);
            }
        }
        for byte in chunk.invalid() {
            let _ = write!(text, "\\x{byte:02x}");
        }
    }
    text
}

fn refusal_list(first: &[Refusal], count: u64) -> String {
    let mut text = first
        .iter()
        .map(|refusal| format!("{} ({})", shown(&refusal.path), refusal.reason))
        .collect::<Vec<_>>()
        .join(", ");
    let more = count.saturating_sub(first.len() as u64);
    if more > 0 {
        let _ = write!(text, " and {more} more");
    }
    text
}

fn after_member(member: Option<&Path>) -> String {
    member
        .map(|member| format!(" after member {}", shown(member)))
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::OsStr;

    #[test]
    fn odd_paths_are_shown_on_one_line() {
        let path = Path::new(OsStr::from_bytes(b"a\nb\xffc d"));
        assert_eq!(shown(path), "a\\nb\\xffc d");
    }

    #[test]
    fn the_reason_of_the_system_is_kept() {
        let error = DatasetError::io("write to", "/x", io::Error::from_raw_os_error(28));
        assert_eq!(error.errno(), Some(28));
        assert!(
            error
                .to_string()
                .starts_with("cannot write to /x: No space left")
        );
    }
}
