//! FFS, the fast file system of the BSDs (UFS1 and UFS2), in their own kernels and with soft
//! updates. Only BSD systems have its newfs(8) and its mount options.
//!
//! Sources: the manual pages of FreeBSD (newfs(8), mount(8), tunefs(8), `fsck_ffs(8)`, dumpfs(8))
//! and of `DragonFly`.

use super::{Facts, Filesystem};
use crate::mkfs_options::MkfsGrammar;
use fsdyno_model::{Bytes, Capabilities, Consistency, Need, Requirement};

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

static FACTS: Facts = Facts {
    name: "ffs",
    title: "UFS of a BSD kernel on another machine; with soft updates: ffs[-U]",
    capabilities: Capabilities {
        consistency: Consistency::None,
        ..Capabilities::ALL
    },
    mkfs: &["newfs"],
    grammar: &NEWFS,
    // The file system type of both versions in these kernels.
    driver: Some("ufs"),
    options: OPTIONS,
    smallest: Bytes(16 << 20),
    describe: &["dumpfs"],
    check: Some((&["sh", "-c", CHECKER], &[0])),
    repair: Some((&["fsck", "-y"], &[0])),
    version: None,
    ..Facts::TEMPLATE
};

impl Filesystem for Ffs {
    fn facts(&self) -> &Facts {
        &FACTS
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
}
