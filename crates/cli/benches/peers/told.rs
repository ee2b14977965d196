//! The page: tables of what came out, with commands and versions. No figure in it is typed.

use crate::Scale;
use crate::contest::{Figures, Took};
use crate::works::{Other, Work};
use fsdyno_stats::PairedRatio;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

/// One comparison: who, the goal, and what came out, or why nothing did.
struct Row {
    filesystem: String,
    other: &'static Other,
    figures: Result<Figures, String>,
}

/// Everything that came out so far.
pub struct Pages {
    scale: Scale,
    works: Vec<(&'static Work, Vec<Row>)>,
    machine: String,
    versions: Vec<String>,
}

/// Programs, by the words that make them tell their version.
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
    &["cc", "--version"],
    &["rustc", "--version"],
];

impl Pages {
    /// Nothing yet.
    pub fn begin(scale: Scale) -> Self {
        Self {
            scale,
            works: Vec::new(),
            machine: machine(),
            versions: VERSIONS
                .iter()
                .filter_map(|words| first_line(words))
                .collect(),
        }
    }

    /// Adds what came out of a work on a file system.
    pub fn add(
        &mut self,
        work: &'static Work,
        filesystem: &str,
        rows: Vec<(&'static Other, Result<Figures, String>)>,
    ) {
        let rows = rows.into_iter().map(|(other, figures)| Row {
            filesystem: filesystem.to_owned(),
            other,
            figures,
        });
        match self
            .works
            .iter_mut()
            .find(|(known, _)| known.name == work.name)
        {
            Some((_, known)) => known.extend(rows),
            None => self.works.push((work, rows.collect())),
        }
    }

    /// Writes the page anew.
    pub fn write(&self, path: &Path) -> Result<(), String> {
        std::fs::write(path, self.page()).map_err(|error| format!("{}: {error}", path.display()))
    }

    fn page(&self) -> String {
        let scale = self.scale;
        let mut page = format!(
            "# Benchmarks\n\n\
             fsdyno beside a floor in C ([benches/floor.c](benches/floor.c): the same system calls and \
             nothing else), and beside programs that a user would take instead. Written by `./x bench`, \
             no figure by hand; a peer's win is printed like ours.\n\n\
             - A ratio is ours to theirs, below 1 where fsdyno takes less: the median of {} alternating \
             pairs, and the interval it lies in at 95 % or more (none with fewer than 6 pairs).\n\
             - CPU is user and system time of the whole process and of all it waited for, its start and \
             end included; seconds are medians of one run. fsdyno keeps the latency of each operation \
             meanwhile in the works of single operations, the floor does not.\n\
             - File systems are made anew with their defaults, on an image in memory behind a loop device, \
             so that no device dominates.\n\
             - {} files, {} MiB, {} operations all over a file; the tree is the dataset `portage` at scale \
             {}.\n\n\
             {}\n",
            scale.pairs, scale.files, scale.megabytes, scale.operations, scale.tree, self.machine
        );
        self.misses(&mut page);
        for (work, rows) in &self.works {
            let _ = write!(page, "\n## {}\n\n{}.\n\n", work.name, capital(work.about));
            page.push_str(
                "| file system | beside | CPU ratio | wall ratio | goal | CPU s, ours and theirs | wall s |\n\
                 |---|---|---|---|---|---|---|\n",
            );
            for row in rows {
                page.push_str(&line(row));
            }
            page.push('\n');
            for (name, command) in commands(work, rows) {
                let _ = writeln!(page, "- {name}: `{command}`");
            }
        }
        let _ = write!(page, "\n## Versions\n\n");
        for version in &self.versions {
            let _ = writeln!(page, "- {version}");
        }
        page
    }

    /// What did not reach its goal, and by how much.
    fn misses(&self, page: &mut String) {
        let rows = self
            .works
            .iter()
            .flat_map(|(work, rows)| rows.iter().map(move |row| (work, row)));
        let mut all = 0;
        let mut missed = Vec::new();
        for (work, row) in rows {
            let (Some(goal), Some(ratio)) = (row.other.goal, row.judged()) else {
                continue;
            };
            all += 1;
            if ratio.middle > goal {
                missed.push(format!(
                    "- {}, {}, beside {}: {}, goal {goal:.2}, off by {:.1} %\n",
                    work.name,
                    row.filesystem,
                    row.other.name,
                    shown(Some(&ratio)),
                    100.0 * (ratio.middle / goal - 1.0)
                ));
            }
        }
        let _ = write!(
            page,
            "\n## Goals\n\n{} of {all} comparisons reach their goal. The others:\n\n",
            all - missed.len()
        );
        page.push_str(&missed.concat());
        if missed.is_empty() {
            page.push_str("- none\n");
        }
    }
}

impl Row {
    /// The ratio that is held against the goal.
    fn judged(&self) -> Option<PairedRatio> {
        let of = if self.other.wall { wall } else { cpu };
        self.figures.as_ref().ok()?.ratio(of)
    }
}

fn cpu(took: &Took) -> f64 {
    took.cpu
}

fn wall(took: &Took) -> f64 {
    took.wall
}

/// A ratio with its interval.
fn shown(ratio: Option<&PairedRatio>) -> String {
    match ratio {
        Some(PairedRatio {
            middle,
            interval: Some(interval),
            ..
        }) => format!("{middle:.3} ({:.3} to {:.3})", interval.low, interval.high),
        Some(ratio) => format!("{:.3}", ratio.middle),
        None => "-".to_owned(),
    }
}

fn median(runs: &[Took], of: fn(&Took) -> f64) -> f64 {
    let mut values: Vec<f64> = runs.iter().map(of).collect();
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

fn line(row: &Row) -> String {
    let Row {
        filesystem, other, ..
    } = row;
    let figures = match &row.figures {
        Ok(figures) => figures,
        Err(reason) => {
            let reason = reason.replace(['|', '\n'], " ");
            return format!("| {filesystem} | {} | {reason} | | | | |\n", other.name);
        }
    };
    let goal = other.goal.map_or_else(String::new, |goal| {
        format!("{goal:.2}{}", if other.wall { " wall" } else { "" })
    });
    let seconds = |of| {
        let (ours, theirs) = (median(&figures.ours, of), median(&figures.theirs, of));
        format!("{ours:.4}, {theirs:.4}")
    };
    format!(
        "| {filesystem} | {} | {} | {} | {goal} | {} | {} |\n",
        other.name,
        shown(figures.ratio(cpu).as_ref()),
        shown(figures.ratio(wall).as_ref()),
        seconds(cpu),
        seconds(wall)
    )
}

/// The commands of a work, each once.
fn commands(work: &Work, rows: &[Row]) -> BTreeMap<String, &'static str> {
    let mut commands = BTreeMap::from([("fsdyno".to_owned(), work.ours)]);
    for Row { other, .. } in rows {
        commands.insert(other.name.to_owned(), other.command);
        if let Some(ours) = other.ours {
            commands.insert(format!("fsdyno beside {}", other.name), ours);
        }
    }
    commands
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().map(|letter| letter.to_ascii_uppercase());
    first.into_iter().chain(letters).collect()
}

/// The first line a program says of itself.
fn first_line(words: &[&str]) -> Option<String> {
    let output = Command::new(words[0]).args(&words[1..]).output().ok()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    text.lines().next().map(str::to_owned)
}

/// The machine in a line: kernel, processors, memory, and how busy others kept it.
fn machine() -> String {
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
