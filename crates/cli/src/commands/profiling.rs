//! Repeats cells of runs in virtual time with a profile of their kernel, and compares the profiles.

use super::run::assembled;
use crate::exit::CliError;
use crate::output;
use fsdyno_lab::{Lab as _, Profiles};
use fsdyno_model::profile::Profile;
use fsdyno_model::{CancelToken, CellRecord, Outcome, Plan, ResultSet, Sample};
use fsdyno_report::functions::{Functions, Repeated, Side};
use std::sync::PoisonError;

/// Refuses a run whose kernels counted nothing.
pub fn check_is_virtual(set: &ResultSet) -> Result<(), CliError> {
    if set.run.plan.in_virtual_time() {
        return Ok(());
    }
    Err(CliError::usage(format!(
        "the functions of {} are not known: its cells ran in real time, where no kernel counts what it \
         executes. Repeat the run on a model disk (fsdyno run ... --disk nvme)",
        set.run.id
    )))
}

/// Repeats one cell of each set with a profile, and compares them.
pub fn compare(
    run: &str,
    pair: [(&ResultSet, &Repeated<'_>); 2],
    stop: &CancelToken,
) -> Result<Functions, CliError> {
    let [a, b] = pair;
    let [(record_a, profiles_a), (record_b, profiles_b)] = [repeat(a, stop)?, repeat(b, stop)?];
    let sides = [
        side(a.1, &record_a.samples, profiles_a),
        side(b.1, &record_b.samples, profiles_b),
    ];
    let functions = Functions::of(run, &a.1.phase, &sides).map_err(CliError::failure)?;
    if functions.subsystems.is_empty() {
        output::note(
            "fsdyno: the kernels list no source files, so functions are not joined into subsystems: an earlier \
             version of fsdyno built them. Remove them and build them again: fsdyno lab remove, fsdyno lab setup",
        );
    }
    Ok(functions)
}

fn side<'a>(one: &Repeated<'a>, repeated: &'a [Sample], profiles: Vec<Profile>) -> Side<'a> {
    Side {
        label: one.label.clone(),
        measured: &one.record.samples[one.at],
        repeated,
        at: one.at,
        profiles,
    }
}

fn repeat(
    (set, one): (&ResultSet, &Repeated<'_>),
    stop: &CancelToken,
) -> Result<(CellRecord, Vec<Profile>), CliError> {
    // The block traces of the run stay as they are.
    let plan = &Plan {
        disk_trace: None,
        ..set.run.plan.clone()
    };
    let profiles = Profiles::default();
    let mut labs = assembled(plan, stop)?;
    labs.profile(&profiles);
    labs.begin(plan);
    output::note(format_args!(
        "fsdyno: repeating {} with a profile",
        one.label
    ));
    let Some(record) = labs.run_cell(plan, one.record.cell, &mut |_| ()) else {
        return Err(CliError::interrupted());
    };
    if let Outcome::Failed(failure) = &record.outcome {
        return Err(CliError::failure(format!(
            "{} failed with a profile: {}",
            one.label, failure.message
        )));
    }
    let mut profiles = profiles.lock().unwrap_or_else(PoisonError::into_inner);
    let profiles = profiles.remove(&record.cell.index).unwrap_or_default();
    Ok((record, profiles))
}
