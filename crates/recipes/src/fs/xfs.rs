//! XFS.

use super::fs_facts::Quota;
use super::{Facts, Filesystem, on_directory};
use crate::mkfs_options::MkfsGrammar;
use crate::promises::Documented;
use crate::protection::Protection;
use crate::roles::{ReadAt, Roles};
use fsdyno_model::{Bytes, Capabilities, Consistency, Contender, ExtraPromise, Step};
use std::path::Path;

/// XFS with the defaults of mkfs.xfs.
pub struct Xfs;

/// Option grammar of mkfs.xfs (xfsprogs 6.1, mkfs.xfs(8)).
static MKFS: MkfsGrammar = MkfsGrammar {
    short_with_value: "bcdilLmnprs",
    long_with_value: &[],
    refused: &[
        ("p", "it fills the file system from a prototype file"),
        ("N", "it makes nothing"),
        ("V", "it makes nothing"),
    ],
    refused_values: &["logdev=", "rtdev=", "name=", "file"],
};

/// Mount options. Linux 4.19 removed `barrier` and `nobarrier`: XFS always flushes.
const OPTIONS: &[&str] = &[
    "allocsize",
    "discard",
    "nodiscard",
    "dax",
    "filestreams",
    "grpid",
    "nogrpid",
    "bsdgroups",
    "sysvgroups",
    "inode32",
    "inode64",
    "largeio",
    "nolargeio",
    "lifetime",
    "nolifetime",
    "logbufs",
    "logbsize",
    "max_atomic_write",
    "max_open_zones",
    "noalign",
    "norecovery",
    "nouuid",
    "noquota",
    "quota",
    "uquota",
    "usrquota",
    "uqnoenforce",
    "qnoenforce",
    "gquota",
    "grpquota",
    "gqnoenforce",
    "pquota",
    "prjquota",
    "pqnoenforce",
    "sunit",
    "swidth",
    "swalloc",
    "wsync",
];

const PROMISES: &[Documented] = &[
    Documented::of(ExtraPromise::OrderedMetadata, LOG_ORDER),
    Documented::of(ExtraPromise::AllLinkNames, LOG_ORDER),
];

const LOG_ORDER: &str = "\"global ordering guarantees\" of the log in \
                         filesystems/xfs/xfs-delayed-logging-design of Linux 6.12";

const PROTECTIONS: &[Protection] = &[Protection {
    name: "checksums of metadata",
    with: "",
    without: "[-m crc=0]",
    also: Some("inodes of 256 bytes, and no B+ tree of free inodes and no reflink"),
    source: "mkfs.xfs(8) of xfsprogs 6.1, crc",
}];

static FACTS: Facts = Facts {
    name: "xfs",
    title: "extents in B+ trees, allocation groups, metadata journal",
    capabilities: Capabilities {
        consistency: Consistency::Journal,
        ..Capabilities::ALL
    },
    // Without `-q`: the run stores the printed geometry.
    mkfs: &["mkfs.xfs", "-f"],
    by_hand: &["mkfs.xfs"],
    grammar: &MKFS,
    options: OPTIONS,
    protections: PROTECTIONS,
    foreign: &["logdev", "rtdev"],
    // mkfs.xfs rejects smaller devices since xfsprogs 5.19.
    smallest: Bytes(300 << 20),
    // 1: corruption, 2: a log that was not replayed (xfs_repair(8)). After a clean unmount both are
    // errors.
    check: Some((&["xfs_repair", "-n"], &[0])),
    // `-L` discards the log. It runs only if a mount cannot replay the log.
    repair: Some((&["xfs_repair", "-L"], &[0])),
    promises: PROMISES,
    defragmenter: Some("xfs_fsr"),
    // xfs(5) of xfsprogs 6.1: uquota.
    quota: Some(Quota {
        feature: None,
        mount: "uquota",
    }),
    package: "xfsprogs",
    ..Facts::TEMPLATE
};

impl Filesystem for Xfs {
    fn facts(&self) -> &Facts {
        &FACTS
    }

    fn roles(&self, read: ReadAt<'_>) -> Option<Roles> {
        super::xfs_roles::roles(read)
    }

    fn describe(
        &self,
        _contender: &Contender,
        _devices: &[String],
        target: &Path,
    ) -> Vec<(String, Step)> {
        on_directory("xfs_info", &["xfs_info"], target)
            .into_iter()
            .collect()
    }

    fn free_space(&self, _devices: &[String], target: &Path) -> Option<(String, Step)> {
        // Histogram of free extents by size in blocks, with sums.
        on_directory(
            "free space (xfs_spaceman)",
            &["xfs_spaceman", "-c", "freesp -s"],
            target,
        )
    }

    fn shares_blocks(&self, contender: &Contender) -> bool {
        // `reflink=1` is the default of mkfs.xfs since 5.1.
        !contender
            .mkfs
            .iter()
            .any(|word| word.split(',').any(|part| part.ends_with("reflink=0")))
    }
}
