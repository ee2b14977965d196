//! FAT with long names, from MS-DOS and Windows 95: the format of memory cards and EFI partitions.

use super::fs_facts::Facts;
use crate::mkfs_options::MkfsGrammar;
use fsdyno_model::{Bytes, Capabilities, Consistency, NameRule, Nanos};

/// FAT with the defaults of mkfs.vfat: FAT32 from 512 MiB on.
pub static VFAT: Facts = Facts {
    name: "vfat",
    title: "file allocation table with long names, no journal: memory cards, EFI partitions",
    capabilities: Capabilities {
        consistency: Consistency::None,
        unmaintained: None,
        cleaner: None,
        hard_links: false,
        symlinks: false,
        special_files: false,
        owners: false,
        xattrs: false,
        sparse_files: false,
        direct_io: true,
        largest_file: Some(Bytes((4 << 30) - 1)),
        case_folding: true,
        names: NameRule::WINDOWS,
        mtime_resolution: Nanos(2_000_000_000),
    },
    // `-I`: uses a whole device without partitions. `-v`: prints the geometry, which the run
    // stores.
    mkfs: &["mkfs.vfat", "-I", "-v"],
    by_hand: &["mkfs.vfat"],
    grammar: &MKFS,
    options: OPTIONS,
    smallest: Bytes(1 << 20),
    check: Some((&["fsck.vfat", "-n"], &[0])),
    // 1 means that errors were corrected (fsck.fat(8)).
    check_at_boot: Some((&["fsck.vfat", "-a"], &[0, 1])),
    repair: Some((&["fsck.vfat", "-a"], &[0, 1])),
    pass: 2,
    package: "dosfstools",
    // It has no version option, and prints its version before the help.
    version: Some("--help"),
    ..Facts::TEMPLATE
};

/// Option grammar of mkfs.fat (dosfstools 4.2, mkfs.fat(8)).
static MKFS: MkfsGrammar = MkfsGrammar {
    short_with_value: "bDfFghilmMnrRsS",
    long_with_value: &["codepage", "mbr", "offset", "variant"],
    refused: &[
        ("C", "it creates the file that it formats"),
        ("l", "it reads a list of bad blocks from a file"),
        ("m", "it reads a message from a file"),
        ("help", "it makes nothing"),
    ],
    refused_values: &[],
};

/// Mount options (the kernel's filesystems/vfat).
const OPTIONS: &[&str] = &[
    "uid",
    "gid",
    "umask",
    "dmask",
    "fmask",
    "allow_utime",
    "check",
    "codepage",
    "debug",
    "discard",
    "dos1xfloppy",
    "errors",
    "flush",
    "iocharset",
    "nfs",
    "nonumtail",
    "quiet",
    "rodir",
    "shortname",
    "showexec",
    "sys_immutable",
    "time_offset",
    "tz",
    "uni_xlate",
    "usefree",
    "utf8",
];
