//! How often a plan repeats: a number fixed before, or as its figures decide; what the repeats do
//! differently, and how long all may take.

use super::config_error::ConfigError;
use super::error::ResolveError;
use super::planfile;
use super::request::{Layers, Request};
use fsdyno_model::{Adaptive, DatasetChoice, ModelDisk, Nanos, Plan, Vary, Workload};

/// The least number of blocks that shows a spread.
const DEFAULT_REPEATS: u32 = 3;
/// In virtual time one repeat tells everything, and another one that it does.
const REPEATS_WITHOUT_NOISE: u32 = 2;
/// The most blocks where the figures decide and nobody says.
const DEFAULT_MOST: u32 = 60;

/// The blocks, how many more the figures may ask for, and the difference that matters.
pub fn of(
    request: &Request,
    layers: &Layers,
    disk: Option<&ModelDisk>,
    vary: Option<Vary>,
) -> Result<(u32, Option<Adaptive>, f64), ResolveError> {
    let without_noise = vary.is_none() && disk.is_some_and(|disk| disk.time.is_virtual());
    let asked = request.repeats.or_else(|| {
        // A suite is written for disks whose times vary.
        let plan = layers.plan.as_ref().and_then(|plan| plan.repeats);
        plan.or(without_noise.then_some(REPEATS_WITHOUT_NOISE))
    });
    let repeats = match asked {
        Some(n) => planfile::repeats(n).map_err(ResolveError::argument("--repeats"))?,
        None => layers
            .pick(|layer| layer.repeats)
            .unwrap_or(DEFAULT_REPEATS),
    };
    let margin = request.margin.or(layers.pick(|layer| layer.margin));
    let margin = planfile::margin(margin.unwrap_or(Plan::MARGIN))
        .map_err(ResolveError::argument("--margin"))?;
    let precision = request.precision.or(layers.pick(|layer| layer.precision));
    let most = request
        .max_repeats
        .or(layers.pick(|layer| layer.max_repeats));
    if precision.is_none() && most.is_none() {
        return Ok((repeats, None, margin));
    }
    // So narrow an interval lies within the margin unless its middle is near its end.
    let of_margin = if margin > 0.0 { margin } else { Plan::MARGIN } / 4.0;
    let precision = planfile::precision(precision.unwrap_or(of_margin))
        .map_err(ResolveError::argument("--precision"))?;
    let most = planfile::repeats(most.unwrap_or(DEFAULT_MOST.max(repeats)))
        .map_err(ResolveError::argument("--max-repeats"))?;
    if most < repeats {
        let config_error = ConfigError::wrong(
            format!("{most} repeats at most, and {repeats} at least, cannot both be"),
            "--repeats is the least number, --max-repeats the most",
        );
        return Err(ResolveError::argument("--max-repeats")(config_error));
    }
    Ok((repeats, Some(Adaptive { precision, most }), margin))
}

/// What is another one in every block. Refused where there is nothing that could be.
pub fn varies(
    request: &Request,
    layers: &Layers,
    workloads: &[Workload],
) -> Result<Option<Vary>, ResolveError> {
    let vary = request.vary.or(layers.pick(|layer| layer.vary));
    let fixed = |workload: &&Workload| {
        let generated = matches!(workload.dataset, DatasetChoice::Generated(_));
        !generated || workload.dataset.is_none()
    };
    match (vary, workloads.iter().find(fixed)) {
        (Some(Vary::DatasetSeed), Some(workload)) => {
            let config_error = ConfigError::wrong(
                format!(
                    "workload {} works on the dataset {}, which no seed changes",
                    workload.name, workload.dataset
                ),
                "choose one that is generated from a seed: --dataset portage",
            );
            Err(ResolveError::argument("--vary")(config_error))
        }
        (vary, _) => Ok(vary),
    }
}

/// What can vary, by name.
pub fn vary(name: &str) -> Result<Vary, ConfigError> {
    Vary::from_name(name).ok_or_else(|| {
        let names = Vary::ALL.map(Vary::name);
        ConfigError::unknown("thing that can vary", name, names.into_iter())
    })
}

/// How long all may take, and each cell.
pub fn budgets(
    request: &Request,
    layers: &Layers,
) -> Result<(Option<Nanos>, Option<Nanos>), ResolveError> {
    let asked = request.budget.map(planfile::budget).transpose();
    let budget = asked.map_err(ResolveError::argument("--budget"))?;
    let asked = request.cell_budget.map(cell_budget).transpose();
    let of_cell = asked.map_err(ResolveError::argument("--cell-budget"))?;
    Ok((
        budget.or(layers.pick(|layer| layer.budget)),
        of_cell.or(layers.pick(|layer| layer.cell_budget)),
    ))
}

/// The time after which a cell is ended.
pub fn cell_budget(time: Nanos) -> Result<Nanos, ConfigError> {
    if time > Nanos(0) {
        return Ok(time);
    }
    Err(ConfigError::wrong(
        "in no time no cell gets anywhere",
        "write for example 2m, or leave it out",
    ))
}
