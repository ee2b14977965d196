//! The page of a night.

use super::{Entry, Options, verdict};
use crate::system::{Result, output, quiet_output};
use std::fmt::Write as _;
use std::fs;
use std::process::Command;
use std::thread;
use std::time::Duration;

/// Where and on what a night ran.
pub struct Machine {
    date: String,
    commit: String,
    /// Processors, memory and kernel.
    class: String,
}

impl Machine {
    pub fn read() -> Result<Self> {
        let date = output(Command::new("date").args(["-u", "+%F"]))?;
        let git = |words: &[&str]| quiet_output(Command::new("git").args(words));
        let commit = git(&["rev-parse", "--short=12", "HEAD"]);
        let mut commit = commit.unwrap_or_else(|| "unknown".to_owned());
        let changes = ["status", "--porcelain", "--untracked-files=no", "--", "."];
        let changes = git(&[&changes[..], &[":!NIGHT.md", ":!BENCHMARKS.md"]].concat());
        if changes.is_some_and(|changes| !changes.is_empty()) {
            commit.push_str(" with changes");
        }
        let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
        let class = class(&read("/proc/cpuinfo"), &read("/proc/meminfo"));
        let kernel = read("/proc/sys/kernel/osrelease");
        let class = format!("{class}, Linux {}", kernel.trim());
        Ok(Self {
            date,
            commit,
            class,
        })
    }
}

/// The processors and the memory, from the files of the kernel.
fn class(processors: &str, memory: &str) -> String {
    let value = |text: &str, key: &str| {
        let mut lines = text.lines().filter_map(|line| line.strip_prefix(key));
        let value = lines.next().unwrap_or_default();
        value.trim_matches([' ', '\t', ':']).to_owned()
    };
    let kib = value(memory, "MemTotal");
    let kib = kib
        .split(' ')
        .next()
        .and_then(|kib| kib.parse::<u64>().ok());
    format!(
        "{} processors ({}), {} MiB of memory",
        thread::available_parallelism().map_or(1, usize::from),
        value(processors, "model name"),
        kib.unwrap_or_default() / 1024
    )
}

/// The page as Markdown.
pub fn render(machine: &Machine, options: &Options, entries: &[Entry]) -> String {
    let mut page = format!(
        "# Night\n\n\
         What is too long for `.ci/run`. `./x night` runs it and writes this page; no figure is typed. \
         The page holds the\nlast night alone.\n\n\
         {}, commit {}, {}. Scale: {}; {} min for each fuzz target\n\
         and for each file system of the search; seed {}.\n\n\
         | part | what it checks | result | time | counts |\n|---|---|---|---:|---|\n",
        machine.date,
        machine.commit,
        machine.class,
        options.scale.name(),
        options.minutes,
        options.seed
    );
    for entry in entries {
        let (result, time, counts) = match &entry.ran {
            Some((report, took)) => (verdict(report), minutes(*took), report.counts.as_str()),
            None => ("not run", String::new(), ""),
        };
        let part = entry.part;
        let row = [part.name, part.content, result, &time, counts].map(cell);
        let _ = writeln!(page, "| {} |", row.join(" | "));
    }
    for entry in entries {
        let Some((report, _)) = &entry.ran else {
            continue;
        };
        if report.details.is_empty() {
            continue;
        }
        let _ = writeln!(page, "\n## {}\n", entry.part.name);
        for line in &report.details {
            let line: Vec<&str> = line.split_whitespace().collect();
            let _ = writeln!(page, "- {}", line.join(" "));
        }
    }
    page
}

fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}

fn minutes(took: Duration) -> String {
    let seconds = took.as_secs();
    format!("{}:{:02}", seconds / 60, seconds % 60)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::night::parts::PARTS;
    use crate::night::{Report, Scale};

    #[test]
    fn the_page_says_what_ran_what_failed_and_what_did_not_run() {
        let machine = Machine {
            date: "2026-11-27".to_owned(),
            commit: "0123456789ab".to_owned(),
            class: "2 processors (X), 4096 MiB of memory, Linux 6.12".to_owned(),
        };
        let options = Options {
            parts: Vec::new(),
            scale: Scale::Small,
            minutes: 3,
            seed: 7,
        };
        let report = |passed, details: &[&str]| Report {
            passed,
            counts: "2 tests, a | b".to_owned(),
            details: details.iter().map(|line| (*line).to_owned()).collect(),
        };
        let entry = |at: usize, ran| Entry {
            part: &PARTS[at],
            ran,
        };
        let entries = [
            entry(0, Some((report(true, &[]), Duration::from_secs(61)))),
            entry(
                1,
                Some((report(false, &["failed:\n x"]), Duration::from_secs(3))),
            ),
            entry(2, None),
        ];
        let page = render(&machine, &options, &entries);
        for line in [
            "2026-11-27, commit 0123456789ab, 2 processors (X), 4096 MiB of memory, Linux 6.12. Scale: small; \
             3 min for each fuzz target",
            "and for each file system of the search; seed 7.",
            &format!(
                "| simulations | {} | passed | 1:01 | 2 tests, a \\| b |",
                PARTS[0].content
            ),
            &format!("| digests | {} | not run |  |  |", PARTS[2].content),
        ] {
            assert!(page.lines().any(|found| found == line), "{line}\n{page}");
        }
        assert!(
            page.ends_with("\n## brute-force\n\n- failed: x\n"),
            "{page}"
        );
    }

    #[test]
    fn the_class_of_a_machine_is_its_processors_and_memory() {
        let found = class(
            "processor\t: 0\nmodel name\t: Some CPU\nprocessor\t: 1\nmodel name\t: Some CPU\n",
            "MemTotal:        4194304 kB\nMemFree: 1 kB\n",
        );
        assert!(
            found.ends_with("processors (Some CPU), 4096 MiB of memory"),
            "{found}"
        );
    }
}
