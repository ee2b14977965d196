//! Two samples compared that are in no pairs: figures of two runs.

use crate::exact::Interval;
use crate::pairs::CONFIDENCE;
use crate::rank_sum;

/// The ratio of the figures of one sample to those of another.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct IndependentRatio {
    /// How many figures there are of either.
    pub counts: (usize, usize),
    /// The middle ratio: the median of the ratios of each to each (Hodges and Lehmann).
    pub middle: f64,
    /// Its interval at 95 % or more; none with too few figures (4 on either side are enough).
    pub interval: Option<Interval>,
}

/// The ratio `a / b` of figures above zero; none where there is one that is not, or there are none.
pub fn ratio_apart(a: &[f64], b: &[f64]) -> Option<IndependentRatio> {
    let logs = |of: &[f64]| -> Option<Vec<f64>> {
        let above = of.iter().all(|value| *value > 0.0 && value.is_finite());
        above.then(|| of.iter().map(|value| value.ln()).collect())
    };
    let (of_a, of_b) = (logs(a)?, logs(b)?);
    let interval = rank_sum::interval(&of_a, &of_b, CONFIDENCE);
    Some(IndependentRatio {
        counts: (a.len(), b.len()),
        middle: rank_sum::shift(&of_a, &of_b)?.exp(),
        interval: interval.map(|of_logs| Interval {
            low: of_logs.low.exp(),
            high: of_logs.high.exp(),
        }),
    })
}
