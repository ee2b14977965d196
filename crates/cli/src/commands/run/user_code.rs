//! The user code of the programs of a run in virtual time: measured on the host, as a run of its own in
//! the store. If it cannot be measured, the run is complete without it.

use super::{Execution, ExportArgs, fresh, resume};
use crate::commands::measuring::LockArgs;
use crate::exit::CliError;
use crate::output;
use fsdyno_model::{CancelToken, RunInfo, StopReason};
use fsdyno_run::remaining::remaining;
use fsdyno_run::{RunOptions, user_code};
use fsdyno_store::Store;

/// Whether the user code of a run must still be measured.
pub fn is_missing(info: &RunInfo, store: &Store) -> Result<bool, CliError> {
    if user_code::plan(&info.id, &info.plan).is_none() {
        return Ok(false);
    }
    let measured = store.variants(&info.id)?.into_iter();
    let mut measured = measured.filter(|one| one.run.plan.measures_user_code());
    Ok(measured.all(|one| !remaining(&one.run, &one.cells).is_empty()))
}

/// Measures the user code of a run, unless it is recorded or there is none.
pub fn measure(
    info: &RunInfo,
    execution: &Execution,
    store: &Store,
    stop: &CancelToken,
) -> Result<StopReason, CliError> {
    let Some(plan) = user_code::plan(&info.id, &info.plan) else {
        return Ok(StopReason::Complete);
    };
    if !is_missing(info, store)? {
        return Ok(StopReason::Complete);
    }
    let without = if execution.silent {
        ""
    } else {
        " (--user-code=false)"
    };
    output::note(format_args!(
        "fsdyno: user code, which virtual time does not count: the load runs {} times on this machine\
         {without}",
        plan.repeats
    ));
    let execution = Execution {
        silent: true,
        export: ExportArgs::default(),
        // Processor time does not need a quiet machine, as waiting does.
        lock: LockArgs {
            no_lock: true,
            ..LockArgs::default()
        },
        ..execution.clone()
    };
    let begun = store.variants(&info.id)?.into_iter();
    let mut begun = begun.filter(|one| one.run.plan.measures_user_code());
    let done = match begun.next() {
        Some(one) => {
            let options = (&RunOptions::default(), false);
            resume(&execution, &one.run.id, options, store.path(), stop)
        }
        None => fresh(plan, &execution, store.path(), stop),
    };
    if stop.requested() {
        return Ok(StopReason::Interrupted);
    }
    if let Err(error) = done {
        output::note(format_args!("fsdyno: user code was not measured: {error}"));
    }
    Ok(StopReason::Complete)
}
