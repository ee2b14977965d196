//! Cells on pools that programs manage: on this machine if it has the daemon or module, and in
//! guests. Tests without their requirements are skipped by name.

use crate::support::{Home, have, outcomes, root_and};
use std::os::fd::OwnedFd;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

/// The pool programs and their daemon.
const PROGRAMS: [&str; 4] = ["zpool", "zfs", "zdb", "zfs-fuse"];

/// The packaged kernel of guests.
const KERNEL: &str = "linux.uml";

/// These tests use the daemon of the machine, so they run one at a time.
fn alone() -> OwnedFd {
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join("pools.lock");
    let file = std::fs::File::create(file).unwrap();
    rustix::fs::flock(&file, rustix::fs::FlockOperation::LockExclusive).unwrap();
    file.into()
}

/// Whether this machine supports pools.
fn here(test: &str) -> bool {
    if !root_and(&PROGRAMS, test) {
        return false;
    }
    let known = std::fs::read_to_string("/proc/filesystems").unwrap_or_default();
    let found = known.lines().any(|line| line.ends_with("fuse"));
    if !found || !Path::new("/dev/fuse").exists() {
        println!("SKIP kernel file system fuse: {test}");
        return false;
    }
    true
}

fn small(home: &Home, fs: &str, more: &[&str]) -> Vec<String> {
    let work = home.work().display().to_string();
    let base = ["run", "--work-dir", &work, "--fs", fs, "--repeats", "1"];
    base.iter()
        .chain(more)
        .map(|word| (*word).to_owned())
        .collect()
}

/// Arguments for phases on a tree of a few files.
const TREE: [&str; 7] = [
    "--dataset",
    "mixed",
    "--scale",
    "0.003",
    "--phases",
    "copy,read",
    "--verify",
];

/// The pools mounted in the home; empty if the daemon does not answer. Other users may have pools
/// too.
fn pools_of(home: &Home) -> Vec<String> {
    let listed = Command::new("zfs")
        .args(["list", "-H", "-o", "name,mountpoint"])
        .output()
        .unwrap();
    let listed = String::from_utf8_lossy(&listed.stdout).into_owned();
    let here = home.root.path().display().to_string();
    let ours = listed.lines().filter(|line| line.contains(&here));
    ours.map(str::to_owned).collect()
}

/// Asserts that every phase of every cell started provably cold and read its data from the devices.
fn assert_cold(result: &serde_json::Value, lab: &str) {
    for cell in result["cells"].as_array().unwrap() {
        for sample in cell["samples"].as_array().unwrap() {
            assert_eq!(sample["cache"]["proven"], true, "{lab}: {sample}");
            let checked = sample["cache"]["bytes_checked"].as_u64().unwrap();
            let read = sample["device"]["read_bytes"].as_u64().unwrap();
            assert!(checked > 1 << 20, "{lab}: {sample}");
            assert!(
                read >= checked,
                "{lab}: {read} of {checked} were read: {sample}"
            );
        }
    }
}

/// Asserts that each cell records the status of its pool and the requested property.
fn assert_reported(result: &serde_json::Value, property: &str) {
    for cell in result["cells"].as_array().unwrap() {
        let effective = cell["effective"].as_array().unwrap();
        let text = |source: &str| {
            let found = effective.iter().find(|one| one["source"] == source);
            found.map(|one| one["text"].to_string()).unwrap_or_default()
        };
        assert!(text("zpool status").contains("ONLINE"), "{cell}");
        let all = text("zfs get all");
        let line = all.split("\\n").find(|line| line.contains(property));
        assert!(line.is_some_and(|line| line.contains("local")), "{all}");
    }
}

#[test]
fn a_pool_is_made_and_read_cold_from_its_devices() {
    if !here("a_pool_is_made_and_read_cold_from_its_devices") {
        return;
    }
    let _alone = alone();
    let home = Home::new();
    let contenders = "zfs:noatime,zfs@pool2:atime=off,recordsize=16k";
    let printed = home.fsdyno(&small(
        &home,
        contenders,
        &[&TREE[..], &["--long"]].concat(),
    ));
    assert_eq!(printed.code, Some(0), "{}{}", printed.out, printed.err);
    let result = home.result("last");
    assert_cold(&result, "host");
    assert_reported(&result, "atime");
    let shown = home.fsdyno(&["show", "last", "--commands", "0"]);
    assert!(shown.out.contains("zdb -e -p "), "{}", shown.out);
    home.assert_cleanable();
    assert_eq!(pools_of(&home), Vec::<String>::new());
}

#[test]
fn an_option_that_the_tools_refuse_fails_its_cell_and_the_others_run() {
    if !here("an_option_that_the_tools_refuse_fails_its_cell_and_the_others_run") {
        return;
    }
    let _alone = alone();
    let home = Home::new();
    let contenders = "zfs:checksum=nosuchsum,zfs";
    let printed = home.fsdyno(&small(
        &home,
        contenders,
        &[&TREE[..], &["--long"]].concat(),
    ));
    assert_eq!(printed.code, Some(1), "{}{}", printed.out, printed.err);
    let ended = outcomes(&home.result("last"));
    assert_eq!(ended.iter().filter(|(_, how)| how == "failed").count(), 1);
    assert_eq!(ended.iter().filter(|(_, how)| how == "measured").count(), 1);
    assert!(
        printed.out.contains("'checksum' must be one of"),
        "{}",
        printed.out
    );
    home.assert_cleanable();
}

