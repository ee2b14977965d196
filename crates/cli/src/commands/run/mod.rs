//! `run`: resolves arguments to a plan, runs the plan, and prints the report.

mod args;
mod begin;
mod contents;
mod kernels;
mod listener;
mod model_disks;
mod resume;
pub mod user_code;
mod variants;

use crate::args::Erase;
use crate::commands::jobs::JobsArgs;
use crate::commands::left_out::note_all_left_out;
use crate::commands::measuring::{LockArgs, Measuring};
use crate::commands::{published, rendering};
use crate::exit::{CliError, Code};
use crate::screen::Screen;
use crate::{output, places};
pub use args::{ExportArgs, RunArgs, ScreenArgs};
pub use begin::{need_programs, plan_error, programs_to_name, resolve_here};
use fsdyno_files::Existing;
use fsdyno_guests::vm::VmError;
use fsdyno_host::signals;
use fsdyno_host::ssh::SshError;
use fsdyno_lab::assembly::described_devices;
use fsdyno_lab::{Assembly, AssemblyError, Labs, PendingKernels, Preflight, SshLabError};
use fsdyno_model::{CancelToken, Cell, CellRecord, Outcome, Plan, ResultSet, RunInfo, StopReason};
use fsdyno_observe::provenance;
use fsdyno_report::{Format, Options, reruns};
use fsdyno_run::conductor::{conduct, unix_now};
use fsdyno_run::schedule::schedule;
use fsdyno_store::{Claim, Detail, Store};
use kernels::Builds;
use listener::Listener;
pub use resume::{check_unchanged, resume};
use std::fmt::Write as _;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
pub use variants::Variants;

/// The settings with which a plan is executed and reported.
#[derive(Debug, Clone, Default)]
pub struct Execution {
    /// Devices that may be erased.
    pub erase: Erase,
    /// Print the plan and do not run it.
    pub dry_run: bool,
    pub format: Format,
    pub screen: ScreenArgs,
    /// Further files of the report.
    pub export: ExportArgs,
    /// File of the report; `None` is standard output.
    pub output: Option<PathBuf>,
    /// Treatment of an existing file.
    pub existing: Existing,
    /// Print no report.
    pub silent: bool,
    /// Whether the command prints its progress itself, and how all its runs continue.
    pub is_part: bool,
    /// The largest number of lines of a first screen; `None` is the usual one.
    pub lines: Option<usize>,
    /// Behaviour when another measurement runs.
    pub lock: LockArgs,
    /// The number of cells that run at the same time.
    pub jobs: JobsArgs,
}

impl Execution {
    /// Prints nothing; the results are in the store. For commands that make runs.
    pub fn silent() -> Self {
        Self {
            silent: true,
            ..Self::default()
        }
    }

    fn of(args: &RunArgs) -> Self {
        Self {
            erase: args.erase.clone(),
            dry_run: args.dry_run,
            format: if args.json {
                Format::Json
            } else {
                Format::Terminal
            },
            screen: args.screen,
            export: args.export.clone(),
            lock: args.lock.clone(),
            jobs: args.jobs.clone(),
            ..Self::default()
        }
    }
}

#[derive(Debug)]
pub struct Ended {
    pub code: Code,
    /// The name of the run; `None` if nothing was executed.
    pub run: Option<String>,
    /// Whether all its cells are recorded.
    pub complete: bool,
}

pub fn run(args: &RunArgs, store_path: &Path) -> Result<Code, CliError> {
    let stop = signals::cancel_token()?;
    let execution = Execution::of(args);
    let existing = output::existing(args.export.force);
    for (_, file) in args.export.files() {
        output::check(Some(file), existing)?;
    }
    if let Some(name) = &args.resume {
        let options = (&args.options, args.retry_failed);
        return Ok(resume(&execution, name, options, store_path, &stop)?.code);
    }
    if !args.kernels.is_empty() {
        return kernels::run(args, &execution, store_path, &stop);
    }
    let mut plan = resolve_here(&args.options)?;
    note_all_left_out(&args.options.work);
    args.shard.restrict(&mut plan)?;
    if args.dry_run {
        return Ok(dry_run(plan, &stop)?.code);
    }
    let prepared = prepare(plan, &execution, store_path, &stop)?;
    let on_disks = model_disks::run(&prepared.plan, args, &execution, store_path, &stop)?;
    let ended = measure(prepared, &execution, store_path, &stop)?;
    if ended.code != Code::Interrupted {
        model_disks::print(&on_disks, ended.run.as_deref(), args, store_path)?;
    }
    Ok(ended.code)
}

