//! The reason why a state could not be set up.

use crate::shown;
use fsdyno_model::Cancelled;
use std::io;
use std::path::{Path, PathBuf};

/// The reason why a state could not be set up.
#[derive(Debug, thiserror::Error)]
pub enum StateError {
    /// A system call failed.
    #[error("cannot {operation} {}: {source}{}", shown(path), hint(source, path))]
    Io {
        operation: &'static str,
        path: PathBuf,
        source: io::Error,
    },
    /// The file system is fuller than requested.
    #[error(
        "{} is {percent:.1} % full before anything is written, and {requested} % are requested; \
         ask for more, or take a larger device",
        shown(path)
    )]
    Fuller {
        path: PathBuf,
        requested: f64,
        percent: f64,
    },
    /// The file system accepted fewer data, or freed less, than expected.
    #[error(
        "{} came to {percent:.1} % in use where {requested} % are requested{}; request another fill, \
         or take a larger device",
        shown(path),
        no_inodes(*inodes_left)
    )]
    NotReached {
        /// The files that were to fill it.
        path: PathBuf,
        requested: f64,
        percent: f64,
        /// How many more files an ordinary user could create, if there is a limit.
        inodes_left: Option<u64>,
    },
    #[error("stopped")]
    Stopped,
}

impl StateError {
    /// A system call that failed.
    pub(super) fn io(operation: &'static str, path: &Path, source: impl Into<io::Error>) -> Self {
        Self::Io {
            operation,
            path: path.to_owned(),
            source: source.into(),
        }
    }

    /// The error number of the cause, if there is one.
    pub fn errno(&self) -> Option<i32> {
        match self {
            Self::Io { source, .. } => source.raw_os_error(),
            _ => None,
        }
    }

    /// Whether the error is that the file system is full.
    pub(super) fn is_full(&self) -> bool {
        matches!(self, Self::Io { source, .. } if source.kind() == io::ErrorKind::StorageFull)
    }
}

impl From<Cancelled> for StateError {
    fn from(_: Cancelled) -> Self {
        Self::Stopped
    }
}

fn hint(source: &io::Error, path: &Path) -> String {
    if source.kind() == io::ErrorKind::AlreadyExists {
        let path = shown(path);
        return format!("; a state was created here before: remove {path}");
    }
    String::new()
}

fn no_inodes(left: Option<u64>) -> &'static str {
    match left {
        Some(0) => " (it can hold no more files)",
        _ => "",
    }
}
