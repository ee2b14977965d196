//! JFS, of AIX and OS/2.

use super::{Check, Filesystem, block_requirements, make_first, mount_first, on_first};
use crate::mkfs_words::MkfsGrammar;
use fsdyno_model::{Bytes, Contender, FilesystemKind, Requirement, Step};
use std::path::Path;

/// JFS, as mkfs.jfs makes it.
pub struct Jfs;

/// How mkfs.jfs reads its options (jfsutils 1.1.15, `jfs_mkfs(8)`).
static MKFS: MkfsGrammar = MkfsGrammar {
    short_with_value: "jJLs",
    long_with_value: &[],
    refused: &[
        ("j", "it names another device, for the journal"),
        ("J", "it names or makes another device, for the journal"),
        ("V", "it makes nothing"),
    ],
    refused_values: &[],
};

/// Its options (mount(8)).
const OPTIONS: &[&str] = &[
    "integrity",
    "nointegrity",
    "iocharset",
    "resize",
    "errors",
    "quota",
    "noquota",
    "usrquota",
    "grpquota",
    "uid",
    "gid",
    "umask",
    "discard",
    "nodiscard",
];

impl Filesystem for Jfs {
    fn name(&self) -> &'static str {
        "jfs"
    }

    fn title(&self) -> &'static str {
        "extents, inodes made as needed, metadata journal"
    }

    fn kind(&self) -> FilesystemKind {
        FilesystemKind::Block
    }

    fn requirements(&self) -> Vec<Requirement> {
        block_requirements("jfs", "mkfs.jfs", "jfs_fsck", "jfsutils")
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
        // jfs_mkfs refuses less.
        Bytes(16 << 20)
    }

    fn make(&self, contender: &Contender, devices: &[String]) -> Vec<Step> {
        make_first(&["mkfs.jfs", "-q"], contender, devices)
    }

    fn mount(&self, contender: &Contender, devices: &[String], target: &Path) -> Vec<Step> {
        mount_first("jfs", Vec::new(), contender, devices, target)
    }

    fn describe(
        &self,
        _contender: &Contender,
        devices: &[String],
        _target: &Path,
    ) -> Vec<(String, Step)> {
        let superblock = on_first(&["jfs_tune", "-l"], devices);
        vec![("jfs_tune".to_owned(), superblock)]
    }

    /// `-n` opens read-only and reports; 0 means clean (`jfs_fsck(8)`).
    fn check(&self, _contender: &Contender, devices: &[String]) -> Option<Check> {
        Some(Check {
            step: on_first(&["jfs_fsck", "-n", "-f"], devices),
            clean: &[0],
        })
    }

    /// The kernel does not replay the journal of JFS: its program does, before each mount.
    fn replay(&self, devices: &[String]) -> Option<Check> {
        Some(Check {
            step: on_first(&["jfs_fsck", "--replay_journal_only"], devices),
            clean: &[0, 1],
        })
    }

    /// `-f`: forced, and repaired without a question. 1 means errors were corrected.
    fn repair(&self, devices: &[String]) -> Option<Check> {
        Some(Check {
            step: on_first(&["jfs_fsck", "-f"], devices),
            clean: &[0, 1],
        })
    }

    fn version(&self) -> Option<Step> {
        Some(Step::command(["mkfs.jfs", "-V"]))
    }
}
