//! Numbers in, numbers out: what figures say, and how sure that is.
//!
//! What lives here: describing a sample ([`Summary`], [`geometric_mean`]), comparing contenders by
//! pairs within blocks ([`ratio_paired`], [`judge`], [`chance_verdict`]) by exact
//! distribution-free intervals, doubt about a series ([`outliers`], [`drift`]), and how far two
//! orders agree ([`rank_correlation`]). What does not: clocks, units, contenders, words for a
//! reader. Nothing here is random, and nothing assumes a normal distribution: times of file
//! systems are skewed and have several humps.
//!
//! Numbers that are no numbers (NaN) or infinite belong in no sample: a function that meets one
//! answers `None`, or leaves it out where that is said.

mod describe;
mod exact;
mod pairs;
mod ranks;
mod series;
mod verdict;

pub use describe::{Summary, geometric_mean};
pub use exact::Interval;
pub use pairs::{PairedRatio, ratio_paired};
pub use ranks::{FEWEST_RANKED, chance_of_order, midranks, rank_correlation};
pub use series::{Drift, OUTLYING, drift, outliers};
pub use verdict::{FEWEST, MARGIN, Verdict, chance_verdict, judge};
