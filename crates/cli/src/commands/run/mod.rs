//! `run`: resolves arguments to a plan, runs the plan, and prints the report.

mod args;
pub mod begin;
mod contents;
mod listener;

use crate::args::Erase;
use crate::catalogue::catalogue_here;
use crate::commands::measuring::{LockArgs, Measuring};
use crate::commands::{published, report};
use crate::exit::{CliError, Code};
use crate::{output, places};
pub use args::{ExportArgs, RunArgs, ScreenArgs};
pub use begin::plan_trouble;
use begin::programs_to_name;
use fsdyno_files::Existing;
use fsdyno_host::signals;
use fsdyno_host::ssh::SshError;
use fsdyno_lab::assembly::described_devices;
use fsdyno_lab::{Assembly, AssemblyError, Labs, Preflight, SshLabError};
use fsdyno_model::{CancelToken, CellRecord, Outcome, Plan, ResultSet, RunInfo, StopReason};
use fsdyno_observe::provenance;
use fsdyno_report::{Format, Options, reruns};
use fsdyno_run::conductor::{conduct, unix_now};
use fsdyno_run::resolve::resolve;
use fsdyno_run::schedule::schedule;
use fsdyno_store::Store;
use listener::Listener;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// How a plan is executed and reported.
#[derive(Debug, Clone)]
pub struct Execution {
    /// Devices that may be erased.
    pub erase: Erase,
    /// Print the plan and do not run it.
    pub dry_run: bool,
    /// Format of the report.
    pub format: Format,
    /// The report on the terminal.
    pub screen: ScreenArgs,
    /// Further files of the report.
    pub export: ExportArgs,
    /// File of the report; `None` is standard output.
    pub output: Option<PathBuf>,
    /// Treatment of an existing file.
    pub existing: Existing,
    /// Print no report.
    pub silent: bool,
    /// Behaviour when another measurement runs.
    pub lock: LockArgs,
}

impl Execution {
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
            output: None,
            existing: Existing::Keep,
            silent: false,
            lock: args.lock.clone(),
        }
    }
}

/// How a run ended.
#[derive(Debug)]
pub struct Ended {
    /// The exit code.
    pub code: Code,
    /// The name of the run; `None` if nothing was executed.
    pub run: Option<String>,
    /// Whether all its cells are recorded.
    pub complete: bool,
}

pub fn run(args: &RunArgs, store_path: &Path) -> Result<Code, CliError> {
    let stop = CancelToken::new();
    signals::install(&stop)?;
    let execution = Execution::of(args);
    let existing = output::existing(args.export.force);
    for (_, file) in args.export.files() {
        output::check(Some(file), existing)?;
    }
    let ended = if let Some(name) = &args.resume {
        resume(&execution, name, store_path, &stop)
    } else {
        let plan = resolve(&args.options, &catalogue_here()).map_err(plan_trouble)?;
        fresh(plan, &execution, store_path, &stop)
    };
    Ok(ended?.code)
}

