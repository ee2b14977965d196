//! Shared code of ext2, ext3 and ext4: e2fsprogs makes, describes and checks all three.
//!
//! mkfs uses the distribution's defaults (`/etc/mke2fs.conf`), like `mkfs.ext4` on the command
//! line, except for [`EAGER`]. `-F` prevents prompts without a terminal. `-q` suppresses progress
//! output with backspaces.

use super::{Check, Filesystem, block_requirements, mount_first, on_first};
use crate::mkfs_options::MkfsGrammar;
use fsdyno_model::{
    Bytes, Capabilities, Consistency, Contender, FilesystemKind, Requirement, Step,
};
use std::path::Path;

/// A file system of the family.
pub struct Ext {
    /// Name and mount type.
    pub name: &'static str,
    /// One-line description.
    pub title: &'static str,
    /// Features.
    pub capabilities: Capabilities,
    /// The mkfs program.
    pub mkfs: &'static str,
    /// Keys of its mount options.
    pub options: &'static [&'static str],
    /// Minimum size of a device.
    pub smallest: Bytes,
    /// Whether it uses extents, which e4defrag(8) requires.
    pub extents: bool,
}

/// mke2fs accepts smaller devices, but without the journal that distinguishes these from ext2.
pub const SMALLEST_WITH_JOURNAL: Bytes = Bytes(2 << 20);

/// The Debian package of the programs.
const PACKAGE: &str = "e2fsprogs";

/// Option grammar of mke2fs (e2fsprogs 1.47, mke2fs(8)).
static MKFS: MkfsGrammar = MkfsGrammar {
    short_with_value: "bCdeEgGiIJlLmMNoOrRstTUz",
    long_with_value: &[],
    refused: &[
        ("d", "it copies a directory into the file system"),
        ("l", "it reads a list of bad blocks from a file"),
        ("z", "it writes an undo file"),
        ("n", "it makes nothing"),
        ("V", "it makes nothing"),
    ],
    refused_values: &["device="],
};

/// Mount options of all three (ext4(5)).
pub const SHARED: &[&str] = &[
    "barrier",
    "nobarrier",
    "discard",
    "nodiscard",
    "auto_da_alloc",
    "noauto_da_alloc",
    "errors",
    "stripe",
    "inode_readahead_blks",
    "max_batch_time",
    "min_batch_time",
    "init_itable",
    "noinit_itable",
    "block_validity",
    "noblock_validity",
    "grpid",
    "nogrpid",
    "bsdgroups",
    "sysvgroups",
    "resuid",
    "resgid",
    "minixdf",
    "bsddf",
    "acl",
    "user_xattr",
    "i_version",
    "quota",
    "noquota",
    "usrquota",
    "grpquota",
    "prjquota",
    "mb_optimize_scan",
    "max_dir_size_kb",
    "prefetch_block_bitmaps",
    "no_prefetch_block_bitmaps",
    "nombcache",
    "no_mbcache",
    "warn_on_error",
    "nowarn_on_error",
    "sb",
    "debug",
    "abort",
];

/// Mount options of the journal, for ext3 and ext4.
pub const JOURNAL: &[&str] = &[
    "data",
    "commit",
    "noload",
    "norecovery",
    "data_err",
    "journal_ioprio",
];

