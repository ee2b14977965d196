//! F2FS, a log-structured file system for flash.

use super::fs_facts::{Facts, Quota, StaleData};
use crate::mkfs_options::MkfsGrammar;
use crate::promises::Documented;
use crate::protection::Protection;
use crate::unsafe_options::{NO_FLUSHES, UnsafeOption};
use fsdyno_model::{Bytes, Capabilities, Consistency, ExtraPromise};

/// F2FS with the defaults of mkfs.f2fs.
pub static F2FS: Facts = Facts {
    name: "f2fs",
    title: "log-structured, for flash",
    capabilities: Capabilities {
        consistency: Consistency::CopyOnWrite,
        // Blocks that an inode addresses: direct ones, and those of 2 direct, 2 indirect and 1
        // doubly indirect node (the kernel's filesystems/f2fs).
        largest_file: Some(Bytes(
            4096 * (923 + 2 * 1018 + 2 * 1018 * 1018 + 1018 * 1018 * 1018),
        )),
        ..Capabilities::ALL
    },
    // Without `-q`: the run stores the printed segments and features.
    mkfs: &["mkfs.f2fs", "-f"],
    by_hand: &["mkfs.f2fs"],
    grammar: &MKFS,
    unsafe_options: UNSAFE,
    protections: PROTECTIONS,
    options: OPTIONS,
    // On smaller devices the reserve for the cleaner leaves no space for data.
    smallest: Bytes(128 << 20),
    describe: &["dump.f2fs"],
    // It only reports.
    check: Some((&["fsck.f2fs", "--dry-run"], &[0])),
    // `-f`: corrects all inconsistencies.
    repair: Some((&["fsck.f2fs", "-f"], &[0])),
    promises: PROMISES,
    // filesystems/f2fs of Linux 6.12 promises no order of data and nodes.
    stale_data: StaleData::Always,
    pass: 2,
    // mkfs.f2fs(8) of f2fs-tools 1.15, and filesystems/f2fs of Linux 6.12.
    quota: Some(Quota {
        feature: Some("quota"),
        mount: "usrquota",
    }),
    package: "f2fs-tools",
    ..Facts::TEMPLATE
};

const PROMISES: &[Documented] = &[Documented {
    with: &["fsync_mode=strict"],
    ..Documented::of(
        ExtraPromise::DependentMetadata,
        "fsync_mode in filesystems/f2fs of Linux 6.12, and C. Yu, linux-fsdevel, March 2019",
    )
}];

/// The options that give up safety.
const UNSAFE: &[UnsafeOption] = &[
    UnsafeOption {
        word: "nobarrier",
        cost: NO_FLUSHES,
        source: "filesystems/f2fs of Linux 6.12, nobarrier",
    },
    UnsafeOption {
        word: "fsync_mode=nobarrier",
        cost: NO_FLUSHES,
        source: "filesystems/f2fs of Linux 6.12, fsync_mode",
    },
    UnsafeOption {
        word: "checkpoint=disable",
        cost: "a crash takes everything since the mount",
        source: "filesystems/f2fs of Linux 6.12, checkpoint",
    },
];

const PROTECTIONS: &[Protection] = &[Protection {
    name: "checksums of inodes",
    with: "[-Oextra_attr,inode_checksum]",
    without: "[-Oextra_attr]",
    also: None,
    source: "mkfs.f2fs(8) of f2fs-tools 1.15, -O",
}];

/// Option grammar of mkfs.f2fs (f2fs-tools 1.15, mkfs.f2fs(8)).
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

/// Mount options (the kernel's filesystems/f2fs).
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
