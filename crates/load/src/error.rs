//! Errors of a load, with the call, the path and the cause.

use crate::tool_run::ToolCommand;
use fsdyno_model::cancel::Cancelled;
use fsdyno_model::plan::CopyMethod;
use std::ffi::{CStr, OsStr};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// The reason why a phase failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LoadError {
    /// A system call failed.
    #[error("{operation} {}: {source}", path.display())]
    Io {
        operation: &'static str,
        path: PathBuf,
        source: io::Error,
    },
    /// The file system does not support the copy method.
    #[error(
        "{operation} {}: {source}; this file system cannot copy by {method}: \
         choose the copy method read-write", path.display()
    )]
    Method {
        operation: &'static str,
        path: PathBuf,
        method: CopyMethod,
        source: io::Error,
    },
    #[error("{reason}")]
    Worker {
        /// Its message, or its exit status.
        reason: String,
        /// The error number of the cause, if any.
        errno: Option<i32>,
    },
    /// A file is not as a phase left it.
    #[error("{}: {what}", path.display())]
    Unexpected { path: PathBuf, what: String },
    #[error("stopped at the user's request")]
    Stopped,
    /// A phase needs a tree, and there is none.
    #[error("{0} needs a tree, and there is none: put a phase that makes one before it")]
    NoTree(String),
    /// A phase needs an archive, and there is none.
    #[error("{0} needs an archive: choose a dataset that is one, such as tar:FILE")]
    NoArchive(String),
    #[error("unknown kind of phase `{0}`")]
    UnknownKind(String),
    #[error("unknown engine `{0}`")]
    UnknownEngine(String),
    /// The pattern of a search is invalid.
    #[error("pattern `{pattern}`: {reason}")]
    Pattern { pattern: String, reason: String },
    /// A program does not support a request.
    #[error("{kind}: {reason}")]
    Parameters { kind: &'static str, reason: String },
    /// An archive is invalid, or contains a member that is refused.
    #[error("archive {}: {reason}", path.display())]
    Archive { path: PathBuf, reason: String },
    #[error("cannot replay {}: {reason}", path.display())]
    Recording { path: PathBuf, reason: String },
    /// A program of the system is missing.
    #[error("program {name} is missing: apt-get install {package}")]
    MissingTool {
        name: String,
        /// The Debian package that contains it.
        package: String,
    },
    /// A program of the system failed.
    #[error("{argv}: {status}{}{stderr}{hint}", if stderr.is_empty() { "" } else { ": " })]
    Tool {
        argv: String,
        status: String,
        /// The last lines of its standard error.
        stderr: String,
        /// The remedy, if it was refused something that it may not write; otherwise empty.
        hint: String,
        /// The error number in its message, if any.
        errno: Option<i32>,
        command: Box<ToolCommand>,
    },
    /// A service ended while its phase needed it.
    #[error("the service of {label} ended{}{text}", if text.is_empty() { "" } else { ": " })]
    Service { label: String, text: String },
    /// A service that runs did not become ready.
    #[error("the service of {label} is not ready after {seconds} s: {reason}")]
    NotReady {
        label: String,
        seconds: u64,
        reason: String,
    },
    /// The engine `null` cannot run a phase that is a program.
    #[error("it runs a program, and the engine null runs none: choose another engine")]
    NoEngine,
    /// The output of a program has an unexpected form.
    #[error(transparent)]
    Unread {
        #[from]
        unread: Unread,
    },
}

impl LoadError {
    /// A failed call on a path.
    #[cold]
    pub fn io(operation: &'static str, path: impl Into<PathBuf>, source: io::Error) -> Self {
        Self::Io {
            operation,
            path: path.into(),
            source,
        }
    }

    /// A failed call on a name in a directory.
    #[cold]
    pub(crate) fn io_in(
        operation: &'static str,
        directory: &Path,
        name: &CStr,
        source: io::Error,
    ) -> Self {
        Self::io(
            operation,
            directory.join(OsStr::from_bytes(name.to_bytes())),
            source,
        )
    }

    /// The error number of the cause, if any.
    pub fn errno(&self) -> Option<i32> {
        match self {
            Self::Io { source, .. } | Self::Method { source, .. } => source.raw_os_error(),
            Self::Tool { errno, .. } | Self::Worker { errno, .. } => *errno,
            _ => None,
        }
    }
}

impl From<Cancelled> for LoadError {
    fn from(_: Cancelled) -> Self {
        Self::Stopped
    }
}

/// The reason why the output of a program could not be parsed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("cannot read what {program} printed: {missing}")]
pub struct Unread {
    pub program: &'static str,
    /// The expected text, and the text found.
    pub missing: String,
}
