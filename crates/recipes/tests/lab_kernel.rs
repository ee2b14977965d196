//! Runs the recipes with this machine's kernel and programs: every step works, and the kernel
//! accepts every listed mount option. It needs root, loop devices and the programs of each file
//! system. It skips what is missing with a message.

use fsdyno_model::{Contender, FilesystemKind, LayoutChoice, Step};
use fsdyno_recipes::{Filesystem, fs, options};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::atomic::{AtomicU32, Ordering};

/// Options that need a value or another option, with the text to use.
const WITH_MORE: &[(&str, &str, &str)] = &[
    ("", "data", "data=writeback"),
    ("", "commit", "commit=30"),
    ("", "errors", "errors=remount-ro"),
    ("", "data_err", "data_err=abort"),
    ("", "journal_ioprio", "journal_ioprio=3"),
    ("", "stripe", "stripe=16"),
    ("", "inode_readahead_blks", "inode_readahead_blks=64"),
    ("", "max_batch_time", "max_batch_time=1000"),
    ("", "min_batch_time", "min_batch_time=0"),
    ("", "resuid", "resuid=0"),
    ("", "resgid", "resgid=0"),
    ("", "mb_optimize_scan", "mb_optimize_scan=1"),
    ("", "max_dir_size_kb", "max_dir_size_kb=1000"),
    ("", "sb", "sb=1"),
    (
        "",
        "journal_async_commit",
        "data=writeback,journal_async_commit",
    ),
    ("ext4", "dax", "dax=never"),
    ("xfs", "dax", "dax=never"),
    ("", "allocsize", "allocsize=64k"),
    ("", "logbufs", "logbufs=8"),
    ("", "logbsize", "logbsize=256k"),
    ("", "max_atomic_write", "max_atomic_write=4k"),
    ("", "max_open_zones", "max_open_zones=10"),
    ("", "norecovery", "ro,norecovery"),
    ("", "noload", "ro,noload"),
    ("", "sunit", "sunit=8,swidth=16"),
    ("", "swidth", "sunit=8,swidth=16"),
    ("", "compress-force", "compress-force=zstd"),
    ("", "fatal_errors", "fatal_errors=bug"),
    ("", "max_inline", "max_inline=2048"),
    ("", "metadata_ratio", "metadata_ratio=4"),
    ("", "rescue", "rescue=usebackuproot"),
    ("", "space_cache", "space_cache=v2"),
    ("", "subvol", "subvol=/"),
    ("", "subvolid", "subvolid=5"),
    ("", "thread_pool", "thread_pool=4"),
    ("", "size", "size=64m"),
    ("", "nr_blocks", "nr_blocks=1000"),
    ("", "nr_inodes", "nr_inodes=1000"),
    ("", "mode", "mode=0755"),
    ("", "uid", "uid=0"),
    ("", "gid", "gid=0"),
    ("", "huge", "huge=never"),
    ("", "mpol", "mpol=local"),
];

/// Error texts of a kernel that knows an option but rejects it for this device or build.
const KNOWN_BUT_NOT_HERE: &[(&str, &[&str])] = &[
    (
        "a kernel with quotas",
        &[
            "quota",
            "uquota",
            "usrquota",
            "uqnoenforce",
            "qnoenforce",
            "gquota",
            "grpquota",
            "gqnoenforce",
            "pquota",
            "prjquota",
            "pqnoenforce",
        ],
    ),
    ("a zoned device", &["max_open_zones", "nolifetime"]),
    ("a striped xfs", &["sunit", "swidth"]),
    ("huge pages", &["huge"]),
    ("posix acls", &["acl", "user_xattr"]),
];

/// Runs a program. Returns its output if it fails.
fn run(argv: &[String]) -> Result<Output, String> {
    let output = Command::new(&argv[0])
        .args(&argv[1..])
        .output()
        .map_err(|e| format!("{}: {e}", argv[0]))?;
    if output.status.success() {
        return Ok(output);
    }
    Err(format!(
        "{argv:?}: {}: {}",
        output.status,
        String::from_utf8_lossy(&output.stderr)
    ))
}

fn execute(steps: &[Step]) -> Result<(), String> {
    steps
        .iter()
        .try_for_each(|step| run(&step.argv()).map(drop))
}

