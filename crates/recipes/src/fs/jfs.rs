//! JFS, from AIX and OS/2.

use super::fs_facts::{Facts, StaleData};
use crate::mkfs_options::MkfsGrammar;
use crate::unsafe_options::UnsafeOption;
use fsdyno_model::{Bytes, Capabilities, Consistency};

/// JFS with the defaults of mkfs.jfs.
pub static JFS: Facts = Facts {
    name: "jfs",
    title: "extents, dynamic inode allocation, metadata journal",
    capabilities: Capabilities {
        consistency: Consistency::Journal,
        unmaintained: Some("MAINTAINERS of Linux 6.12 has its driver as Odd Fixes"),
        largest_file: Some(Bytes(4 << 50)),
        ..Capabilities::ALL
    },
    mkfs: &["mkfs.jfs", "-q"],
    by_hand: &["mkfs.jfs"],
    grammar: &MKFS,
    unsafe_options: UNSAFE,
    options: OPTIONS,
    // mkfs.jfs rejects smaller devices.
    smallest: Bytes(16 << 20),
    describe: &["jfs_tune", "-l"],
    // `-n`: read-only check. Status 0: clean (`jfs_fsck(8)`).
    check: Some((&["jfs_fsck", "-n", "-f"], &[0])),
    // The kernel does not replay the journal of JFS. Its program does so before each mount. `-a`,
    // as at boot, does a full check and repair only if the replay fails.
    replay: Some((&["jfs_fsck", "-a"], &[0, 1])),
    // `-f`: forced repair without prompts. Status 1: errors were corrected.
    repair: Some((&["jfs_fsck", "-f"], &[0, 1])),
    // It logs metadata only, and user data is not guaranteed (S. Best, JFS Log, Annual Linux Showcase
    // 2000).
    stale_data: StaleData::Always,
    pass: 2,
    package: "jfsutils",
    ..Facts::TEMPLATE
};

/// The options that give up safety.
const UNSAFE: &[UnsafeOption] = &[UnsafeOption {
    word: "nointegrity",
    cost: "the file system may be inconsistent after a crash",
    source: "mount(8) of util-linux 2.38.1, nointegrity of jfs",
}];

/// Option grammar of mkfs.jfs (jfsutils 1.1.15, `jfs_mkfs(8)`).
static MKFS: MkfsGrammar = MkfsGrammar {
    short_with_value: "jJLs",
    long_with_value: &[],
    refused: &[
        ("j", "it names another device, for the journal"),
        ("J", "it names or makes another device, for the journal"),
        ("V", "it makes nothing"),
    ],
    refused_values: &[],
};

/// Mount options (mount(8)).
const OPTIONS: &[&str] = &[
    "integrity",
    "nointegrity",
    "iocharset",
    "resize",
    "errors",
    "quota",
    "noquota",
    "usrquota",
    "grpquota",
    "uid",
    "gid",
    "umask",
    "discard",
    "nodiscard",
];
