//! FFS, the fast file system of the BSDs (UFS1 and UFS2), in their own kernels and with soft
//! updates. Only BSD systems have its newfs(8) and its mount options.
//!
//! Sources: the manual pages of FreeBSD (newfs(8), mount(8), tunefs(8), `fsck_ffs(8)`, dumpfs(8))
//! and of `DragonFly`.

use super::{Facts, Filesystem, first, make_on};
use crate::mkfs_options::MkfsGrammar;
use fsdyno_model::{Bytes, Capabilities, Consistency, Contender, Need, Requirement, Step};

/// FFS whose metadata writes are synchronous and ordered (`noasync`), unless an option says
/// otherwise: `[-U]` selects soft updates, `[-j]` those with a journal, `:async` asynchronous writes.
pub struct Ffs;

pub(super) const NAME: &str = "ffs";

/// Makes the file system by the words after `$0`, the device, and turns soft updates off: newfs of
/// later systems turns them on by default, and has another letter for each default. The old newfs
/// left them off, and tunefs(8) reports that nothing changes.
const WITHOUT_SOFT_UPDATES: &str = "newfs \"$@\" \"$0\" && tunefs -n disable \"$0\"";

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
    name: NAME,
    title: "UFS of a BSD kernel; with soft updates ffs[-U], with their journal ffs[-j]",
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
            Requirement::new(program("tunefs"), "making ffs"),
            Requirement::new(program("fsck"), "checking ffs"),
        ]
    }

    fn make(&self, contender: &Contender, devices: &[String]) -> Vec<Step> {
        let given = NEWFS.given(&contender.mkfs);
        if given.iter().any(|letter| ["U", "j"].contains(&&**letter)) {
            return make_on(FACTS.mkfs, contender, first(devices));
        }
        let words = ["sh", "-c", WITHOUT_SOFT_UPDATES]
            .map(str::to_owned)
            .into_iter();
        let device = first(devices).iter().cloned();
        vec![Step::command(
            words.chain(device).chain(contender.mkfs.clone()),
        )]
    }
}
