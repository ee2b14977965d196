//! NTFS by the kernel's own driver, ntfs3. Owners, permissions and other names of POSIX are kept as
//! the Windows Subsystem for Linux keeps them: in extended attributes and reparse points.

use super::plain_data::Plain;
use crate::mkfs_options::MkfsGrammar;
use fsdyno_model::{Bytes, Capabilities, Consistency, NameRule, Nanos};

/// NTFS, as mkfs.ntfs of ntfs-3g makes it.
pub static NTFS3: Plain = Plain {
    name: "ntfs3",
    title: "NTFS of Windows, by the kernel's driver: extents, metadata journal",
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
    // `-f`: without writing zeros to the whole device; `-F`: on a whole device.
    mkfs: &["mkfs.ntfs", "-q", "-f", "-F"],
    grammar: &MKFS,
    options: OPTIONS,
    smallest: Bytes(4 << 20),
    // `-f`: although it is mounted.
    describe: &["ntfsinfo", "-f", "-m"],
    // There is no full checker on Linux: ntfsfix reads the boot sectors, the master file table and its
    // mirror.
    check: Some((&["ntfsfix", "-n"], &[0])),
    repair: Some((&["ntfsfix", "-d"], &[0])),
    package: "ntfs-3g",
    ..Plain::TEMPLATE
};

/// How mkfs.ntfs reads its options (ntfs-3g 2022.10.3, mkntfs(8)).
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

/// Its options (the kernel's filesystems/ntfs3).
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
