//! Provenance of the figures: the machine, and the versions that programs print.

use crate::options::Options;
use crate::work_dir;
use std::path::Path;
use std::process::Command;

/// Programs, with the arguments that print their version.
const VERSIONS: &[&[&str]] = &[
    &["cp", "--version"],
    &["tar", "--version"],
    &["grep", "--version"],
    &["find", "--version"],
    &["bsdtar", "--version"],
    &["rsync", "--version"],
    &["rg", "--version"],
    &["fdfind", "--version"],
    &["fio", "--version"],
    &["bonnie++", "--version"],
    &["sysbench", "--version"],
    &["cc", "--version"],
    &["rustc", "--version"],
];

/// The version lines of all programs, mkfs included.
pub(super) fn versions(options: &Options) -> Vec<String> {
    let Options {
        filesystems, peers, ..
    } = options;
    let ours = [env!("CARGO_BIN_EXE_fsdyno"), "--version"];
    let made = filesystems.iter().filter_map(|name| {
        let command = work_dir::mkfs(name, Path::new("image")).ok()?;
        let program = command.split(' ').next()?;
        first_line(&[program, "-V"])
    });
    let all = std::iter::once(&ours[..]).chain(VERSIONS.iter().copied());
    let installed = peers.values().filter_map(|at| {
        let path = at.display().to_string();
        first_line(&[&path, "--version"])
    });
    let all = all.filter_map(first_line).chain(made).chain(installed);
    all.collect()
}

/// The version line of a program.
fn first_line(words: &[&str]) -> Option<String> {
    let output = Command::new(words[0]).args(&words[1..]).output().ok()?;
    let printed = if output.stdout.is_empty() {
        output.stderr
    } else {
        output.stdout
    };
    let text = String::from_utf8_lossy(&printed).into_owned();
    // Some programs print the version at the end of their usage.
    let has_digit = |line: &&str| line.contains(|letter: char| letter.is_ascii_digit());
    let line = text.lines().find(|line| line.starts_with("Version"));
    let line = line.or_else(|| text.lines().find(has_digit))?.trim();
    let program = words[0].rsplit('/').next().unwrap_or_default();
    let named = line.to_lowercase().contains(&program.to_lowercase());
    Some(if named {
        line.to_owned()
    } else {
        format!("{program}: {line}")
    })
}

/// The machine on one line: kernel, processors, memory, and the load of other programs.
pub(super) fn machine() -> String {
    let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
    let cpuinfo = read("/proc/cpuinfo");
    let model = cpuinfo
        .lines()
        .find_map(|line| line.strip_prefix("model name"))
        .map_or("", |rest| rest.trim_start_matches(['\t', ' ', ':']));
    let count = std::thread::available_parallelism().map_or(1, usize::from);
    let memory = read("/proc/meminfo");
    let kib = memory.lines().find_map(|line| {
        line.strip_prefix("MemTotal:")?
            .trim()
            .split(' ')
            .next()?
            .parse::<u64>()
            .ok()
    });
    format!(
        "Linux {}, {count} processors ({model}), {} MiB of memory; load of the machine at the start: {}.",
        read("/proc/sys/kernel/osrelease").trim(),
        kib.unwrap_or(0) / 1024,
        read("/proc/loadavg").split(' ').next().unwrap_or("unknown")
    )
}
