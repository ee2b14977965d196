//! The comparison of `quick` on model disks: exact figures for a hard disk and two solid-state disks,
//! in virtual time. Each disk is a run of its own in the store.
//!
//! It needs the lab kernel and never builds it. It belongs only to a run with default settings, so
//! that its question is the same. It comes before the measured run, which stays the last one.

use super::{Execution, ExportArgs, RunArgs, fresh, plan_error, preflight};
use crate::catalogue::catalogue_here;
use crate::commands::report;
use crate::exit::{CliError, Code};
use crate::output;
use fsdyno_files::Existing;
use fsdyno_guests::kernels;
use fsdyno_model::{CancelToken, DeviceChoice, LabChoice, Plan};
use fsdyno_report::{Format, Options};
use fsdyno_run::RunOptions;
use fsdyno_run::resolve::{resolve, suite};
use fsdyno_store::Store;
use std::path::Path;

/// The model disks: kind and profile.
const DISKS: [(&str, &str); 3] = [
    ("hard disk", "sata-2008"),
    ("SATA SSD", "sata-ssd"),
    ("NVMe disk", "nvme"),
];

/// The size of the datasets, with which a disk takes some seconds.
const SCALE: f64 = 0.02;

/// A run on a model disk: its label in the table, and its name.
type DiskRun = (String, String);

/// Runs a plan on each model disk, if the lab kernel exists and the settings are the default ones. A
/// comparison that fails is left out, with the reason.
pub fn run(
    plan: &Plan,
    args: &RunArgs,
    execution: &Execution,
    store: &Path,
    stop: &CancelToken,
) -> Result<Vec<DiskRun>, CliError> {
    let is_printed = execution.format == Format::Terminal && !args.dry_run && plan.shard.is_none();
    if args.screen.no_model || !is_printed || !is_comparable(plan) || kernels::state().is_err() {
        return Ok(Vec::new());
    }
    let Some(options) = model_options(&args.options) else {
        return Ok(Vec::new());
    };
    // The errors of the measured run come first.
    preflight(plan, stop)?;
    output::note(
        "fsdyno: first on three model disks, in virtual time, for some seconds (--no-model)",
    );
    let runs = on_disks(&options, args, store, stop).or_else(|error| {
        if stop.requested() {
            return Err(error);
        }
        output::note(format_args!("fsdyno: not on model disks: {error}"));
        Ok(Vec::new())
    })?;
    if stop.requested() {
        return Err(CliError::new(Code::Interrupted, "interrupted"));
    }
    Ok(runs)
}

/// One run for each disk.
fn on_disks(
    options: &RunOptions,
    args: &RunArgs,
    store: &Path,
    stop: &CancelToken,
) -> Result<Vec<DiskRun>, CliError> {
    let silent = Execution {
        silent: true,
        export: ExportArgs::default(),
        ..Execution::of(args)
    };
    let mut runs = Vec::new();
    for (kind, disk) in DISKS {
        let options = RunOptions {
            disk: Some(disk.into()),
            ..options.clone()
        };
        let plan = resolve(&options, &catalogue_here()).map_err(plan_error)?;
        let ended = fresh(plan, &silent, store, stop)?;
        runs.extend(ended.run.map(|run| (format!("{kind} ({disk})"), run)));
        if stop.requested() {
            break;
        }
    }
    Ok(runs)
}

/// Prints the table of these runs below the answer of the measured run.
pub fn print(
    runs: &[DiskRun],
    measured: Option<&str>,
    args: &RunArgs,
    store: &Path,
) -> Result<(), CliError> {
    let Some(measured) = measured.filter(|_| !runs.is_empty()) else {
        return Ok(());
    };
    let store = Store::open_existing_read_only(store)?;
    let load = |(label, run): &DiskRun| Ok((label.clone(), store.load(run)?));
    let sets = runs
        .iter()
        .map(load)
        .collect::<Result<Vec<_>, CliError>>()?;
    let options = Options {
        long: args.screen.long,
        ..report::options(args.screen.clock, false)
    };
    let text = fsdyno_report::render_model_disks(&store.load(measured)?, &sets, &options);
    output::to(None, &text, Existing::Keep)
}

/// Whether a guest compares the same: every contender is one file system on one image of a disk of
/// this machine.
fn is_comparable(plan: &Plan) -> bool {
    let on_disk = matches!(plan.device, DeviceChoice::Loop { memory: false, .. });
    on_disk
        && plan.disk.is_none()
        && plan.contenders.len() > 1
        && plan.contenders.iter().all(|contender| {
            contender.lab == LabChoice::Host
                && contender.layout.devices == 1
                && contender.state.is_fresh()
        })
}

/// The settings on a model disk; none if those of the run are no defaults. Contenders and the number
/// of repeats do not change the question.
fn model_options(given: &RunOptions) -> Option<RunOptions> {
    let common = RunOptions {
        suite: given.suite.clone(),
        contenders: given.contenders.clone(),
        work_dir: given.work_dir.clone(),
        seed: given.seed,
        unchecked_options: given.unchecked_options,
        ..RunOptions::default()
    };
    let default = RunOptions {
        device: given.device.clone(),
        budget: given.budget,
        max_repeats: given.max_repeats,
        margin: given.margin,
        errors: given.errors,
        ..common.clone()
    };
    let quick = given.suite.as_deref().unwrap_or(suite::DEFAULT) == suite::DEFAULT;
    (quick && default == *given).then_some(RunOptions {
        lab: Some(LabChoice::Uml),
        scale: Some(SCALE),
        repeats: Some(1),
        ..common
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_run_of_quick_with_default_settings_also_runs_on_model_disks() {
        let default = RunOptions::default();
        let options = model_options(&default).unwrap();
        assert_eq!(options.lab, Some(LabChoice::Uml));
        assert_eq!((options.scale, options.repeats), (Some(SCALE), Some(1)));
        let of = |change: fn(&mut RunOptions)| {
            let mut options = default.clone();
            change(&mut options);
            model_options(&options).is_some()
        };
        assert!(of(|options| options.suite = Some("quick".to_owned())));
        assert!(of(|options| options.max_repeats = Some(9)));
        assert!(!of(|options| options.suite = Some("mail".to_owned())));
        assert!(!of(|options| options.scale = Some(0.5)));
        assert!(!of(|options| options.repeats = Some(1)));
        assert!(!of(|options| options.phases = vec!["copy".to_owned()]));
    }
}
