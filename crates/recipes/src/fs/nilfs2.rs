//! NILFS2, a log-structured file system with checkpoints. fsdyno mounts it by system call, so that
//! the cleaner daemon of mount.nilfs2 does not run. Overwritten blocks are not freed within a cell.

use super::fs_facts::Facts;
use crate::mkfs_options::MkfsGrammar;
use crate::unsafe_options::{NO_FLUSHES, UnsafeOption};
use fsdyno_model::{Bytes, Capabilities, Consistency};

/// NILFS2 with the defaults of mkfs.nilfs2.
pub static NILFS2: Facts = Facts {
    name: "nilfs2",
    title: "log-structured, with continuous snapshots",
    capabilities: Capabilities {
        consistency: Consistency::CopyOnWrite,
        cleaner: Some("nilfs_cleanerd"),
        xattrs: false,
        ..Capabilities::ALL
    },
    // Without `-q`: the run stores the printed geometry.
    mkfs: &["mkfs.nilfs2", "-f"],
    by_hand: &["mkfs.nilfs2"],
    grammar: &MKFS,
    unsafe_options: UNSAFE,
    options: OPTIONS,
    // mkfs.nilfs2 requires 128 MiB and a block.
    smallest: Bytes(129 << 20),
    describe: &["nilfs-tune", "-l"],
    package: "nilfs-tools",
    ..Facts::TEMPLATE
};

/// The options that give up safety.
const UNSAFE: &[UnsafeOption] = &[UnsafeOption {
    word: "nobarrier",
    cost: NO_FLUSHES,
    source: "filesystems/nilfs2 of Linux 6.12, nobarrier",
}];

/// Option grammar of mkfs.nilfs2 (nilfs-utils 2.2.9, mkfs.nilfs2(8)).
static MKFS: MkfsGrammar = MkfsGrammar {
    short_with_value: "bBLmO",
    long_with_value: &[],
    refused: &[
        ("n", "it makes nothing"),
        ("h", "it makes nothing"),
        ("V", "it makes nothing"),
    ],
    refused_values: &[],
};

/// Mount options (the kernel's filesystems/nilfs2).
const OPTIONS: &[&str] = &[
    "barrier",
    "nobarrier",
    "cp",
    "order",
    "errors",
    "norecovery",
    "discard",
    "nodiscard",
    "pp",
    "nogc",
];
