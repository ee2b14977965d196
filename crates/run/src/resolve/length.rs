//! The number of repeats of a plan: fixed, or decided by the figures.

use super::config_error::ConfigError;
use super::error::ResolveError;
use super::layers::Layers;
use fsdyno_model::{Adaptive, DatasetChoice, ModelDisk, Plan, Vary, Workload};

/// The smallest number of blocks that shows a spread.
const DEFAULT_REPEATS: u32 = 3;
/// In virtual time one repeat has all figures, and the second one confirms them.
const REPEATS_WITHOUT_NOISE: u32 = 2;
/// The default maximum of blocks if the figures decide.
const DEFAULT_MOST: u32 = 60;

/// The number of blocks, and the maximum if the figures decide.
pub fn of(
    layers: &Layers<'_>,
    disk: Option<&ModelDisk>,
) -> Result<(u32, Option<Adaptive>), ResolveError> {
    let settings = &layers.settings;
    let virtual_time = disk.is_some_and(|disk| disk.time.is_virtual());
    let without_noise = virtual_time && settings.vary.is_none();
    let in_suite = layers
        .suite
        .as_ref()
        .and_then(|suite| suite.options.repeats);
    let in_plan = layers.plan.as_ref().and_then(|plan| plan.options.repeats);
    let repeats = (layers.arguments.repeats.or(in_plan))
        // Suites set repeats for disks with noise; they do not apply without noise.
        .or(without_noise.then_some(REPEATS_WITHOUT_NOISE))
        .or(in_suite)
        .unwrap_or(DEFAULT_REPEATS);
    if settings.precision.is_none() && settings.max_repeats.is_none() {
        return Ok((repeats, None));
    }
    // An interval this narrow is within the margin, unless its centre is near the edge.
    let margin = settings.margin.filter(|margin| *margin > 0.0);
    let precision = settings.precision;
    let precision = precision.unwrap_or(margin.unwrap_or(Plan::MARGIN) / 4.0);
    let most = settings.max_repeats.unwrap_or(DEFAULT_MOST.max(repeats));
    if most < repeats {
        let error = ConfigError::wrong(
            format!("at most {most} repeats contradicts at least {repeats}"),
            "--repeats is the least number, --max-repeats the most",
        );
        return Err(layers.wrong("max_repeats")(error));
    }
    Ok((repeats, Some(Adaptive { precision, most })))
}

/// Refuses to vary the seed of datasets without one.
pub fn can_vary(vary: Option<Vary>, workloads: &[Workload]) -> Result<(), ConfigError> {
    let Some(Vary::DatasetSeed) = vary else {
        return Ok(());
    };
    let fixed = |workload: &&Workload| {
        let generated = matches!(workload.dataset, DatasetChoice::Generated(_));
        !generated || workload.dataset.is_none()
    };
    match workloads.iter().find(fixed) {
        None => Ok(()),
        Some(workload) => Err(ConfigError::wrong(
            format!(
                "workload {} works on the dataset {}, which no seed changes",
                workload.name, workload.dataset
            ),
            "choose one that is generated from a seed: --dataset portage",
        )),
    }
}