/// Starts a new run of a plan.
pub fn fresh(
    plan: Plan,
    execution: &Execution,
    store_path: &Path,
    stop: &CancelToken,
) -> Result<Ended, CliError> {
    if execution.dry_run {
        return dry_run(plan, stop);
    }
    let prepared = prepare(plan, execution, store_path, stop)?;
    measure(prepared, execution, store_path, stop)
}

/// A plan that passed every check, with its labs.
struct Prepared {
    plan: Plan,
    labs: Labs,
    builds: Builds,
    measuring: Early,
}

/// The lock, if it had to be taken before the devices of the plan could be checked.
type Early = Option<Measuring>;

/// Refuses everything that can be refused before anything is waited for, in this order: names,
/// rights, devices, programs, space and time, then each contender.
fn prepare(
    plan: Plan,
    execution: &Execution,
    store_path: &Path,
    stop: &CancelToken,
) -> Result<Prepared, CliError> {
    check_shard(&plan)?;
    let preflight = preflight(&plan, stop)?;
    Store::check_place(store_path)?;
    let builds = Builds::of(&plan);
    let known = (builds.pending(), None);
    let (labs, measuring) = assemble_early(execution, &plan, preflight, known, stop)?;
    // A store that cannot be written, or of a newer version.
    drop(Store::open(store_path)?);
    Ok(Prepared {
        plan,
        labs,
        builds,
        measuring,
    })
}

/// Assembles the labs of a plan. A device of the measurement that is waited for can only be checked
/// after the wait.
fn assemble_early(
    execution: &Execution,
    plan: &Plan,
    preflight: Preflight,
    known: (&PendingKernels, Option<&[CellRecord]>),
    stop: &CancelToken,
) -> Result<(Labs, Early), CliError> {
    let measuring = if execution.lock.holder_uses(plan) {
        Some(execution.lock.take_for(plan, stop)?)
    } else {
        None
    };
    let labs = assemble(&execution.erase, plan, preflight, known, stop)?;
    Ok((labs, measuring))
}

/// Waits for the lock, and measures a plan that passed every check.
fn measure(
    prepared: Prepared,
    execution: &Execution,
    store_path: &Path,
    stop: &CancelToken,
) -> Result<Ended, CliError> {
    let Prepared {
        mut plan,
        mut labs,
        builds,
        measuring,
    } = prepared;
    for skipped in &plan.skipped {
        output::note(format_args!(
            "fsdyno: {} skips {}: {}",
            skipped.contender, skipped.phase, skipped.reason
        ));
    }
    if !execution.silent
        && let Some(text) = length_of(&plan)
    {
        output::note(format_args!("fsdyno: {text}"));
    }
    let measuring = execution.lock.take_now(measuring, &plan, stop)?;
    labs.begin(&plan);
    // The files of the workload are read after the wait: the read would disturb the other
    // measurement.
    let read = contents::read(&plan, stop)?;
    plan.contents = read.contents;
    labs.watch(read.datasets, stop.clone());
    let provenance = provenance::collect(&programs_to_name(&plan), &described_devices(&plan));
    if stop.requested() {
        // The signal may have ended a program that reports its version.
        return Err(CliError::new(
            Code::Interrupted,
            "interrupted; nothing was recorded",
        ));
    }
    let mut store = Store::open(store_path)?;
    let mut info = RunInfo {
        id: String::new(),
        started_unix_ns: unix_now(),
        ended_unix_ns: None,
        stop: None,
        plan_hash: plan.hash(),
        provenance,
        plan,
        command_line: crate::args::command_line(),
    };
    store.begin_named(&mut info)?;
    let session = Session {
        _claim: store.claim(&info.id)?,
        cells: schedule(&info.plan),
        info,
        before: Vec::new(),
        retries_only: false,
    };
    go(execution, &measuring, (labs, builds), store, session, stop)
}

/// Refuses a shard without cells.
fn check_shard(plan: &Plan) -> Result<(), CliError> {
    let Some(shard) = plan.shard.filter(|_| plan.cells() == 0) else {
        return Ok(());
    };
    let unit = if plan.in_virtual_time() {
        "cells"
    } else {
        "blocks"
    };
    Err(CliError::usage(format!(
        "--shard {shard}: the plan has fewer {unit} than shards, and this shard has none"
    )))
}

