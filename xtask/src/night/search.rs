//! The crash search on random programs. A finding is a finding of a file system, or an error of
//! fsdyno: a reader decides.

use super::{Options, Report, Scale, output_directory};
use crate::kernels;
use crate::system::{Result, Start, cargo, has, run, target};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// File systems of the lab kernel, with the program that makes them.
const FILE_SYSTEMS: [(&str, &str); 9] = [
    ("ext2", "mkfs.ext2"),
    ("ext3", "mkfs.ext3"),
    ("ext4", "mkfs.ext4"),
    ("xfs", "mkfs.xfs"),
    ("btrfs", "mkfs.btrfs"),
    ("f2fs", "mkfs.f2fs"),
    ("jfs", "mkfs.jfs"),
    ("nilfs2", "mkfs.nilfs2"),
    ("reiserfs", "mkfs.reiserfs"),
];

#[derive(Default)]
struct Found {
    programs: u64,
    states: u64,
    /// Programs that could not be explored, with the reason.
    failed: Vec<String>,
    /// The number of states and the first program of each finding, by file system and message.
    findings: BTreeMap<(String, String), (u64, String)>,
}

/// Explores random programs on each file system in turn: one at the small scale, else for the time
/// that the options name.
pub fn search(start: &Start, options: &Options) -> Result<Report> {
    start.need_packages(&["demo", "test", "lab"])?;
    run(&mut cargo(&["build", "--locked", "-p", "fsdyno-cli"]))?;
    let fsdyno = target().join("debug/fsdyno");
    let kernel = kernels::lab_kernel(&fsdyno);
    if kernel.is_empty() {
        return Err("the search needs the lab kernel".into());
    }
    let (changes, time) = match options.scale {
        Scale::Small => (10, Duration::ZERO),
        Scale::Full => (50, Duration::from_secs(60 * u64::from(options.minutes))),
    };
    let mut found = Found::default();
    let mut missing = Vec::new();
    for (name, program) in FILE_SYSTEMS {
        if !has(program) {
            missing.push(format!("SKIP {program}: search on {name}"));
            continue;
        }
        let began = Instant::now();
        for seed in options.seed.. {
            let random = format!("random:{seed}:{changes}");
            let result = explore(&fsdyno, Path::new(&kernel), name, &random)?;
            found.add(&random, &result);
            if began.elapsed() >= time {
                break;
            }
        }
        println!("{name}: {} states so far", found.states);
    }
    Ok(found.report(missing))
}

/// The result of a search as JSON.
fn explore(fsdyno: &Path, kernel: &Path, name: &str, programs: &str) -> Result<Value> {
    let mut command = Command::new(fsdyno);
    command
        .arg("--store")
        .arg(output_directory()?.join("search.db"))
        .args(["crash", "--json", "--fs", name, "--ops", programs])
        .arg("--guest-kernel")
        .arg(kernel);
    let output = command.stderr(Stdio::inherit()).output();
    let output = output.map_err(|error| format!("cannot start {}: {error}", fsdyno.display()))?;
    // 1: there are findings.
    if !matches!(output.status.code(), Some(0 | 1)) {
        return Err(format!(
            "the search on {name} ended with {}: {programs}",
            output.status
        )
        .into());
    }
    let text = serde_json::from_slice(&output.stdout);
    text.map_err(|error| format!("{name}, {programs}: no JSON: {error}").into())
}

impl Found {
    fn add(&mut self, random: &str, result: &Value) {
        self.programs += 1;
        let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
        for part in list(&result["programs"]) {
            let contender = part["contender"].as_str().unwrap_or_default();
            for kind in ["recovered", "nested"] {
                self.states += part["states"][kind].as_u64().unwrap_or_default();
            }
            if let Some(reason) = part["failed"].as_str() {
                self.failed.push(format!("{contender}, {random}: {reason}"));
            }
            for finding in list(&part["findings"]) {
                let text = |key: &str| finding[key].as_str().unwrap_or_default();
                let kind = format!(
                    "{} ({}): {}",
                    text("violation"),
                    text("class"),
                    text("message")
                );
                let entry = self.findings.entry((contender.to_owned(), kind));
                let (states, _) = entry.or_insert_with(|| (0, random.to_owned()));
                *states += finding["count"].as_u64().unwrap_or_default();
            }
        }
    }

    fn report(self, missing: Vec<String>) -> Report {
        let counts = format!(
            "{} programs, {} failed, {} states recovered, {} findings",
            self.programs,
            self.failed.len(),
            self.states,
            self.findings.len()
        );
        let passed = self.failed.is_empty() && self.programs > 0;
        let findings = self.findings.into_iter();
        let findings = findings.map(|((contender, finding), (states, program))| {
            format!("{contender}: {finding}: {states} states, first `--ops {program}`")
        });
        let failed = self.failed.into_iter().map(|one| format!("failed: {one}"));
        Report {
            passed,
            counts,
            details: failed.chain(findings).chain(missing).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn findings_of_several_programs_are_listed_once() {
        let finding =
            json!({"violation": "missing", "class": "C2", "message": "`A/b` is gone", "count": 3});
        let states = json!({"recovered": 5, "nested": 2});
        let part = json!({"contender": "ext2", "states": states, "findings": [finding]});
        let mut found = Found::default();
        for seed in [7, 8] {
            found.add(&format!("random:{seed}:10"), &json!({"programs": [part]}));
        }
        let broken =
            json!({"contender": "jfs", "failed": "the guest hung", "states": {}, "findings": []});
        found.add("random:7:10", &json!({"programs": [broken]}));
        let report = found.report(vec!["SKIP mkfs.xfs: search on xfs".to_owned()]);
        assert!(!report.passed);
        assert_eq!(
            report.counts,
            "3 programs, 1 failed, 14 states recovered, 1 findings"
        );
        assert_eq!(
            report.details,
            [
                "failed: jfs, random:7:10: the guest hung",
                "ext2: missing (C2): `A/b` is gone: 6 states, first `--ops random:7:10`",
                "SKIP mkfs.xfs: search on xfs",
            ]
        );
    }
}
