//! Errors of comparisons of trees.

use crate::{DatasetError, shown};
use fsdyno_model::Cancelled;
use std::io;
use std::path::PathBuf;

/// The reason why a comparison failed.
#[derive(Debug, thiserror::Error)]
pub enum TreeError {
    /// A system call failed.
    #[error("cannot {operation} {} to compare it: {source}", shown(.path))]
    Io {
        /// The attempted operation, as a verb.
        operation: &'static str,
        path: PathBuf,
        source: io::Error,
    },
    /// The archive could not be read.
    #[error(transparent)]
    Archive(#[from] DatasetError),
    #[error("stopped while comparing trees")]
    Stopped,
}

impl TreeError {
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

    /// The error number of the cause, if there is one.
    pub fn errno(&self) -> Option<i32> {
        match self {
            Self::Io { source, .. } => source.raw_os_error(),
            Self::Archive(error) => error.errno(),
            Self::Stopped => None,
        }
    }
}

impl From<Cancelled> for TreeError {
    fn from(_: Cancelled) -> Self {
        Self::Stopped
    }
}
