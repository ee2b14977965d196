//! The predicted ratios of contenders compared with measured ones. Where the order of a pair
//! departs from the prediction, the phase that departs most is explained as `why` does.

use super::candidates::Field;
use crate::terms;
use crate::why::{PhaseWhy, Why};
use fsdyno_model::ResultSet;
use fsdyno_stats::{median, rank_correlation};
use schemars::JsonSchema;
use serde::Serialize;

/// With a lower rank correlation, the pair with the largest error is explained too.
const GOOD_CORRELATION: f64 = 0.8;

/// The ratios of a prediction compared with those of a measurement.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize)]
pub struct Validation {
    /// The name of the measured run.
    pub run: String,
    /// Each pair of contenders that both runs have, in the order of the plan.
    pub pairs: Vec<Pair>,
    /// Spearman's rank correlation of the ratios; null with fewer than three pairs.
    pub correlation: Option<f64>,
    /// The median of the error factors, measured / predicted or its inverse; null without pairs.
    pub median_error: Option<f64>,
}

/// Two contenders, with the ratio of the total of the second to that of the first.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize)]
pub struct Pair {
    /// Their labels.
    pub labels: [String; 2],
    /// The predicted ratio.
    pub predicted: f64,
    /// The measured ratio.
    pub measured: f64,
    /// The reason why the measurement departs from the prediction; null if the order is the
    /// predicted one.
    pub departure: Option<Departure>,
}

/// The phase that departs most from its prediction, with the difference between both contenders in
/// it.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize)]
pub struct Departure {
    /// The phase.
    pub phase: String,
    /// The cause of the predicted difference, as `why` prints it.
    pub predicted: String,
    /// The cause of the measured difference.
    pub measured: String,
}

impl Departure {
    /// Compares the causes in two runs. `None` if a pair has no phase in both.
    fn of(predicted: &ResultSet, measured: &ResultSet, labels: [&str; 2]) -> Option<Self> {
        let causes = |set| Why::of(set, labels, None, &|_, _| None).ok();
        let (predicted, measured) = (causes(predicted)?, causes(measured)?);
        // The difference of a phase as a share of the whole time of the first contender.
        let share = |phases: &[PhaseWhy], one: &PhaseWhy| {
            let whole: u64 = phases.iter().map(|one| one.anatomies[0].whole_ns).sum();
            one.difference_ns as f64 / whole.max(1) as f64
        };
        let both = measured.phases.iter().filter_map(|there| {
            let here = predicted
                .phases
                .iter()
                .find(|one| one.phase == there.phase)?;
            let departs = share(&measured.phases, there) - share(&predicted.phases, here);
            Some((departs.abs(), here, there))
        });
        let (_, here, there) = both.max_by(|a, b| a.0.total_cmp(&b.0))?;
        Some(Self {
            phase: there.phase.clone(),
            predicted: here.sentence.clone(),
            measured: there.sentence.clone(),
        })
    }
}

impl Pair {
    /// The factor between both ratios, at least 1.
    pub fn error(&self) -> f64 {
        let factor = self.measured / self.predicted;
        factor.max(1.0 / factor)
    }

    /// Whether the measured order of the two contenders is the opposite of the predicted one, by
    /// more than a margin.
    fn is_reversed(&self, margin: f64) -> bool {
        let (predicted, measured) = (self.predicted.ln(), self.measured.ln());
        predicted * measured < 0.0 && predicted.abs().max(measured.abs()) > margin.ln_1p()
    }
}

impl Validation {
    /// Compares the totals of the contenders that both runs have.
    pub(super) fn of(predicted: &ResultSet, measured: &ResultSet) -> Self {
        let [here, there] = [predicted, measured].map(|set| Field::of(set).candidates);
        // The labels as in the plan, and escaped for printing.
        let totals: Vec<([&str; 2], f64, f64)> = here
            .iter()
            .filter_map(|one| {
                let mut others = there.iter();
                let other = others.find(|other| other.label == one.label)?;
                let labels = [one.planned.label.as_str(), one.label.as_str()];
                Some((labels, one.cost, other.cost))
            })
            .collect();
        let (mut pairs, mut labels) = (Vec::new(), Vec::new());
        for (at, one) in totals.iter().enumerate() {
            for other in &totals[at + 1..] {
                labels.push([one.0[0], other.0[0]]);
                pairs.push(Pair {
                    labels: [one.0[1].to_owned(), other.0[1].to_owned()],
                    predicted: other.1 / one.1,
                    measured: other.2 / one.2,
                    departure: None,
                });
            }
        }
        let ratios: Vec<(f64, f64)> = pairs
            .iter()
            .map(|pair| (pair.predicted, pair.measured))
            .collect();
        let errors: Vec<f64> = pairs.iter().map(Pair::error).collect();
        let correlation = rank_correlation(&ratios);
        let worst = (0..pairs.len()).max_by(|a, b| errors[*a].total_cmp(&errors[*b]));
        let worst = worst.filter(|_| correlation.is_some_and(|one| one < GOOD_CORRELATION));
        let margin = measured.run.plan.margin;
        for (at, pair) in pairs.iter_mut().enumerate() {
            if pair.is_reversed(margin) || worst == Some(at) {
                pair.departure = Departure::of(predicted, measured, labels[at]);
            }
        }
        Self {
            run: terms::printable(&measured.run.id),
            correlation,
            median_error: median(&errors),
            pairs,
        }
    }
}
