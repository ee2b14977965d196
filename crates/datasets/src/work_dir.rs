//! The directory that a cell works in: its archive, and the trees that exist there.

use fsdyno_model::Capabilities;
use std::path::PathBuf;

/// The name of the tree that a dataset is created as.
pub const SOURCE: &str = "source";

/// The directory a cell works in, and what exists in it.
///
/// Phases share a stack of trees: `untar` and `copy` push the tree they make, `delete` removes the
/// newest, and all phases that read work on the newest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkDir {
    /// The directory that holds everything, on the file system under test.
    pub root: PathBuf,
    /// The archive that `untar` unpacks, where the dataset is or has one.
    pub archive: Option<PathBuf>,
    /// The trees, oldest first. Each is a directory directly below `root`.
    pub trees: Vec<PathBuf>,
    /// What its file system can store. The rest of a dataset is left out.
    pub stores: Capabilities,
    /// How many trees were made so far: the number of the next one follows from it.
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
            made: 0,
        }
    }

    /// The newest tree.
    pub fn newest(&self) -> Option<&PathBuf> {
        self.trees.last()
    }

    /// Names the next tree (`copy-1`, `untar-2`). The phase pushes it once it exists.
    pub fn next_tree(&mut self, kind: &str) -> PathBuf {
        self.made += 1;
        self.root.join(format!("{kind}-{}", self.made))
    }
}
