//! tmpfs: files in the page cache and in swap, with no device below.

use super::{Filesystem, mount_first};
use fsdyno_model::{Contender, FilesystemKind, Need, Requirement, Step};
use std::path::Path;

/// tmpfs, as large as its mount options say (half of memory where they say nothing).
pub struct Tmpfs;

/// Its options (tmpfs(5)).
const OPTIONS: &[&str] = &[
    "size",
    "nr_blocks",
    "nr_inodes",
    "mode",
    "uid",
    "gid",
    "huge",
    "mpol",
    "inode32",
    "inode64",
    "noswap",
];

impl Filesystem for Tmpfs {
    fn name(&self) -> &'static str {
        "tmpfs"
    }

    fn title(&self) -> &'static str {
        "files in memory: what the work costs where no device is waited for"
    }

    fn kind(&self) -> FilesystemKind {
        FilesystemKind::Memory
    }

    fn requirements(&self) -> Vec<Requirement> {
        vec![
            Requirement::new(Need::Root, "mounting tmpfs"),
            Requirement::new(Need::KernelFilesystem("tmpfs".to_owned()), "mounting tmpfs"),
        ]
    }

    fn mount_options(&self) -> &'static [&'static str] {
        OPTIONS
    }

    fn layouts(&self) -> &'static [&'static str] {
        &["single"]
    }

    fn make(&self, _contender: &Contender, _devices: &[String]) -> Vec<Step> {
        Vec::new()
    }

    fn mount(&self, contender: &Contender, _devices: &[String], target: &Path) -> Vec<Step> {
        // Its source is a mere word, shown in /proc/mounts.
        let source = ["tmpfs".to_owned()];
        mount_first("tmpfs", Vec::new(), contender, &source, target)
    }

    fn describe(
        &self,
        _contender: &Contender,
        _devices: &[String],
        _target: &Path,
    ) -> Vec<(String, Step)> {
        // All there is to know stands in mountinfo, which is read for every contender.
        Vec::new()
    }
}
