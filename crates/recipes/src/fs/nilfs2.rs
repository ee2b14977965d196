//! NILFS2, a log that keeps its checkpoints. It is mounted by system call, so that its cleaner, a
//! daemon of mount.nilfs2, does not run: what is written over is not given back within a cell.

use super::plain_data::Plain;
use crate::mkfs_options::MkfsGrammar;
use fsdyno_model::{Bytes, Capabilities, Consistency};

/// NILFS2, as mkfs.nilfs2 makes it.
pub static NILFS2: Plain = Plain {
    name: "nilfs2",
    title: "a log of continuous snapshots",
    capabilities: Capabilities {
        consistency: Consistency::CopyOnWrite,
        xattrs: false,
        ..Capabilities::ALL
    },
    // Not quiet: what it prints is the geometry, which is stored with the run.
    mkfs: &["mkfs.nilfs2", "-f"],
    grammar: &MKFS,
    options: OPTIONS,
    // mkfs.nilfs2 refuses less.
    smallest: Bytes(128 << 20),
    describe: &["nilfs-tune", "-l"],
    package: "nilfs-tools",
    ..Plain::TEMPLATE
};

/// How mkfs.nilfs2 reads its options (nilfs-utils 2.2.9, mkfs.nilfs2(8)).
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

/// Its options (the kernel's filesystems/nilfs2).
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
