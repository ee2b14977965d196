//! F2FS, a log for flash.

use super::{Check, Filesystem, block_requirements, make_first, mount_first, on_first};
use crate::mkfs_words::MkfsGrammar;
use fsdyno_model::{Bytes, Contender, FilesystemKind, Requirement, Step};
use std::path::Path;

/// F2FS, as mkfs.f2fs makes it.
pub struct F2fs;

/// How mkfs.f2fs reads its options (f2fs-tools 1.15, mkfs.f2fs(8)).
static MKFS: MkfsGrammar = MkfsGrammar {
    short_with_value: "aCcdeEgloRsTtwz",
    long_with_value: &[],
    refused: &[
        ("c", "it names other devices"),
        ("V", "it makes nothing"),
        ("h", "it makes nothing"),
    ],
    refused_values: &[],
};

/// Its options (the kernel's filesystems/f2fs).
const OPTIONS: &[&str] = &[
    "background_gc",
    "gc_merge",
    "nogc_merge",
    "disable_roll_forward",
    "norecovery",
    "discard",
    "nodiscard",
    "heap",
    "no_heap",
    "user_xattr",
    "nouser_xattr",
    "acl",
    "noacl",
    "active_logs",
    "disable_ext_identify",
    "inline_xattr",
    "noinline_xattr",
    "inline_xattr_size",
    "inline_data",
    "noinline_data",
    "inline_dentry",
    "noinline_dentry",
    "flush_merge",
    "noflush_merge",
    "barrier",
    "nobarrier",
    "fastboot",
    "extent_cache",
    "noextent_cache",
    "age_extent_cache",
    "data_flush",
    "reserve_root",
    "resuid",
    "resgid",
    "fault_injection",
    "fault_type",
    "mode",
    "io_bits",
    "usrquota",
    "grpquota",
    "prjquota",
    "quota",
    "noquota",
    "alloc_mode",
    "fsync_mode",
    "test_dummy_encryption",
    "checkpoint",
    "checkpoint_merge",
    "nocheckpoint_merge",
    "compress_algorithm",
    "compress_log_size",
    "compress_extension",
    "nocompress_extension",
    "compress_chksum",
    "compress_mode",
    "compress_cache",
    "inlinecrypt",
    "atgc",
    "discard_unit",
    "memory",
    "errors",
];

impl Filesystem for F2fs {
    fn name(&self) -> &'static str {
        "f2fs"
    }

    fn title(&self) -> &'static str {
        "a log written in segments, for flash"
    }

    fn kind(&self) -> FilesystemKind {
        FilesystemKind::Block
    }

    fn requirements(&self) -> Vec<Requirement> {
        block_requirements("f2fs", "mkfs.f2fs", "fsck.f2fs", "f2fs-tools")
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
        // Less leaves no room beside what mkfs.f2fs keeps back for its cleaner.
        Bytes(128 << 20)
    }

    fn make(&self, contender: &Contender, devices: &[String]) -> Vec<Step> {
        // Not quiet: what it prints are segments and features, which are stored with the run.
        make_first(&["mkfs.f2fs", "-f"], contender, devices)
    }

    fn mount(&self, contender: &Contender, devices: &[String], target: &Path) -> Vec<Step> {
        mount_first("f2fs", Vec::new(), contender, devices, target)
    }

    fn describe(
        &self,
        _contender: &Contender,
        devices: &[String],
        _target: &Path,
    ) -> Vec<(String, Step)> {
        let superblock = on_first(&["dump.f2fs"], devices);
        vec![("dump.f2fs".to_owned(), superblock)]
    }

    /// It only reports.
    fn check(&self, _contender: &Contender, devices: &[String]) -> Option<Check> {
        Some(Check {
            step: on_first(&["fsck.f2fs", "--dry-run"], devices),
            clean: &[0],
        })
    }

    /// `-f`: all inconsistencies are mended.
    fn repair(&self, devices: &[String]) -> Option<Check> {
        Some(Check {
            step: on_first(&["fsck.f2fs", "-f"], devices),
            clean: &[0],
        })
    }

    fn version(&self) -> Option<Step> {
        Some(Step::command(["mkfs.f2fs", "-V"]))
    }
}
