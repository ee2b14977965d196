//! `runs`: the runs, crash tests and tests of disks in the store; deletes, renames and tags
//! them.

use crate::exit::CliError;
use crate::output;
use clap::{Args, Subcommand};
use fsdyno_model::{Nanos, StopReason};
use fsdyno_store::{
    ExplorationSummary, FaultTestsSummary, Named, RunSummary, SeriesSummary, Store,
};
use serde::Serialize;
use std::collections::BTreeSet;
use std::path::Path;

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct RunsArgs {
    #[command(subcommand)]
    pub command: Option<RunsCommand>,
    /// List only runs with this tag
    #[arg(long, value_name = "TAG")]
    pub tag: Option<String>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Subcommand)]
pub enum RunsCommand {
    /// Delete runs, crash tests or tests of disks from the store
    Rm {
        /// Runs: full names, or `last`
        #[arg(value_name = "RUN", required = true)]
        runs: Vec<String>,
    },
    /// Give a run another name, which all commands take
    Name {
        /// Run: a name, its first characters, or `last`
        run: String,
        /// New name: letters, digits, `.`, `_` and `-`
        #[arg(value_name = "NAME")]
        new: String,
    },
    /// Add tags to a run, or remove them
    Tag {
        /// Run: a name, its first characters, or `last`
        run: String,
        /// Tags: letters, digits, `.`, `_` and `-`
        #[arg(value_name = "TAG", required = true)]
        tags: Vec<String>,
        /// Remove these tags
        #[arg(long)]
        remove: bool,
    },
}

#[derive(Serialize)]
#[serde(rename_all = "kebab-case", tag = "kind")]
enum Entry {
    Run(RunSummary),
    Series(SeriesSummary),
    Exploration(ExplorationSummary),
    FaultTests(FaultTestsSummary),
}

impl Entry {
    fn started_unix_ns(&self) -> u64 {
        match self {
            Self::Run(run) => run.started_unix_ns,
            Self::Series(series) => series.started_unix_ns,
            Self::Exploration(exploration) => exploration.started_unix_ns,
            Self::FaultTests(tests) => tests.started_unix_ns,
        }
    }

    fn row(&self, store: &Store) -> Vec<String> {
        let (id, count, stop, started, ended_at, contenders) = match self {
            Self::Run(run) => return row(run),
            Self::Series(one) => (
                &one.id,
                power_cuts(one),
                one.stop,
                one.started_unix_ns,
                one.ended_unix_ns,
                &one.contenders,
            ),
            Self::Exploration(one) => (
                &one.id,
                programs(one),
                one.stop,
                one.started_unix_ns,
                one.ended_unix_ns,
                &one.contenders,
            ),
            Self::FaultTests(one) => (
                &one.id,
                faults(one),
                one.stop,
                one.started_unix_ns,
                one.ended_unix_ns,
                &one.contenders,
            ),
        };
        vec![
            id.clone(),
            count,
            ended(stop, store.is_claimed(id)),
            ended_at.map_or_else(String::new, |end| {
                Nanos(end.saturating_sub(started)).clock()
            }),
            contenders.join(" "),
        ]
    }
}

pub fn runs(args: &RunsArgs, store: &Path) -> Result<(), CliError> {
    match &args.command {
        None => list(args, store),
        Some(command) => change(command, store),
    }
}

/// Deletes, renames or tags runs.
fn change(command: &RunsCommand, path: &Path) -> Result<(), CliError> {
    // A name that does not exist must not create or migrate a store.
    let store = Store::open_existing_read_only(path)?;
    let id = |name: &String| {
        let named = store.resolve_any(name);
        named.map(|named: Named| named.id().to_owned())
    };
    match command {
        RunsCommand::Rm { runs } => {
            let exact = |name: &String| {
                let id = id(name)?;
                if id == *name || name == "last" {
                    return Ok(id);
                }
                let message = format!("cannot delete `{name}`: the whole name is needed, as {id}");
                Err(CliError::usage(message))
            };
            let ids: BTreeSet<String> = runs.iter().map(exact).collect::<Result<_, _>>()?;
            let mut store = Store::open(path)?;
            for id in &ids {
                store.remove(id)?;
                output::note(format_args!("fsdyno: {id} is deleted"));
                let root = crate::places::kept()?;
                let kept = fsdyno_files::kept::remove(&root, id).map_err(CliError::failure)?;
                if let Some(bytes) = kept {
                    output::note(format_args!("fsdyno: its kept images are deleted: {bytes}"));
                }
            }
        }
        RunsCommand::Name { run, new } => {
            let id = id(run)?;
            Store::open(path)?.rename(&id, new)?;
            output::note(format_args!("fsdyno: {id} is now {new}"));
        }
        RunsCommand::Tag { run, tags, remove } => {
            let id = store.resolve(run)?;
            let mut store = Store::open(path)?;
            for tag in tags {
                store.tag(&id, tag, !remove)?;
            }
            let tags = store.tags(&id)?.join(", ");
            let tags = if tags.is_empty() { "none" } else { &tags };
            output::note(format_args!("fsdyno: tags of {id}: {tags}"));
        }
    }
    Ok(())
}

