//! ext4: journal, extents, delayed allocation.

use super::{Check, Filesystem, block_requirements, ext_family};
use crate::mkfs_words::MkfsGrammar;
use fsdyno_model::{Bytes, Contender, FilesystemKind, Requirement, Step};
use std::path::Path;

/// ext4, as mkfs.ext4 makes it.
pub struct Ext4;

/// What ext4 alone takes.
const OWN: &[&str] = &[
    "delalloc",
    "nodelalloc",
    "journal_checksum",
    "nojournal_checksum",
    "journal_async_commit",
    "dioread_lock",
    "dioread_nolock",
    "nodioread_nolock",
    "dax",
];

/// All its options.
static OPTIONS: [&str; ext_family::SHARED.len() + ext_family::JOURNAL.len() + OWN.len()] =
    ext_family::joined(&[ext_family::SHARED, ext_family::JOURNAL, OWN]);

impl Filesystem for Ext4 {
    fn name(&self) -> &'static str {
        "ext4"
    }

    fn title(&self) -> &'static str {
        "journal, extents, delayed allocation: the default of Debian and others"
    }

    fn kind(&self) -> FilesystemKind {
        FilesystemKind::Block
    }

    fn requirements(&self) -> Vec<Requirement> {
        block_requirements("ext4", "mkfs.ext4", "e2fsck", ext_family::PACKAGE)
    }

    fn mount_options(&self) -> &'static [&'static str] {
        &OPTIONS
    }

    fn foreign_mount_options(&self) -> &'static [&'static str] {
        ext_family::FOREIGN
    }

    fn mkfs_grammar(&self) -> Option<&'static MkfsGrammar> {
        Some(&ext_family::MKFS)
    }

    fn layouts(&self) -> &'static [&'static str] {
        &["single"]
    }

    fn smallest_bytes(&self) -> Bytes {
        // mke2fs makes smaller ones, but without the journal that sets this one apart.
        Bytes(2 << 20)
    }

    fn make(&self, contender: &Contender, devices: &[String]) -> Vec<Step> {
        ext_family::make("mkfs.ext4", contender, devices)
    }

    fn mount(&self, contender: &Contender, devices: &[String], target: &Path) -> Vec<Step> {
        ext_family::mount("ext4", contender, devices, target)
    }

    fn describe(
        &self,
        _contender: &Contender,
        devices: &[String],
        _target: &Path,
    ) -> Vec<(String, Step)> {
        ext_family::describe(devices)
    }

    fn check(&self, _contender: &Contender, devices: &[String]) -> Option<Check> {
        Some(ext_family::check(devices))
    }

    fn version(&self) -> Option<Step> {
        Some(ext_family::version("mkfs.ext4"))
    }
}
