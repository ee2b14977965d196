//! ext2: the Linux file system without a journal. Today's kernels serve it by the ext4 driver, which
//! refuses it whatever a journal or delayed allocation would need.

use super::{Check, Filesystem, block_requirements, ext_family};
use crate::mkfs_words::MkfsGrammar;
use fsdyno_model::{Bytes, Contender, FilesystemKind, Requirement, Step};
use std::path::Path;

/// ext2, as mkfs.ext2 makes it.
pub struct Ext2;

impl Filesystem for Ext2 {
    fn name(&self) -> &'static str {
        "ext2"
    }

    fn title(&self) -> &'static str {
        "no journal: the oldest of the family, served by the ext4 driver today"
    }

    fn kind(&self) -> FilesystemKind {
        FilesystemKind::Block
    }

    fn requirements(&self) -> Vec<Requirement> {
        block_requirements("ext2", "mkfs.ext2", "e2fsck", ext_family::PACKAGE)
    }

    fn mount_options(&self) -> &'static [&'static str] {
        ext_family::SHARED
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
        // Below it mke2fs finds no room for its own inodes.
        Bytes(128 << 10)
    }

    fn make(&self, contender: &Contender, devices: &[String]) -> Vec<Step> {
        ext_family::make("mkfs.ext2", contender, devices)
    }

    fn mount(&self, contender: &Contender, devices: &[String], target: &Path) -> Vec<Step> {
        ext_family::mount("ext2", contender, devices, target)
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
        Some(ext_family::version("mkfs.ext2"))
    }
}
