//! Extends the plan of a recorded run: more repeats, a higher maximum, another time limit.

use super::catalogue::Catalogue;
use super::config_error::ConfigError;
use super::error::ResolveError;
use super::variants;
use crate::resolve::options::RunOptions;
use fsdyno_model::{Adaptive, Plan, ResultSet, StopReason};
use fsdyno_stats::Rule;

/// The settings that add cells to a recorded run. All others are those of its plan.
pub const EXTENDING: [&str; 3] = ["repeats", "max_repeats", "budget"];

/// The settings that a resumed run takes: those, and the one that adds its variants.
pub const RESUMING: [&str; 4] = ["repeats", "max_repeats", "budget", "robust"];

/// The plan of a run that resumes with these settings, of which only [`RESUMING`] are used.
///
/// If the run had ended, its number of blocks becomes one of the `ends` of the plan: verdicts were
/// reported there, and that analysis used its part of the error budget. A run that was interrupted
/// and resumes with its own plan has not ended.
pub fn extend(
    set: &ResultSet,
    options: &RunOptions,
    catalogue: &Catalogue,
) -> Result<Plan, ResolveError> {
    let wrong = |(name, error)| ResolveError::argument(RunOptions::flag(name))(error);
    options.check(catalogue).map_err(wrong)?;
    let last = set.cells.iter().map(|record| record.cell.block + 1).max();
    let blocks = last.unwrap_or(0);
    let run = &set.run;
    let mut plan = run.plan.clone();
    if let Some(repeats) = options.repeats {
        plan.repeats = fixed(&plan, repeats, blocks).map_err(|error| wrong(("repeats", error)))?;
    }
    if let Some(most) = options.max_repeats {
        let adaptive = at_most(&plan, most, blocks);
        plan.adaptive = Some(adaptive.map_err(|error| wrong(("max_repeats", error)))?);
    }
    plan.budget = options.budget.or(plan.budget);
    let had_ended = match run.stop {
        Some(StopReason::Complete | StopReason::Budget) => true,
        Some(StopReason::Interrupted) | None => plan != run.plan,
    };
    if options.robust == Some(true) {
        variants::check(&plan).map_err(|error| wrong(("robust", error)))?;
        plan.robust = true;
    }
    if blocks > 0 && had_ended && Rule::is_end(run, blocks) && !plan.ends.contains(&blocks) {
        plan.ends.push(blocks);
    }
    Ok(plan)
}

/// The new number of repeats of a plan with a fixed number.
fn fixed(plan: &Plan, repeats: u32, blocks: u32) -> Result<u32, ConfigError> {
    if plan.adaptive.is_some() && repeats != plan.repeats {
        return Err(ConfigError::wrong(
            format!(
                "the number of repeats is not fixed, and its minimum of {} was used by the analyses",
                plan.repeats
            ),
            format!(
                "raise the maximum, which is {}: --max-repeats; or the time limit: --budget",
                plan.most_repeats()
            ),
        ));
    }
    if repeats < blocks {
        return Err(too_few(repeats, blocks));
    }
    Ok(repeats)
}

/// The new maximum of a plan whose figures decide the number.
fn at_most(plan: &Plan, most: u32, blocks: u32) -> Result<Adaptive, ConfigError> {
    let Some(adaptive) = plan.adaptive else {
        return Err(ConfigError::wrong(
            format!("the number of repeats is fixed, at {}", plan.repeats),
            "extend it with --repeats",
        ));
    };
    if most < blocks {
        return Err(too_few(most, blocks));
    }
    if most < plan.repeats {
        return Err(ConfigError::wrong(
            format!(
                "at most {most} repeats contradicts the minimum of {}",
                plan.repeats
            ),
            format!("write {} or more", plan.repeats),
        ));
    }
    Ok(Adaptive { most, ..adaptive })
}

fn too_few(repeats: u32, blocks: u32) -> ConfigError {
    ConfigError::wrong(
        format!(
            "{repeats} repeats are fewer than the {blocks} that the run has, and none is deleted"
        ),
        format!("write more than {blocks}"),
    )
}
