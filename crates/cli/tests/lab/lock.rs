//! The machine-wide lock of measurements. Each test runs in its own network namespace, so it does
//! not use the lock of this machine. Without root, the tests are skipped by name.

use crate::support::{Home, root_and, until};
use rustix::process::{Pid, Signal, kill_process};
use rustix::thread::{UnshareFlags, unshare_unsafe};
use std::process::{Child, Command};
use std::time::Duration;

/// Time limit of each wait, for a busy machine.
const TIMEOUT: Duration = Duration::from_secs(180);

/// Gives this test and its child processes a separate lock.
fn alone(test: &str) -> bool {
    // SAFETY: only the network namespace of this thread changes; no file descriptor is affected.
    let moved = unsafe { unshare_unsafe(UnshareFlags::NEWNET) };
    if moved.is_err() {
        println!("SKIP root: {test}");
    }
    moved.is_ok()
}

/// A process that measures a phase until it is killed, and holds the lock.
struct Holder(Child);

impl Holder {
    fn start(home: &Home) -> Self {
        let place = home.path("held");
        std::fs::create_dir(&place).unwrap();
        let place = place.display().to_string();
        // It waits for the lock: the runs that ask whether it measures may hold it for a moment.
        let set = "--set size=1M --set operations=1000000 --set rate=10 --lock-timeout 1h";
        let words = ["phase", "op-random-read", "--in", &place];
        let words: Vec<&str> = words.into_iter().chain(set.split(' ')).collect();
        let holder = Self(home.start(&words));
        until(TIMEOUT, "the phase measures", || refused(home).is_some());
        holder
    }

    fn pid(&self) -> u32 {
        self.0.id()
    }

