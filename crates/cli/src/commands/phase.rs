//! `phase`: one phase in a directory, once, without mkfs and without a cache state. Scripts and
//! `run --dry-run` use it.

use crate::args::copy_method;
use crate::commands::consent::ConsentArgs;
use crate::commands::make::not_recorded;
use crate::commands::measuring::LockArgs;
use crate::commands::run::plan_error;
use crate::exit::CliError;
use crate::output;
use clap::{Args, ValueEnum};
use fsdyno_datasets::DatasetError;
use fsdyno_datasets::work_dir::{SOURCE, WorkDir};
use fsdyno_files::refuse_foreign_dir;
use fsdyno_host::destination::Writes;
use fsdyno_host::signals;
use fsdyno_load::kinds::{self, Needs};
use fsdyno_load::made::{self, Made};
use fsdyno_load::measure::{self, LoadError, Measured};
use fsdyno_load::phases::{bonnie, op, work};
use fsdyno_model::{
    Bytes, CacheState, CancelToken, CopyMethod, DatasetChoice, LatencyDistribution, Nanos,
    PhasePlan, Progress, Tally,
};
use fsdyno_run::resolve::{Catalogue, engine_of, parameters_of, store_work};
use serde::Serialize;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

#[derive(Debug, Args)]
pub struct PhaseArgs {
    /// Kind of phase: copy, delete, read, grep ... (`fsdyno list phases`)
    pub kind: String,
    /// Directory with a dataset of `fsdyno make`
    ///
    /// Other files in the directory stay unchanged.
    #[arg(long = "in", value_name = "DIR")]
    pub directory: PathBuf,
    /// Engine: sync, uring, mmap, tools or null (`fsdyno list engines`)
    #[arg(long, value_name = "NAME", default_value = "sync")]
    pub engine: String,
    /// How a copy moves data: read-write, copy-file-range or reflink
    #[arg(long = "copy-method", value_name = "METHOD", default_value = "read-write",
          value_parser = copy_method)]
    pub copy_method: CopyMethod,
    /// Regular expression of the phase grep
    #[arg(long, value_name = "REGEX")]
    pub pattern: Option<String>,
    /// Set a parameter of the phase, as `size=64M` (`fsdyno list phases --long`)
    #[arg(long, value_name = "NAME=VALUE")]
    pub set: Vec<String>,
    /// End of the measurement: data durable, or last call returned
    #[arg(long, value_enum, default_value = "durable")]
    pub until: Until,
    #[command(flatten)]
    pub consent: ConsentArgs,
    #[command(flatten)]
    pub lock: LockArgs,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// The end of the measurement of a phase.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Until {
    /// All written data is durable.
    Durable,
    /// The last call has returned.
    Return,
}

#[derive(Serialize)]
struct Figures {
    kind: String,
    method: String,
    return_ns: u64,
    durable_ns: Option<u64>,
    user_ns: u64,
    system_ns: u64,
    tally: Tally,
    latencies: Vec<LatencyDistribution>,
    progress: Option<Progress>,
}

/// Refuses a kind of phase that no engine can run.
fn known(kind: &str) -> Result<(), CliError> {
    if fsdyno_load::programs::find(kind).is_some() {
        return Err(CliError::usage(format!(
            "`{kind}` runs a program: `fsdyno run --phases {kind} --dry-run` prints its command"
        )));
    }
    if kinds::find(kind).is_none() {
        let way = fsdyno_model::suggestion(kind, kinds::all().map(|one| one.name));
        return Err(CliError::usage(format!("`{kind}` is not a phase ({way})")));
    }
    Ok(())
}

pub fn phase(args: &PhaseArgs) -> Result<(), CliError> {
    known(&args.kind)?;
    let engine = engine_of(&args.engine, &Catalogue::complete()).map_err(CliError::usage)?;
    refuse_foreign_dir(&args.directory).map_err(CliError::usage)?;
    let stop = signals::cancel_token()?;
    let made = Made::read(&args.directory).map_err(CliError::usage)?;
    if engine != "null"
        && let Some(path) = made.foreign(&args.kind)
    {
        return Err(CliError::usage(format!(
            "{} was not made by fsdyno, and {} would overwrite or delete it. Rename it, or name \
             another directory.",
            path.display(),
            args.kind
        )));
    }
    let mut work_dir = made::discover(&args.directory, &made)
        .map_err(|e| CliError::usage(format!("cannot read {}: {e}", args.directory.display())))?;
    let plan = plan(args)?;
    if kinds::find(&args.kind).is_some_and(|kind| kind.needs == Needs::Tree)
        && work_dir.trees.is_empty()
        && engine != "null"
    {
        return Err(no_tree(&args.kind, &args.directory));
    }
    if engine != "null"
        && let Some(writes) = writes(&plan, &work_dir, &stop)?
    {
        args.consent.ask("phase", &args.directory, &writes, &stop)?;
    }
    let measuring = args.lock.take(&stop)?;
    measuring.print_warning();
    let measured = measured(args, &plan, &engine, &mut work_dir, &stop);
    // An interrupted phase is recorded too.
    made.record()
        .map_err(|error| not_recorded(&args.directory, &error))?;
    let measured = measured?;
    let figures = Figures {
        kind: args.kind.clone(),
        method: measured.method,
        return_ns: measured.return_ns.0,
        durable_ns: measured.durable_ns.map(|ns| ns.0),
        user_ns: measured.user_ns.0,
        system_ns: measured.system_ns.0,
        tally: measured.tally,
        latencies: measured.latencies,
        progress: measured.progress,
    };
    if args.json {
        return output::json(&figures);
    }
    output::bytes(describe(&figures).as_bytes())
}

