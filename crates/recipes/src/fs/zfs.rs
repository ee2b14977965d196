//! ZFS on one device or as a pool of several, with the kernel module (`OpenZFS`). If the kernel has
//! none, the zfs-fuse daemon serves it through FUSE. The commands are the same.
//!
//! Mount options are properties of the dataset, set at pool creation. Mount means import of the
//! pool, which mounts its dataset. Unmount means export, after which neither the kernel nor the
//! daemon has its data. The checker is `zdb`. It reads all blocks of the exported pool and compares
//! them with their checksums and the space maps. In User-mode Linux the kernel's scrub replaces it:
//! `zdb` waits until the clock has advanced, which virtual time does only for those who sleep.

mod properties;

use super::{Check, Facts, Filesystem, MIRROR, PARITY, STRIPE};
use crate::mkfs_options::MkfsGrammar;
use crate::unsafe_options::UnsafeOption;
use fsdyno_model::{
    Bytes, Capabilities, Consistency, Contender, Daemon, Need, Pool, Requirement, Step,
};
use std::path::{Path, PathBuf};

/// ZFS with the defaults of `zpool create`.
pub struct Zfs;

/// The options that give up safety.
const UNSAFE: &[UnsafeOption] = &[
    UnsafeOption {
        word: "sync=disabled",
        cost: "a power cut can take what fsync acknowledged in the last seconds",
        source: "zfsprops(7) of OpenZFS 2.4, sync",
    },
    UnsafeOption {
        word: "checksum=off",
        cost: "data have no checksums",
        source: "zfsprops(7) of OpenZFS 2.4, checksum",
    },
];

/// Option grammar of `zpool create` (zpool-create(8); zpool(8) of zfs-fuse 0.7.0).
static MKFS: MkfsGrammar = MkfsGrammar {
    short_with_value: "oOmRt",
    long_with_value: &[],
    refused: &[
        ("m", "fsdyno chooses the mount point"),
        ("R", "fsdyno chooses the mount point"),
        ("t", "fsdyno chooses the name of the pool"),
        ("n", "it makes nothing"),
    ],
    refused_values: &[
        "altroot=",
        "cachefile=",
        "compatibility=",
        "canmount=",
        "keylocation=",
        "mountpoint=",
        "readonly=",
        "sharenfs=",
        "sharesmb=",
    ],
};

/// Creates links to the devices of a pool, and to the partitions that `OpenZFS` makes on a whole
/// disk, in a directory of their own. An import searches only this directory. BSD disks are
/// character devices.
const LINK: &str = "mkdir -p \"$0\" && for device; do \
    for part in \"$device\" \"${device}1\" \"${device}p1\"; do \
    { [ ! -b \"$part\" ] && [ ! -c \"$part\" ]; } || ln -sf \"$part\" \"$0\" || exit; done; done";

/// Checks an exported pool: `$0` is the directory of its links, `$1` its name. A scrub compares all blocks
/// with their checksums and reports errors only as text. `zdb -e -p` opens an exported pool with its
/// devices in this directory; `-cc` checks data too, and a damaged block gives status 3.
const CHECK: &str = "if grep -qw zfs /proc/filesystems && grep -q 'User Mode Linux' /proc/cpuinfo; then \
    zpool import -N -f -o cachefile=none -d \"$0\" \"$1\" || exit 3; zpool scrub -w \"$1\" && \
    zpool status -x \"$1\" | grep -q 'is healthy'; failed=$?; zpool status -v \"$1\"; \
    zpool export \"$1\" || exit 3; exit $failed; \
    fi; exec zdb -e -p \"$0\" -bcc \"$1\"";

/// Prints the limit of the cache (ARC) of the kernel module.
const CACHE_LIMIT: &str = "grep -s c_max /proc/spl/kstat/zfs/arcstats || true";

/// PID file of a daemon that fsdyno started.
const PID_FILE: &str = "/run/fsdyno-zfs-fuse.pid";

/// Command line of the daemon.
const ARGV: [&str; 4] = ["zfs-fuse", "--no-kstat-mount", "--pidfile", PID_FILE];

/// Words before and after that command line in virtual time. The host maps each page of a User-mode
/// Linux program separately. A process may have 65,530 mappings (`vm.max_map_count`), so a daemon
/// above about 256 MB fails. Therefore its cache (ARC) has at most 32 MiB instead of Debian's 100,
/// and its allocator keeps no freed buffers (`nomagazines`). At a scale of one tenth, a copy of a
/// Portage tree needs less than half of these mappings. So does a copy of all datasets.
const IN_VIRTUAL_TIME: (&[&str], &[&str]) = (
    &["env", "UMEM_OPTIONS=nomagazines,concurrency=1"],
    &["--max-arc-size", "32"],
);

/// Memory of zfs-fuse 0.7 in virtual time: up to 125 MB after these copies, plus a reserve for
/// larger trees. With 71 MiB a guest evicts the programs that it runs.
const DAEMON_MEMORY: Bytes = Bytes(192 << 20);

