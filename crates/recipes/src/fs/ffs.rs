//! FFS, the fast file system of the BSDs (UFS1 and UFS2), in their own kernels and with soft
//! updates. Only BSD systems have its newfs(8) and its mount options.
//!
//! Sources: the manual pages of FreeBSD (newfs(8), mount(8), tunefs(8), `fsck_ffs(8)`, dumpfs(8))
//! and of `DragonFly`.

use super::{Check, Filesystem, make_first, mount_first, on_first};
use crate::mkfs_options::MkfsGrammar;
use fsdyno_model::{
    Bytes, Capabilities, Consistency, Contender, FilesystemKind, Need, Requirement, Step,
};
use std::path::Path;

/// FFS with the defaults of newfs: metadata writes are synchronous and ordered (`noasync`). `[-U]`
/// selects soft updates, `:async` asynchronous writes.
pub struct Ffs;

/// Option grammar of newfs on FreeBSD. On `DragonFly`, `-O` and `-E` have no value, and `-U` is the
/// same.
static NEWFS: MkfsGrammar = MkfsGrammar {
    short_with_value: "LOSTabcdefghikmoprs",
    long_with_value: &[],
    refused: &[
        ("N", "it makes nothing"),
        ("T", "it names a disk to be described by"),
        ("p", "it names a partition of the device"),
    ],
    refused_values: &[],
};

/// Mount options (mount(8) of FreeBSD).
const OPTIONS: &[&str] = &[
    "noasync",
    "noclusterr",
    "noclusterw",
    "acls",
    "nfsv4acls",
    "multilabel",
    "snapshot",
    "suiddir",
    "force",
    "union",
];

/// `-n` answers no to all questions and writes nothing. `-f` forces a check of a clean file system.
/// On `DragonFly` fsck(8) is the checker itself and always checks.
const CHECKER: &str =
    "if command -v fsck_ffs >/dev/null; then fsck_ffs -n -f \"$0\"; else fsck -n \"$0\"; fi";

impl Filesystem for Ffs {
    fn name(&self) -> &'static str {
        "ffs"
    }

    fn title(&self) -> &'static str {
        "UFS of a BSD kernel on another machine; with soft updates: ffs[-U]"
    }

    fn kind(&self) -> FilesystemKind {
        FilesystemKind::Block
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            consistency: Consistency::None,
            ..Capabilities::ALL
        }
    }

    fn requirements(&self) -> Vec<Requirement> {
        // These programs belong to the BSD base system.
        let program = |name: &str| Need::Program {
            name: name.to_owned(),
            package: "the base system".to_owned(),
        };
        vec![
            Requirement::new(Need::BsdKernel, "mounting ffs"),
            Requirement::new(Need::Root, "making and mounting ffs"),
            Requirement::new(program("newfs"), "making ffs"),
            Requirement::new(program("fsck"), "checking ffs"),
        ]
    }

    fn mount_options(&self) -> &'static [&'static str] {
        OPTIONS
    }

    fn mkfs_grammar(&self) -> Option<&'static MkfsGrammar> {
        Some(&NEWFS)
    }

    fn layouts(&self) -> &'static [&'static str] {
        &["single"]
    }

    fn smallest_bytes(&self) -> Bytes {
        Bytes(16 << 20)
    }

    fn make(&self, contender: &Contender, devices: &[String]) -> Vec<Step> {
        make_first(&["newfs"], contender, devices)
    }

    fn mount(&self, contender: &Contender, devices: &[String], target: &Path) -> Vec<Step> {
        // The file system type of both versions in these kernels.
        mount_first("ufs", Vec::new(), contender, devices, target)
    }

    fn describe(
        &self,
        _contender: &Contender,
        devices: &[String],
        _target: &Path,
    ) -> Vec<(String, Step)> {
        vec![("dumpfs".to_owned(), on_first(&["dumpfs"], devices))]
    }

    fn check(&self, _contender: &Contender, devices: &[String]) -> Option<Check> {
        Some(Check {
            step: on_first(&["sh", "-c", CHECKER], devices),
            clean: &[0],
        })
    }

    fn repair(&self, devices: &[String]) -> Option<Check> {
        Some(Check {
            step: on_first(&["fsck", "-y"], devices),
            clean: &[0],
        })
    }
}
