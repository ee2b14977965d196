//! Peak memory of a program for one million and for ten million files: the maximum of the whole
//! program, as the kernel reports it at exit.

use crate::measure::{self, Runner};
use crate::names::Names;
use crate::works::By;

pub const NAME: &str = "memory";

/// The limit in bytes. In addition, ten million files must not need more than one million.
pub const GOAL: f64 = 64.0 * 1024.0 * 1024.0;

/// The peak memory of one program for a number of files.
#[derive(Debug)]
pub struct MemoryUse {
    pub name: &'static str,
    pub command: &'static str,
    pub ours: bool,
    pub files: u64,
    /// Bytes, or the reason why they are unknown.
    pub peak: Result<f64, String>,
}

/// The measured commands, in an order in which each finds its files. Placeholders are `{d}` for the
/// directory and `{files}`.
const WEIGHED: &[(&str, bool, &str)] = &[
    (
        "fsdyno, create",
        true,
        "{fsdyno} phase op-create --in {d} --set files={files} --set files-per-dir=10000 --until return",
    ),
    (
        "fsdyno, stat",
        true,
        "{fsdyno} phase op-stat --in {d} --set files={files} --set files-per-dir=10000",
    ),
    (
        "fsdyno, unlink",
        true,
        "{fsdyno} phase op-unlink --in {d} --set files={files} --set files-per-dir=10000 --until return",
    ),
];

/// Other programs, at the first number of files only, because their memory grows with the number.
const OTHERS: &[(&str, &str)] = &[("bonnie++", "bonnie++ -q -u root -d {d} -s 0 -n {k} -r 0")];

/// Kernel memory per file in bytes: an inode and a directory entry, with a reserve.
const FILE: u64 = 1600;

/// Measures all programs and reports each result.
pub fn measure_memory(
    names: &Names,
    runner: &Runner,
    mut report: impl FnMut(MemoryUse),
) -> Result<(), String> {
    let mut measure_memory =
        |name, command: &'static str, ours, files: u64| -> Result<(), String> {
            let filled = command
                .replace("{files}", &files.to_string())
                .replace("{k}", &(files / 1024).to_string());
            let filled = names.fill(&filled);
            let peak = if files * FILE > available() {
                Err(format!(
                    "{} MiB of memory are free, {} are needed",
                    available() >> 20,
                    (files * FILE) >> 20
                ))
            } else if measure::there(&filled) {
                runner
                    .timed(&filled, By::Process)
                    .map(|measured| measured.peak)
            } else {
                Err("not on this machine".to_owned())
            };
            if runner.stop().requested() {
                return Err(measure::STOPPED.to_owned());
            }
            let shown = peak.as_ref().map(|peak| format!("{:.1} MB", peak / 1e6));
            eprintln!(
                "memory   {name}, {files} files: {}",
                shown.unwrap_or_else(Clone::clone)
            );
            report(MemoryUse {
                name,
                command,
                ours,
                files,
                peak,
            });
            Ok(())
        };
    for files in names.scale.weighed {
        for (name, ours, command) in WEIGHED {
            measure_memory(name, command, *ours, *files)?;
        }
        runner.shell(&names.fill("rm -rf {d}/op"))?;
    }
    for (name, command) in OTHERS {
        measure_memory(name, command, false, names.scale.weighed[0])?;
    }
    Ok(())
}

/// Available memory in bytes, or 0 if unknown.
fn available() -> u64 {
    let text = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix("MemAvailable:"));
    let kib = line.and_then(|rest| rest.trim().split(' ').next()?.parse::<u64>().ok());
    kib.unwrap_or(0) * 1024
}