    fn kill(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

impl Drop for Holder {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The arguments of a small run in a directory.
fn run(home: &Home, more: &str) -> Vec<String> {
    let on = format!("dir:{}", home.work().display());
    let words = "run --dataset mixed --scale 0.002 --repeats 1 --phases copy --on";
    let words = words.split(' ').map(str::to_owned).chain([on]);
    words.chain(more.split(' ').map(str::to_owned)).collect()
}

/// The error of a run that does not wait; `None` if it was not refused.
fn refused(home: &Home) -> Option<String> {
    let store = home.path("refused.db");
    let more = format!("--store {} --lock-timeout 0s", store.display());
    let output = home.fsdyno(&run(home, &more));
    (output.code == Some(6)).then_some(output.err)
}

#[test]
fn a_second_measurement_waits_or_is_refused_with_the_name_of_the_first() {
    let test = "a_second_measurement_waits_or_is_refused_with_the_name_of_the_first";
    if !alone(test) {
        return;
    }
    let home = Home::new();
    let mut holder = Holder::start(&home);
    let message = refused(&home).unwrap();
    let pid = format!("process {} (root", holder.pid());
    for part in [
        &*pid,
        "phase op-random-read",
        "started",
        "--lock-timeout",
        "--no-lock",
    ] {
        assert!(message.contains(part), "{part}: {message}");
    }
    for words in [
        "selftest --lock-timeout 0s",
        "selftest --aa 1 --lock-timeout 0s",
    ] {
        let words: Vec<&str> = words.split(' ').collect();
        assert_eq!(home.fsdyno(&words).code, Some(6), "{words:?}");
    }
    // Commands that do not measure do not wait.
    assert_eq!(home.fsdyno(&["list", "suites"]).code, Some(0));
    assert_eq!(
        home.fsdyno(&run(&home, "--dry-run --lock-timeout 0s")).code,
        Some(0)
    );

    let waits = |home: &Home| home.output().contains("waiting up to 60:00 min for");
    let mut interrupted = home.start(&run(&home, "--lock-timeout 1h"));
    until(TIMEOUT, "it waits", || waits(&home));
    let number = Pid::from_child(&interrupted);
    kill_process(number, Signal::INT).unwrap();
    assert_eq!(interrupted.wait().unwrap().code(), Some(130));

    let mut second = home.start(&run(&home, "--lock-timeout 1h"));
    until(TIMEOUT, "it waits", || waits(&home));
    assert!(second.try_wait().unwrap().is_none());
    holder.kill();
    assert_eq!(second.wait().unwrap().code(), Some(0), "{}", home.output());
    let cell = &home.result("last")["cells"][0];
    assert!(
        !cell["warnings"].to_string().contains("not-locked"),
        "{cell}"
    );
    assert_eq!(refused(&home), None);
}

#[test]
fn a_run_during_another_measurement_has_a_warning() {
    let test = "a_run_during_another_measurement_has_a_warning";
    if !alone(test) {
        return;
    }
    let home = Home::new();
    let _holder = Holder::start(&home);
    let output = home.fsdyno(&run(&home, "--no-lock"));
    assert_eq!(output.code, Some(0), "{}", output.err);
    assert!(output.out.contains("not-locked"), "{}", output.out);
    let again = home.fsdyno(&["report", "last", "--long"]).out;
    assert!(again.contains("not-locked"), "{again}");
}

#[test]
fn child_processes_of_a_run_measure_under_its_lock() {
    let test = "child_processes_of_a_run_measure_under_its_lock";
    if !alone(test) {
        return;
    }
    let home = Home::new();
    let fsdyno = env!("CARGO_BIN_EXE_fsdyno");
    let inner = format!("{fsdyno} phase op-stat --in {{dir}} --lock-timeout 0s");
    let mut words = run(&home, "--lock-timeout 0s --exec");
    words.push(inner);
    let output = home.fsdyno(&words);
    assert_eq!(output.code, Some(0), "{}{}", output.out, output.err);
    assert!(!output.out.contains("not-locked"), "{}", output.out);
}

/// A device with a mounted file system.
struct Mounted {
    device: String,
    on: String,
}

impl Mounted {
    fn make(home: &Home) -> Self {
        let image = home.path("mounted.img");
        let file = std::fs::File::create(&image).unwrap();
        file.set_len(64 << 20).unwrap();
        let device = command(&["losetup", "-f", "--show", &image.display().to_string()]);
        let on = home.path("mounted");
        std::fs::create_dir(&on).unwrap();
        let on = on.display().to_string();
        let mounted = Self { device, on };
        command(&["mkfs.ext4", "-q", &mounted.device]);
        command(&["mount", &mounted.device, &mounted.on]);
        mounted
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        for words in [["umount", &self.on], ["losetup", "-d"]] {
            let mut command = Command::new(words[0]);
            command.args(&words[1..]);
            if words[0] == "losetup" {
                command.arg(&self.device);
            }
            let _ = command.output();
        }
    }
}

fn command(words: &[&str]) -> String {
    let output = Command::new(words[0]).args(&words[1..]).output().unwrap();
    assert!(output.status.success(), "{words:?}: {output:?}");
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

/// Mistakes, each with a part of the answer. `DIR` is a directory, `HOME` one that has files, `DEV` a
/// mounted device.
const MISTAKES: [(&str, &str); 44] = [
    ("run --on /dev/nothing", "does not exist"),
    ("run --on /dev/null", "not a block device"),
    ("run --on DEV", "mounted"),
    ("run --on DEV,DEV --fs btrfs@pool2", "named twice"),
    ("run --on floppy", "loop"),
    ("run --on dir:/nonexistent", "/nonexistent"),
    ("run --on dir:DIR --fs ext4", "dir:"),
    ("run --on loop:1M", "1.00 MiB"),
    ("run --work-dir /nonexistent", "/nonexistent"),
    ("run --work-dir HOME/file", "--work-dir"),
    ("run --erase disk", "--on /dev/..."),
    (
        "run --fs ext4:frobnicate=7,xfs:frobnicate=7 --unchecked-options",
        "frobnicate",
    ),
    (
        "run --fs ext4[-O_frobnicate] --unchecked-options",
        "frobnicate",
    ),
    ("run ext4 xfs", "--fs ext4,xfs"),
    ("run --fs ext4,xsf", "xfs"),
    ("run --fs ext4:noatmie", "noatime"),
    ("run qick", "quick"),
    ("run --plan /nonexistent.toml", "/nonexistent.toml"),
    ("run --dataset tree:/nonexistent", "/nonexistent"),
    ("run --dataset portge", "portage"),
    ("run --on dir:DIR --phases cpoy", "copy"),
    ("run --on dir:DIR --engine snyc", "sync"),
    ("run --on dir:DIR --scale -1", "scale"),
    ("run --on dir:DIR --repeats 0", "--repeats"),
    ("run --on dir:DIR --export-csv HOME/file", "exists"),
    ("run --resume nothing", "store"),
    ("--store HOME run --on dir:DIR", "HOME"),
    ("run --disk nothing", "disk profile"),
    (
        "run --lab uml --guest-kernel /bin/ls",
        "no kernel of User-mode Linux",
    ),
    ("run --lab uml --guest-kernel /dev/zero", "device"),
    ("rerun nothing", "cannot be rerun"),
    ("selftest --fs ext4,xfs --aa 1", "one contender"),
    ("selftest --phases cpoy --aa 1", "copy"),
    ("phase cpoy --in DIR", "copy"),
    ("phase copy --in DIR", "fsdyno make"),
    ("phase copy --in /nonexistent", "/nonexistent"),
    ("phase op-stat --in DIR --set files=many", "many"),
    ("phase copy --in DIR --engine snyc", "sync"),
    ("disk fit /nonexistent", "/nonexistent"),
    ("disk fit HOME/file", "at least"),
    ("disk fit DEV --scratch HOME/file", "HOME/file"),
    ("disk fit DEV --reference /nonexistent", "/nonexistent"),
    ("disk fit DEV -o HOME/file", "exists"),
    ("advise --dataset portge", "portage"),
];

#[test]
fn every_mistake_is_answered_while_another_process_measures() {
    let test = "every_mistake_is_answered_while_another_process_measures";
    if !root_and(&["mkfs.ext4", "mkfs.xfs"], test) || !alone(test) {
        return;
    }
    let home = Home::new();
    let mounted = Mounted::make(&home);
    std::fs::write(home.path("file"), "text").unwrap();
    let mut holder = Holder::start(&home);
    let mut wrong = Vec::new();
    for (typed, answer) in MISTAKES {
        let filled = |text: &str| {
            text.replace("DIR", &home.work().display().to_string())
                .replace("DEV", &mounted.device)
                .replace("HOME", &home.root.path().display().to_string())
        };
        let words = typed
            .split(' ')
            .map(|word| filled(word).replace("-O_", "-O "));
        let mut words: Vec<String> = words.collect();
        if ["run", "rerun", "selftest", "phase"].contains(&words[0].as_str()) {
            words.splice(1..1, ["--lock-timeout", "1h"].map(str::to_owned));
        }
        let mut child = home.start(&words);
        let waits = || home.output().contains("waiting up to");
        until(TIMEOUT, typed, || waits() || has_ended(&child));
        let waited = !has_ended(&child);
        let _ = child.kill();
        let code = child.wait().unwrap().code();
        let printed = home.output();
        if waited
            || ![Some(1), Some(2), Some(3), Some(4)].contains(&code)
            || !printed.contains(&filled(answer))
        {
            wrong.push(format!("{typed}: waited: {waited}, {code:?}: {printed}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    // The other measurement was never disturbed.
    assert!(holder.0.try_wait().unwrap().is_none());
    holder.kill();
}

/// Whether a child has ended, without waiting for it.
fn has_ended(child: &Child) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", child.id()));
    stat.is_ok_and(|stat| {
        stat.rsplit(')')
            .next()
            .is_some_and(|rest| rest.trim().starts_with('Z'))
    })
}
