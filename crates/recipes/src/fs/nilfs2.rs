//! NILFS2, a log that keeps its checkpoints. It is mounted by system call, so that its cleaner, a
//! daemon of mount.nilfs2, does not run: what is written over is not given back within a cell.

use super::{Filesystem, block_requirements, make_first, mount_first, on_first};
use crate::mkfs_words::MkfsGrammar;
use fsdyno_model::{Bytes, Contender, FilesystemKind, Requirement, Step};
use std::path::Path;

/// NILFS2, as mkfs.nilfs2 makes it.
pub struct Nilfs2;

/// How mkfs.nilfs2 reads its options (nilfs-utils 2.2.9, mkfs.nilfs2(8)).
static MKFS: MkfsGrammar = MkfsGrammar {
    short_with_value: "bBLmO",
    long_with_value: &[],
    refused: &[
        ("n", "it makes nothing"),
        ("h", "it makes nothing"),
        ("V", "it makes nothing"),
    ],
    refused_values: &[],
};

/// Its options (the kernel's filesystems/nilfs2).
const OPTIONS: &[&str] = &[
    "barrier",
    "nobarrier",
    "cp",
    "order",
    "errors",
    "norecovery",
    "discard",
    "nodiscard",
    "pp",
    "nogc",
];

impl Filesystem for Nilfs2 {
    fn name(&self) -> &'static str {
        "nilfs2"
    }

    fn title(&self) -> &'static str {
        "a log of continuous snapshots"
    }

    fn kind(&self) -> FilesystemKind {
        FilesystemKind::Block
    }

    fn requirements(&self) -> Vec<Requirement> {
        block_requirements("nilfs2", "mkfs.nilfs2", "nilfs-tune", "nilfs-tools")
    }

    fn mount_options(&self) -> &'static [&'static str] {
        OPTIONS
    }

    fn mkfs_grammar(&self) -> Option<&'static MkfsGrammar> {
        Some(&MKFS)
    }

    fn layouts(&self) -> &'static [&'static str] {
        &["single"]
    }

    fn smallest_bytes(&self) -> Bytes {
        // mkfs.nilfs2 refuses less.
        Bytes(128 << 20)
    }

    fn make(&self, contender: &Contender, devices: &[String]) -> Vec<Step> {
        // Not quiet: what it prints is the geometry, which is stored with the run.
        make_first(&["mkfs.nilfs2", "-f"], contender, devices)
    }

    fn mount(&self, contender: &Contender, devices: &[String], target: &Path) -> Vec<Step> {
        mount_first("nilfs2", Vec::new(), contender, devices, target)
    }

    fn describe(
        &self,
        _contender: &Contender,
        devices: &[String],
        _target: &Path,
    ) -> Vec<(String, Step)> {
        let superblock = on_first(&["nilfs-tune", "-l"], devices);
        vec![("nilfs-tune".to_owned(), superblock)]
    }

    fn version(&self) -> Option<Step> {
        Some(Step::command(["mkfs.nilfs2", "-V"]))
    }
}