/// The phase that the arguments request.
fn plan(args: &PhaseArgs) -> Result<PhasePlan, CliError> {
    let parameters = parameters_of(&args.kind, &args.set, &Catalogue::complete());
    let mut plan = PhasePlan {
        label: args.kind.clone(),
        kind: args.kind.clone(),
        cache: CacheState::AsIs,
        pattern: args.pattern.clone(),
        parameters: parameters.map_err(CliError::usage)?,
        judge: None,
    };
    store_work(&mut plan).map_err(plan_error)?;
    Ok(plan)
}

fn no_tree(kind: &str, directory: &Path) -> CliError {
    let directory = directory.display();
    CliError::usage(format!(
        "cannot run {kind} in {directory}: it has no tree that fsdyno made (`{SOURCE}`, \
         `copy-1`), and other trees are not used. Create one: fsdyno make DATASET --in {directory}"
    ))
}

/// What a phase writes at most: its own files, or as much as the tree or the archive that it works
/// on. None if it only reads or deletes.
fn writes(
    plan: &PhasePlan,
    work_dir: &WorkDir,
    stop: &CancelToken,
) -> Result<Option<Writes>, CliError> {
    let of = |space: Bytes, files| Writes {
        space,
        bytes: space,
        files,
        fills: false,
    };
    if let Some(bytes) = kinds::data_bytes(plan) {
        return Ok(Some(of(bytes, None)));
    }
    let Some(kind) = kinds::find(&plan.kind).filter(|kind| kind.writes && !kind.removes_tree)
    else {
        return Ok(None);
    };
    let Some(input) = work_dir
        .input(kind.needs)
        .filter(|_| kind.needs != Needs::Nothing)
    else {
        return Ok(None);
    };
    let unread = |error| CliError::usage(format!("cannot read {}: {error}", input.display()));
    if kind.needs == Needs::Archive {
        let length = input
            .metadata()
            .map_err(|error| unread(error.to_string()))?;
        return Ok(Some(of(Bytes(length.len()), None)));
    }
    match fsdyno_datasets::open(&DatasetChoice::Tree(input.clone()), 0, 1.0, None, stop) {
        Ok(tree) => Ok(Some(of(tree.facts().footprint, Some(tree.facts().files)))),
        Err(DatasetError::Stopped) => Err(CliError::interrupted()),
        Err(error) => Err(unread(error.to_string())),
    }
}

/// Runs the phase on the datasets that exist in the directory.
fn measured(
    args: &PhaseArgs,
    plan: &PhasePlan,
    engine: &str,
    work_dir: &mut WorkDir,
    stop: &CancelToken,
) -> Result<Measured, CliError> {
    let has_own = |kind: &str| work::works_in(kind).is_some();
    if ([bonnie::is_one, op::is_one, has_own]
        .iter()
        .any(|is_one| is_one(&plan.kind)))
        && engine != "null"
    {
        measure::prepare(plan, work_dir, None, stop).map_err(CliError::failure)?;
    }
    let request = measure::Request {
        phase: plan,
        engine,
        copy_method: args.copy_method,
        work_dir,
        facts: None,
        durable: args.until == Until::Durable,
        handicap_permille: 0,
        each_file: true,
        confined: None,
        user_work: None,
        stop,
        share: None,
        mark: &mut |_| (),
    };
    measure::run(request).map_err(|error| match error {
        LoadError::Stopped => CliError::interrupted(),
        LoadError::NoTree(kind) => no_tree(&kind, &args.directory),
        other => CliError::failure(other),
    })
}

fn describe(figures: &Figures) -> String {
    let durable = figures
        .durable_ns
        .map(|ns| format!(", durable {}", Nanos(ns)));
    let mut text = format!(
        "{} ({}): return {}{}; user {}, system {}; {} files, {} directories, {}\n",
        figures.kind,
        figures.method,
        Nanos(figures.return_ns),
        durable.unwrap_or_default(),
        Nanos(figures.user_ns),
        Nanos(figures.system_ns),
        figures.tally.files,
        figures.tally.directories,
        figures.tally.bytes
    );
    for of in &figures.latencies {
        let [median, most] = [0.5, 0.99].map(|share| Nanos(of.at(share).unwrap_or(0)));
        let _ = writeln!(
            text,
            "{} of {} each: p50 {median}, p99 {most}, max {}",
            of.count,
            of.operation,
            Nanos(of.max_ns)
        );
    }
    text
}
