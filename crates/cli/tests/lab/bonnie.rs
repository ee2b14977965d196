//! The bonnie phases on real file systems: the files that each leaves, and its sync calls, compared
//! with the packaged bonnie++. Needs root to mount image files.

use crate::support::{Home, root_and};
use std::fs::{self, File};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

/// File systems with their mkfs commands.
const FILE_SYSTEMS: [(&str, &[&str]); 3] = [
    ("ext4", &["mkfs.ext4", "-q"]),
    ("xfs", &["mkfs.xfs", "-q"]),
    ("btrfs", &["mkfs.btrfs", "-q"]),
];
/// The system calls that wait for the disk.
const WAITS: [&str; 3] = ["fsync", "syncfs", "sync"];

/// A new file system on an image file, unmounted on drop.
struct Mounted(PathBuf);

impl Mounted {
    fn new(home: &Home, name: &str, mkfs: &[&str]) -> Self {
        let (image, at) = (home.path(&format!("{name}.img")), home.path(name));
        File::create(&image).unwrap().set_len(400 << 20).unwrap();
        run(Command::new(mkfs[0]).args(&mkfs[1..]).arg(&image));
        fs::create_dir(&at).unwrap();
        run(Command::new("mount")
            .args(["-o", "loop"])
            .arg(&image)
            .arg(&at));
        Self(at)
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(&self.0).status();
    }
}

fn run(command: &mut Command) {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{command:?}: {output:?}");
}

/// Runs a command under strace and returns its sync calls in order.
fn waits(home: &Home, command: &Command) -> Vec<&'static str> {
    let log = home.path("strace.log");
    let mut traced = Command::new("strace");
    traced.args(["-f", "-y", "-qq", "-e", "trace=fsync,syncfs,sync", "-o"]);
    traced.arg(&log).arg(command.get_program());
    run(traced.args(command.get_args()));
    let trace = fs::read_to_string(&log).unwrap();
    // strace prints `PID call(arguments) = 0`, or `PID call(arguments <unfinished ...>` and the
    // return later. The journal entry of the created files is written after the phase.
    trace
        .lines()
        .filter(|line| !line.contains("/.fsdyno-"))
        .filter_map(|line| {
            let (call, _) = line.split_whitespace().nth(1)?.split_once('(')?;
            WAITS.into_iter().find(|wait| *wait == call)
        })
        .collect()
}

/// Runs a phase in a directory and returns its sync calls.
fn phase(home: &Home, at: &Path, kind: &str, set: &[&str]) -> Vec<&'static str> {
    let mut command = home.command(&["phase", kind, "--in"]);
    command.arg(at);
    for pair in set {
        command.args(["--set", pair]);
    }
    waits(home, &command)
}

/// The names in a directory, and the link count of each.
fn names(directory: &Path) -> Vec<(String, u64)> {
    let entries = fs::read_dir(directory).unwrap().map(Result::unwrap);
    let mut names: Vec<_> = entries
        .map(|entry| {
            let links = entry.path().symlink_metadata().unwrap().nlink();
            (entry.file_name().into_string().unwrap(), links)
        })
        .collect();
    names.sort();
    names
}

