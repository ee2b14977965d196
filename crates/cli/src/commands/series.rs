//! Crash tests and tests with faulty or full disks in commands that show the content of the store. They read
//! only the store.

use super::rendering::options;
use crate::exit::CliError;
use crate::output;
use fsdyno_model::{Exploration, FaultTests, Series};
use fsdyno_report::{Format, render_crash_details, render_disk_faults, render_exploration};
use fsdyno_store::{Named, Store, StoreError};

/// The id of a run; `last` is the last run. Other records are refused, with the reason.
pub fn only_run(store: &Store, name: &str, lacks: &str) -> Result<String, CliError> {
    let error = match store.resolve(name) {
        Err(error @ StoreError::NoSuchRun { .. }) => error,
        found => return Ok(found?),
    };
    let (id, what) = match store.resolve_any(name) {
        Ok(Named::Series(id)) => (id, "a series of crash tests"),
        Ok(Named::Exploration(id)) => (id, "an exploration of crash states"),
        Ok(Named::FaultTests(id)) => (id, "a test of disks"),
        Ok(Named::Run(_)) | Err(_) => return Err(error.into()),
    };
    Err(CliError::usage(format!(
        "{id} is {what}, which has no {lacks}. Name a run (fsdyno runs)."
    )))
}

/// Prints a series: its settings, its machine, and the recovery of each file system.
pub fn show(series: &Series, json: bool) -> Result<(), CliError> {
    let bytes = render_crash_details(series, format(json), &options(false, false));
    output::coloured(&bytes.map_err(CliError::failure)?)
}

/// Prints an exploration: its settings, its machine, and all findings.
pub fn show_exploration(exploration: &Exploration, json: bool) -> Result<(), CliError> {
    let bytes = render_exploration(exploration, format(json), &options(false, false));
    output::coloured(&bytes.map_err(CliError::failure)?)
}

/// Prints tests with faulty or full disks: each role of blocks, or all of them as JSON.
pub fn show_fault_tests(tests: &FaultTests, json: bool) -> Result<(), CliError> {
    let bytes = render_disk_faults(tests, format(json), &options(false, false));
    output::coloured(&bytes.map_err(CliError::failure)?)
}

fn format(json: bool) -> Format {
    if json { Format::Json } else { Format::Terminal }
}
