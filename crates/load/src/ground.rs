//! The ground of a cell: where its files lie, and which trees stand there.

use std::path::PathBuf;

/// The directory a cell works in, and what stands in it.
///
/// Phases share a stack of trees: `untar` and `copy` push the tree they make, `delete` takes the
/// newest away, and all phases that read work on the newest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ground {
    /// The directory everything lies in: on the file system under test, made by fsdyno.
    pub root: PathBuf,
    /// The archive that `untar` unpacks, where the dataset is or has one.
    pub archive: Option<PathBuf>,
    /// The trees, oldest first. Each is a directory directly below `root`.
    pub trees: Vec<PathBuf>,
    /// How many trees were ever made: names the next one.
    pub made: u32,
}

impl Ground {
    /// An empty ground.
    pub fn new(root: impl Into<PathBuf>) -> Self {
        Self {
            root: root.into(),
            archive: None,
            trees: Vec::new(),
            made: 0,
        }
    }

    /// The newest tree.
    pub fn newest(&self) -> Option<&PathBuf> {
        self.trees.last()
    }

    /// Names the next tree (`copy-1`, `untar-2`); it is pushed by the phase once it stands.
    pub fn next_tree(&mut self, kind: &str) -> PathBuf {
        self.made += 1;
        self.root.join(format!("{kind}-{}", self.made))
    }
}
