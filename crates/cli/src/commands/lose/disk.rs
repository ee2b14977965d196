//! `lose disk`: injects faults of disks, and reports which file systems notice or repair them.

use super::{DISK, LoseArgs};
use crate::commands::crash::{contenders, in_order, lab_for, provenance_of};
use crate::commands::lab::{guest_error, guest_size};
use crate::exit::{CliError, Code};
use crate::output;
use fsdyno_model::{CancelToken, FaultTestsInfo, LabChoice, StopReason};
use fsdyno_run::conductor::unix_now;
use fsdyno_run::lose::{self, LoseError};
use fsdyno_store::Store;
use std::path::Path;

/// The default of the most faults of a kind in blocks of a role.
const DRAWS: u32 = 10;

pub(super) fn lose(args: &LoseArgs, store: &Path, stop: &CancelToken) -> Result<Code, CliError> {
    let draws = args.draws.unwrap_or(DRAWS);
    let contenders = contenders(&args.contenders, &LabChoice::Uml)?;
    let size = guest_size(
        &LabChoice::Uml,
        args.guest_memory,
        args.guest_kernel.as_ref(),
    );
    let work = std::path::absolute(&args.work_dir)?;
    let lab = lab_for(&LabChoice::Uml, &size, &work, stop)?;
    let disk = fsdyno_lab::model_disk(Path::new(DISK)).map_err(CliError::usage)?;
    let mut store = Store::open(store)?;
    let mut info = FaultTestsInfo {
        id: String::new(),
        started_unix_ns: unix_now(),
        ended_unix_ns: None,
        stop: None,
        provenance: provenance_of(&contenders, &work),
        contenders,
        seed: args.seed,
        draws,
        guest: size,
        command_line: crate::args::command_line(),
    };
    store.begin_fault_tests(&mut info)?;
    let id = &info.id;
    let _claim = store.claim(id)?;
    output::note(format_args!("tests {id} begin"));
    let test = |contender: &_| {
        let tested = lose::test(&lab, contender, &disk, (args.seed, draws));
        tested.map_err(|error| match error {
            LoseError::Guest(error) => guest_error(error),
            error @ LoseError::Healthy { .. } => CliError::failure(error),
        })
    };
    let jobs = args.jobs.count(args.guest_memory);
    let ended = in_order(&info.contenders, jobs, test, |_, test| {
        Ok(store.record_fault_test(id, &test)?)
    });
    let reason = match &ended {
        Ok(()) => Some(StopReason::Complete),
        Err(error) if error.code == Code::Interrupted => Some(StopReason::Interrupted),
        Err(_) => None,
    };
    if let Some(reason) = reason {
        store.end_fault_tests(id, reason, unix_now())?;
    }
    let tests = store.load_fault_tests(id)?;
    if tests.tests.is_empty() {
        return ended.map(|()| Code::Ok);
    }
    super::print(args, &tests, |format, options| {
        fsdyno_report::render_disk_faults(&tests, format, options)
    })?;
    ended?;
    let mut faults = tests.faults();
    Ok(Code::ok_if(!faults.any(|(_, one)| one.outcome.is_loss())))
}
