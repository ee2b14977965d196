//! Why a state could not be set up.

use crate::shown;
use std::io;
use std::path::{Path, PathBuf};

/// Why a state could not be set up.
#[derive(Debug, thiserror::Error)]
pub enum StateError {
    /// A system call failed.
    #[error("cannot {doing} {}: {source}{}", shown(path), hint(source, path))]
    Io {
        /// What was attempted.
        doing: &'static str,
        /// On what.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// It is fuller than requested.
    #[error(
        "{} is {percent:.1} % full before anything is written, and {asked} % are asked for; \
         ask for more, or take a larger device",
        shown(path)
    )]
    Fuller {
        /// The file system.
        path: PathBuf,
        /// The utilisation requested, percent.
        asked: f64,
        /// The utilisation found, percent.
        percent: f64,
    },
    /// The file system would not take as much, or gave less back than it should.
    #[error(
        "{} came to {percent:.1} % in use where {asked} % are asked for{}; ask for another fill, \
         or take a larger device",
        shown(path),
        no_inodes(*inodes_left)
    )]
    NotReached {
        /// The files that were to fill it.
        path: PathBuf,
        /// The utilisation requested, percent.
        asked: f64,
        /// The utilisation reached, percent.
        percent: f64,
        /// How many more files a plain user could make, where the file system has a limit.
        inodes_left: Option<u64>,
    },
    /// The user needs to stop.
    #[error("stopped")]
    Stopped,
}

impl StateError {
    /// A system call that failed.
    pub(super) fn io(doing: &'static str, path: &Path, source: impl Into<io::Error>) -> Self {
        Self::Io {
            doing,
            path: path.to_owned(),
            source: source.into(),
        }
    }

    /// The number of the system's reason, where the system gave one.
    pub fn errno(&self) -> Option<i32> {
        match self {
            Self::Io { source, .. } => source.raw_os_error(),
            _ => None,
        }
    }

    /// Whether the file system had no room.
    pub(super) fn is_full(&self) -> bool {
        matches!(self, Self::Io { source, .. } if source.kind() == io::ErrorKind::StorageFull)
    }
}

fn hint(source: &io::Error, path: &Path) -> String {
    if source.kind() == io::ErrorKind::AlreadyExists {
        let path = shown(path);
        return format!("; a state was brought about here before: remove {path}");
    }
    String::new()
}

fn no_inodes(left: Option<u64>) -> &'static str {
    match left {
        Some(0) => " (it can hold no more files)",
        _ => "",
    }
}
