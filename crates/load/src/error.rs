//! What can go wrong in a load, with the call, the path and the cause. Nothing is decided here.

use crate::tool_run::ToolCommand;
use fsdyno_model::plan::CopyMethod;
use std::ffi::{CStr, OsStr};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Why a phase did not come to its end.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LoadError {
    /// A call to the kernel was refused.
    #[error("{operation} {}: {source}", path.display())]
    Io {
        /// The system call.
        operation: &'static str,
        /// What it was about.
        path: PathBuf,
        /// The reason the system gave.
        source: io::Error,
    },
    /// The file system cannot do what the copy method asks.
    #[error(
        "{operation} {}: {source}; this file system cannot copy by {method}: \
         choose the copy method read-write", path.display()
    )]
    Method {
        /// The system call.
        operation: &'static str,
        /// The file that was to be copied.
        path: PathBuf,
        /// The method that was requested.
        method: CopyMethod,
        /// The reason the system gave.
        source: io::Error,
    },
    /// A worker that is a process of its own did not do its work.
    #[error("{reason}")]
    Worker {
        /// What it reported, or how it ended.
        reason: String,
        /// The error number, where the cause has one.
        errno: Option<i32>,
    },
    /// The user asked to stop.
    #[error("stopped at the user's request")]
    Stopped,
    /// A phase that works on a tree found none.
    #[error("{0} needs a tree, and none stands: put a phase that makes one before it")]
    NoTree(String),
    /// A phase that unpacks found no archive.
    #[error("{0} needs an archive: choose a dataset that is one, such as tar:FILE")]
    NoArchive(String),
    /// No such kind of phase.
    #[error("unknown kind of phase `{0}`")]
    UnknownKind(String),
    /// No such engine.
    #[error("unknown engine `{0}`")]
    UnknownEngine(String),
    /// The pattern of a search cannot be used.
    #[error("pattern `{pattern}`: {reason}")]
    Pattern {
        /// The regular expression.
        pattern: String,
        /// What is wrong with it.
        reason: String,
    },
    /// A program cannot do what was requested.
    #[error("{kind}: {reason}")]
    Parameters {
        /// The kind of phase.
        kind: &'static str,
        /// What cannot be, and the way out.
        reason: String,
    },
    /// An archive is broken, or contains what is refused.
    #[error("archive {}: {reason}", path.display())]
    Archive {
        /// The archive.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// A program of the system is not there.
    #[error("program {name} is missing: apt-get install {package}")]
    MissingTool {
        /// The program.
        name: String,
        /// The Debian package that holds it.
        package: String,
    },
    /// A program of the system did not do its work.
    #[error("{argv}: {status}{}{stderr}", if stderr.is_empty() { "" } else { ": " })]
    Tool {
        /// Its command line.
        argv: String,
        /// How it ended.
        status: String,
        /// The last lines it wrote to standard error.
        stderr: String,
        /// The error number its message reports of, where it does.
        errno: Option<i32>,
        /// All that is kept of it.
        command: Box<ToolCommand>,
    },
    /// A phase that is a program was given to the engine that touches no file.
    #[error("it runs a program, and the engine null runs none: choose another engine")]
    NoEngine,
    /// What a program printed is not what it should be.
    #[error(transparent)]
    Unread {
        /// What was looked for.
        #[from]
        unread: Unread,
    },
}

impl LoadError {
    /// A refused call on a path.
    #[cold]
    pub fn io(operation: &'static str, path: impl Into<PathBuf>, source: io::Error) -> Self {
        Self::Io {
            operation,
            path: path.into(),
            source,
        }
    }

    /// A refused call on a name in a directory.
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

    /// The error number, where the cause has one.
    pub fn errno(&self) -> Option<i32> {
        match self {
            Self::Io { source, .. } | Self::Method { source, .. } => source.raw_os_error(),
            Self::Tool { errno, .. } | Self::Worker { errno, .. } => *errno,
            _ => None,
        }
    }
}

/// Why what a program printed could not be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("cannot read what {program} printed: {missing}")]
pub struct Unread {
    /// Which program.
    pub program: &'static str,
    /// What was looked for, and what stood there.
    pub missing: String,
}
