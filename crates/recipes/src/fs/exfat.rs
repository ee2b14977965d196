//! exFAT, the successor of FAT on large memory cards: no journal, files larger than 4 GiB.

use super::fs_facts::Facts;
use crate::mkfs_options::MkfsGrammar;
use fsdyno_model::{Bytes, Capabilities, Consistency, NameRule, Nanos};

/// exFAT with the defaults of mkfs.exfat (exfatprogs).
pub static EXFAT: Facts = Facts {
    name: "exfat",
    title: "FAT for large files, free space in a bitmap, no journal: memory cards, USB sticks",
    capabilities: Capabilities {
        consistency: Consistency::None,
        hard_links: false,
        symlinks: false,
        special_files: false,
        owners: false,
        xattrs: false,
        sparse_files: false,
        case_folding: true,
        names: NameRule::WINDOWS,
        mtime_resolution: Nanos(10_000_000),
        ..Capabilities::ALL
    },
    mkfs: &["mkfs.exfat"],
    grammar: &MKFS,
    options: OPTIONS,
    smallest: Bytes(4 << 20),
    check: Some((&["fsck.exfat", "-n"], &[0])),
    // 1 means that errors were corrected (fsck.exfat(8)).
    check_at_boot: Some((&["fsck.exfat", "-p"], &[0, 1])),
    repair: Some((&["fsck.exfat", "-y"], &[0, 1])),
    pass: 2,
    package: "exfatprogs",
    ..Facts::TEMPLATE
};

/// Option grammar of mkfs.exfat (exfatprogs 1.2.0, mkfs.exfat(8)).
static MKFS: MkfsGrammar = MkfsGrammar {
    short_with_value: "Lcb",
    long_with_value: &["volume-label", "cluster-size", "boundary-align"],
    refused: &[
        ("V", "it makes nothing"),
        ("version", "it makes nothing"),
        ("h", "it makes nothing"),
        ("help", "it makes nothing"),
    ],
    refused_values: &[],
};

/// Mount options (`fs/exfat/super.c` of Linux 6.12).
const OPTIONS: &[&str] = &[
    "uid",
    "gid",
    "umask",
    "dmask",
    "fmask",
    "allow_utime",
    "iocharset",
    "errors",
    "discard",
    "keep_last_dots",
    "sys_tz",
    "time_offset",
    "zero_size_dir",
];
