//! XFS.

use super::{
    Check, Filesystem, block_requirements, make_first, mount_first, on_directory, on_first,
};
use crate::mkfs_options::MkfsGrammar;
use fsdyno_model::{
    Bytes, Capabilities, Consistency, Contender, FilesystemKind, Requirement, Step,
};
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

impl Filesystem for Xfs {
    fn name(&self) -> &'static str {
        "xfs"
    }

    fn title(&self) -> &'static str {
        "extents in B+ trees, allocation groups, metadata journal"
    }

    fn kind(&self) -> FilesystemKind {
        FilesystemKind::Block
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            consistency: Consistency::Journal,
            ..Capabilities::ALL
        }
    }

    fn requirements(&self) -> Vec<Requirement> {
        block_requirements("xfs", "mkfs.xfs", "xfs_repair", "xfsprogs")
    }

    fn mount_options(&self) -> &'static [&'static str] {
        OPTIONS
    }

    fn foreign_mount_options(&self) -> &'static [&'static str] {
        &["logdev", "rtdev"]
    }

    fn mkfs_grammar(&self) -> Option<&'static MkfsGrammar> {
        Some(&MKFS)
    }

    fn layouts(&self) -> &'static [&'static str] {
        &["single"]
    }

    fn smallest_bytes(&self) -> Bytes {
        // mkfs.xfs rejects smaller devices since xfsprogs 5.19.
        Bytes(300 << 20)
    }

    fn make(&self, contender: &Contender, devices: &[String]) -> Vec<Step> {
        // Without `-q`: the run stores the printed geometry.
        make_first(&["mkfs.xfs", "-f"], contender, devices)
    }

    fn mount(&self, contender: &Contender, devices: &[String], target: &Path) -> Vec<Step> {
        mount_first("xfs", Vec::new(), contender, devices, target)
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

    fn check(&self, _contender: &Contender, devices: &[String]) -> Option<Check> {
        // 1: corruption, 2: a log that was not replayed (xfs_repair(8)). After a clean unmount both
        // are errors.
        Some(Check {
            step: on_first(&["xfs_repair", "-n"], devices),
            clean: &[0],
        })
    }

    /// `-L` discards the log. It runs only if a mount cannot replay the log.
    fn repair(&self, devices: &[String]) -> Option<Check> {
        Some(Check {
            step: on_first(&["xfs_repair", "-L"], devices),
            clean: &[0],
        })
    }

    fn defragmenter(&self) -> Option<&'static str> {
        Some("xfs_fsr")
    }

    fn version(&self) -> Option<Step> {
        Some(Step::command(["mkfs.xfs", "-V"]))
    }

    fn shares_blocks(&self, contender: &Contender) -> bool {
        // `reflink=1` is the default of mkfs.xfs since 5.1.
        !contender
            .mkfs
            .iter()
            .any(|word| word.split(',').any(|part| part.ends_with("reflink=0")))
    }
}
