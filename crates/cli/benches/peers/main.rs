//! Compares fsdyno with the C baseline and with programs that a user could use instead. Both do the
//! same work in alternating pairs on new file systems. The result is `BENCHMARKS.md`.
//!
//! `works` describes the work. `pairing` and `measure` time it, `work_dir` sets up the file
//! systems, `memory` measures peak memory, and `summary` writes the results. `./x bench` starts it.

mod busy;
mod measure;
mod memory;
mod names;
mod options;
mod pairing;
mod summary;
mod work_dir;
mod works;

use fsdyno_model::CancelToken;
use measure::Runner;
use names::Names;
use options::Options;
use pairing::{Figures, Length, Pairing, Side};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};
use work_dir::WorkDir;
use works::{Other, Work};

fn main() -> ExitCode {
    let options = match Options::read(std::env::args().skip(1)) {
        Ok(Some(options)) => options,
        Ok(None) => {
            // The reader may have closed the pipe.
            let _ = writeln!(std::io::stdout(), "{}", options::USAGE);
            return ExitCode::SUCCESS;
        }
        Err(reason) => {
            eprintln!("bench: {reason}");
            return ExitCode::from(2);
        }
    };
    match bench(&options) {
        Ok(()) => ExitCode::SUCCESS,
        Err(reason) => {
            eprintln!("bench: {reason}");
            ExitCode::FAILURE
        }
    }
}

/// The time limit, divided among the remaining comparisons.
struct TimeBudget {
    until: Instant,
    rows: usize,
}

impl TimeBudget {
    /// The time for the next comparison.
    fn share(&mut self) -> Duration {
        let left = self.until.saturating_duration_since(Instant::now());
        let rows = u32::try_from(self.rows.max(1)).unwrap_or(u32::MAX);
        self.rows = self.rows.saturating_sub(1);
        left / rows
    }
}

fn bench(options: &Options) -> Result<(), String> {
    let stop = CancelToken::new();
    fsdyno_host::signals::install(&stop).map_err(|error| error.to_string())?;
    // Cargo starts a bench in the directory of its crate; paths are relative to the directory of
    // `x`.
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
    std::env::set_current_dir(root).map_err(|error| format!("{root}: {error}"))?;
    let home = tempfile::tempdir().map_err(|error| error.to_string())?;
    let baseline = build_baseline(home.path())?;
    let runner = Runner::new(&stop);
    let wanted: Vec<&Work> = works::all()
        .filter(|work| options.selects(work.name))
        .collect();
    let rows: usize = wanted.iter().map(|work| work.others.len()).sum();
    let weighs = options.selects(memory::NAME);
    if wanted.is_empty() && !weighs {
        return Err(format!(
            "--only names no row; there are:\n{}",
            options::rows()
        ));
    }
    let mut budget = TimeBudget {
        until: Instant::now() + options.scale.time,
        rows: rows * options.filesystems.len(),
    };
    let mut pages = summary::Pages::begin(options);
    let mut end = Ok(());
    for name in &options.filesystems {
        let Err(reason) = on(
            name,
            options,
            (&baseline, home.path()),
            &mut budget,
            &runner,
            &mut pages,
        ) else {
            continue;
        };
        if stop.requested() {
            end = Err(reason);
            break;
        }
        eprintln!("{name}: {reason}");
        pages.missing(name, &reason);
        pages.write(&options.output)?;
    }
    if let Err(reason) = &end {
        pages.stopped(reason);
    }
    pages.write(&options.output)?;
    eprintln!("written: {}", options.output.display());
    end
}