/// Prints the commands of a plan.
fn dry_run(mut plan: Plan, stop: &CancelToken) -> Result<Ended, CliError> {
    check_shard(&plan)?;
    let preflight = preflight(&plan, stop)?;
    plan.contents = contents::read(&plan, stop)?.contents;
    let cells = schedule(&plan);
    print_dry_run(&plan, &preflight, &cells)
}

/// The part of a run that is executed.
struct Session {
    /// Held until the end, so that no other process resumes this run.
    _claim: Claim,
    info: RunInfo,
    /// The cells recorded already.
    before: Vec<CellRecord>,
    cells: Vec<Cell>,
    /// Whether all of them are retries of failed cells. The run then ends as it did before.
    retries_only: bool,
}

/// The number of repeats of an adaptive run, and its time limit.
fn length_of(plan: &Plan) -> Option<String> {
    let adaptive = plan.adaptive?;
    let limit = plan.budget.map_or(String::new(), |budget| {
        format!(", for {} at most", budget.clock())
    });
    Some(format!(
        "{} repeats, and up to {} while comparisons are inconclusive{limit} (--repeats, --budget)",
        plan.repeats, adaptive.most
    ))
}

/// Runs the plan, stores its cells, and prints the report.
fn go(
    execution: &Execution,
    measuring: &Measuring,
    (lab, builds): (Labs, Builds),
    mut store: Store,
    mut session: Session,
    stop: &CancelToken,
) -> Result<Ended, CliError> {
    builds.sort(&session.info.plan, &mut session.cells);
    let session = &session;
    let Session {
        info,
        before,
        cells,
        ..
    } = session;
    let option = if session.retries_only {
        " --retry-failed"
    } else {
        store.reopen(&info.id, &info.plan)?;
        ""
    };
    let command = command_to_resume(info, option);
    let jobs = execution.jobs.of_cells([&info.plan]);
    let jobs = jobs.min(NonZeroUsize::new(cells.len()).unwrap_or(jobs));
    // A failed store cancels the cells, which is no request of the user.
    let stop = stop.child();
    let mut labs = lab.parallel(&info.plan, jobs, &stop);
    let screen = || Screen::new(info, before, cells, labs.len());
    let screen = (!execution.is_part).then(screen);
    let mut listener = Listener::new(&mut store, session, screen, measuring.warning.clone());
    let reason = builds.during(&info.plan, &stop, || {
        conduct(info, before, cells, &mut labs, &stop, &mut |event| {
            listener.receive(event)
        })
    });
    let reason = reason.map_err(|error| keep_going_hint(&error, &command))?;
    // The progress view is removed before other output.
    drop(listener);
    drop(labs);
    let reason = match reason {
        StopReason::Interrupted => reason,
        _ if session.retries_only => reason,
        reason => match measure_variants(info, execution, &store, &stop)? {
            StopReason::Interrupted => StopReason::Interrupted,
            _ => reason,
        },
    };
    let code = finish(execution, &store, &info.id)?;
    let ended = |code| Ended {
        code,
        run: Some(info.id.clone()),
        complete: reason == StopReason::Complete,
    };
    // A run with variants and an advice print the command for all their runs.
    let is_part = info.plan.variant.is_some() || info.plan.advice.is_some();
    let prints_command = !(execution.is_part || is_part && execution.silent);
    match reason {
        StopReason::Complete => Ok(ended(code)),
        StopReason::Budget => {
            if prints_command {
                output::note(format_args!(
                    "fsdyno: the budget is used up; continue with: {command}"
                ));
            }
            Ok(ended(code))
        }
        StopReason::Interrupted => {
            if prints_command {
                output::note(format_args!(
                    "fsdyno: interrupted; continue with: {command}"
                ));
            }
            Ok(ended(Code::Interrupted))
        }
    }
}

/// The command that resumes a run, or that of which it is a part.
fn command_to_resume(info: &RunInfo, option: &str) -> String {
    let id = &info.id;
    match (&info.plan.advice, &info.plan.variant) {
        (Some(advice), _) => {
            let first = advice.first.as_ref().unwrap_or(id);
            format!("fsdyno advise --resume {first}")
        }
        (None, Some(variant)) => format!("fsdyno run --resume {}", variant.run),
        (None, None) => format!("fsdyno run --resume {id}{option}"),
    }
}

fn keep_going_hint(error: &fsdyno_store::StoreError, command: &str) -> CliError {
    CliError::failure(format!(
        "{error}\nthe cells recorded so far are kept; continue with: {command}"
    ))
}

