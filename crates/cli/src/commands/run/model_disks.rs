//! The comparison of a suite on model disks: exact figures for a hard disk and two solid-state disks,
//! in virtual time. Each disk is a run of its own in the store.
//!
//! It needs the lab kernel and never builds it. It belongs only to a run with default settings, so
//! that its question is the same. It comes before the measured run, which stays the last one.

use super::{Execution, ExportArgs, RunArgs, fresh, resolve_here};
use crate::commands::rendering;
use crate::exit::CliError;
use crate::output;
use fsdyno_files::Existing;
use fsdyno_guests::kernels;
use fsdyno_model::{CancelToken, DatasetChoice, DeviceChoice, LabChoice, Plan};
use fsdyno_report::{Format, Options};
use fsdyno_run::RunOptions;
use fsdyno_run::resolve::suite;
use fsdyno_store::Store;
use std::path::Path;

/// The model disks: kind and profile.
const DISKS: [(&str, &str); 3] = [
    ("hard disk", "sata-2008"),
    ("SATA SSD", "sata-ssd"),
    ("NVMe disk", "nvme"),
];

/// The maximum size of a user's file as a dataset, bytes. With it, a disk takes some seconds.
const MAX_SIZE: u64 = 32 << 20;

/// A run on a model disk: its label in the table, and its name.
type DiskRun = (String, String);

/// Runs a plan that passed every check on each model disk, if the lab kernel exists and the settings
/// are the default ones. A comparison that fails is left out, with the reason.
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
        return Err(CliError::interrupted());
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
        let plan = resolve_here(&options)?;
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
        ..rendering::options(args.screen.clock, false)
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
        && plan
            .workloads
            .iter()
            .all(|workload| is_short(&workload.dataset))
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
        dataset: given.dataset.clone(),
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
    let suite = suite::find(given.suite.as_deref().unwrap_or(suite::DEFAULT))?;
    let scale = match &given.dataset {
        // A scale applies to generated datasets only.
        Some(_) => None,
        None => Some(suite.model_scale?),
    };
    (default == *given).then_some(RunOptions {
        lab: Some(LabChoice::Uml),
        scale,
        repeats: Some(1),
        ..common
    })
}

/// Whether the files of a dataset of the user's take some seconds on a model disk: an archive or a
/// file of limited size. Other datasets may be of any size.
fn is_short(dataset: &DatasetChoice) -> bool {
    match dataset {
        DatasetChoice::Generated(_) => true,
        DatasetChoice::Tar(file) | DatasetChoice::File(file) => {
            file.metadata().is_ok_and(|file| file.len() <= MAX_SIZE)
        }
        DatasetChoice::Tree(_) | DatasetChoice::Trace(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_default_settings_of_a_suite_with_a_scale_for_it_also_run_on_model_disks() {
        let default = RunOptions::default();
        let options = model_options(&default).unwrap();
        assert_eq!(options.lab, Some(LabChoice::Uml));
        assert_eq!((options.scale, options.repeats), (Some(0.02), Some(1)));
        let of = |change: fn(&mut RunOptions)| {
            let mut options = default.clone();
            change(&mut options);
            model_options(&options)
        };
        assert!(of(|options| options.suite = Some("mail".to_owned())).is_some());
        assert!(of(|options| options.max_repeats = Some(9)).is_some());
        assert!(of(|options| options.suite = Some("bonnie".to_owned())).is_none());
        assert!(of(|options| options.scale = Some(0.5)).is_none());
        assert!(of(|options| options.repeats = Some(1)).is_none());
        assert!(of(|options| options.phases = vec!["copy".to_owned()]).is_none());
        let own = of(|options| options.dataset = Some("tar:own.tar".to_owned())).unwrap();
        assert_eq!(
            (own.scale, own.dataset.as_deref()),
            (None, Some("tar:own.tar"))
        );
    }

    #[test]
    fn a_file_of_the_users_is_replayed_on_model_disks_only_if_it_is_small() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("own.tar");
        let file = std::fs::File::create(&path).unwrap();
        assert!(is_short(&DatasetChoice::Tar(path.clone())));
        file.set_len(MAX_SIZE + 1).unwrap();
        assert!(!is_short(&DatasetChoice::Tar(path)));
        assert!(!is_short(&DatasetChoice::Tree("/usr".into())));
    }
}
