//! bcachefs on one or several devices.

use super::fs_facts::on_devices;
use super::{Check, Facts, Filesystem, MIRROR, make_on, on_directory, on_first};
use crate::mkfs_options::MkfsGrammar;
use crate::options;
use crate::unsafe_options::UnsafeOption;
use fsdyno_model::{Bytes, Capabilities, Consistency, Contender, Step};
use std::path::Path;

/// bcachefs with the defaults of `bcachefs format`.
pub struct Bcachefs;

/// The options that give up safety.
const UNSAFE: &[UnsafeOption] = &[
    UnsafeOption {
        word: "journal_flush_disabled",
        cost: "a power cut can take what fsync acknowledged",
        source: "bcachefs: Principles of Operation of bcachefs-tools 1.39.2, journal_flush_disabled",
    },
    UnsafeOption {
        word: "nocow",
        cost: "a write that a crash interrupts may be partial, and data have no checksums",
        source: "bcachefs: Principles of Operation of bcachefs-tools 1.39.2, nocow",
    },
];

/// Option grammar of `bcachefs format` (bcachefs(8)).
static MKFS: MkfsGrammar = MkfsGrammar {
    short_with_value: "LUl",
    long_with_value: &[
        "background_compression",
        "background_target",
        "block_size",
        "btree_node_size",
        "bucket",
        "bucket_size",
        "compression",
        "data_checksum",
        "data_replicas",
        "durability",
        "errors",
        "foreground_target",
        "fs_label",
        "fs_size",
        "label",
        "metadata_checksum",
        "metadata_replicas",
        "metadata_target",
        "promote_target",
        "replicas",
        "str_hash",
        "superblock_size",
        "uuid",
        "version",
    ],
    refused: &[
        ("source", "it copies a directory into the file system"),
        ("encrypted", "it requires a passphrase, also at each mount"),
        ("help", "it makes nothing"),
        ("h", "it makes nothing"),
    ],
    refused_values: &[],
};

/// Mount options (the kernel's fs/bcachefs/opts.h, only those valid at mount).
const OPTIONS: &[&str] = &[
    "errors",
    "metadata_replicas",
    "data_replicas",
    "metadata_replicas_required",
    "data_replicas_required",
    "metadata_checksum",
    "data_checksum",
    "compression",
    "background_compression",
    "str_hash",
    "metadata_target",
    "foreground_target",
    "background_target",
    "promote_target",
    "erasure_code",
    "inodes_32bit",
    "shard_inode_numbers",
    "inodes_use_key_cache",
    "btree_node_mem_ptr_optimization",
    "gc_reserve_percent",
    "gc_reserve_bytes",
    "root_reserve_percent",
    "wide_macs",
    "inline_data",
    "noinline_data",
    "promote_whole_extents",
    "acl",
    "noacl",
    "usrquota",
    "grpquota",
    "prjquota",
    "degraded",
    "very_degraded",
    "no_splitbrain_check",
    "discard",
    "nodiscard",
    "verbose",
    "journal_flush_delay",
    "journal_flush_disabled",
    "journal_reclaim_delay",
    "move_bytes_in_flight",
    "move_ios_in_flight",
    "fsck",
    "fix_errors",
    "ratelimit_errors",
    "nochanges",
    "norecovery",
    "journal_transaction_names",
    "nojournal_transaction_names",
    "noexcl",
    "direct_io",
    "read_only",
    "reconstruct_alloc",
    "version_upgrade",
    "nocow",
    "no_data_io",
    "btree_node_prefetch",
];

/// Compression options, for mkfs and for mount.
const COMPRESSIONS: [&str; 2] = ["compression", "background_compression"];

