//! The number of repeats of a plan: fixed, or decided by the figures.

use super::config_error::ConfigError;
use super::error::ResolveError;
use super::layers::Layers;
use fsdyno_model::{Adaptive, Nanos, Plan};

/// The smallest number of blocks that shows a spread.
const MIN_BLOCKS: u32 = 3;
/// The smallest number of blocks whose intervals hold for any noise.
const DEFAULT_MIN_REPEATS: u32 = 6;
/// The default maximum of blocks if the figures decide.
const DEFAULT_MAX_REPEATS: u32 = 60;
/// The default time limit if nothing else limits the run: 10 minutes.
const DEFAULT_BUDGET: Nanos = Nanos(600_000_000_000);

pub struct Length {
    /// The number of blocks, or the minimum if the figures decide.
    pub repeats: u32,
    /// Whether the figures decide.
    pub adaptive: Option<Adaptive>,
    pub budget: Option<Nanos>,
}

/// The length of the run that the layers set. If all blocks are equal, one is enough.
pub fn of(
    layers: &Layers<'_>,
    virtual_time: bool,
    equal_blocks: bool,
) -> Result<Length, ResolveError> {
    let settings = &layers.settings;
    let suite = layers.suite.as_ref().map(|suite| &suite.options);
    let plan = layers.plan.as_ref().map(|plan| &plan.options);
    // The time limit of a suite is for runs whose figures decide.
    let budget = (layers.arguments.budget).or(plan.and_then(|plan| plan.budget));
    let set = layers
        .arguments
        .repeats
        .or(plan.and_then(|plan| plan.repeats));
    if equal_blocks {
        return Ok(Length {
            repeats: set.unwrap_or(1),
            adaptive: None,
            budget,
        });
    }
    // Suites set repeats for real time, where they take long.
    let of_suite = suite.filter(|_| !virtual_time);
    let repeats = set.or(of_suite.and_then(|suite| suite.repeats));
    let limited = settings.precision.is_some() || settings.max_repeats.is_some();
    // An interval this narrow is within the margin, unless its centre is near the edge.
    let margin = settings.margin.filter(|margin| *margin > 0.0);
    let precision = settings.precision;
    let precision = precision.unwrap_or(margin.unwrap_or(Plan::MARGIN) / 4.0);
    match repeats {
        Some(repeats) if !limited => Ok(Length {
            repeats,
            adaptive: None,
            budget,
        }),
        None if !limited => Ok(Length {
            repeats: DEFAULT_MIN_REPEATS,
            adaptive: Some(Adaptive {
                precision,
                most: DEFAULT_MAX_REPEATS,
                fewest: if budget.is_none() { MIN_BLOCKS } else { 0 },
            }),
            budget: budget
                .or(suite.and_then(|suite| suite.budget))
                .or(Some(DEFAULT_BUDGET)),
        }),
        repeats => {
            let most = settings.max_repeats;
            let least =
                repeats.unwrap_or(DEFAULT_MIN_REPEATS.min(most.unwrap_or(DEFAULT_MIN_REPEATS)));
            let most = most.unwrap_or(DEFAULT_MAX_REPEATS.max(least));
            if most < least {
                let error = ConfigError::wrong(
                    format!("at most {most} repeats contradicts at least {least}"),
                    "--repeats is the least number, --max-repeats the most",
                );
                return Err(layers.wrong("max_repeats")(error));
            }
            Ok(Length {
                repeats: least,
                adaptive: Some(Adaptive {
                    precision,
                    most,
                    fewest: 0,
                }),
                budget,
            })
        }
    }
}