/// Starts a new run of a plan.
pub fn fresh(
    mut plan: Plan,
    execution: &Execution,
    store_path: &Path,
    stop: &CancelToken,
) -> Result<Ended, CliError> {
    let preflight = preflight(&plan, stop)?;
    if execution.dry_run {
        plan.contents = contents::read(&plan, stop)?.contents;
        return print_dry_run(&plan, &preflight);
    }
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
    let measuring = execution.lock.take_for(&plan, stop)?;
    let mut lab = assemble(&execution.erase, &plan, preflight, None, stop)?;
    let read = contents::read(&plan, stop)?;
    plan.contents = read.contents;
    lab.watch(read.datasets, stop.clone());
    let mut store = Store::open(store_path)?;
    let mut info = RunInfo {
        id: String::new(),
        started_unix_ns: unix_now(),
        ended_unix_ns: None,
        stop: None,
        plan_hash: plan.hash(),
        provenance: provenance::collect(&programs_to_name(&plan), &described_devices(&plan)),
        plan,
        command_line: std::env::args_os()
            .map(|a| a.to_string_lossy().into_owned())
            .collect(),
    };
    store.begin_named(&mut info)?;
    go(execution, &measuring, lab, store, &info, &[])
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

fn resume(
    execution: &Execution,
    name: &str,
    store_path: &Path,
    stop: &CancelToken,
) -> Result<Ended, CliError> {
    // A name that does not exist must not create a store.
    Store::open_existing_read_only(store_path)?.resolve(name)?;
    let store = Store::open(store_path)?;
    let id = store.resolve(name)?;
    let set = store.load(&id)?;
    let info = &set.run;
    same_user(info)?;
    if execution.dry_run {
        return print_dry_run(&info.plan, &preflight(&info.plan, stop)?);
    }
    same_machine(info)?;
    let all = set.cells.len() == schedule(&info.plan).len();
    let enough = info.plan.adaptive.is_some() && info.stop == Some(StopReason::Complete);
    if all || enough {
        output::note(format_args!("fsdyno: {id} is complete; nothing to resume"));
        let code = finish(execution, &store, &id)?;
        return Ok(Ended {
            code,
            run: Some(id),
            complete: true,
        });
    }
    let measuring = execution.lock.take_for(&info.plan, stop)?;
    let mut lab = assemble(
        &execution.erase,
        &info.plan,
        preflight(&info.plan, stop)?,
        Some(&set.cells),
        stop,
    )?;
    same_guests(&set, &lab)?;
    let read = contents::read(&info.plan, stop)?;
    contents::check(info, &read.contents)?;
    lab.watch(read.datasets, stop.clone());
    go(execution, &measuring, lab, store, info, &set.cells)
}

/// Refuses to resume with a guest kernel that differs from the recorded one.
fn same_guests(set: &ResultSet, labs: &Labs) -> Result<(), CliError> {
    let of_kernel = |about: &str| about.split(", ").take(2).collect::<Vec<_>>().join(", ");
    for share in set.labs() {
        let (Some(then), Some(now)) = (share.guest, labs.guest(&share.lab)) else {
            continue;
        };
        let (then, now) = (of_kernel(&then), of_kernel(now));
        if then != now {
            return Err(begun_elsewhere(
                &set.run,
                "kernel of its guests",
                &then,
                &now,
            ));
        }
    }
    Ok(())
}

/// Refuses a run of another user. Its plan holds commands and paths, and another user may have
/// written them for execution by this one.
fn same_user(info: &RunInfo) -> Result<(), CliError> {
    let us = provenance::uid();
    let by = match info.provenance.uid {
        Some(uid) if uid == us => return Ok(()),
        Some(uid) => format!("uid {uid}"),
        None => "an unknown user".to_owned(),
    };
    Err(CliError::usage(format!(
        "cannot resume {}: {by} started it, and its plan would now run as uid {us}. Start a new run.",
        info.id
    )))
}

/// Refuses to resume on another machine: the cells of one run are compared with each other.
fn same_machine(info: &RunInfo) -> Result<(), CliError> {
    let here = provenance::collect(&programs_to_name(&info.plan), &[]);
    let then = &info.provenance;
    let mut facts = vec![
        ("kernel", &then.kernel, &here.kernel),
        ("kernel build", &then.kernel_build, &here.kernel_build),
        ("processor", &then.processor, &here.processor),
        ("version of fsdyno", &then.fsdyno, &here.fsdyno),
    ];
    // Another version of mkfs or of a tool may behave differently.
    for (name, version) in &then.programs {
        let now = here.programs.iter().find(|(now, _)| now == name);
        facts.extend(now.map(|(_, now)| (name.as_str(), version, now)));
    }
    match facts.into_iter().find(|(_, then, here)| then != here) {
        None => Ok(()),
        Some((what, then, here)) => Err(begun_elsewhere(info, what, then, here)),
    }
}

fn begun_elsewhere(info: &RunInfo, what: &str, then: &str, here: &str) -> CliError {
    CliError::usage(format!(
        "cannot resume {}: it started on another {what} ({then}; this is {here}), and figures of \
         the two cannot be compared within one run. Start a new run.",
        info.id
    ))
}

/// Runs the plan, stores its cells, and prints the report.
fn go(
    execution: &Execution,
    measuring: &Measuring,
    mut lab: Labs,
    mut store: Store,
    info: &RunInfo,
    before: &[CellRecord],
) -> Result<Ended, CliError> {
    // The claim is held until the end, so that no other process resumes this run.
    let _claim = store.claim(&info.id)?;
    store.reopen(&info.id)?;
    let mut listener = Listener::new(&mut store, info, before, measuring.warning.clone());
    let reason = conduct(info, before, &mut lab, &mut |event| listener.hear(event))
        .map_err(|error| keep_going_hint(&error, &info.id))?;
    // The progress view is removed before other output.
    drop(listener);
    drop(lab);
    let code = finish(execution, &store, &info.id)?;
    let ended = |code| Ended {
        code,
        run: Some(info.id.clone()),
        complete: reason == StopReason::Complete,
    };
    match reason {
        StopReason::Complete => Ok(ended(code)),
        StopReason::Budget => {
            output::note(format_args!(
                "fsdyno: the budget is used up; continue with: fsdyno run --resume {}",
                info.id
            ));
            Ok(ended(code))
        }
        StopReason::Interrupted => {
            output::note(format_args!(
                "fsdyno: interrupted; continue with: fsdyno run --resume {}",
                info.id
            ));
            Ok(ended(Code::Interrupted))
        }
    }
}

fn keep_going_hint(error: &fsdyno_store::StoreError, id: &str) -> CliError {
    CliError::failure(format!(
        "{error}\nthe cells recorded so far are kept; continue with: fsdyno run --resume {id}"
    ))
}

/// Prints the report and returns the exit code for the outcomes of the cells.
fn finish(execution: &Execution, store: &Store, id: &str) -> Result<Code, CliError> {
    let set = store.load(id)?;
    let export = &execution.export;
    for (format, file) in export.files() {
        let options = report::options(execution.screen.clock, true);
        let text = fsdyno_report::render(&set, format, &options).map_err(CliError::failure)?;
        output::to(Some(file), &text, output::existing(export.force))?;
    }
    if !execution.silent {
        let options = Options {
            long: execution.screen.long,
            ..report::options(execution.screen.clock, execution.output.is_some())
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
    if let Some((rerun, None)) = reruns::of_plan(&set.run.plan)
        && let Ok(comparison) = published::against(set, rerun.name, execution.format, options)
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

/// Sets up the labs of a plan. `recorded` holds the cells of a resumed run.
pub fn assemble(
    erase: &Erase,
    plan: &Plan,
    preflight: Preflight,
    recorded: Option<&[CellRecord]>,
    stop: &CancelToken,
) -> Result<Labs, CliError> {
    let assembly = Assembly {
        plan,
        preflight,
        state: &places::state()?,
        erase: &erase.erase,
        erase_fstab: &erase.erase_fstab,
        recorded,
        stop,
        note: &mut |note| output::note(format_args!("fsdyno: {note}")),
    };
    assembly.assemble().map_err(assembly_error)
}

fn assembly_error(error: AssemblyError) -> CliError {
    let code = match &error {
        AssemblyError::Usage(_) => Code::Usage,
        AssemblyError::Refused(refusal) if !refusal.device.exists() => Code::Usage,
        AssemblyError::Missing(_) => Code::Missing,
        AssemblyError::Refused(_) | AssemblyError::NotErasable { .. } => Code::Refused,
        AssemblyError::Signatures(_) => Code::Failure,
        AssemblyError::Journal(error) => return places::journal_error(error),
        AssemblyError::Ssh(error) => match error {
            SshLabError::Ssh(SshError::Stopped) => Code::Interrupted,
            SshLabError::Ssh(SshError::NoProgram)
            | SshLabError::NoProgram { .. }
            | SshLabError::NoClock { .. } => Code::Missing,
            SshLabError::Directory { .. } => Code::Usage,
            _ => Code::Failure,
        },
        AssemblyError::Guest(error) => super::lab::guest_code(error),
    };
    CliError::new(code, error)
}

/// Prints the dry run.
fn print_dry_run(plan: &Plan, preflight: &Preflight) -> Result<Ended, CliError> {
    let varies = plan
        .vary
        .map_or("", |_| " (datasets: the next one in each block)");
    let mut text = format!(
        "# {}: seed {}{varies}, plan {}; nothing is executed\n",
        plan.name,
        plan.seed,
        plan.hash()
    );
    let cells = schedule(plan);
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
    for cell in cells.into_iter().filter(|cell| cell.block < plan.repeats) {
        for line in fsdyno_lab::script::lines(plan, preflight, cell) {
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