fn list(args: &RunsArgs, store: &Path) -> Result<(), CliError> {
    let store = Store::open_existing_read_only(store)?;
    let runs = store.runs()?.into_iter().map(Entry::Run);
    let mut entries: Vec<Entry> = runs.collect();
    entries.extend(store.series()?.into_iter().map(Entry::Series));
    entries.extend(store.explorations()?.into_iter().map(Entry::Exploration));
    entries.extend(store.fault_tests()?.into_iter().map(Entry::FaultTests));
    if let Some(tag) = &args.tag {
        entries.retain(|entry| matches!(entry, Entry::Run(run) if run.tags.contains(tag)));
    }
    // The sort is stable: entries with the same start keep the order of their kind.
    entries.sort_by_key(|entry| std::cmp::Reverse(entry.started_unix_ns()));
    if args.json {
        return output::json(&entries);
    }
    let mut rows = vec![output::words([
        "RUN",
        "CELLS",
        "ENDED",
        "TOOK",
        "CONTENDERS",
    ])];
    rows.extend(entries.iter().map(|entry| entry.row(&store)));
    output::rows(&rows, output::width())
}

fn row(run: &RunSummary) -> Vec<String> {
    let mut cells = format!("{}/{}", run.cells_recorded, run.cells_planned);
    for (count, what) in [(run.failed, "failed"), (run.skipped, "skipped")] {
        if count > 0 {
            cells = format!("{cells} {count} {what}");
        }
    }
    vec![
        run.id.clone(),
        cells,
        ended(run.stop, run.running),
        run.took_ns.clock(),
        with_tags(&run.contenders, &run.tags),
    ]
}

/// `10/20 cuts 3 losing`.
fn power_cuts(series: &SeriesSummary) -> String {
    let mut text = format!(
        "{}/{} cuts",
        series.power_cuts_recorded, series.power_cuts_planned
    );
    if series.losing > 0 {
        text = format!("{text} {} losing", series.losing);
    }
    text
}

/// `10/20 programs 3 findings`.
fn programs(exploration: &ExplorationSummary) -> String {
    let text = format!(
        "{}/{} programs",
        exploration.programs_recorded, exploration.programs_planned
    );
    match exploration.findings {
        0 => text,
        1 => text + " 1 finding",
        more => format!("{text} {more} findings"),
    }
}

/// `2/3 contenders 620 faults`, `2/3 contenders 6 full disks`, `2/3 contenders 6 quotas`.
fn faults(tests: &FaultTestsSummary) -> String {
    let contenders = format!("{}/{} contenders", tests.tested, tests.contenders.len());
    match tests.full {
        0 => format!("{contenders} {} faults", tests.faults),
        1 if tests.of_quotas => format!("{contenders} 1 quota"),
        full if tests.of_quotas => format!("{contenders} {full} quotas"),
        1 => format!("{contenders} 1 full disk"),
        full => format!("{contenders} {full} full disks"),
    }
}

/// Describes the end of a run. A run without an end was killed, unless a process works on it.
pub fn ended(stop: Option<StopReason>, running: bool) -> String {
    match stop {
        Some(stop) => stop.to_string(),
        None if running => "running".to_owned(),
        None => "unfinished".to_owned(),
    }
}

fn with_tags(contenders: &[String], tags: &[String]) -> String {
    let tags = tags.iter().map(|tag| format!("#{tag}"));
    contenders
        .iter()
        .cloned()
        .chain(tags)
        .collect::<Vec<_>>()
        .join(" ")
}
