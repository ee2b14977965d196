//! NTFS with the kernel's own driver, ntfs3. It stores POSIX owners, permissions and names like the
//! Windows Subsystem for Linux: in extended attributes and reparse points.

use super::fs_facts::Facts;
use crate::mkfs_options::MkfsGrammar;
use fsdyno_model::{Bytes, Capabilities, Consistency, NameRule, Nanos};

/// NTFS with the defaults of mkfs.ntfs (ntfs-3g).
pub static NTFS3: Facts = Facts {
    name: "ntfs3",
    title: "NTFS of Windows, by the kernel driver ntfs3: extents, metadata journal",
    capabilities: Capabilities {
        consistency: Consistency::Journal,
        // Only with the mount option `sparse`.
        sparse_files: false,
        // 2^32 clusters of 4 KiB (the kernel's `NTFS3_64BIT_CLUSTER`).
        largest_file: Some(Bytes(16 << 40)),
        names: NameRule::UNICODE,
        mtime_resolution: Nanos(100),
        ..Capabilities::ALL
    },
    // `-f`: does not zero the whole device. `-F`: accepts a whole device.
    mkfs: &["mkfs.ntfs", "-q", "-f", "-F"],
    by_hand: &["mkfs.ntfs", "-f"],
    grammar: &MKFS,
    options: OPTIONS,
    smallest: Bytes(4 << 20),
    // `-f`: accepts a mounted device.
    describe: &["ntfsinfo", "-f", "-m"],
    // Linux has no full checker: ntfsfix reads the boot sectors, the master file table and its
    // mirror.
    check: Some((&["ntfsfix", "-n"], &[0])),
    repair: Some((&["ntfsfix", "-d"], &[0])),
    package: "ntfs-3g",
    ..Facts::TEMPLATE
};

/// Option grammar of mkfs.ntfs (ntfs-3g 2022.10.3, mkntfs(8)).
static MKFS: MkfsGrammar = MkfsGrammar {
    short_with_value: "LcspHSz",
    long_with_value: &[
        "label",
        "cluster-size",
        "sector-size",
        "partition-start",
        "heads",
        "sectors-per-track",
        "mft-zone-multiplier",
    ],
    refused: &[
        ("n", "it makes nothing"),
        ("no-action", "it makes nothing"),
        ("V", "it makes nothing"),
        ("version", "it makes nothing"),
        ("l", "it makes nothing"),
        ("license", "it makes nothing"),
        ("h", "it makes nothing"),
        ("help", "it makes nothing"),
    ],
    refused_values: &[],
};

/// Mount options (the kernel's filesystems/ntfs3).
const OPTIONS: &[&str] = &[
    "uid",
    "gid",
    "umask",
    "dmask",
    "fmask",
    "acl",
    "discard",
    "force",
    "hide_dot_files",
    "iocharset",
    "nocase",
    "nohidden",
    "prealloc",
    "showmeta",
    "sparse",
    "sys_immutable",
    "windows_names",
];