/// Number of test setups. It gives each setup of a process its own directory.
static MADE: AtomicU32 = AtomicU32::new(0);

/// Image files on loop devices and a mount point. Drop removes everything.
struct WorkDir {
    directory: PathBuf,
    devices: Vec<String>,
}

impl WorkDir {
    /// Prints a message and returns `None` if this machine does not support the file system.
    fn new(test: &str, fs: &dyn Filesystem, devices: u32, bytes: u64) -> Option<Self> {
        let skip = |why: &str| {
            println!("SKIP {why}: {test}");
            None
        };
        if !is_root() {
            return skip("root");
        }
        if !Path::new("/dev/loop-control").exists() {
            return skip("loop devices");
        }
        if fs.daemon().is_some() {
            return skip("what programs hold is tried in whole cells");
        }
        if fs
            .version()
            .is_some_and(|step| Command::new(&step.argv()[0]).arg("-V").output().is_err())
        {
            return skip(&format!("program mkfs of {}", fs.name()));
        }
        let known = std::fs::read_to_string("/proc/filesystems").unwrap_or_default();
        let listed = || {
            known
                .lines()
                .any(|line| line.ends_with(&format!("\t{}", fs.name())))
        };
        if !listed() && run(&["modprobe".to_owned(), fs.name().to_owned()]).is_err() {
            return skip(&format!("kernel file system {}", fs.name()));
        }
        let (process, n) = (std::process::id(), MADE.fetch_add(1, Ordering::Relaxed));
        let directory = std::env::temp_dir().join(format!("fsdyno-recipes-{process}-{n}"));
        std::fs::create_dir(&directory).expect("a temporary directory");
        std::fs::create_dir(directory.join("mnt")).expect("a mount point");
        let mut work_dir = Self {
            directory,
            devices: Vec::new(),
        };
        for n in 0..devices {
            let image = work_dir.directory.join(format!("image{n}"));
            let file = File::create(&image).expect("an image file");
            file.set_len(bytes).expect("a sparse image file");
            let argv = ["losetup", "--find", "--show", image.to_str().expect("text")];
            let output = run(&argv.map(str::to_owned)).expect("a loop device");
            let device = String::from_utf8(output.stdout).expect("text");
            work_dir.devices.push(device.trim().to_owned());
        }
        Some(work_dir)
    }

    fn target(&self) -> PathBuf {
        self.directory.join("mnt")
    }

    fn unmount(&self) -> Result<(), String> {
        let target = self.target();
        execute(&[Step::Unmount { target }])
    }
}

impl Drop for WorkDir {
    fn drop(&mut self) {
        // It is still mounted only if the test failed.
        let _ = self.unmount();
        for device in &self.devices {
            let _ = run(&["losetup", "--detach", device].map(str::to_owned));
        }
        // Never delete the directory of a mounted file system.
        if std::fs::remove_dir(self.target()).is_ok() {
            let _ = std::fs::remove_dir_all(&self.directory);
        }
    }
}

/// Whether the effective user is root, from `/proc/self/status`.
fn is_root() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    status
        .lines()
        .any(|line| line.starts_with("Uid:") && line.split_whitespace().nth(2) == Some("0"))
}

/// Runs every step of a recipe once.
fn smoke(fs: &dyn Filesystem, layout: LayoutChoice) {
    let test = format!("{}@{layout} from make to check", fs.name());
    let devices = match fs.kind() {
        FilesystemKind::Block => layout.devices,
        FilesystemKind::Memory | FilesystemKind::Directory => 0,
    };
    let Some(work_dir) = WorkDir::new(&test, fs, devices, fs.smallest_bytes().0) else {
        return;
    };
    let mut contender = Contender::plain(fs.name());
    contender.layout = layout;
    let devices = &work_dir.devices;
    let target = work_dir.target();
    execute(&fs.make(&contender, devices)).expect(&test);
    execute(&fs.mount(&contender, devices, &target)).expect(&test);
    std::fs::write(target.join("file"), "data").expect(&test);
    for (source, step) in fs.describe(&contender, devices, &target) {
        let output = run(&step.argv()).expect(&test);
        assert!(!output.stdout.is_empty(), "{test}: {source} prints nothing");
    }
    work_dir.unmount().expect(&test);
    if let Some(check) = fs.check(&contender, devices) {
        let argv = check.step.argv();
        let status = Command::new(&argv[0])
            .args(&argv[1..])
            .output()
            .expect(&test)
            .status;
        let clean = status
            .code()
            .is_some_and(|code| check.clean.contains(&code));
        assert!(clean, "{test}: {argv:?}: {status}");
    }
    if let Some(version) = fs.version() {
        let output = run(&version.argv()).expect(&test);
        let printed = !output.stdout.is_empty() || !output.stderr.is_empty();
        assert!(printed, "{test}: no version");
    }
}

