//! The machine-wide lock of measurements. Each test runs in its own network namespace, so it does
//! not use the lock of this machine. Without root, the tests are skipped by name.

mod support;

use rustix::process::{Pid, Signal, kill_process};
use rustix::thread::{UnshareFlags, unshare_unsafe};
use std::process::Child;
use std::time::Duration;
use support::{Home, until};

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
