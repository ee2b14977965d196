//! `run --resume`: continues, extends or retries a recorded run.

use super::begin::{plan_error, programs_to_name};
use super::kernels::Builds;
use super::{
    Ended, Execution, Session, assemble_early, contents, finish, go, lacks_user_code, length_of,
    preflight, print_dry_run, vary,
};
use crate::catalogue::catalogue_here;
use crate::exit::CliError;
use crate::output;
use fsdyno_lab::Labs;
use fsdyno_model::{CancelToken, Plan, ResultSet, RunInfo, StopReason, kernel_of_guest};
use fsdyno_observe::provenance;
use fsdyno_run::RunOptions;
use fsdyno_run::conductor::unix_now;
use fsdyno_run::remaining::{failed, remaining};
use fsdyno_run::resolve::{EXTENDING, extend};
use fsdyno_store::Store;
use std::path::Path;

pub fn resume(
    execution: &Execution,
    name: &str,
    (options, retry_failed): (&RunOptions, bool),
    store_path: &Path,
    stop: &CancelToken,
) -> Result<Ended, CliError> {
    // A name that does not exist must not create a store.
    Store::open_existing_read_only(store_path)?.resolve(name)?;
    let mut store = Store::open(store_path)?;
    let id = store.resolve(name)?;
    // The run is claimed before it is read: its cells and its plan then stay as they are.
    let claim = if execution.dry_run {
        None
    } else {
        Some(store.claim(&id)?)
    };
    let set = store.load(&id)?;
    same_user(&set.run)?;
    let plan = extend(&set, options, &catalogue_here()).map_err(plan_error)?;
    let info = RunInfo {
        plan_hash: plan.hash(),
        plan,
        ..set.run.clone()
    };
    let extends = EXTENDING.iter().any(|name| options.sets(name));
    let retries_only = retry_failed && !extends;
    let has_ended = matches!(
        set.run.stop,
        Some(StopReason::Complete | StopReason::Budget)
    );
    let varies_only = options.robust == Some(true) && has_ended && !extends && !retry_failed;
    let mut cells = Vec::new();
    if retry_failed {
        cells.extend(failed(&set.cells));
    }
    if !retries_only && !varies_only {
        cells.extend(remaining(&info, &set.cells));
    }
    let Some(claim) = claim else {
        return print_dry_run(&info.plan, &preflight(&info.plan, stop)?, &cells);
    };
    same_machine(&set.run, stop)?;
    let has_variants = info.plan.robust || lacks_user_code(&info, &store)?;
    if cells.is_empty() && has_variants && !retries_only {
        // The recorded run stays as it is; variants may be missing.
        let plan = Plan {
            robust: info.plan.robust,
            ..set.run.plan.clone()
        };
        let info = RunInfo { plan, ..set.run };
        return vary(execution, &info, store, stop);
    }
    if cells.is_empty() {
        output::note(format_args!(
            "fsdyno: {id} {}",
            nothing_to_do(&info, retries_only)
        ));
        if !retries_only && matches!(info.stop, None | Some(StopReason::Interrupted)) {
            // It was killed or interrupted after its last cell.
            store.end(&id, StopReason::Complete, unix_now())?;
        }
        let code = finish(execution, &store, &id)?;
        return Ok(Ended {
            code,
            run: Some(id),
            complete: true,
        });
    }
    let preflight = preflight(&info.plan, stop)?;
    let builds = Builds::of(&info.plan);
    let known = (builds.pending(), Some(&set.cells[..]));
    let (mut labs, measuring) = assemble_early(execution, &info.plan, preflight, known, stop)?;
    same_guests(&set, &labs)?;
    // Changed inputs are refused before the wait too.
    let read = contents::read(&info.plan, stop)?;
    contents::check(&info, &read.contents)?;
    labs.watch(read.datasets, stop.clone());
    if !execution.silent
        && !retries_only
        && let Some(text) = length_of(&info.plan)
    {
        output::note(format_args!("fsdyno: {text}"));
    }
    let measuring = execution.lock.take_now(measuring, &info.plan, stop)?;
    labs.begin(&info.plan);
    let session = Session {
        _claim: claim,
        info,
        before: set.cells,
        cells,
        retries_only,
    };
    go(execution, &measuring, (labs, builds), store, session, stop)
}

/// The reason why no cell runs, and the remedy.
fn nothing_to_do(info: &RunInfo, retries_only: bool) -> &'static str {
    match (retries_only, info.plan.adaptive) {
        (true, _) => "has no failed cell; nothing to retry",
        (_, None) => "is complete; nothing to resume (--repeats N extends it)",
        (_, Some(adaptive)) if info.plan.ends.contains(&adaptive.most) => {
            "is complete; nothing to resume (--max-repeats N extends it)"
        }
        (_, Some(_)) => {
            "is complete; nothing to resume: each comparison is decided, or known to the requested \
             precision"
        }
    }
}

/// Refuses to resume with a guest kernel that differs from the recorded one.
fn same_guests(set: &ResultSet, labs: &Labs) -> Result<(), CliError> {
    for (at, contender) in set.run.plan.contenders.iter().enumerate() {
        let (Some(then), Some(now)) = (set.guest_of(at), labs.guest(contender)) else {
            continue;
        };
        let (then, now) = (kernel_of_guest(then), kernel_of_guest(now));
        if then != now {
            return Err(begun_on_another_system(
                &set.run,
                "kernel of its guests",
                then,
                now,
            ));
        }
    }
    Ok(())
}

/// Refuses to continue with more runs after one of another user or machine, or with other inputs.
pub fn check_unchanged(info: &RunInfo, stop: &CancelToken) -> Result<(), CliError> {
    same_user(info)?;
    same_machine(info, stop)?;
    contents::check(info, &contents::read(&info.plan, stop)?.contents)
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
fn same_machine(info: &RunInfo, stop: &CancelToken) -> Result<(), CliError> {
    let here = provenance::collect(&programs_to_name(&info.plan), &[]);
    // The version of a program that was stopped is unknown.
    if stop.requested() {
        return Err(CliError::interrupted());
    }
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
        Some((what, then, here)) => Err(begun_on_another_system(info, what, then, here)),
    }
}

fn begun_on_another_system(info: &RunInfo, what: &str, then: &str, here: &str) -> CliError {
    CliError::usage(format!(
        "cannot resume {}: it started on another {what} ({then}; this is {here}), and figures of \
         the two cannot be compared within one run. Start a new run.",
        info.id
    ))
}