#[test]
fn the_large_file_is_durable_after_each_of_its_phases() {
    const TEST: &str = "the_large_file_is_durable_after_each_of_its_phases";
    for (name, mkfs) in FILE_SYSTEMS {
        if !root_and(&["strace", mkfs[0]], TEST) {
            return;
        }
        let home = Home::new();
        let mounted = Mounted::new(&home, name, mkfs);
        let file = mounted.0.join("bonnie/data");
        let set = [
            "size=1M",
            "chars=65536",
            "seeks=200",
            "seekers=2",
            "data=like-original",
        ];
        for (kind, waits, size) in [
            // The sync calls of the phase itself; then, for a phase that writes, the call that ends
            // its clock.
            ("bonnie-char-write", &["fsync", "syncfs"][..], 65_536),
            ("bonnie-write", &["fsync", "syncfs"], 1 << 20),
            ("bonnie-rewrite", &["fsync", "syncfs"], 1 << 20),
            ("bonnie-char-read", &["fsync"], 1 << 20),
            ("bonnie-read", &["fsync"], 1 << 20),
            ("bonnie-seeks", &["fsync", "syncfs"], 1 << 20),
        ] {
            let mut seen = phase(&home, &mounted.0, kind, &set);
            // Short phases are repeated, and each worker that changed a file syncs its seeks.
            seen.dedup();
            assert_eq!(seen, waits, "{kind} on {name}");
            assert_eq!(fs::metadata(&file).unwrap().len(), size, "{kind} on {name}");
        }
    }
}

#[test]
fn files_and_links_are_created_read_and_deleted() {
    const TEST: &str = "files_and_links_are_created_read_and_deleted";
    for (name, mkfs) in FILE_SYSTEMS {
        if !root_and(&["strace", mkfs[0]], TEST) {
            return;
        }
        let home = Home::new();
        let mounted = Mounted::new(&home, name, mkfs);
        for (order, made) in [
            ("sequential", "files"),
            ("random", "hard-links"),
            ("sequential", "symlinks"),
        ] {
            let set = [
                "files=60",
                "directories=3",
                "min=10",
                "max=9000",
                &format!("order={order}"),
                &format!("made={made}"),
            ];
            let case = format!("{made} on {name}");
            let base = mounted.0.join("bonnie").join(order);
            // One call is in the timed part of the phase; the other one ends every phase that
            // writes.
            let twice = ["syncfs"; 2];
            let create = phase(&home, &mounted.0, "bonnie-create", &set);
            assert_eq!(create, twice, "{case}");
            let mut files = 0;
            for directory in ["00000", "00001", "00002"] {
                let found = names(&base.join(directory));
                files += found.len();
                let links = if made == "hard-links" { 61 } else { 1 };
                assert!(
                    found.iter().all(|(_, has)| *has == links),
                    "{case}: {found:?}"
                );
            }
            assert_eq!(files, 60, "{case}");
            let stat = phase(&home, &mounted.0, "bonnie-stat", &set);
            assert_eq!(stat, [""; 0], "{case}");
            let delete = phase(&home, &mounted.0, "bonnie-delete", &set);
            assert_eq!(delete, twice, "{case}");
            let left = names(&base);
            let originals = [("original-0".to_owned(), 1)];
            assert_eq!(left, originals[..usize::from(made != "files")], "{case}");
        }
    }
}

#[test]
fn each_phase_waits_for_the_disk_where_the_packaged_program_does() {
    const TEST: &str = "each_phase_waits_for_the_disk_where_the_packaged_program_does";
    if !root_and(&["strace", "bonnie++"], TEST) {
        return;
    }
    let home = Home::new();
    let mut packaged = Command::new("bonnie++");
    packaged.args([
        "-q", "-f", "-r", "0", "-u", "root", "-s", "1M", "-n", "1", "-d",
    ]);
    let packaged = waits(&home, packaged.arg(home.work()));
    let of = |wait: &str| packaged.iter().filter(|seen| **seen == wait).count();
    // After write, rewrite and read; then one for each worker of the seeks.
    assert!(packaged.starts_with(&["fsync"; 4]), "{packaged:?}");
    // After creation and deletion, in both orders.
    assert_eq!((of("sync"), of("syncfs")), (4, 0));
    let data = ["size=1M", "data=like-original"];
    let ours: usize = ["bonnie-write", "bonnie-rewrite", "bonnie-read"]
        .iter()
        .map(|kind| {
            let mut seen = phase(&home, &home.work(), kind, &data);
            seen.dedup();
            seen.iter().filter(|wait| **wait == "fsync").count()
        })
        .sum();
    assert_eq!(ours, 3);
}
