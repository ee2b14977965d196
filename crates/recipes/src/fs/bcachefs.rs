//! bcachefs on one or several devices. fsdyno makes it itself, since no distribution of Debian has its
//! tools; the kernel checks it.

use super::fs_facts::on_devices;
use super::{Check, Facts, Filesystem, MIRROR, STRIPE, make_on};
use crate::mkfs_options::MkfsGrammar;
use crate::options;
use crate::protection::Protection;
use crate::unsafe_options::UnsafeOption;
use fsdyno_model::step::OURSELVES;
use fsdyno_model::{Bytes, Capabilities, Consistency, Contender, Step};
use std::path::Path;

/// bcachefs with the defaults of the kernel.
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

const PROTECTIONS: &[Protection] = &[
    Protection {
        name: "checksums of data",
        with: "",
        without: "[--data_checksum=none]",
        also: None,
        source: "bcachefs: Principles of Operation of bcachefs-tools 1.39.2, Checksumming",
    },
    Protection {
        name: "compression (zstd)",
        with: "[--compression=zstd]",
        without: "",
        also: None,
        source: "bcachefs: Principles of Operation of bcachefs-tools 1.39.2, Compression",
    },
];

/// Option grammar of `fsdyno bcachefs make`: some of the options of `bcachefs format`.
static MKFS: MkfsGrammar = MkfsGrammar {
    short_with_value: "L",
    long_with_value: &[
        "background_compression",
        "block_size",
        "compression",
        "data_checksum",
        "data_replicas",
        "fs_label",
        "metadata_checksum",
        "metadata_replicas",
        "replicas",
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
    title: "experimental: copy on write, checksums, compression, tiers and replicas",
    capabilities: Capabilities {
        consistency: Consistency::Journal,
        unmaintained: Some("Linux 6.12 has its driver as experimental, and Linux 6.18 removed it"),
        ..Capabilities::ALL
    },
    mkfs: &[OURSELVES, "bcachefs", "make"],
    grammar: &MKFS,
    unsafe_options: UNSAFE,
    protections: PROTECTIONS,
    options: OPTIONS,
    layouts: &["single", "pool", MIRROR, STRIPE],
    smallest: Bytes(32 << 20),
    check: Some((&[OURSELVES, "bcachefs", "check"], &[0])),
    checked_by_kernel: true,
    repair: Some((&[OURSELVES, "bcachefs", "check", "--repair"], &[0])),
    version: None,
    ..Facts::TEMPLATE
};

impl Filesystem for Bcachefs {
    fn facts(&self) -> &Facts {
        &FACTS
    }

    /// Over several devices it stripes by default, with one copy of everything; in a mirror each
    /// device has a copy.
    fn make(&self, contender: &Contender, devices: &[String]) -> Vec<Step> {
        let copies = format!("--replicas={}", devices.len());
        let copies = (contender.layout.name == MIRROR && devices.len() > 1).then_some(&*copies);
        let program: Vec<&str> = FACTS.mkfs.iter().copied().chain(copies).collect();
        make_on(&program, contender, devices)
    }

    fn make_by_hand(
        &self,
        contender: &Contender,
        devices: &[String],
        _target: &Path,
        _pool: &str,
    ) -> Vec<Step> {
        self.make(contender, devices)
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

    // The kernel does not search for the other members.
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
        // Mount options override those of mkfs.
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
