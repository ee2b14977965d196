//! Btrfs on one device or as a pool of several.

use super::{
    Check, Facts, Filesystem, Forget, MIRROR, PARITY, STRIPE, make_on, mount_first, on_directory,
    on_first,
};
use crate::mkfs_options::MkfsGrammar;
use crate::options;
use crate::promises::Documented;
use crate::protection::Protection;
use crate::roles::{ReadAt, Roles};
use crate::unsafe_options::{NO_FLUSHES, UnsafeOption};
use fsdyno_model::{Bytes, Capabilities, Consistency, Contender, ExtraPromise, Step};
use std::path::Path;

/// Btrfs with the defaults of mkfs.btrfs.
pub struct Btrfs;

/// The options that give up safety.
const UNSAFE: &[UnsafeOption] = &[
    UnsafeOption {
        word: "nobarrier",
        cost: NO_FLUSHES,
        source: "btrfs(5) of btrfs-progs 6.2, barrier",
    },
    UnsafeOption {
        word: "nodatacow",
        cost: "a write that a crash interrupts may be partial, and data have no checksums",
        source: "btrfs(5) of btrfs-progs 6.2, nodatacow",
    },
    UnsafeOption {
        word: "nodatasum",
        cost: "data have no checksums",
        source: "btrfs(5) of btrfs-progs 6.2, datasum",
    },
];

const PROTECTIONS: &[Protection] = &[
    Protection {
        name: "checksums of data",
        with: "",
        without: ":nodatasum",
        also: None,
        source: "btrfs(5) of btrfs-progs 6.2, datasum",
    },
    Protection {
        name: "compression (zstd)",
        with: ":compress=zstd",
        without: "",
        also: None,
        source: "btrfs(5) of btrfs-progs 6.2, compress",
    },
];

/// Option grammar of mkfs.btrfs (btrfs-progs 6.2, mkfs.btrfs(8)).
static MKFS: MkfsGrammar = MkfsGrammar {
    short_with_value: "bdmnsLORUr",
    long_with_value: &[
        "byte-count",
        "checksum",
        "csum",
        "data",
        "features",
        "label",
        "metadata",
        "nodesize",
        "rootdir",
        "runtime-features",
        "sectorsize",
        "uuid",
    ],
    refused: &[
        ("r", "it copies a directory into the file system"),
        ("rootdir", "it copies a directory into the file system"),
        ("V", "it makes nothing"),
        ("version", "it makes nothing"),
    ],
    refused_values: &[],
};

/// Mount options (btrfs(5)).
const OPTIONS: &[&str] = &[
    "acl",
    "noacl",
    "autodefrag",
    "noautodefrag",
    "barrier",
    "nobarrier",
    "clear_cache",
    "commit",
    "compress",
    "compress-force",
    "datacow",
    "nodatacow",
    "datasum",
    "nodatasum",
    "degraded",
    "discard",
    "nodiscard",
    "enospc_debug",
    "noenospc_debug",
    "fatal_errors",
    "flushoncommit",
    "noflushoncommit",
    "max_inline",
    "metadata_ratio",
    "norecovery",
    "rescan_uuid_tree",
    "rescue",
    "skip_balance",
    "space_cache",
    "ssd",
    "ssd_spread",
    "nossd",
    "nossd_spread",
    "subvol",
    "subvolid",
    "thread_pool",
    "treelog",
    "notreelog",
    "usebackuproot",
    "user_subvol_rm_allowed",
];

/// `BTRFS_IOC_FORGET_DEV`: `_IOW(0x94, 5, struct btrfs_ioctl_vol_args)` (include/uapi/linux/btrfs.h).
const FORGET_DEVICE: u32 = 0x5000_9405;

/// The size of `struct btrfs_ioctl_vol_args`, and the offset of the name in it.
const VOLUME_ARGUMENTS: usize = 4096;
const NAME_AT: usize = 8;

