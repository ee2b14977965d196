//! `ReiserFS` (version 3), which left the kernel with Linux 6.13.

use super::{Check, Filesystem, block_requirements, make_first, mount_first, on_first};
use crate::mkfs_words::MkfsGrammar;
use fsdyno_model::{Bytes, Contender, FilesystemKind, Requirement, Step};
use std::path::Path;

/// `ReiserFS`, as mkfs.reiserfs makes it.
pub struct Reiserfs;

/// How mkfs.reiserfs reads its options (reiserfsprogs 3.6.27, mkreiserfs(8)).
static MKFS: MkfsGrammar = MkfsGrammar {
    short_with_value: "bhuljostB",
    long_with_value: &[
        "badblocks",
        "block-size",
        "format",
        "hash",
        "journal-device",
        "journal-offset",
        "journal-size",
        "label",
        "transaction-max-size",
        "uuid",
    ],
    refused: &[
        ("j", "it names another device, for the journal"),
        ("journal-device", "it names another device, for the journal"),
        ("B", "it reads a list of bad blocks from a file"),
        ("badblocks", "it reads a list of bad blocks from a file"),
        ("V", "it makes nothing"),
    ],
    refused_values: &[],
};

/// Its options (mount(8)).
const OPTIONS: &[&str] = &[
    "acl",
    "noacl",
    "alloc",
    "attrs",
    "barrier",
    "conv",
    "data",
    "commit",
    "errors",
    "expose_privroot",
    "grpjquota",
    "grpquota",
    "hash",
    "hashed_relocation",
    "jqfmt",
    "jdev",
    "no_unhashed_relocation",
    "noborder",
    "nolargeio",
    "nolog",
    "notail",
    "tails",
    "replayonly",
    "resize",
    "test4",
    "user_xattr",
    "nouser_xattr",
    "usrjquota",
    "usrquota",
];

impl Filesystem for Reiserfs {
    fn name(&self) -> &'static str {
        "reiserfs"
    }

    fn title(&self) -> &'static str {
        "balanced tree of everything, tails of files packed, metadata journal"
    }

    fn kind(&self) -> FilesystemKind {
        FilesystemKind::Block
    }

    fn requirements(&self) -> Vec<Requirement> {
        block_requirements("reiserfs", "mkfs.reiserfs", "reiserfsck", "reiserfsprogs")
    }

    fn mount_options(&self) -> &'static [&'static str] {
        OPTIONS
    }

    fn foreign_mount_options(&self) -> &'static [&'static str] {
        &["jdev"]
    }

    fn mkfs_grammar(&self) -> Option<&'static MkfsGrammar> {
        Some(&MKFS)
    }

    fn layouts(&self) -> &'static [&'static str] {
        &["single"]
    }

    fn smallest_bytes(&self) -> Bytes {
        // The default journal is of 8193 blocks (mkreiserfs(8)), and data needs room beside it.
        Bytes(40 << 20)
    }

    fn make(&self, contender: &Contender, devices: &[String]) -> Vec<Step> {
        // Twice: once more would ask (mkreiserfs(8)). Quiet, since its progress is drawn in dots.
        make_first(&["mkfs.reiserfs", "-q", "-f", "-f"], contender, devices)
    }

    fn mount(&self, contender: &Contender, devices: &[String], target: &Path) -> Vec<Step> {
        mount_first("reiserfs", Vec::new(), contender, devices, target)
    }

    fn describe(
        &self,
        _contender: &Contender,
        devices: &[String],
        _target: &Path,
    ) -> Vec<(String, Step)> {
        let superblock = on_first(&["debugreiserfs"], devices);
        vec![("debugreiserfs".to_owned(), superblock)]
    }

    /// `--check` repairs nothing; 0 means no errors (reiserfsck(8)).
    fn check(&self, _contender: &Contender, devices: &[String]) -> Option<Check> {
        Some(Check {
            step: on_first(&["reiserfsck", "--check", "--quiet", "--yes"], devices),
            clean: &[0],
        })
    }

    /// 1 means that errors were corrected (reiserfsck(8)).
    fn repair(&self, devices: &[String]) -> Option<Check> {
        let words = ["reiserfsck", "--fix-fixable", "--quiet", "--yes"];
        Some(Check {
            step: on_first(&words, devices),
            clean: &[0, 1],
        })
    }

    fn version(&self) -> Option<Step> {
        Some(Step::command(["mkfs.reiserfs", "-V"]))
    }
}
