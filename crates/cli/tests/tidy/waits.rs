//! Calls that wait are repeated after a signal: EINTR is no failure.

use crate::{Finding, Source, check_sources, find_word, lines_found};

/// Calls that return EINTR after a signal (signal(7)), some in spite of `SA_RESTART`.
const WAITS: [&str; 24] = [
    "rustix::event::pause",
    "rustix::event::poll",
    "rustix::event::select",
    "rustix::event::epoll::wait",
    "rustix::fs::flock",
    "rustix::fs::fcntl_lock",
    "rustix::io::pread",
    "rustix::io::pwrite",
    "rustix::io::read",
    "rustix::io::write",
    "rustix::net::accept",
    "rustix::net::accept_with",
    "rustix::net::recv",
    "rustix::net::recvfrom",
    "rustix::net::recvmsg",
    "rustix::net::send",
    "rustix::net::sendmsg",
    "rustix::process::waitid",
    "rustix::process::waitpid",
    "rustix::termios::tcdrain",
    "rustix::thread::clock_nanosleep_absolute",
    "rustix::thread::clock_nanosleep_relative",
    "rustix::thread::nanosleep",
    "rustix::thread::futex::wait",
];

/// Methods and functions that are waits under any path.
const NAMED: [&str; 5] = [
    "submit_and_wait",
    "libc::poll",
    "libc::ppoll",
    "libc::wait4",
    "libc::waitpid",
];

/// Lines above a call in which its `uninterrupted` may be.
const ABOVE: usize = 3;

/// The file of the functions that repeat.
const HELPERS: &str = "crates/files/src/waiting.rs";

fn waits_are_repeated(source: &Source) -> Vec<Finding> {
    if source.path == HELPERS || source.path.starts_with("fuzz/") {
        return Vec::new();
    }
    let product = |line: &usize| !source.test[*line];
    let mut names: Vec<&str> = NAMED.to_vec();
    for path in WAITS {
        // `use rustix::io::read` and `rustix::io::read(` name it; `use rustix::io` does not.
        let reached = source.reached.iter().filter(|one| product(&one.line));
        if reached.clone().any(|one| one.path == path) {
            names.extend(path.rsplit("::").next());
        }
    }
    names.sort_unstable();
    names.dedup();
    let mut findings = Vec::new();
    for (at, line) in source.product_code() {
        let called = names.iter().find(|name| {
            let call = format!("{name}(");
            let method = find_word(line, name).is_some_and(|at| line[..at].ends_with('.'));
            let defined = line.contains(&format!("fn {name}"));
            find_word(line, &call).is_some() && !defined && (!method || **name == NAMED[0])
        });
        let above = at.saturating_sub(ABOVE);
        let repeated = source.code[above..=at]
            .iter()
            .any(|line| line.contains("uninterrupted("));
        if let Some(name) = called.filter(|_| !repeated) {
            let what = format!(
                "`{name}` fails with EINTR after a signal: call it through \
                 `fsdyno_files::uninterrupted`, `poll` or `flock`"
            );
            findings.push(Finding::new(&source.path, at, what));
        }
    }
    findings
}

#[test]
fn every_wait_is_repeated_after_a_signal() {
    check_sources(waits_are_repeated);
}

#[test]
fn the_check_of_waits_finds_violations() {
    let bad = "use rustix::event::{PollFd, poll};\nlet a = poll(&mut b, None)?;\n\
               let c = rustix::io::read(&d, &mut e);\nring.submit_and_wait(1)?;\n\n\n\
               uninterrupted(|| rustix::io::read(&d, &mut e));\nfile.read(&mut e);";
    let path = "crates/recorder/src/a.rs";
    assert_eq!(lines_found(waits_are_repeated, path, bad), [2, 3, 4]);
    let good = "use fsdyno_files::poll;\npoll(&mut a, None)?;\nfile.read(&mut b)?;\n\
                rustix::event::epoll::create(c)?;";
    assert!(lines_found(waits_are_repeated, path, good).is_empty());
    assert!(lines_found(waits_are_repeated, HELPERS, bad).is_empty());
}