impl Btrfs {
    /// Block group profiles of a pool, unless the user sets them.
    ///
    /// A pool uses the file system's own striping, like the published comparisons of pools: `raid0`
    /// for data. It must be explicit: up to version 5.7 mkfs.btrfs striped data over several
    /// devices by default. Since 5.8 the default is `single`, which fills one device after the
    /// other (mkfs.btrfs(8)). `raid1` for metadata is still the default. It is explicit so that the
    /// command line has the same meaning in all versions.
    ///
    /// With a mirror, each device has a copy of everything: `raid1`, `raid1c3`, `raid1c4`. With a
    /// parity, data are `raid5`, and metadata `raid1`, as btrfs(5) advises: a power cut can damage a
    /// stripe of `raid5` (the write hole). On one
    /// device, also on one array, the defaults of mkfs.btrfs apply.
    fn profiles(contender: &Contender, devices: usize) -> Vec<String> {
        let given = |letter: char, long: &str| {
            MKFS.given(&contender.mkfs)
                .iter()
                .any(|option| option == &letter.to_string() || option == long)
        };
        // Mixed block groups have one profile for data and metadata, which the user selects.
        if devices < 2 || given('M', "mixed") {
            return Vec::new();
        }
        let [data, metadata] = match (&*contender.layout.name, devices) {
            (PARITY, _) => ["raid5", "raid1"],
            (MIRROR, 2) => ["raid1"; 2],
            (MIRROR, 3) => ["raid1c3"; 2],
            (MIRROR, _) => ["raid1c4"; 2],
            _ => ["raid0", "raid1"],
        };
        let mut words = Vec::new();
        for (letter, long, profile) in [('d', "data", data), ('m', "metadata", metadata)] {
            if !given(letter, long) {
                words.extend([format!("-{letter}"), profile.to_owned()]);
            }
        }
        words
    }
}

/// Runs a program on devices with the profiles of block groups.
fn make_with(program: &[&str], contender: &Contender, devices: &[String]) -> Vec<Step> {
    let profiles = Btrfs::profiles(contender, devices.len());
    let profiles = profiles.iter().map(String::as_str);
    let program: Vec<&str> = program.iter().copied().chain(profiles).collect();
    make_on(&program, contender, devices)
}

/// A replacement by rename has only started to write the data (`btrfs_rename` of Linux 6.12): nothing
/// is promised since Linux 3.17.
const PROMISES: &[Documented] = &[Documented::of(
    ExtraPromise::DependentMetadata,
    "F. Manana, linux-btrfs, 26 October 2025",
)];

static FACTS: Facts = Facts {
    name: "btrfs",
    title: "copy on write, checksums, compression, pools",
    capabilities: Capabilities {
        consistency: Consistency::CopyOnWrite,
        ..Capabilities::ALL
    },
    // Without `-q`: the run stores the printed profiles and features.
    mkfs: &["mkfs.btrfs", "-f"],
    by_hand: &["mkfs.btrfs"],
    grammar: &MKFS,
    unsafe_options: UNSAFE,
    protections: PROTECTIONS,
    options: OPTIONS,
    foreign: &["device"],
    layouts: &["single", "pool", MIRROR, STRIPE, PARITY],
    // mkfs.btrfs requires 109 MiB on one device and 125 MiB per device of a striped pool.
    smallest: Bytes(125 << 20),
    // It finds the other members of a pool itself.
    check: Some((&["btrfs", "check", "--readonly"], &[0])),
    promises: PROMISES,
    defragmenter: Some("btrfs filesystem defragment -r"),
    package: "btrfs-progs",
    version: Some("--version"),
    ..Facts::TEMPLATE
};

impl Filesystem for Btrfs {
    fn facts(&self) -> &Facts {
        &FACTS
    }

    fn roles(&self, read: ReadAt<'_>) -> Option<Roles> {
        super::btrfs_roles::roles(read)
    }

    fn make(&self, contender: &Contender, devices: &[String]) -> Vec<Step> {
        make_with(FACTS.mkfs, contender, devices)
    }