/// Prints the report and returns the exit code for the outcomes of the cells.
fn finish(execution: &Execution, store: &Store, id: &str) -> Result<Code, CliError> {
    let export = &execution.export;
    let detail = if export.files().is_empty() {
        rendering::detail(execution.format, execution.screen.long)
    } else {
        Detail::All
    };
    let set = store.load_with_variants(detail, id)?;
    for (format, file) in export.files() {
        let options = rendering::options(execution.screen.clock, true);
        let text = fsdyno_report::render(&set, format, &options).map_err(CliError::failure)?;
        output::to(Some(file), &text, output::existing(export.force))?;
    }
    if let Some(shard) = set.run.plan.shard.filter(|_| !execution.is_part) {
        output::note(format_args!(
            "fsdyno: {} of {} cells of shard {shard} are recorded; fsdyno merge joins the shards",
            set.cells.len(),
            set.run.plan.cells()
        ));
    } else if !execution.silent {
        let options = Options {
            long: execution.screen.long,
            lines: execution.lines.unwrap_or(fsdyno_report::LINES),
            ..rendering::options(execution.screen.clock, execution.output.is_some())
        };
        let text = render_report(&set, execution, &options)?;
        output::to(execution.output.as_deref(), &text, execution.existing)?;
    }
    let any = |test: fn(&Outcome) -> bool| set.cells.iter().any(|record| test(&record.outcome));
    Ok(if any(|outcome| matches!(outcome, Outcome::Failed(_))) {
        Code::Failure
    } else if any(|outcome| matches!(outcome, Outcome::Skipped { .. })) {
        Code::Missing
    } else {
        Code::Ok
    })
}

/// Renders the report of a run. For a rerun, renders the comparison with its table.
fn render_report(
    set: &ResultSet,
    execution: &Execution,
    options: &Options,
) -> Result<Vec<u8>, CliError> {
    if let Some((table, None)) = reruns::of_plan(&set.run.plan)
        && let Ok(comparison) = published::compare(set, table.name, execution.format, options)
    {
        return Ok(comparison);
    }
    // If the run measured nothing of the table, the plain report gives the reasons.
    fsdyno_report::render(set, execution.format, options).map_err(CliError::failure)
}

/// Checks everything that can be checked before the run creates anything.
pub fn preflight(plan: &Plan, stop: &CancelToken) -> Result<Preflight, CliError> {
    Preflight::of(plan, stop).map_err(|error| {
        if stop.requested() {
            CliError::new(Code::Interrupted, "interrupted; nothing was made")
        } else {
            CliError::usage(error)
        }
    })
}

/// The labs of a plan that needs no consent to erase a device. An error if the plan cannot run here.
pub fn assembled(plan: &Plan, stop: &CancelToken) -> Result<Labs, CliError> {
    let preflight = preflight(plan, stop)?;
    let known = (&PendingKernels::default(), None);
    assemble(&Erase::default(), plan, preflight, known, stop)
}

/// Refuses wrong names, directories and stores of a plan before a kernel is built for it.
pub fn check_early(plan: &Plan, store: &Path, stop: &CancelToken) -> Result<(), CliError> {
    let preflight = preflight(plan, stop)?;
    preflight.check_places(plan).map_err(CliError::usage)?;
    Ok(Store::check_place(store)?)
}

/// Sets up the labs of a plan. `recorded` holds the cells of a resumed run.
pub fn assemble(
    erase: &Erase,
    plan: &Plan,
    preflight: Preflight,
    (pending, recorded): (&PendingKernels, Option<&[CellRecord]>),
    stop: &CancelToken,
) -> Result<Labs, CliError> {
    let assembly = Assembly {
        plan,
        preflight,
        state: &places::state()?,
        erase: &erase.erase,
        erase_fstab: &erase.erase_fstab,
        pending,
        recorded,
        stop,
        note: &mut |note| output::note(format_args!("fsdyno: {note}")),
    };
    assembly.assemble().map_err(assembly_error)
}

fn assembly_error(error: AssemblyError) -> CliError {
    let code = match &error {
        AssemblyError::Usage(_) | AssemblyError::NoUsable(_) => Code::Usage,
        AssemblyError::Stopped => Code::Interrupted,
        AssemblyError::Refused(refusal) if !refusal.device.exists() => Code::Usage,
        AssemblyError::Missing(_) => Code::Missing,
        AssemblyError::Refused(_) | AssemblyError::NotErasable { .. } => Code::Refused,
        AssemblyError::Signatures(_) => Code::Failure,
        AssemblyError::Journal(error) => return places::journal_error(error),
        AssemblyError::Ssh(error) => match error {
            SshLabError::Ssh(SshError::Stopped) | SshLabError::Vm(VmError::Stopped) => {
                Code::Interrupted
            }
            SshLabError::Vm(VmError::NoProgram | VmError::OtherProcessor)
            | SshLabError::Ssh(SshError::NoProgram)
            | SshLabError::NoProgram { .. }
            | SshLabError::NoClock { .. } => Code::Missing,
            SshLabError::Directory { .. }
            | SshLabError::NoImage
            | SshLabError::NoRoom { .. }
            | SshLabError::Vm(VmError::Image(_)) => Code::Usage,
            _ => Code::Failure,
        },
        AssemblyError::Guest(error) => super::lab::guest_code(error),
    };
    CliError::new(code, error)
}

