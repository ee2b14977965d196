//! ZFS, on one device or as a pool of several: by the kernel's module (`OpenZFS`), or where the
//! kernel has none, by the daemon of zfs-fuse through FUSE. The commands are the same.
//!
//! Its mount options are properties of the dataset, given when the pool is made. To mount is to
//! import the pool, which mounts its dataset; to unmount is to export it, after which neither the
//! kernel nor the daemon holds its data. The checker is `zdb`, which reads all blocks of the exported
//! pool and holds them against their checksums and the space maps.

mod properties;

use super::{Check, Filesystem};
use crate::mkfs_options::MkfsGrammar;
use fsdyno_model::{
    Bytes, Capabilities, Consistency, Contender, Daemon, FilesystemKind, Need, Pool, Requirement,
    Step,
};
use std::path::{Path, PathBuf};

/// ZFS, as `zpool create` makes it.
pub struct Zfs;

/// How `zpool create` reads its options (zpool-create(8); zpool(8) of zfs-fuse 0.7.0).
static MKFS: MkfsGrammar = MkfsGrammar {
    short_with_value: "oOmRt",
    long_with_value: &[],
    refused: &[
        ("m", "where it is mounted is fsdyno's to say"),
        ("R", "where it is mounted is fsdyno's to say"),
        ("t", "the name of the pool is fsdyno's to say"),
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

/// What links to the devices of a pool, and to the partitions that `OpenZFS` makes of a whole disk,
/// in a directory in which nothing else can be found by an import. Disks of a BSD are character
/// devices.
const LINK: &str = "mkdir -p \"$0\" && for device; do \
    for part in \"$device\" \"${device}1\" \"${device}p1\"; do \
    { [ ! -b \"$part\" ] && [ ! -c \"$part\" ]; } || ln -sf \"$part\" \"$0\" || exit; done; done";

/// Where a daemon that fsdyno started writes down its process number.
const PID_FILE: &str = "/run/fsdyno-zfs-fuse.pid";

/// What starts it.
const ARGV: [&str; 4] = ["zfs-fuse", "--no-kstat-mount", "--pidfile", PID_FILE];

/// What comes before and after that line in virtual time. The host maps each page of a program of
/// User-mode Linux by itself, and allows 65,530 mappings in a process (`vm.max_map_count`): a daemon
/// of more than about 256 MB ends. So its cache (ARC) has at most 32 MiB, where Debian configures
/// 100, and its allocator keeps no freed buffers (`nomagazines`). At a tenth of their size a copy of
/// a Portage tree then needs less than half of these mappings, and so does one of all datasets.
const IN_VIRTUAL_TIME: (&[&str], &[&str]) = (
    &["env", "UMEM_OPTIONS=nomagazines,concurrency=1"],
    &["--max-arc-size", "32"],
);

/// The memory of zfs-fuse 0.7 in virtual time: up to 125 MB after these copies, and room for larger
/// trees. With 71 MiB a guest evicts the programs that it runs.
const DAEMON_MEMORY: Bytes = Bytes(192 << 20);

/// The pool that will be mounted there.
struct At<'a> {
    target: &'a Path,
    name: String,
}

impl<'a> At<'a> {
    /// The directory of the mount point is made for one cell alone: so is a pool of its name.
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

    /// Where links to its devices lie.
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
        }
    }

    /// A program on the pool, with the words of it for a source.
    fn told(&self, words: &[&str]) -> (String, Step) {
        let argv = words.iter().copied().chain([self.name.as_str()]);
        (words.join(" "), Step::command(argv))
    }
}

/// The path as the programs are told it. A name that is no text is refused with the pool.
fn text(path: &Path) -> String {
    path.display().to_string()
}

impl Filesystem for Zfs {
    fn name(&self) -> &'static str {
        "zfs"
    }

    fn title(&self) -> &'static str {
        "copy on write, checksums, pools; by the kernel's module or by zfs-fuse"
    }

    fn kind(&self) -> FilesystemKind {
        FilesystemKind::Block
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            consistency: Consistency::CopyOnWrite,
            ..Capabilities::ALL
        }
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

    fn mount_options(&self) -> &'static [&'static str] {
        properties::KNOWN
    }

    fn foreign_mount_options(&self) -> &'static [&'static str] {
        properties::FOREIGN
    }

    fn refuses(&self, option: &str) -> Option<String> {
        properties::of(option).err()
    }

    fn mkfs_grammar(&self) -> Option<&'static MkfsGrammar> {
        Some(&MKFS)
    }

    fn layouts(&self) -> &'static [&'static str] {
        &["single", "pool"]
    }

    fn smallest_bytes(&self) -> Bytes {
        // `zpool create` refuses less.
        Bytes(64 << 20)
    }

    fn daemon(&self) -> Option<Daemon> {
        let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
        let (before, after) = IN_VIRTUAL_TIME;
        Some(Daemon {
            load: words(&["modprobe", "zfs"]),
            argv: words(&ARGV),
            in_virtual_time: words(&[before, &ARGV, after].concat()),
            pools: words(&["zpool", "list", "-H", "-o", "name"]),
            pid_file: PID_FILE.into(),
            // Its locks are in /var/lock, which is that.
            locks: "/run/lock".into(),
            takes_up: "/var/lib/zfs/zpool.cache".into(),
            mounts_by: "fuse".to_owned(),
            memory: DAEMON_MEMORY,
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
        // Known to nobody but us: it is taken up by no boot and by no other daemon.
        let fixed = ["zpool", "create", "-f", "-o", "cachefile=none", "-m"];
        let mut argv: Vec<String> = fixed.map(str::to_owned).to_vec();
        argv.push(text(target));
        argv.extend(contender.mkfs.iter().cloned());
        // What cannot be a property has been refused with the plan.
        for property in contender.mount.iter().flat_map(|o| properties::of(o)) {
            argv.extend(property.into_iter().flat_map(|p| ["-O".to_owned(), p]));
        }
        argv.push(at.name.clone());
        argv.extend(devices.iter().cloned());
        let pool = at.pool();
        let make = Step::TakePool {
            argv,
            pool: pool.clone(),
        };
        vec![make, Step::ReleasePool { pool }]
    }

    fn mount(&self, _contender: &Contender, devices: &[String], target: &Path) -> Vec<Step> {
        let at = At::new(target);
        let links = text(&at.links());
        let fixed = ["sh", "-c", LINK, &links].map(str::to_owned);
        let link = Step::command(fixed.into_iter().chain(devices.iter().cloned()));
        // `-f`: after a crash it counts as in use by the machine that was, and a guest is another
        // machine each time. Nothing but the devices of the contender can be found there.
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
        // To set a property waits until a group of transactions is on the devices. `syncfs` on a
        // file system of FUSE brings data no further than to its daemon.
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
            at.told(&["zpool", "status"]),
            at.told(&["zpool", "get", "all"]),
            at.told(&["zfs", "get", "all"]),
            // Neither the tools nor the daemon tell a version: the one that pools are made in.
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
        // `-e -p`: of an exported pool, by its devices there; `-cc`: of data as well. A damaged
        // block makes its status 3. A scrub would need the pool imported, and tells by words only.
        let words = ["zdb", "-e", "-p", &links, "-bcc", &at.name];
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
        // The last word counts. Nothing said is `off` in zfs-fuse, and since OpenZFS 2.2 `on`.
        let said = contender.mkfs.iter().chain(&contender.mount);
        said.filter_map(|word| word.rsplit_once("compression="))
            .next_back()
            .is_some_and(|(_, value)| value != "off")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pool_is_named_after_the_directory_made_for_it() {
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
