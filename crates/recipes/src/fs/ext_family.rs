//! Shared code of ext2, ext3 and ext4: e2fsprogs makes, describes and checks all three.
//!
//! mkfs uses the distribution's defaults (`/etc/mke2fs.conf`), like `mkfs.ext4` on the command
//! line, except for [`EAGER`]. `-F` prevents prompts without a terminal. `-q` suppresses progress
//! output with backspaces.

use super::fs_facts::StaleData;
use super::{Facts, Filesystem, on_first};
use crate::mkfs_options::MkfsGrammar;
use crate::promises::Documented;
use crate::roles::{ReadAt, Roles};
use crate::unsafe_options::{NO_FLUSHES, UnsafeOption};
use fsdyno_model::{Bytes, Contender, ExtraPromise, Step};
use std::path::Path;

/// A file system of the family.
pub struct Ext(pub Facts);

/// The facts that all three have in common.
pub const TEMPLATE: Facts = Facts {
    grammar: &MKFS,
    foreign: &["journal_dev", "journal_path"],
    // The superblock: features, sizes, default mount options.
    describe: &["dumpe2fs", "-h"],
    // Forced, answers no. Exit code 4: errors were found (e2fsck(8)).
    check: Some((&["e2fsck", "-fn"], &[0])),
    // Forced, answers yes. Exit code 1: all errors were corrected (e2fsck(8)).
    repair: Some((&["e2fsck", "-fy"], &[0, 1])),
    pass: 2,
    package: "e2fsprogs",
    unsafe_options: UNSAFE,
    ..Facts::TEMPLATE
};

/// The options of all three that give up safety.
const UNSAFE: &[UnsafeOption] = &[
    UnsafeOption {
        word: "nobarrier",
        cost: NO_FLUSHES,
        source: "barrier in ext4(5) of e2fsprogs 1.47.0",
    },
    UnsafeOption {
        word: "barrier=0",
        cost: NO_FLUSHES,
        source: "barrier in ext4(5) of e2fsprogs 1.47.0",
    },
    UnsafeOption {
        word: "data=writeback",
        cost: "files may have old data after a crash",
        source: "data in ext4(5) of e2fsprogs 1.47.0",
    },
    UnsafeOption {
        word: "noauto_da_alloc",
        cost: "a file that was just replaced may be empty after a crash",
        source: "auto_da_alloc in admin-guide/ext4 of Linux 6.12",
    },
    UnsafeOption {
        word: "^has_journal",
        cost: "no journal: the file system may be inconsistent after a crash",
        source: "has_journal in ext4(5) of e2fsprogs 1.47.0",
    },
];

/// The promises of the journal of ext3 and ext4.
pub const PROMISES: &[Documented] = &[
    Documented::of(ExtraPromise::OrderedMetadata, ONE_JOURNAL),
    Documented::of(ExtraPromise::AllLinkNames, ONE_JOURNAL),
    Documented {
        without: &["noauto_da_alloc", "auto_da_alloc=0", "data=writeback"],
        ..Documented::of(
            ExtraPromise::ReplaceByRename,
            "auto_da_alloc in admin-guide/ext4 of Linux 6.12",
        )
    },
];

const ONE_JOURNAL: &str = "one linear journal of all metadata: filesystems/ext4/journal of Linux \
                           6.12, and A. Goldstein, linux-fsdevel, 13 March 2019";

/// With this order of data, files may show stale data (admin-guide/ext4 of Linux 6.12).
pub const STALE_DATA: StaleData = StaleData::With(&["data=writeback"]);

/// mke2fs accepts smaller devices, but without the journal that distinguishes these from ext2.
pub const SMALLEST_WITH_JOURNAL: Bytes = Bytes(2 << 20);

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
    fn facts(&self) -> &Facts {
        &self.0
    }

    fn roles(&self, read: ReadAt<'_>) -> Option<Roles> {
        super::ext_roles::roles(read)
    }

    fn is_metadata(&self, block: &[u8]) -> bool {
        super::ext_roles::is_metadata(block)
    }

    fn make(&self, contender: &Contender, devices: &[String]) -> Vec<Step> {
        make(self.0.mkfs[0], contender, devices)
    }

    fn free_space(&self, devices: &[String], _target: &Path) -> Option<(String, Step)> {
        // It queries the mounted file system itself (e2freefrag(8)).
        let step = on_first(&["e2freefrag"], devices);
        Some(("free space (e2freefrag)".to_owned(), step))
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