    fn make_by_hand(
        &self,
        contender: &Contender,
        devices: &[String],
        _target: &Path,
        _pool: &str,
    ) -> Vec<Step> {
        make_with(FACTS.by_hand, contender, devices)
    }

    fn mount(&self, contender: &Contender, devices: &[String], target: &Path) -> Vec<Step> {
        // The kernel finds the members of a pool by a scan or by `device=`. The latter is reliable.
        let members = match devices {
            [_] => Vec::new(),
            several => several
                .iter()
                .map(|device| format!("device={device}"))
                .collect(),
        };
        mount_first(&FACTS, members, contender, devices, target)
    }

    fn describe(
        &self,
        _contender: &Contender,
        devices: &[String],
        target: &Path,
    ) -> Vec<(String, Step)> {
        let superblock = (
            "btrfs inspect-internal dump-super".to_owned(),
            on_first(&["btrfs", "inspect-internal", "dump-super"], devices),
        );
        let usage = on_directory(
            "btrfs filesystem usage",
            &["btrfs", "filesystem", "usage"],
            target,
        );
        [superblock].into_iter().chain(usage).collect()
    }

    fn free_space(&self, devices: &[String], target: &Path) -> Option<(String, Step)> {
        // `dump-tree` prints bitmaps without their bits, and it reads the device below the mounted
        // file system. Therefore the step searches the tree through the file system.
        let words = [
            "btrfs",
            "inspect-internal",
            "dump-tree",
            "-t",
            "free_space_tree",
        ];
        let shown_by = words.iter().map(|word| (*word).to_owned());
        let step = Step::ListFreeSpace {
            path: target.to_owned(),
            shown_by: shown_by.chain(devices.first().cloned()).collect(),
        };
        Some(("free space (free-space tree)".to_owned(), step))
    }

    fn scrub(&self, target: &Path) -> Option<Check> {
        let (_, step) = on_directory("scrub", &["btrfs", "scrub", "start", "-B"], target)?;
        Some(Check { step, clean: &[0] })
    }

    fn mount_degraded(
        &self,
        contender: &Contender,
        devices: &[String],
        target: &Path,
    ) -> Option<Vec<Step>> {
        let rest = devices.split_last().map_or(devices, |(_, rest)| rest);
        let mut contender = contender.clone();
        contender.mount.push("degraded".to_owned());
        Some(self.mount(&contender, rest, target))
    }

    fn rebuild(&self, devices: &[String], lost: usize, target: &Path) -> Option<Step> {
        // mkfs.btrfs numbers its devices from 1.
        let (device, number) = (devices.get(lost)?, (lost + 1).to_string());
        let words = ["btrfs", "replace", "start", "-B", "-f", &number, device];
        let argv = words.into_iter().chain([target.to_str()?]);
        Some(Step::command(argv))
    }

    fn snapshot(&self, target: &Path, number: u32) -> Option<Step> {
        let words = ["btrfs", "subvolume", "snapshot", "-r"];
        let place = target.join(format!("snapshot-{number}"));
        let argv = words.into_iter().chain([target.to_str()?, place.to_str()?]);
        Some(Step::command(argv))
    }

    fn forget(&self, device: &str) -> Option<Forget> {
        let name = device.as_bytes();
        let mut argument = vec![0; VOLUME_ARGUMENTS];
        // The last byte of the name ends it.
        let room = &mut argument[NAME_AT..VOLUME_ARGUMENTS - 1];
        room.get_mut(..name.len())?.copy_from_slice(name);
        Some(Forget {
            control: "/dev/btrfs-control",
            request: FORGET_DEVICE,
            argument,
        })
    }

    fn shares_blocks(&self, _contender: &Contender) -> bool {
        true
    }

    fn compresses(&self, contender: &Contender) -> bool {
        // As in the kernel, the last option takes effect, and `compress` alone means zlib.
        contender
            .mount
            .iter()
            .rfind(|option| matches!(options::key(option), "compress" | "compress-force"))
            .is_some_and(|option| !matches!(options::value(option), Some("no" | "none")))
    }
}