#[test]
fn every_recipe_works_from_make_to_check_on_its_smallest_device() {
    for fs in fs::ALL
        .iter()
        .filter(|fs| fs.kind() != FilesystemKind::Directory)
    {
        for layout in fs.layouts() {
            let layout = fsdyno_recipes::layouts::find(layout).unwrap();
            let devices = *layout.devices.start();
            let name = layout.name.to_owned();
            smoke(*fs, LayoutChoice { name, devices });
        }
    }
}

#[test]
fn a_damaged_file_system_is_not_clean() {
    for fs in fs::ALL {
        let test = format!("{} damaged", fs.name());
        let contender = Contender::plain(fs.name());
        let Some(check) = fs.check(&contender, &["/dev/null".to_owned()]) else {
            continue;
        };
        let Some(work_dir) = WorkDir::new(&test, *fs, 1, fs.smallest_bytes().0) else {
            continue;
        };
        execute(&fs.make(&contender, &work_dir.devices)).expect(&test);
        // The superblock and the bytes after it. Its first copies are at higher offsets.
        let device = File::options()
            .write(true)
            .open(&work_dir.devices[0])
            .expect(&test);
        std::os::unix::fs::FileExt::write_all_at(&device, &vec![0x5a; 96 << 10], 1024)
            .expect(&test);
        device.sync_all().expect(&test);
        drop(device);
        let step = fs
            .check(&contender, &work_dir.devices)
            .expect("as before")
            .step;
        let argv = step.argv();
        let output = Command::new(&argv[0])
            .args(&argv[1..])
            .output()
            .expect(&test);
        let clean = output
            .status
            .code()
            .is_some_and(|code| check.clean.contains(&code));
        assert!(!clean, "{test}: {argv:?}: {}", output.status);
    }
}

/// Mounts once with each listed option. Returns the rejected ones.
fn refused_options(fs: &dyn Filesystem, work_dir: &WorkDir) -> Vec<String> {
    let mut refused = Vec::new();
    for key in options::GENERIC.iter().chain(fs.mount_options()) {
        let text = WITH_MORE
            .iter()
            .filter(|(name, k, _)| k == key && (name.is_empty() || *name == fs.name()))
            .map(|(_, _, text)| *text)
            .next()
            .unwrap_or(key);
        let mut contender = Contender::plain(fs.name());
        contender.mount = text.split(',').map(str::to_owned).collect();
        let mounted = execute(&fs.mount(&contender, &work_dir.devices, &work_dir.target()));
        let Err(reason) = mounted else {
            work_dir
                .unmount()
                .expect("what was mounted can be unmounted");
            continue;
        };
        let excuse = KNOWN_BUT_NOT_HERE
            .iter()
            .find(|(_, keys)| keys.contains(key));
        match excuse {
            Some((why, _)) => println!("SKIP {why}: {} -o {text}", fs.name()),
            None => refused.push(reason),
        }
    }
    refused
}

#[test]
fn the_kernel_accepts_every_listed_mount_option() {
    for fs in fs::ALL
        .iter()
        .filter(|fs| fs.kind() != FilesystemKind::Directory)
    {
        let devices = u32::from(fs.kind() == FilesystemKind::Block);
        let test = format!("mount options of {}", fs.name());
        let Some(work_dir) = WorkDir::new(&test, *fs, devices, 512 << 20) else {
            continue;
        };
        execute(&fs.make(&Contender::plain(fs.name()), &work_dir.devices)).expect(&test);
        let refused = refused_options(*fs, &work_dir);
        assert!(refused.is_empty(), "{test}: {}", refused.join("\n"));
    }
}
