//! The predicted ratios of contenders compared with measured ones.

use super::candidates::Field;
use crate::terms;
use fsdyno_model::ResultSet;
use fsdyno_stats::{Summary, rank_correlation};

/// The ratios of a prediction compared with those of a measurement.
#[derive(Debug, Clone, PartialEq)]
pub struct Validation {
    /// The name of the measured run.
    pub run: String,
    /// Each pair of contenders that both runs have, in the order of the plan.
    pub pairs: Vec<Pair>,
    /// Spearman's rank correlation of the ratios; `None` with fewer than three pairs.
    pub correlation: Option<f64>,
    /// The median of the error factors.
    pub median_error: Option<f64>,
}

/// Two contenders, with the ratio of the total of the second to that of the first.
#[derive(Debug, Clone, PartialEq)]
pub struct Pair {
    /// Their labels.
    pub labels: [String; 2],
    /// The predicted ratio.
    pub predicted: f64,
    /// The measured ratio.
    pub measured: f64,
}

impl Pair {
    /// The factor between both ratios, at least 1.
    pub fn error(&self) -> f64 {
        let factor = self.measured / self.predicted;
        factor.max(1.0 / factor)
    }
}

impl Validation {
    /// Compares the totals of the contenders that both runs have.
    pub(super) fn of(predicted: &ResultSet, measured: &ResultSet) -> Self {
        let [here, there] = [predicted, measured].map(|set| Field::of(set).candidates);
        let totals: Vec<(&str, f64, f64)> = here
            .iter()
            .filter_map(|one| {
                let mut others = there.iter();
                let other = others.find(|other| other.label == one.label)?;
                Some((one.label.as_str(), one.total_ns, other.total_ns))
            })
            .collect();
        let pairs: Vec<Pair> = totals
            .iter()
            .enumerate()
            .flat_map(|(at, one)| totals[at + 1..].iter().map(move |other| (one, other)))
            .map(|(one, other)| Pair {
                labels: [one.0.to_owned(), other.0.to_owned()],
                predicted: other.1 / one.1,
                measured: other.2 / one.2,
            })
            .collect();
        let ratios: Vec<(f64, f64)> = pairs
            .iter()
            .map(|pair| (pair.predicted, pair.measured))
            .collect();
        let errors: Vec<f64> = pairs.iter().map(Pair::error).collect();
        Self {
            run: terms::printable(&measured.run.id),
            correlation: rank_correlation(&ratios),
            median_error: Summary::of(&errors).map(|summary| summary.median),
            pairs,
        }
    }
}