/// `OpenZFS` accepts no limit of its cache (ARC) below 64 MiB. A guest of 100 MiB then only evicts, one of
/// 128 MiB copies small trees.
const KERNEL_MEMORY: Bytes = Bytes(192 << 20);

/// The pool for a mount point.
struct At<'a> {
    target: &'a Path,
    name: String,
}

impl<'a> At<'a> {
    /// Each cell has its own mount point directory, so a pool of that name is unique.
    fn new(target: &'a Path) -> Self {
        let directory = target.parent().and_then(Path::file_name);
        let directory = directory.unwrap_or_default().to_string_lossy();
        let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '-' };
        let name: String = directory.chars().map(plain).collect();
        let name = match name.strip_prefix("fsdyno") {
            Some(rest) => format!("fsdyno{rest}"),
            None => format!("fsdyno-{name}"),
        };
        Self { target, name }
    }

    /// Directory of the links to its devices.
    fn links(&self) -> PathBuf {
        self.target.with_file_name("devices")
    }

    fn pool(&self) -> Pool {
        let words = |words: &[&str]| {
            let words = words.iter().map(|word| (*word).to_owned());
            words.chain([self.name.clone()]).collect()
        };
        Pool {
            filesystem: Zfs.name().to_owned(),
            target: self.target.to_owned(),
            held: words(&["zpool", "list", "-H", "-o", "name"]),
            release: words(&["zpool", "export"]),
            pid_file: Some(PID_FILE.into()),
        }
    }

    /// A program on the pool. Its command line is the name of its output.
    fn record_step(&self, words: &[&str]) -> (String, Step) {
        let argv = words.iter().copied().chain([self.name.as_str()]);
        (words.join(" "), Step::command(argv))
    }
}

/// The path as text for the programs. The pool's name check rejects a path that is not valid text.
fn text(path: &Path) -> String {
    path.display().to_string()
}

/// The words of a contender's options and properties.
fn settings(contender: &Contender) -> Vec<String> {
    let mut words = contender.mkfs.clone();
    // Validation has rejected options that cannot be properties.
    for property in contender.mount.iter().flat_map(|o| properties::of(o)) {
        words.extend(property.into_iter().flat_map(|p| ["-O".to_owned(), p]));
    }
    words
}

/// The words that name a pool and its devices.
fn members(contender: &Contender, pool: &str, devices: &[String]) -> Vec<String> {
    let group = match &*contender.layout.name {
        MIRROR if devices.len() > 1 => Some("mirror"),
        PARITY if devices.len() > 1 => Some("raidz"),
        _ => None,
    };
    let words = std::iter::once(pool).chain(group).map(str::to_owned);
    words.chain(devices.iter().cloned()).collect()
}

static FACTS: Facts = Facts {
    name: "zfs",
    title: "copy on write, checksums, pools; by the kernel module or zfs-fuse",
    capabilities: Capabilities {
        consistency: Consistency::CopyOnWrite,
        ..Capabilities::ALL
    },
    mkfs: &["zpool", "create"],
    grammar: &MKFS,
    unsafe_options: UNSAFE,
    options: properties::KNOWN,
    foreign: properties::FOREIGN,
    layouts: &["single", "pool", MIRROR, STRIPE, PARITY],
    // `zpool create` rejects devices below 64 MiB; on a whole disk it makes two more partitions.
    smallest: Bytes(80 << 20),
    version: None,
    ..Facts::TEMPLATE
};

impl Filesystem for Zfs {
    fn facts(&self) -> &Facts {
        &FACTS
    }

    fn requirements(&self) -> Vec<Requirement> {
        let program = |name: &str| Need::Program {
            name: name.to_owned(),
            package: "zfs-fuse".to_owned(),
        };
        let kernel = |name: &str| Need::KernelFilesystem(name.to_owned());
        let or_kernel = |other| Need::AnyOf(vec![kernel("zfs"), other]);
        vec![
            Requirement::new(Need::Root, "making and mounting zfs"),
            Requirement::new(program("zpool"), "making zfs"),
            Requirement::new(or_kernel(program("zfs-fuse")), "mounting zfs"),
            Requirement::new(or_kernel(kernel("fuse")), "mounting zfs"),
            Requirement::new(program("zdb"), "checking zfs"),
        ]
    }

    fn refuses(&self, option: &str) -> Option<String> {
        properties::of(option).err()
    }

    fn daemon(&self) -> Option<Daemon> {
        let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
        let (before, after) = IN_VIRTUAL_TIME;
        Some(Daemon {
            load: words(&["modprobe", "zfs"]),
            built_in: "CONFIG_ZFS=y".to_owned(),
            argv: words(&ARGV),
            in_virtual_time: words(&[before, &ARGV, after].concat()),
            pools: words(&["zpool", "list", "-H", "-o", "name"]),
            pid_file: PID_FILE.into(),
            // Its locks are in /var/lock, a link to this directory.
            locks: "/run/lock".into(),
            takes_up: "/var/lib/zfs/zpool.cache".into(),
            mounts_by: "fuse".to_owned(),
            memory: DAEMON_MEMORY,
            memory_of_kernel: KERNEL_MEMORY,
        })
    }

