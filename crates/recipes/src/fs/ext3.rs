//! ext3: ext2 and a journal. Today's kernels serve it by the ext4 driver, without extents and delayed
//! allocation.

use super::{Check, Filesystem, block_requirements, ext_family};
use crate::mkfs_words::MkfsGrammar;
use fsdyno_model::{Bytes, Contender, FilesystemKind, Requirement, Step};
use std::path::Path;

/// ext3, as mkfs.ext3 makes it.
pub struct Ext3;

/// What it shares, and the journal's.
static OPTIONS: [&str; ext_family::SHARED.len() + ext_family::JOURNAL.len()] =
    ext_family::joined(&[ext_family::SHARED, ext_family::JOURNAL]);

impl Filesystem for Ext3 {
    fn name(&self) -> &'static str {
        "ext3"
    }

    fn title(&self) -> &'static str {
        "ext2 with a journal, served by the ext4 driver today"
    }

    fn kind(&self) -> FilesystemKind {
        FilesystemKind::Block
    }

    fn requirements(&self) -> Vec<Requirement> {
        block_requirements("ext3", "mkfs.ext3", "e2fsck", ext_family::PACKAGE)
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
        ext_family::make("mkfs.ext3", contender, devices)
    }

    fn mount(&self, contender: &Contender, devices: &[String], target: &Path) -> Vec<Step> {
        ext_family::mount("ext3", contender, devices, target)
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
        Some(ext_family::version("mkfs.ext3"))
    }
}
