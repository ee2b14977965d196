//! Numbers in, numbers out: statistics of figures and their uncertainty.
//!
//! What lives here: describing a sample ([`Summary`], [`median_interval`], [`geometric_mean`]),
//! comparing contenders by pairs within blocks ([`ratio_paired`], [`geometric_ratio`]) and judging
//! all comparisons of a table together ([`judge_table`]), also where figures decide how long a run goes on ([`InterimAnalyses`]);
//! comparing runs, which are in no pairs ([`ratio_apart`], [`judge_apart`]); ranks and tiers
//! ([`rank_intervals`], [`tiers`]); doubt about a series ([`outliers`], [`drift`], [`modes`],
//! [`dependence`]); and how far two orders agree ([`rank_correlation`]). What does not: clocks,
//! units, contenders, words for a reader. Nothing here is random. Times of file systems are skewed
//! and are multimodal: only where pairs are few is anything assumed to be normal, and then its
//! documentation states it.
//!
//! Numbers that are no numbers (NaN) or infinite belong in no sample: a function that meets one
//! answers `None`, or leaves it out where its documentation states that.

mod bisection;
mod describe;
mod exact;
mod holm;
mod independent;
mod interim;
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
mod verdict;

pub use describe::{Summary, geometric_mean};
pub use exact::Interval;
pub use holm::holm;
pub use independent::{IndependentRatio, ratio_apart};
pub use interim::InterimAnalyses;
pub use pair_medians::median_interval;
pub use pairs::{PairedRatio, geometric_ratio, ratio_paired};
pub use proportion::proportion_interval;
pub use ranks::{FEWEST_RANKED, chance_of_order, midranks, rank_correlation};
pub use repeats::{Modes, dependence, modes};
pub use series::{Drift, OUTLYING, drift, outliers};
pub use table::{Line, Verdicts, judge_table, open_in};
pub use tiers::{rank_intervals, tiers};
pub use verdict::{
    EXACT_FROM, FEWEST, LEVEL, MARGIN, Rule, Series, Verdict, judge, judge_all, judge_apart,
    reached,
};

#[cfg(test)]
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "counts are read as numbers"
)]
mod scipy_tests;
