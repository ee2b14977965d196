//! Images, loop devices, mounts, caches and counters on the real kernel. Needs root and loop
//! devices; what a machine lacks is skipped by name.

mod clean_up;
mod mounting;
mod observing;
mod races;

use fsdyno_host::command;
use fsdyno_host::image::Image;
use fsdyno_host::journal::Journal;
use fsdyno_host::loops::Loop;
use fsdyno_host::mounts::{MountError, Mounted, mount};
use fsdyno_model::{Bytes, CancelToken};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Kinds of file systems, and the command that makes one.
const KINDS: [(&str, &[&str]); 3] = [
    (
        "ext4",
        &[
            "mkfs.ext4",
            "-q",
            "-F",
            "-E",
            "lazy_itable_init=0,lazy_journal_init=0",
        ],
    ),
    ("xfs", &["mkfs.xfs", "-q", "-f"]),
    ("btrfs", &["mkfs.btrfs", "-q", "-f"]),
];

fn words(list: &[&str]) -> Vec<String> {
    list.iter().map(|word| (*word).to_owned()).collect()
}

/// Whether the test can run here; prints what is missing.
fn lab(test: &str) -> bool {
    let missing = if !rustix::process::geteuid().is_root() {
        "root"
    } else if !Path::new("/dev/loop-control").exists() {
        "loop devices"
    } else {
        return true;
    };
    println!("SKIP {missing}: {test}");
    false
}

/// The file systems that can be created and mounted here; prints what is missing.
fn kinds(test: &str) -> Vec<(&'static str, &'static [&'static str])> {
    let known = fs::read_to_string("/proc/filesystems").unwrap();
    let here = |(kind, make): &(&str, &[&str])| {
        let program = ["/usr/sbin", "/sbin", "/usr/bin"]
            .iter()
            .any(|d| Path::new(d).join(make[0]).exists());
        if !program {
            println!("SKIP program {}: {test}", make[0]);
        } else if !known.split_whitespace().any(|word| word == *kind)
            && !Command::new("modprobe")
                .arg(kind)
                .status()
                .is_ok_and(|s| s.success())
        {
            println!("SKIP kernel file system {kind}: {test}");
        } else {
            return true;
        }
        false
    };
    KINDS.into_iter().filter(here).collect()
}

/// A work directory for one test: guards are dropped before their directory.
struct WorkDir {
    journal: Journal,
    home: tempfile::TempDir,
}

impl WorkDir {
    fn new() -> Self {
        let home = tempfile::tempdir().unwrap();
        let journal = Journal::open(&home.path().join("state")).unwrap();
        Self { journal, home }
    }

    fn path(&self) -> PathBuf {
        self.home.path().canonicalize().unwrap()
    }

    fn device(&self, size: u64) -> (Image, Loop) {
        let image = Image::create(&self.path().join("image"), Bytes(size), &self.journal).unwrap();
        let device = Loop::attach(&image.file().unwrap(), &self.journal).unwrap();
        (image, device)
    }

    fn target(&self) -> PathBuf {
        let target = self.path().join("mnt");
        fs::create_dir_all(&target).unwrap();
        target
    }

    fn made(&self, make: &[&str]) -> (Image, Loop) {
        let (image, device) = self.device(512 << 20);
        make_filesystem(make, &device);
        (image, device)
    }

    fn mount(&self, kind: &str, device: &Loop, options: &[&str]) -> Result<Mounted, MountError> {
        let source = device.device().to_str().unwrap();
        mount(kind, source, &self.target(), &words(options), &self.journal)
    }
}

fn make_filesystem(make: &[&str], device: &Loop) {
    let mut argv = words(make);
    argv.push(device.device().display().to_string());
    let finished = command::run(&argv, &CancelToken::new()).unwrap();
    assert!(finished.success(), "{}", finished.failure(&argv));
}

fn backing_files() -> String {
    let mut all = String::new();
    for entry in fs::read_dir("/sys/block").unwrap() {
        let shown = entry.unwrap().path().join("loop/backing_file");
        all.push_str(&fs::read_to_string(shown).unwrap_or_default());
    }
    all
}

fn mounts() -> String {
    fs::read_to_string("/proc/self/mountinfo").unwrap()
}

/// No mount and no attached device below a directory.
fn assert_nothing_left(place: &Path) {
    let place = place.to_str().unwrap();
    assert!(!mounts().contains(place), "{}", mounts());
    assert!(!backing_files().contains(place), "{}", backing_files());
}
