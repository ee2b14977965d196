//! Statistics of figures and their uncertainty, as pure functions of numbers.
//!
//! A sample is described by [`Summary`], [`median()`], [`median_interval`] and [`geometric_mean`]. Contenders are
//! compared by pairs within blocks ([`ratio_paired`], [`geometric_ratio`]). [`judge_table`] gives
//! the verdicts on all comparisons of a table, also if the figures decide the number of repeats
//! ([`InterimAnalyses`]). Runs are compared without pairs ([`ratio_unpaired`], [`judge_unpaired`]).
//! Ranks and tiers are in [`rank_intervals`] and [`tiers`], and [`rank_correlation`] compares two
//! orders. [`outliers`], [`drift`], [`modes`] and [`dependence`] raise warnings about a series.
//! [`change_points()`] finds the steps of a history.
//!
//! The crate has no clocks, no units and no text for readers. The same figures give the same
//! results: permutations have a fixed seed. Times of file systems are skewed and multimodal. A
//! function that assumes a normal distribution documents it.
//!
//! Samples must not contain NaN or infinite values. A function that finds one returns `None`, or
//! ignores it if its documentation states that.

#![warn(missing_docs)]

mod bisection;
mod change_points;
mod covariance;
mod describe;
mod exact;
mod forecast;
mod independent;
mod interim;
mod multiple;
mod normal;
mod pair_medians;
mod pairs;
mod proportion;
mod rank_sum;
mod ranks;
mod repeats;
mod series;
mod signed_rank;
mod student;
mod table;
mod tiers;
mod times;
mod verdict;

pub use change_points::{ChangePoint, Detection, change_points};
pub use covariance::Timed;
pub use describe::{Summary, geometric_mean, median, median_whole};
pub use exact::Interval;
pub use forecast::{Forecast, forecast};
pub use independent::{IndependentRatio, ratio_unpaired};
pub use interim::{InterimAnalyses, Spending};
pub use multiple::{benjamini_hochberg, holm};
pub use pair_medians::median_interval;
pub use pairs::{PairedRatio, Series, geometric_ratio, ratio_paired};
pub use proportion::{
    Dispersion, count_interval, differ, dispersion, proportion_interval, share_interval,
};
pub use ranks::{MIN_RANKED, chance_of_order, midranks, rank_correlation};
pub use repeats::{Modes, dependence, modes};
pub use series::{Drift, OUTLYING, drift, outliers};
pub use table::{Verdicts, best_set, in_both, judge_table, open_in};
pub use tiers::{rank_intervals, tiers};
pub use times::{Times, cost, costs};
pub use verdict::{
    EXACT_FROM, LEVEL, MARGIN, MIN_PAIRS, Rule, Verdict, judge, judge_all, judge_unpaired, reached,
};

#[cfg(test)]
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "counts are read as numbers"
)]
mod scipy_tests;