#[test]
fn clean_removes_the_pool_of_a_killed_run() {
    if !here("clean_removes_the_pool_of_a_killed_run") {
        return;
    }
    let _alone = alone();
    let home = Home::new();
    let forever = ["--exec", "touch {dir}/begun; sleep 600"];
    let mut child = home.start(&small(&home, "zfs@pool2", &forever));
    let deadline = Instant::now() + Duration::from_secs(120);
    let begun = || {
        let places = home.left_in_work();
        places
            .iter()
            .any(|place| place.join("mnt/ground/begun").exists())
    };
    while !begun() {
        assert!(Instant::now() < deadline, "{}", home.output());
        assert!(child.try_wait().unwrap().is_none(), "{}", home.output());
        std::thread::sleep(Duration::from_millis(50));
    }
    assert_eq!(pools_of(&home).len(), 1);
    child.kill().unwrap();
    child.wait().unwrap();
    home.assert_cleanable();
    assert_eq!(pools_of(&home), Vec::<String>::new());
    let printed = home.fsdyno(&["clean"]);
    assert!(printed.out.contains("Nothing to clean"), "{}", printed.out);
}

/// A daemon and a pool of another user, removed on drop.
struct Theirs {
    pid_file: std::path::PathBuf,
    pool: String,
}

impl Theirs {
    fn start(home: &Home) -> Self {
        let theirs = Self {
            pid_file: home.path("theirs.pid"),
            pool: format!("theirs{}", std::process::id()),
        };
        let file = theirs.pid_file.display().to_string();
        let image = home.path("theirs.img");
        std::fs::File::create(&image)
            .unwrap()
            .set_len(64 << 20)
            .unwrap();
        let image = image.display().to_string();
        let start = ["zfs-fuse", "--no-kstat-mount", "--pidfile", &file];
        let make = ["zpool", "create", "-o", "cachefile=none", "-m", "none"];
        for argv in [
            start.to_vec(),
            make.into_iter().chain([&*theirs.pool, &*image]).collect(),
        ] {
            let status = Command::new(argv[0]).args(&argv[1..]).status().unwrap();
            assert!(status.success(), "{argv:?}");
        }
        theirs
    }

    fn is_whole(&self) -> bool {
        let listed = Command::new("zpool").args(["list", &self.pool]).output();
        listed.unwrap().status.success()
    }
}

impl Drop for Theirs {
    fn drop(&mut self) {
        let _ = Command::new("zpool").args(["export", &self.pool]).status();
        let number = std::fs::read_to_string(&self.pid_file).unwrap_or_default();
        // Other runs on this machine may use the daemon; they hold this lock.
        let end = ["/run/fsdyno-zfs-fuse.lock", "kill", "-9", number.trim()];
        let _ = Command::new("flock").args(end).status();
    }
}

#[test]
fn a_daemon_of_the_user_is_used_and_not_stopped() {
    let test = "a_daemon_of_the_user_is_used_and_not_stopped";
    if !here(test) {
        return;
    }
    let _alone = alone();
    let listed = Command::new("zpool").arg("list").output().unwrap();
    if listed.status.success() {
        println!("SKIP a machine on which nothing holds pools yet: {test}");
        return;
    }
    let home = Home::new();
    let theirs = Theirs::start(&home);
    let printed = home.fsdyno(&small(&home, "zfs", &TREE));
    assert_eq!(printed.code, Some(0), "{}{}", printed.out, printed.err);
    assert!(theirs.is_whole());
    assert_eq!(pools_of(&home), Vec::<String>::new());
    home.assert_cleanable();
    assert!(theirs.is_whole());
}

#[test]
fn the_script_of_a_dry_run_makes_and_releases_a_pool() {
    if !here("the_script_of_a_dry_run_makes_and_releases_a_pool") {
        return;
    }
    let _alone = alone();
    let home = Home::new();
    let mut args = small(&home, "zfs@pool2:noatime", &TREE);
    args.push("--dry-run".to_owned());
    let script = home.fsdyno(&args);
    assert_eq!(script.code, Some(0), "{}", script.err);
    let binary = Path::new(env!("CARGO_BIN_EXE_fsdyno"));
    let path = std::env::var("PATH").unwrap_or_default();
    let path = format!("{}:{path}:/usr/sbin", binary.parent().unwrap().display());
    let ran = Command::new("bash")
        .args(["-e", "-u", "-c", &script.out])
        .env("PATH", path)
        .output()
        .unwrap();
    let printed = crate::support::printed(&ran);
    assert_eq!(printed.code, Some(0), "{}{}", printed.out, printed.err);
    assert_eq!(pools_of(&home), Vec::<String>::new());
    home.assert_cleanable();
}

#[test]
fn a_pool_of_two_is_measured_in_a_guest() {
    let programs: Vec<&str> = PROGRAMS.into_iter().chain([KERNEL]).collect();
    if !have(&programs, "a_pool_of_two_is_measured_in_a_guest") {
        return;
    }
    let home = Home::new();
    let guest = ["--lab", "uml"];
    let more: Vec<&str> = TREE.into_iter().chain(guest).collect();
    let contenders = "zfs@pool2:noatime";
    let printed = home.fsdyno(&small(&home, contenders, &more));
    assert_eq!(printed.code, Some(0), "{}{}", printed.out, printed.err);
    let result = home.result("last");
    assert_cold(&result, "uml");
    assert_reported(&result, "atime");
    assert!(home.left_in_work().is_empty());
}