/// Concatenates option lists into an array of `N`, the sum of their lengths.
pub const fn joined<const N: usize>(lists: &[&[&'static str]]) -> [&'static str; N] {
    let mut all = [""; N];
    let (mut list, mut place) = (0, 0);
    while list < lists.len() {
        let mut at = 0;
        while at < lists[list].len() {
            all[place] = lists[list][at];
            at += 1;
            place += 1;
        }
        list += 1;
    }
    assert!(place == N, "the lists do not fill the array");
    all
}

/// Keys of mount options that name another device: an external journal or quota files.
const FOREIGN: &[&str] = &["journal_dev", "journal_path"];

/// mkfs initializes everything. Otherwise the kernel zeroes inode tables in the background, up to
/// five seconds after each mount (`ext4_lazyinit`), during the measurement.
const EAGER: &str = "lazy_itable_init=0,lazy_journal_init=0";

/// `mkfs.ext4 -F -q -E EAGER [OPTIONS] DEVICE`.
///
/// mke2fs uses only the last `-E`. So a user's value is appended to the default one and overrides
/// it.
fn make(mkfs: &str, contender: &Contender, devices: &[String]) -> Vec<Step> {
    let mut options = contender.mkfs.clone();
    let mut extended = EAGER.to_owned();
    while let Some(at) = options.iter().position(|option| option.starts_with("-E")) {
        let option = options.remove(at);
        let value = match &option[2..] {
            "" if at < options.len() => options.remove(at),
            value => value.to_owned(),
        };
        extended = format!("{extended},{value}");
    }
    let fixed = [mkfs, "-F", "-q", "-E", &extended].map(str::to_owned);
    let argv = fixed
        .into_iter()
        .chain(options)
        .chain(devices.first().cloned());
    vec![Step::command(argv)]
}

impl Filesystem for Ext {
    fn name(&self) -> &'static str {
        self.name
    }

    fn title(&self) -> &'static str {
        self.title
    }

    fn kind(&self) -> FilesystemKind {
        FilesystemKind::Block
    }

    fn capabilities(&self) -> Capabilities {
        self.capabilities
    }

    fn requirements(&self) -> Vec<Requirement> {
        block_requirements(self.name, self.mkfs, "e2fsck", PACKAGE)
    }

    fn mount_options(&self) -> &'static [&'static str] {
        self.options
    }

    fn foreign_mount_options(&self) -> &'static [&'static str] {
        FOREIGN
    }

    fn mkfs_grammar(&self) -> Option<&'static MkfsGrammar> {
        Some(&MKFS)
    }

    fn layouts(&self) -> &'static [&'static str] {
        &["single"]
    }

    fn smallest_bytes(&self) -> Bytes {
        self.smallest
    }

    fn make(&self, contender: &Contender, devices: &[String]) -> Vec<Step> {
        make(self.mkfs, contender, devices)
    }

    /// Mounts under its own name. The kernel's ext4 driver serves all three.
    fn mount(&self, contender: &Contender, devices: &[String], target: &Path) -> Vec<Step> {
        mount_first(self.name, Vec::new(), contender, devices, target)
    }

    /// The superblock: features, sizes, default mount options.
    fn describe(
        &self,
        _contender: &Contender,
        devices: &[String],
        _target: &Path,
    ) -> Vec<(String, Step)> {
        vec![(
            "dumpe2fs".to_owned(),
            on_first(&["dumpe2fs", "-h"], devices),
        )]
    }

    fn free_space(&self, devices: &[String], _target: &Path) -> Option<(String, Step)> {
        // It queries the mounted file system itself (e2freefrag(8)).
        let step = on_first(&["e2freefrag"], devices);
        Some(("free space (e2freefrag)".to_owned(), step))
    }

    /// `e2fsck -fn`: forced, answers no. Exit code 4: errors were found (e2fsck(8)).
    fn check(&self, _contender: &Contender, devices: &[String]) -> Option<Check> {
        Some(Check {
            step: on_first(&["e2fsck", "-fn"], devices),
            clean: &[0],
        })
    }

    /// `e2fsck -y`, as with `fsck.repair=yes`. Preening (`-p`) stops at blocks that two files
    /// claim, which a power cut often causes, and waits for an administrator.
    fn check_at_boot(&self, devices: &[String]) -> Option<Check> {
        (self.capabilities.consistency == Consistency::None).then(|| Check {
            step: on_first(&["e2fsck", "-y"], devices),
            clean: &[0, 1],
        })
    }

    /// `e2fsck -fy`: forced, answers yes. Exit code 1: all errors were corrected (e2fsck(8)).
    fn repair(&self, devices: &[String]) -> Option<Check> {
        Some(Check {
            step: on_first(&["e2fsck", "-fy"], devices),
            clean: &[0, 1],
        })
    }

    fn defragmenter(&self) -> Option<&'static str> {
        self.extents.then_some("e4defrag")
    }

    fn version(&self) -> Option<Step> {
        Some(Step::command([self.mkfs, "-V"]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn user_extended_options_follow_the_default_ones() {
        for (typed, expected) in [
            (&["-E", "stride=4"][..], "stride=4"),
            (&["-Elazy_itable_init=1"], "lazy_itable_init=1"),
            (
                &["-N", "9", "-E", "stride=4", "-E", "resize=9"],
                "stride=4,resize=9",
            ),
        ] {
            let mut contender = Contender::plain("x");
            contender.mkfs = typed.iter().map(|word| (*word).to_owned()).collect();
            let argv = make("mkfs.x", &contender, &["/dev/x".to_owned()])[0].argv();
            assert_eq!(argv[4], format!("{EAGER},{expected}"));
            assert_eq!(argv.iter().filter(|word| word.starts_with("-E")).count(), 1);
            assert_eq!(argv.last().map(String::as_str), Some("/dev/x"));
        }
    }
}
