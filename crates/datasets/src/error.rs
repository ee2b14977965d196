//! Errors of datasets, before and during their creation.

use fsdyno_model::printable::is_steering;
use fsdyno_model::{Bytes, Cancelled};
use fsdyno_trace::TraceError;
use std::fmt::Write as _;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// A dataset that cannot be opened or created.
#[derive(Debug, thiserror::Error)]
pub enum DatasetError {
    #[error(
        "`{name}` is no dataset fsdyno knows; it knows {known}, and tree:DIR, tar:FILE, file:FILE, \
         trace:FILE"
    )]
    Unknown { name: String, known: String },
    /// The scale is not a valid number.
    #[error("a dataset cannot be scaled by {scale}; give a number above 0 and up to 1000")]
    Scale { scale: f64 },
    /// A system call failed.
    #[error("cannot {operation} {}: {source}", shown(.path))]
    Io {
        /// The attempted operation, as a verb: `open`, `write to`.
        operation: &'static str,
        path: PathBuf,
        source: io::Error,
    },
    /// The path is not of the kind that its prefix requires.
    #[error("{} is {is}, not {wanted}; {remedy}", shown(.path))]
    WrongKind {
        path: PathBuf,
        is: &'static str,
        wanted: &'static str,
        remedy: &'static str,
    },
    /// Entries of a tree cannot be read, or cannot be made by this user.
    #[error("{} cannot be taken as `cp -a` would: {}", shown(.tree), refusal_list(.first, *.count))]
    Refused {
        tree: PathBuf,
        count: u64,
        /// The first of them, with reasons.
        first: Vec<Refusal>,
    },
    /// The work directory is inside the tree to be copied.
    #[error("{} holds the place it would be copied to, {}; work elsewhere", shown(.tree), shown(.work_dir))]
    Inside { tree: PathBuf, work_dir: PathBuf },
    /// An archive that is incomplete, or in an unknown format.
    #[error("{} cannot be read as an archive{}: {source}", shown(.path), after_member(.member.as_deref()))]
    Archive {
        path: PathBuf,
        /// The last member that could be read, if any.
        member: Option<PathBuf>,
        source: io::Error,
    },
    /// A member that would be unpacked outside of the target, or that cannot be unpacked.
    #[error("{} is refused: its member {} {why}", shown(.path), shown(.member))]
    Member {
        path: PathBuf,
        member: PathBuf,
        why: String,
    },
    /// An archive that needs more than the available space.
    #[error(
        "{} is refused: up to its member {} it needs more than {room} unpacked, and no more is free; \
         make room, or name a place with more",
        shown(.path), shown(.member)
    )]
    TooLarge {
        path: PathBuf,
        /// The first member that does not fit.
        member: PathBuf,
        room: Bytes,
    },
    /// A recording that cannot be read.
    #[error("{}: {source}", shown(.path))]
    Recording { path: PathBuf, source: TraceError },
    /// A recording with too many operations.
    #[error(
        "the recording {} has more than {most} operations; record for a shorter time (--for)",
        shown(.path)
    )]
    RecordingTooLong { path: PathBuf, most: usize },
    /// A recording whose tree needs more than the available space.
    #[error(
        "the tree of the recording {} takes up to {need} during its operations, and only {room} are \
         free; make room, or name a place with more",
        shown(.path)
    )]
    RecordingTooLarge {
        path: PathBuf,
        need: Bytes,
        room: Bytes,
    },
    /// The dataset is not available as an archive.
    #[error("`{name}` is not an archive: only `ports` and tar:FILE can be unpacked")]
    NoArchive { name: String },
    /// The dataset changed while it was read.
    #[error("the dataset {dataset} changed while it was read; keep it unchanged during a run")]
    Changed { dataset: String },
    #[error("stopped while reading or creating the dataset")]
    Stopped,
}

#[derive(Debug)]
pub struct Refusal {
    pub path: PathBuf,
    pub reason: String,
}

impl DatasetError {
    /// A system call that failed.
    pub(crate) fn io(
        operation: &'static str,
        path: impl Into<PathBuf>,
        source: impl Into<io::Error>,
    ) -> Self {
        Self::Io {
            operation,
            path: path.into(),
            source: source.into(),
        }
    }

    /// The error number of the cause (`ENOSPC` is 28), if there is one.
    pub fn errno(&self) -> Option<i32> {
        match self {
            Self::Io { source, .. } | Self::Archive { source, .. } => source.raw_os_error(),
            _ => None,
        }
    }
}

impl From<Cancelled> for DatasetError {
    fn from(_: Cancelled) -> Self {
        Self::Stopped
    }
}

/// A path on one line: control characters are escaped, and bytes that are not UTF-8 are `\xNN`.
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