static FACTS: Facts = Facts {
    name: "bcachefs",
    title: "copy on write, checksums, compression, tiers and replicas",
    capabilities: Capabilities {
        consistency: Consistency::Journal,
        unmaintained: Some(
            "Linux 6.18 removed its driver, which is maintained outside of the kernel",
        ),
        ..Capabilities::ALL
    },
    // Without `--quiet`: the run stores the printed sizes and features.
    mkfs: &["bcachefs", "format", "--force"],
    by_hand: &["bcachefs", "format"],
    grammar: &MKFS,
    unsafe_options: UNSAFE,
    options: OPTIONS,
    layouts: &["single", "pool", MIRROR],
    // A device needs at least 512 buckets (BCH_MIN_NR_NBUCKETS), of 512 KiB here.
    smallest: Bytes(256 << 20),
    check: Some((&["bcachefs", "fsck", "-n"], &[0])),
    // 1: errors were corrected (fsck(8)).
    repair: Some((&["bcachefs", "fsck", "-y"], &[0, 1])),
    package: "bcachefs-tools",
    version: Some("version"),
    ..Facts::TEMPLATE
};

/// Over several devices it stripes by default, with one copy of everything; in a mirror each device has
/// a copy.
fn make_on_all(program: &[&str], contender: &Contender, devices: &[String]) -> Vec<Step> {
    let copies = format!("--replicas={}", devices.len());
    let copies = (contender.layout.name == MIRROR && devices.len() > 1).then_some(&*copies);
    let program: Vec<&str> = program.iter().copied().chain(copies).collect();
    make_on(&program, contender, devices)
}

impl Filesystem for Bcachefs {
    fn facts(&self) -> &Facts {
        &FACTS
    }

    fn make(&self, contender: &Contender, devices: &[String]) -> Vec<Step> {
        make_on_all(FACTS.mkfs, contender, devices)
    }

    fn make_by_hand(
        &self,
        contender: &Contender,
        devices: &[String],
        _target: &Path,
        _pool: &str,
    ) -> Vec<Step> {
        make_on_all(FACTS.by_hand, contender, devices)
    }

    fn mount(&self, contender: &Contender, devices: &[String], target: &Path) -> Vec<Step> {
        vec![Step::Mount {
            fstype: self.name().to_owned(),
            // The kernel requires all members in the source.
            source: devices.join(":"),
            target: target.to_owned(),
            options: contender.mount.clone(),
        }]
    }

    fn describe(
        &self,
        _contender: &Contender,
        devices: &[String],
        target: &Path,
    ) -> Vec<(String, Step)> {
        let superblock = (
            "bcachefs show-super".to_owned(),
            on_first(&["bcachefs", "show-super"], devices),
        );
        let usage = on_directory("bcachefs fs usage", &["bcachefs", "fs", "usage"], target);
        [superblock].into_iter().chain(usage).collect()
    }

    // Its programs do not search for the other members.
    fn check(&self, _contender: &Contender, devices: &[String]) -> Option<Check> {
        on_devices(FACTS.check, devices)
    }

    fn repair(&self, devices: &[String]) -> Option<Check> {
        on_devices(FACTS.repair, devices)
    }

    fn shares_blocks(&self, _contender: &Contender) -> bool {
        true
    }

    fn compresses(&self, contender: &Contender) -> bool {
        let is_set = |value: Option<&str>| !matches!(value, None | Some("none"));
        let in_mount = |key: &str| {
            let mut given = contender.mount.iter().rev();
            given
                .find(|option| options::key(option) == key)
                .map(|option| is_set(options::value(option)))
        };
        let in_mkfs = |key: &str| {
            let mut words = contender.mkfs.iter().rev();
            words.any(|word| {
                word.strip_prefix("--")
                    .is_some_and(|rest| options::key(rest) == key && is_set(options::value(rest)))
            })
        };
        // Mount options override the options of `bcachefs format`.
        COMPRESSIONS
            .iter()
            .any(|key| in_mount(key).unwrap_or_else(|| in_mkfs(key)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fs::kind_of;

    #[test]
    fn mount_compression_overrides_mkfs_compression() {
        for (text, compresses) in [
            ("bcachefs", false),
            ("bcachefs:compression=zstd", true),
            ("bcachefs:compression=none", false),
            ("bcachefs[--compression=lz4]", true),
            ("bcachefs[--background_compression=zstd]", true),
            ("bcachefs[--compression=lz4]:compression=none", false),
        ] {
            let contender = Contender::parse(text, &kind_of).unwrap();
            assert_eq!(Bcachefs.compresses(&contender), compresses, "{text}");
        }
    }
}