    fn pool(&self, target: &Path) -> Option<Pool> {
        Some(At::new(target).pool())
    }

    fn make(&self, contender: &Contender, devices: &[String]) -> Vec<Step> {
        self.make_for(contender, devices, Path::new("/mnt"))
    }

    fn make_for(&self, contender: &Contender, devices: &[String], target: &Path) -> Vec<Step> {
        let at = At::new(target);
        // `cachefile=none`: neither a boot nor another daemon imports the pool.
        let fixed = ["zpool", "create", "-f", "-o", "cachefile=none", "-m"];
        let mut argv: Vec<String> = fixed.map(str::to_owned).to_vec();
        argv.push(text(target));
        argv.extend(settings(contender));
        argv.extend(members(contender, &at.name, devices));
        let pool = at.pool();
        let make = Step::TakePool {
            argv,
            pool: pool.clone(),
        };
        vec![make, Step::ReleasePool { pool }]
    }

    fn make_by_hand(
        &self,
        contender: &Contender,
        devices: &[String],
        target: &Path,
        pool: &str,
    ) -> Vec<Step> {
        let fixed = ["zpool", "create", "-m"].map(str::to_owned);
        let words = fixed.into_iter().chain([text(target)]);
        let words = words.chain(settings(contender));
        vec![Step::command(
            words.chain(members(contender, pool, devices)),
        )]
    }

    fn mount(&self, _contender: &Contender, devices: &[String], target: &Path) -> Vec<Step> {
        let at = At::new(target);
        let links = text(&at.links());
        let fixed = ["sh", "-c", LINK, &links].map(str::to_owned);
        let link = Step::command(fixed.into_iter().chain(devices.iter().cloned()));
        // `-f`: after a crash the pool counts as used by another machine, and a guest is a new
        // machine each time. The search directory contains only the contender's devices.
        let words = [
            "zpool",
            "import",
            "-f",
            "-d",
            &links,
            "-o",
            "cachefile=none",
        ];
        let argv = words.into_iter().chain([at.name.as_str()]);
        let take = Step::TakePool {
            argv: argv.map(str::to_owned).collect(),
            pool: at.pool(),
        };
        vec![link, take]
    }

    fn make_durable(&self, target: &Path) -> Option<Step> {
        // `zfs set` waits until a transaction group is on the devices. `syncfs` on a FUSE file
        // system moves data only to the daemon.
        let name = At::new(target).name;
        let words = ["zfs", "set", "fsdyno:durable=yes", &name];
        Some(Step::command(words))
    }

    fn describe(
        &self,
        _contender: &Contender,
        _devices: &[String],
        target: &Path,
    ) -> Vec<(String, Step)> {
        let at = At::new(target);
        let words = ["zpool", "upgrade", "-v"];
        vec![
            at.record_step(&["zpool", "status"]),
            at.record_step(&["zpool", "get", "all"]),
            at.record_step(&["zfs", "get", "all"]),
            (
                "arcstats".to_owned(),
                Step::command(["sh", "-c", CACHE_LIMIT]),
            ),
            // Neither the tools nor the daemon print their version. This prints the pool versions.
            (words.join(" "), Step::command(words)),
        ]
    }

    fn check_for(
        &self,
        _contender: &Contender,
        _devices: &[String],
        target: &Path,
    ) -> Option<Check> {
        let at = At::new(target);
        let links = text(&at.links());
        let words = ["sh", "-c", CHECK, &links, &at.name];
        Some(Check {
            step: Step::command(words),
            clean: &[0],
        })
    }

    fn shares_blocks(&self, _contender: &Contender) -> bool {
        // Block cloning, of OpenZFS 2.2 and later.
        true
    }

    fn compresses(&self, contender: &Contender) -> bool {
        // The last word takes effect. The default is `on` since OpenZFS 2.2, and `off` in zfs-fuse.
        let options = contender.mkfs.iter().chain(&contender.mount);
        options
            .filter_map(|word| word.rsplit_once("compression="))
            .next_back()
            .is_none_or(|(_, value)| value != "off")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pool_has_the_name_of_its_mount_directory() {
        for (target, expected) in [
            ("/var/tmp/fsdyno-12-34-0/mnt", "fsdyno-12-34-0"),
            ("/run/fsdyno/mnt", "fsdyno"),
            ("/srv/mirror/mnt", "fsdyno-mirror"),
            ("/srv/a b/mnt", "fsdyno-a-b"),
            ("/mnt", "fsdyno-"),
        ] {
            assert_eq!(At::new(Path::new(target)).name, expected, "{target}");
        }
    }
}
