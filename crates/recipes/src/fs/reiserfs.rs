//! `ReiserFS` (version 3), which left the kernel with Linux 6.13.

use super::fs_facts::Facts;
use crate::mkfs_options::MkfsGrammar;
use crate::unsafe_options::{NO_FLUSHES, UnsafeOption};
use fsdyno_model::{Bytes, Capabilities, Consistency, Nanos};

/// `ReiserFS` with the defaults of mkfs.reiserfs.
pub static REISERFS: Facts = Facts {
    name: "reiserfs",
    title: "one balanced tree, tail packing, metadata journal",
    capabilities: Capabilities {
        consistency: Consistency::Journal,
        unmaintained: Some(
            "MAINTAINERS of Linux 6.12 has its driver as Obsolete, and Linux 6.13 removed it",
        ),
        // Only with the mount option `user_xattr`.
        xattrs: false,
        mtime_resolution: Nanos(1_000_000_000),
        ..Capabilities::ALL
    },
    // `-q`: no progress in dots. `-f` twice: a single one prompts (mkreiserfs(8)).
    mkfs: &["mkfs.reiserfs", "-q", "-f", "-f"],
    by_hand: &["mkfs.reiserfs"],
    grammar: &MKFS,
    unsafe_options: UNSAFE,
    options: OPTIONS,
    foreign: &["jdev"],
    // The default journal has 8193 blocks (mkreiserfs(8)), and data needs space too.
    smallest: Bytes(40 << 20),
    describe: &["debugreiserfs"],
    // `--check` repairs nothing; 0 means no errors (reiserfsck(8)).
    check: Some((&["reiserfsck", "--check", "--quiet", "--yes"], &[0])),
    // 1 means that errors were corrected.
    repair: Some((
        &["reiserfsck", "--fix-fixable", "--quiet", "--yes"],
        &[0, 1],
    )),
    pass: 2,
    package: "reiserfsprogs",
    ..Facts::TEMPLATE
};

/// The options that give up safety.
const UNSAFE: &[UnsafeOption] = &[
    UnsafeOption {
        word: "barrier=none",
        cost: NO_FLUSHES,
        source: "fs/reiserfs/super.c of Linux 6.12, barrier",
    },
    UnsafeOption {
        word: "data=writeback",
        cost: "files may have old data after a crash",
        source: "mount(8) of util-linux 2.38.1, data of reiserfs",
    },
    UnsafeOption {
        word: "nolog",
        cost: "no journal: the file system may be inconsistent after a crash",
        source: "mount(8) of util-linux 2.38.1, nolog of reiserfs",
    },
];

/// Option grammar of mkfs.reiserfs (reiserfsprogs 3.6.27, mkreiserfs(8)).
static MKFS: MkfsGrammar = MkfsGrammar {
    short_with_value: "bhuljostB",
    long_with_value: &[
        "badblocks",
        "block-size",
        "format",
        "hash",
        "journal-device",
        "journal-offset",
        "journal-size",
        "label",
        "transaction-max-size",
        "uuid",
    ],
    refused: &[
        ("j", "it names another device, for the journal"),
        ("journal-device", "it names another device, for the journal"),
        ("B", "it reads a list of bad blocks from a file"),
        ("badblocks", "it reads a list of bad blocks from a file"),
        ("V", "it makes nothing"),
    ],
    refused_values: &[],
};

/// Mount options (mount(8)).
const OPTIONS: &[&str] = &[
    "acl",
    "noacl",
    "alloc",
    "attrs",
    "barrier",
    "conv",
    "data",
    "commit",
    "errors",
    "expose_privroot",
    "grpjquota",
    "grpquota",
    "hash",
    "hashed_relocation",
    "jqfmt",
    "jdev",
    "no_unhashed_relocation",
    "noborder",
    "nolargeio",
    "nolog",
    "notail",
    "tails",
    "replayonly",
    "resize",
    "test4",
    "user_xattr",
    "nouser_xattr",
    "usrjquota",
    "usrquota",
];
