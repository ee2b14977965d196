//! fsdyno beside the floor in C and beside the programs that a user would take instead: the same work
//! by both, in alternating pairs, on file systems made for it. Writes `BENCHMARKS.md`.
//!
//! What is done is said in `works`, how it is taken in `contest` and `took`, where in `work_dir`, how
//! much memory it takes in `memory`, and what becomes of it in `told`. Started by `./x bench`.

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
use options::Asked;
use pairing::{Duel, Figures, Length, Side};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};
use work_dir::WorkDir;
use works::{Other, Work};

fn main() -> ExitCode {
    let asked = match Asked::read(std::env::args().skip(1)) {
        Ok(Some(asked)) => asked,
        Ok(None) => {
            // Who reads may have gone.
            let _ = writeln!(std::io::stdout(), "{}", options::USAGE);
            return ExitCode::SUCCESS;
        }
        Err(reason) => {
            eprintln!("bench: {reason}");
            return ExitCode::from(2);
        }
    };
    match bench(&asked) {
        Ok(()) => ExitCode::SUCCESS,
        Err(reason) => {
            eprintln!("bench: {reason}");
            ExitCode::FAILURE
        }
    }
}

/// The time there is, shared out among what is left to do.
struct Purse {
    until: Instant,
    rows: usize,
}

impl Purse {
    /// The share of the next row.
    fn share(&mut self) -> Duration {
        let left = self.until.saturating_duration_since(Instant::now());
        let rows = u32::try_from(self.rows.max(1)).unwrap_or(u32::MAX);
        self.rows = self.rows.saturating_sub(1);
        left / rows
    }
}

fn bench(asked: &Asked) -> Result<(), String> {
    let stop = CancelToken::new();
    fsdyno_host::signals::install(&stop).map_err(|error| error.to_string())?;
    // Cargo starts a bench in its crate; paths are meant from where `x` lies.
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
    std::env::set_current_dir(root).map_err(|error| format!("{root}: {error}"))?;
    let home = tempfile::tempdir().map_err(|error| error.to_string())?;
    let floor = build_floor(home.path())?;
    let runner = Runner::new(&stop);
    let wanted: Vec<&Work> = works::all().filter(|work| asked.wants(work.name)).collect();
    let rows: usize = wanted.iter().map(|work| work.others.len()).sum();
    let weighs = asked.wants(memory::NAME);
    if wanted.is_empty() && !weighs {
        return Err(format!(
            "--only names no row; there are:\n{}",
            options::rows()
        ));
    }
    let mut purse = Purse {
        until: Instant::now() + asked.scale.time,
        rows: rows * asked.filesystems.len(),
    };
    let mut pages = summary::Pages::begin(asked);
    let mut end = Ok(());
    for name in &asked.filesystems {
        let Err(reason) = on(
            name,
            asked,
            (&floor, home.path()),
            &mut purse,
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
        pages.write(&asked.output)?;
    }
    if let Err(reason) = &end {
        pages.stopped(reason);
    }
    pages.write(&asked.output)?;
    eprintln!("written: {}", asked.output.display());
    end
}

/// All works on one file system. What was done before it failed stands in the pages.
fn on(
    name: &str,
    asked: &Asked,
    (floor, home): (&Path, &Path),
    purse: &mut Purse,
    runner: &Runner,
    pages: &mut summary::Pages,
) -> Result<(), String> {
    let mut work_dir = WorkDir::make(name, &[], &asked.base, runner.stop())?;
    let mut names = Names {
        scale: asked.scale,
        filesystem: name.to_owned(),
        work_dir: work_dir.path().to_owned(),
        scratch: work_dir.scratch().to_owned(),
        base: asked.base.clone(),
        home: home.to_owned(),
        floor: floor.to_owned(),
        mkfs: work_dir::mkfs(name, &work_dir.scratch().join("other.img"))?,
        peers: asked.peers.clone(),
    };
    // What lies there whole: laid by a work that only looked at it.
    let mut lies = None;
    for work in works::all().filter(|work| asked.wants(work.name)) {
        let laid = if lies == Some(work.lay) {
            Ok(())
        } else {
            let cleared = runner.shell(&names.fill(works::CLEAR));
            cleared.and_then(|()| runner.shell(&names.fill(work.lay)))
        };
        lies = (laid.is_ok() && work.before.is_empty()).then_some(work.lay);
        let ended = compare(work, &laid, &names, purse, runner, |other, figures| {
            pages.add(work, name, other, figures);
        });
        // What is done so far is kept, whatever comes.
        pages.write(&asked.output)?;
        ended?;
    }
    let in_memory = !work_dir.on_a_device();
    work_dir.give_back()?;
    drop(work_dir);
    if in_memory && asked.wants(memory::NAME) {
        // Of its inodes there are else a few million.
        let mut work_dir = WorkDir::make(name, &["nr_inodes=0"], &asked.base, runner.stop())?;
        work_dir.path().clone_into(&mut names.work_dir);
        let weighed = memory::weigh(&names, runner, |row| pages.weighs(row));
        pages.write(&asked.output)?;
        weighed?;
        work_dir.give_back()?;
    }
    Ok(())
}

/// All comparisons of one work on one file system, each told as it ends. What cannot be compared is
/// told with its reason; only a wish to stop ends all.
fn compare(
    work: &'static Work,
    laid: &Result<(), String>,
    names: &Names,
    purse: &mut Purse,
    runner: &Runner,
    mut tell: impl FnMut(&'static Other, Result<Figures, String>),
) -> Result<(), String> {
    for other in work.others {
        let time = purse.share();
        let Some(duel) = duel(work, other, names) else {
            continue;
        };
        let theirs = &duel.theirs.command;
        let figures = match laid {
            Err(reason) => Err(reason.clone()),
            Ok(()) if !measure::there(theirs) => {
                let program = theirs.split(' ').next().unwrap_or_default();
                Err(format!("`{program}` is not on this machine"))
            }
            Ok(()) => {
                let most = names.scale.pairs.min(other.pairs);
                duel.fight(Length { most, time }, runner)
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
        tell(other, figures);
    }
    Ok(())
}

/// The two commands, with all names filled in; none where there is nothing to be held beside.
fn duel(work: &Work, other: &Other, names: &Names) -> Option<Duel> {
    // What has no mkfs is not made anew.
    if other.command.contains("{mkfs}") && names.mkfs.is_empty() {
        return None;
    }
    Some(Duel {
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

/// Compiles the floor as a user would.
fn build_floor(into: &Path) -> Result<PathBuf, String> {
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/../../benches/floor.c");
    let floor = into.join("floor");
    let status = Command::new("cc")
        .args(["-O2", "-o"])
        .arg(&floor)
        .arg(source)
        .status()
        .map_err(|error| format!("cc {source}: {error}"))?;
    if !status.success() {
        return Err(format!("cc {source}: {status}"));
    }
    Ok(floor)
}