fn print_dry_run(plan: &Plan, preflight: &Preflight, cells: &[Cell]) -> Result<Ended, CliError> {
    let varies = plan.variation();
    let varies = varies.map_or(String::new(), |all| format!(" (each block varies {all})"));
    let mut text = format!(
        "# {}: seed {}{varies}, plan {}; nothing is executed\n",
        plan.name,
        plan.seed,
        plan.hash()
    );
    if let Some(adaptive) = plan.adaptive {
        let (least, most) = (plan.repeats, adaptive.most);
        let more = format!("# these {least} blocks, and up to {most} where figures ask for them\n");
        text.push_str(&more);
    }
    if let Some(budget) = plan.budget {
        let _ = writeln!(
            text,
            "# no block that would not end within {}",
            budget.clock()
        );
    }
    if let Some(budget) = plan.cell_budget {
        let _ = writeln!(
            text,
            "# a cell that takes longer than {} is ended",
            budget.clock()
        );
    }
    if plan.robust {
        text += "# then its first draws in each variant of the model disk and processor\n";
    }
    if fsdyno_run::user_code::plan("", plan).is_some() {
        text += "# then its programs on this machine, for the processor time of their user code\n";
    }
    // The figures may require more blocks. Only the next one is printed.
    let next = cells.first().map_or(0, |cell| cell.block + 1);
    let certain = |cell: &&Cell| cell.block < plan.repeats.max(next);
    for cell in cells.iter().filter(certain) {
        for line in fsdyno_lab::script(plan, preflight, *cell) {
            text.push_str(&line);
            text.push('\n');
        }
    }
    output::bytes(text.as_bytes())?;
    Ok(Ended {
        code: Code::Ok,
        run: None,
        complete: false,
    })
}

/// Whether the user code of a run must still be measured.
fn lacks_user_code(info: &RunInfo, store: &Store) -> Result<bool, CliError> {
    user_code::is_missing(info, store)
}

/// Measures the missing runs that belong to a run: its user code, unless no report is printed, and its
/// variants.
fn measure_variants(
    info: &RunInfo,
    execution: &Execution,
    store: &Store,
    stop: &CancelToken,
) -> Result<StopReason, CliError> {
    let with_user_code = !execution.silent && lacks_user_code(info, store)?;
    if !with_user_code && !info.plan.robust {
        return Ok(StopReason::Complete);
    }
    let run = store.load_in(Detail::Figures, &info.id)?;
    if run.cells.iter().all(|cell| cell.samples.is_empty()) {
        return Ok(StopReason::Complete);
    }
    if with_user_code
        && user_code::measure(info, execution, store, stop)? == StopReason::Interrupted
    {
        return Ok(StopReason::Interrupted);
    }
    if !info.plan.robust {
        return Ok(StopReason::Complete);
    }
    variants::measure_all(info, execution, store, stop)
}

/// Measures the missing variants of a run that has all its cells, and prints the report.
fn vary(
    execution: &Execution,
    info: &RunInfo,
    mut store: Store,
    stop: &CancelToken,
) -> Result<Ended, CliError> {
    let id = &info.id;
    store.reopen(id, &info.plan)?;
    let stopped = info
        .stop
        .filter(|reason| *reason != StopReason::Interrupted);
    let at = info.ended_unix_ns.unwrap_or_else(unix_now);
    store.end(id, stopped.unwrap_or(StopReason::Complete), at)?;
    let reason = measure_variants(info, execution, &store, stop)?;
    let mut code = finish(execution, &store, id)?;
    if reason == StopReason::Interrupted {
        output::note(format_args!(
            "fsdyno: interrupted; continue with: fsdyno run --resume {id}"
        ));
        code = Code::Interrupted;
    }
    Ok(Ended {
        code,
        run: Some(id.clone()),
        complete: reason == StopReason::Complete,
    })
}
