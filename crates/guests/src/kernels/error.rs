//! Why there is no lab kernel: it cannot be built, or not be installed.

use super::PROGRAM;
use super::building::BuildError;
use super::fragment::InvalidFragment;
use super::git::GitError;
use super::identity;
use super::patches::Unfit;
use super::sources::SourcesError;
use crate::uml::UmlError;
use fsdyno_files::Untrusted;
use fsdyno_files::places::NoPlaces;
use fsdyno_host::command::CommandError;
use fsdyno_model::Bytes;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// What the sources and all that is made of them take, for a while.
pub(super) const BUILD_SPACE: Bytes = Bytes(5 << 29);

/// What a compiler prints on a full disk (`strerror(3)` of `ENOSPC`).
const NO_SPACE: &str = "No space left on device";

/// Why there is no lab kernel.
#[derive(Debug, thiserror::Error)]
pub enum SetupError {
    /// The kernel config fragment is invalid.
    #[error(transparent)]
    Fragment(#[from] InvalidFragment),
    #[error(transparent)]
    Sources(#[from] SourcesError),
    /// The sources or the programs of `OpenZFS` do not fit.
    #[error(transparent)]
    Zfs(#[from] ZfsError),
    /// Something the build needs is not here.
    #[error("building a kernel needs {what}; apt-get install {packages}")]
    Tools {
        /// The missing space.
        what: String,
        packages: String,
    },
    /// The packages could not be installed.
    #[error("{0}")]
    Install(String),
    #[error("{} has room for {free}, and building a kernel takes {BUILD_SPACE}; make room, or set XDG_CACHE_HOME (root: with --dirs-from-env)", folder.display())]
    Room { folder: PathBuf, free: Bytes },
    /// A path no kernel can be built in.
    #[error("{} holds a blank or a colon, in which no kernel can be built; set XDG_CACHE_HOME (root: with --dirs-from-env)", folder.display())]
    Path { folder: PathBuf },
    /// Options that did not take.
    #[error("the configuration of {sources} did not take {}", refused.join("; "))]
    Refused {
        sources: String,
        /// Each option, with its actual value.
        refused: Vec<String>,
    },
    /// A patch does not fit the sources, and the kernel must count its work.
    #[error("{sources} cannot count the work of the kernel: {unfit}")]
    Patch { sources: String, unfit: Unfit },
    /// The kernel was built without the count, and must have it.
    #[error("the kernel of {sources} cannot count its work: the patches do not fit")]
    NoWorkCount { sources: String },
    /// A repository cannot be read.
    #[error(transparent)]
    Git(#[from] GitError),
    /// The cache directory is unknown.
    #[error(transparent)]
    NoPlaces(#[from] NoPlaces),
    /// The archive could not be unpacked.
    #[error("cannot unpack: {0}")]
    Unpack(String),
    /// `make` did not do it.
    #[error(transparent)]
    Build(#[from] BuildError),
    #[error("what was built does not start: {0}")]
    NoKernel(#[source] UmlError),
    /// A kernel that was built elsewhere cannot be installed.
    #[error(transparent)]
    Import(#[from] ImportError),
    /// A program did not run.
    #[error(transparent)]
    Command(#[from] CommandError),
    /// Another user could have written files of the cache.
    #[error(transparent)]
    Untrusted(#[from] Untrusted),
    #[error("cannot {act} {}: {cause}", path.display())]
    Cache {
        /// What was attempted.
        act: &'static str,
        path: PathBuf,
        #[source]
        cause: io::Error,
    },
}

impl SetupError {
    /// Whether the sources are the cause: other sources may give a kernel.
    pub fn is_of_sources(&self) -> bool {
        match self {
            Self::Build(BuildError::Failed { last, .. }) => !last.contains(NO_SPACE),
            Self::Refused { .. }
            | Self::Patch { .. }
            | Self::NoWorkCount { .. }
            | Self::NoKernel(_) => true,
            _ => false,
        }
    }

    /// Whether the user cancelled.
    pub fn is_stopped(&self) -> bool {
        matches!(
            self,
            Self::Build(BuildError::Stopped)
                | Self::Command(CommandError::Stopped { .. })
                | Self::Git(GitError::Command(CommandError::Stopped { .. }))
        )
    }
}

pub(super) fn refused<'a>(
    act: &'static str,
    path: &'a Path,
) -> impl FnOnce(io::Error) -> SetupError + 'a {
    move |cause| SetupError::Cache {
        act,
        path: path.to_owned(),
        cause,
    }
}

/// Why a kernel was not installed.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    /// Another user could have written it, or it cannot be opened.
    #[error(transparent)]
    Untrusted(#[from] Untrusted),
    #[error("cannot read {}: {cause}", file.display())]
    Read {
        file: PathBuf,
        #[source]
        cause: io::Error,
    },
    /// It is something else.
    #[error(
        "{} is no lab kernel: {why}. Name a package fsdyno-lab-kernel, or the file {PROGRAM} next \
         to its {}",
        file.display(),
        identity::FILE
    )]
    NoKernel {
        file: PathBuf,
        /// What it lacks.
        why: String,
    },
    /// It was built from code under licences that forbid to distribute it.
    #[error(
        "{} is not installed: the kernel has {zfs}, and only who built it may use it. Build one here: \
         fsdyno lab setup --with zfs",
        file.display()
    )]
    OwnUseOnly { file: PathBuf, zfs: String },
    /// It is not the kernel that was built.
    #[error(
        "{} is not installed: the SHA-256 of the kernel is {found}, and `{recorded}` is recorded. \
         Get the file again",
        file.display()
    )]
    Differs {
        file: PathBuf,
        found: String,
        /// The hash in its identity.
        recorded: String,
    },
}

impl ImportError {
    /// Whether the file does not exist.
    pub fn is_missing(&self) -> bool {
        matches!(self, Self::Untrusted(error) if error.is_missing())
    }
}

/// Why `OpenZFS` cannot be part of a kernel.
#[derive(Debug, thiserror::Error)]
pub enum ZfsError {
    /// No package is known.
    #[error("no sources of OpenZFS: apt-get knows no package zfs-dkms; {0}")]
    None(Remedy),
    /// It is for other kernels.
    #[error(
        "{name} is for Linux {minimum} to {maximum}, and the kernel is Linux {kernel}; {remedy}"
    )]
    Kernel {
        name: String,
        minimum: String,
        maximum: String,
        kernel: String,
        remedy: Remedy,
    },
    /// The sources are of another kind.
    #[error("{name} holds no sources of OpenZFS: {why}")]
    NoSources { name: String, why: String },
    /// A change does not fit.
    #[error("OpenZFS {version} cannot run in virtual time: {unfit}")]
    Patch { version: String, unfit: Unfit },
    /// The programs are missing, of another version, or do not run.
    #[error("no programs of OpenZFS {version}: {why}")]
    Tools { version: String, why: String },
}

/// How to get sources that fit: the line that the list of package sources lacks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Remedy(pub(super) String);

impl fmt::Display for Remedy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "add the line `{}` to /etc/apt/sources.list and run apt-get update, or name an archive of a \
             release with --zfs",
            self.0
        )
    }
}