/// Runs all works on one file system. If one fails, the pages keep the earlier results.
fn on(
    name: &str,
    options: &Options,
    (baseline, home): (&Path, &Path),
    budget: &mut TimeBudget,
    runner: &Runner,
    pages: &mut summary::Pages,
) -> Result<(), String> {
    let mut work_dir = WorkDir::make(name, &[], &options.base, runner.stop())?;
    let mut names = Names {
        scale: options.scale,
        filesystem: name.to_owned(),
        work_dir: work_dir.path().to_owned(),
        scratch: work_dir.scratch().to_owned(),
        base: options.base.clone(),
        home: home.to_owned(),
        baseline: baseline.to_owned(),
        mkfs: work_dir::mkfs(name, &work_dir.scratch().join("other.img"))?,
        peers: options.peers.clone(),
    };
    // The setup that is present and unchanged, because the last work was read-only.
    let mut present = None;
    for work in works::all().filter(|work| options.selects(work.name)) {
        let prepared = if present == Some(work.setup) {
            Ok(())
        } else {
            let cleared = runner.shell(&names.fill(works::CLEAR));
            cleared.and_then(|()| runner.shell(&names.fill(work.setup)))
        };
        present = (prepared.is_ok() && work.before.is_empty()).then_some(work.setup);
        let ended = compare(work, &prepared, &names, budget, runner, |other, figures| {
            pages.add(work, name, other, figures);
        });
        // Saves the results so far.
        pages.write(&options.output)?;
        ended?;
    }
    let in_memory = !work_dir.on_a_device();
    work_dir.release()?;
    drop(work_dir);
    if in_memory && options.selects(memory::NAME) {
        // By default, tmpfs limits the number of inodes to a few million.
        let mut work_dir = WorkDir::make(name, &["nr_inodes=0"], &options.base, runner.stop())?;
        work_dir.path().clone_into(&mut names.work_dir);
        let weighed = memory::measure_memory(&names, runner, |row| pages.weighs(row));
        pages.write(&options.output)?;
        weighed?;
        work_dir.release()?;
    }
    Ok(())
}

/// Runs all comparisons of one work on one file system and reports each. A comparison that cannot
/// run is reported with its reason. Only an interrupt ends the loop.
fn compare(
    work: &'static Work,
    prepared: &Result<(), String>,
    names: &Names,
    budget: &mut TimeBudget,
    runner: &Runner,
    mut report: impl FnMut(&'static Other, Result<Figures, String>),
) -> Result<(), String> {
    for other in work.others {
        let time = budget.share();
        let Some(pairing) = pairing(work, other, names) else {
            continue;
        };
        let theirs = &pairing.theirs.command;
        let figures = match prepared {
            Err(reason) => Err(reason.clone()),
            Ok(()) if !measure::there(theirs) => {
                let program = theirs.split(' ').next().unwrap_or_default();
                Err(format!("`{program}` is not on this machine"))
            }
            Ok(()) => {
                let most = names.scale.pairs.min(other.pairs);
                pairing.compare(Length { most, time }, runner)
            }
        };
        if runner.stop().requested() {
            return Err(measure::STOPPED.to_owned());
        }
        let line = figures.as_ref().map_or_else(String::clone, Figures::line);
        eprintln!(
            "{:<8} {:<38} {:<16} {line}",
            names.filesystem, work.name, other.name
        );
        report(other, figures);
    }
    Ok(())
}

/// The two commands with all placeholders replaced; `None` if the other program is missing.
fn pairing(work: &Work, other: &Other, names: &Names) -> Option<Pairing> {
    // A file system without mkfs has no cycle of mkfs and mount.
    if other.command.contains("{mkfs}") && names.mkfs.is_empty() {
        return None;
    }
    Some(Pairing {
        before: names.fill(work.before),
        ours: Side {
            command: names.fill(other.ours.unwrap_or(work.ours)),
            less: other.less.map(|less| names.fill(less)),
        },
        theirs: Side {
            command: names.fill(other.command),
            less: None,
        },
        by: other.by,
    })
}

/// Compiles the C baseline with the usual options of a user.
fn build_baseline(into: &Path) -> Result<PathBuf, String> {
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/../../benches/baseline.c");
    let baseline = into.join("baseline");
    let status = Command::new("cc")
        .args(["-O2", "-o"])
        .arg(&baseline)
        .arg(source)
        .status()
        .map_err(|error| format!("cc {source}: {error}"))?;
    if !status.success() {
        return Err(format!("cc {source}: {status}"));
    }
    Ok(baseline)
}
