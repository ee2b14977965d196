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

    /// The ground that an earlier call left in a directory: its archive, and its trees in the
    /// order they were made (`source` first, then by the number in their names).
    pub fn discover(root: impl Into<PathBuf>) -> std::io::Result<Self> {
        let mut ground = Self::new(root);
        let mut trees = Vec::new();
        for entry in std::fs::read_dir(&ground.root)? {
            let entry = entry?;
            if entry.file_type()?.is_dir() {
                let name = entry.file_name();
                let number = name
                    .to_str()
                    .and_then(|name| name.rsplit_once('-')?.1.parse().ok());
                trees.push((number.unwrap_or(0_u32), entry.path()));
            } else if entry.file_type()?.is_file() {
                ground.archive = Some(entry.path());
            }
        }
        trees.sort();
        ground.made = trees.last().map_or(0, |(number, _)| *number);
        ground.trees = trees.into_iter().map(|(_, path)| path).collect();
        Ok(ground)
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
