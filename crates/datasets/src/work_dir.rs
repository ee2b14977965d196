//! The work directory of a cell: its archive and its trees.

use crate::DatasetError;
use fsdyno_model::{Capabilities, Needs};
use rustix::fd::OwnedFd;
use rustix::fs::{self, CWD, Mode, OFlags};
use std::path::{Path, PathBuf};

/// The name of the tree that a dataset is created as.
pub const SOURCE: &str = "source";

/// The work directory of a cell.
///
/// Phases share a stack of trees: `untar` and `copy` push the tree that they make, `delete` removes
/// the newest, and phases that read use the newest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkDir {
    /// The directory that holds everything, on the file system under test.
    pub root: PathBuf,
    /// The archive that `untar` unpacks, if the dataset has one.
    pub archive: Option<PathBuf>,
    /// The trees, oldest first. Each is a directory directly below `root`.
    pub trees: Vec<PathBuf>,
    /// The capabilities of its file system. Other entries of a dataset are omitted.
    pub stores: Capabilities,
    /// The seed of files that a phase generates.
    pub seed: u64,
    /// The number of trees made so far, which determines the number of the next.
    pub made: u32,
}

impl WorkDir {
    /// An empty directory.
    pub fn new(root: impl Into<PathBuf>) -> Self {
        Self {
            root: root.into(),
            archive: None,
            trees: Vec::new(),
            stores: Capabilities::ALL,
            seed: 1,
            made: 0,
        }
    }

    pub fn newest(&self) -> Option<&PathBuf> {
        self.trees.last()
    }

    /// The input of a phase: the archive, the newest tree, or the whole directory, of which a program may
    /// read any file.
    pub fn input(&self, needs: Needs) -> Option<PathBuf> {
        match needs {
            Needs::Archive => self.archive.clone(),
            Needs::Tree => self.newest().cloned(),
            Needs::Nothing => Some(self.root.clone()),
        }
    }

    /// Names the next tree (`copy-1`, `untar-2`). The phase pushes it once it exists.
    pub fn next_tree(&mut self, kind: &str) -> PathBuf {
        self.made += 1;
        self.root.join(format!("{kind}-{}", self.made))
    }
}

/// Creates the directory of a tree, and opens it.
pub(crate) fn make_root(path: &Path) -> Result<OwnedFd, DatasetError> {
    fs::mkdir(path, Mode::RWXU).map_err(|errno| DatasetError::io("make directory", path, errno))?;
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    fs::openat(CWD, path, flags, Mode::empty())
        .map_err(|errno| DatasetError::io("open", path, errno))
}
