//! What can keep two trees from being compared.

use crate::{DatasetError, shown};
use std::io;
use std::path::PathBuf;

/// A comparison that could not be made.
#[derive(Debug, thiserror::Error)]
pub enum TreeError {
    /// A system call failed.
    #[error("cannot {doing} {} to compare it: {source}", shown(.path))]
    Io {
        /// What was attempted, as a verb.
        doing: &'static str,
        /// On what.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// The archive could not be read.
    #[error(transparent)]
    Archive(#[from] DatasetError),
    /// The user cancellation.
    #[error("stopped while comparing trees")]
    Stopped,
}

impl TreeError {
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

    /// The number of the system's reason, where the system gave one.
    pub fn errno(&self) -> Option<i32> {
        match self {
            Self::Io { source, .. } => source.raw_os_error(),
            Self::Archive(error) => error.errno(),
            Self::Stopped => None,
        }
    }
}
