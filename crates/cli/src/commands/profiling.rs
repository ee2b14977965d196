//! Repeats cells of runs in virtual time with a profile of their kernel, stores the profiles with the runs,
//! and compares them.

use super::run::assembled;
use crate::exit::CliError;
use crate::output;
use fsdyno_lab::{CellProfile, Lab as _, Profiles};
use fsdyno_model::profile::Profile;
use fsdyno_model::{CancelToken, CellRecord, Outcome, Plan, ResultSet};
use fsdyno_report::functions::sampled::SampledFunctions;
use fsdyno_report::functions::{Calls, Functions, Repeated, Side};
use fsdyno_report::{Format, Options, render_functions, render_sampled};
use fsdyno_store::Store;
use serde::{Serialize, Serializer};
use std::path::Path;
use std::sync::PoisonError;

/// The profiles of two cells, compared.
pub enum Compared {
    /// In virtual time.
    Exact(Box<Functions>),
    /// On the host.
    Sampled(Box<SampledFunctions>),
}

impl Compared {
    pub fn render(&self, format: Format, options: &Options) -> Result<Vec<u8>, CliError> {
        let bytes = match self {
            Self::Exact(functions) => render_functions(functions, format, options),
            Self::Sampled(functions) => render_sampled(functions, format, options),
        };
        bytes.map_err(CliError::usage)
    }

    pub fn calls(&self) -> &Calls {
        match self {
            Self::Exact(functions) => &functions.calls,
            Self::Sampled(functions) => &functions.calls,
        }
    }
}

impl Serialize for Compared {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Exact(functions) => functions.serialize(serializer),
            Self::Sampled(functions) => functions.serialize(serializer),
        }
    }
}

/// Refuses a run whose kernels counted nothing.
fn check_is_virtual(set: &ResultSet) -> Result<(), CliError> {
    if set.run.plan.in_virtual_time() {
        return Ok(());
    }
    Err(CliError::usage(format!(
        "the functions of {} are not known: its cells ran in real time, where no kernel counts what it \
         executes. Repeat the run with samples (fsdyno run ... --profile), or on a model disk (--disk nvme)",
        set.run.id
    )))
}

/// Compares the profiles of one cell of each set, or the samples of all its repeats.
pub fn compare(
    run: &str,
    [a, b]: [(&ResultSet, &Repeated<'_>); 2],
    store: &Path,
    stop: &CancelToken,
) -> Result<Compared, CliError> {
    if let Some(sampled) = SampledFunctions::of(run, [a.1, b.1]) {
        return Ok(Compared::Sampled(Box::new(sampled)));
    }
    [a.0, b.0].into_iter().try_for_each(check_is_virtual)?;
    let sides = [side(a, store, stop)?, side(b, store, stop)?];
    let functions = Functions::of(run, &a.1.phase, &sides);
    if functions.subsystems.is_empty() {
        output::note(
            "fsdyno: the kernels list no source files, so functions are not joined into subsystems: an earlier \
             version of fsdyno built them. Remove them and build them again: fsdyno lab remove, fsdyno lab setup",
        );
    }
    Ok(Compared::Exact(Box::new(functions)))
}

/// The profile of a cell that the store has, or else that of a repeat.
fn side<'a>(
    (set, one): (&ResultSet, &'a Repeated<'_>),
    store: &Path,
    stop: &CancelToken,
) -> Result<Side<'a>, CliError> {
    let measured = one.measured();
    let profile = match &measured.profile {
        Some(stored) => stored.clone(),
        None => profile(set, one, store, stop)?,
    };
    Ok(Side {
        label: one.label.clone(),
        measured,
        profile,
    })
}

/// Repeats a cell with a profile, and stores it.
fn profile(
    set: &ResultSet,
    one: &Repeated<'_>,
    store: &Path,
    stop: &CancelToken,
) -> Result<Profile, CliError> {
    let (record, repeated) = repeat((set, one), stop)?;
    let CellProfile { parts, requests } = repeated;
    if let Err(why) = &requests {
        output::note(format_args!(
            "fsdyno: the requests of {} are not known by function: {why}",
            one.label
        ));
    }
    let profile = one.profile(&record.samples, &parts, requests.as_ref().ok());
    let profile = profile.map_err(CliError::failure)?;
    let cell = one.record.cell.index;
    let stored = Store::open(store)
        .and_then(|mut store| store.add_profile(&set.run.id, cell, one.at, &profile));
    // A store of another user is only read.
    if let Err(error) = stored {
        output::note(format_args!(
            "fsdyno: the profile of {} is not stored: {error}",
            one.label
        ));
    }
    Ok(profile)
}

fn repeat(
    (set, one): (&ResultSet, &Repeated<'_>),
    stop: &CancelToken,
) -> Result<(CellRecord, CellProfile), CliError> {
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
    let profile = profiles.remove(&record.cell.index).unwrap_or_default();
    Ok((record, profile))
}
