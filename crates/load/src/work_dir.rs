//! The ground of a cell: where its files lie, and which trees stand there.

mod made;

pub use made::{Made, RECORD};

use crate::workloads;
use std::ffi::OsStr;
use std::path::PathBuf;

/// The tree that a dataset is laid as.
pub const SOURCE: &str = "source";

/// The directory a cell works in, and what stands in it.
///
/// Phases share a stack of trees: `untar` and `copy` push the tree they make, `delete` takes the
/// newest away, and all phases that read work on the newest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkDir {
    /// The directory everything lies in: on the file system under test, made by fsdyno.
    pub root: PathBuf,
    /// The archive that `untar` unpacks, where the dataset is or has one.
    pub archive: Option<PathBuf>,
    /// The trees, oldest first. Each is a directory directly below `root`.
    pub trees: Vec<PathBuf>,
    /// How many trees were ever made: names the next one.
    pub made: u32,
}

impl WorkDir {
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
    /// order they were made ([`SOURCE`] first, then by the number in their names).
    ///
    /// A tree is a directory that fsdyno made, with the name of one: others are neither read nor
    /// deleted, and their names are not given to new trees.
    pub fn discover(root: impl Into<PathBuf>, made: &Made) -> std::io::Result<Self> {
        let mut work_dir = Self::new(root);
        let mut trees = Vec::new();
        let mut files = Vec::new();
        for entry in std::fs::read_dir(&work_dir.root)? {
            let entry = entry?;
            let (kind, name) = (entry.file_type()?, entry.file_name());
            let number = tree_number(&name);
            work_dir.made = work_dir.made.max(number.unwrap_or(0));
            if kind.is_dir() && made.holds(&name) {
                trees.extend(number.map(|number| (number, entry.path())));
            } else if kind.is_file() && name != RECORD {
                files.push(entry.path());
            }
        }
        trees.sort();
        work_dir.trees = trees.into_iter().map(|(_, path)| path).collect();
        work_dir.archive = the_archive(&files);
        Ok(work_dir)
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

/// The number in the name of a tree, 0 for the source; none where the name is that of no tree.
fn tree_number(name: &OsStr) -> Option<u32> {
    let name = name.to_str()?;
    if name == SOURCE {
        return Some(0);
    }
    let (kind, number) = name.rsplit_once('-')?;
    let makes_trees = workloads::find(kind).is_some_and(|kind| kind.makes_tree);
    number
        .parse()
        .ok()
        .filter(|number| makes_trees && *number > 0)
}

/// The archive among files: the only one that has the name of one, or else the only file.
fn the_archive(files: &[PathBuf]) -> Option<PathBuf> {
    let named = |path: &&PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let mut endings = name.rsplit('.').take(2);
        endings.any(|ending| matches!(ending, "tar" | "tgz" | "txz" | "tzst"))
    };
    let archives: Vec<&PathBuf> = files.iter().filter(named).collect();
    match (&archives[..], files) {
        ([one], _) => Some((*one).clone()),
        ([], [one]) => Some(one.clone()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trees_and_the_archive_are_told_from_what_other_phases_leave() {
        let home = tempfile::tempdir().unwrap();
        let at = |name: &str| home.path().join(name);
        let discover = || {
            let made = Made::read(home.path()).unwrap();
            WorkDir::discover(home.path(), &made).unwrap()
        };
        // Not made by fsdyno.
        std::fs::create_dir(at("copy-11")).unwrap();
        let made = Made::read(home.path()).unwrap();
        for name in [
            "copy-2",
            "source",
            "untar-1",
            "copy-10", // trees
            "bonnie",
            "testdir1-0-1",
            "program-copy-3",
            "state",
            "copy-x",
            "mine-11",
        ] {
            std::fs::create_dir(at(name)).unwrap();
        }
        made.record().unwrap();
        for name in ["job.1.0", "sources.tar.gz", "built", "log.txt"] {
            std::fs::write(at(name), "").unwrap();
        }
        let mut work_dir = discover();
        let trees = ["source", "untar-1", "copy-2", "copy-10"].map(at);
        assert_eq!(work_dir.trees, trees);
        assert_eq!(work_dir.next_tree("copy"), at("copy-12"));
        assert_eq!(work_dir.archive, Some(at("sources.tar.gz")));
        // Two archives: which is meant is not guessed; one file alone is meant, whatever its name.
        std::fs::write(at("other.tgz"), "").unwrap();
        assert_eq!(discover().archive, None);
        for name in ["sources.tar.gz", "job.1.0", "other.tgz", "log.txt"] {
            std::fs::remove_file(at(name)).unwrap();
        }
        let work_dir = discover();
        assert_eq!(work_dir.archive, Some(at("built")));
    }
}
