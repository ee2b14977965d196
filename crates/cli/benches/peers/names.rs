//! The amount of work, and the values of the placeholders of a command.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The amount of work.
#[derive(Debug, Clone, Copy)]
pub struct Scale {
    pub name: &'static str,
    /// Maximum of alternating pairs of each comparison.
    pub pairs: usize,
    pub time: Duration,
    /// Number of files of the works on many files; the read-only ones use three times as many.
    pub files: u64,
    /// Size of large files in MiB.
    pub megabytes: u64,
    /// Number of operations at random offsets of a large file.
    pub operations: u64,
    /// Scale of the tree dataset; read-only works use four times the scale.
    pub tree: f64,
    /// Numbers of files for the memory measurement.
    pub weighed: &'static [u64],
}

#[derive(Debug)]
pub struct Names {
    pub scale: Scale,
    pub filesystem: String,
    /// The mount point.
    pub work_dir: PathBuf,
    /// A directory next to the mount point.
    pub scratch: PathBuf,
    /// The directory of image files.
    pub base: PathBuf,
    /// A temporary directory on disk.
    pub home: PathBuf,
    pub baseline: PathBuf,
    /// The mkfs command of the file system; empty if there is none.
    pub mkfs: String,
    /// Peer programs that cargo installed, by name.
    pub peers: BTreeMap<String, PathBuf>,
}

impl Names {
    /// Replaces all placeholders of a command.
    pub fn fill(&self, command: &str) -> String {
        let Scale {
            files,
            megabytes,
            operations,
            tree,
            ..
        } = self.scale;
        let few = (operations / 16).max(1);
        let shown = |path: &Path| path.display().to_string();
        let peer = |name: &str| self.peers.get(name).map_or(name.to_owned(), |at| shown(at));
        [
            ("{mkfs}", self.mkfs.clone()),
            ("{fsdyno}", env!("CARGO_BIN_EXE_fsdyno").to_owned()),
            ("{baseline}", shown(&self.baseline)),
            ("{cpz}", peer("cpz")),
            ("{rmz}", peer("rmz")),
            ("{xcp}", peer("xcp")),
            ("{d}", shown(&self.work_dir)),
            ("{fs}", self.filesystem.clone()),
            ("{base}", shown(&self.base)),
            ("{image}", shown(&self.scratch.join("other.img"))),
            ("{store}", shown(&self.home.join("store.db"))),
            ("{n}", files.to_string()),
            ("{many}", (3 * files).to_string()),
            ("{k}", (files / 1024).max(1).to_string()),
            ("{mib}", megabytes.to_string()),
            ("{ops}", operations.to_string()),
            ("{opskib}", (4 * operations).to_string()),
            ("{few}", few.to_string()),
            ("{fewkib}", (4 * few).to_string()),
            ("{tree}", tree.to_string()),
            ("{read}", (4.0 * tree).to_string()),
        ]
        .iter()
        .fold(command.to_owned(), |text, (word, with)| {
            text.replace(word, with)
        })
    }
}
