//! The ratio of two unpaired samples: figures of two runs.

use crate::exact::Interval;
use crate::pairs::CONFIDENCE;
use crate::rank_sum;

/// The ratio of the figures of one sample to those of another.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct IndependentRatio {
    /// The sizes of both samples.
    pub counts: (usize, usize),
    /// The Hodges-Lehmann estimate: the median of all ratios between the samples.
    pub middle: f64,
    /// Its confidence interval (at least 95 %); `None` with too few figures (4 on each side are
    /// enough).
    pub interval: Option<Interval>,
}

/// The ratio `a / b` of positive figures. `None` if a figure is not positive, or a sample is empty.
pub fn ratio_unpaired(a: &[f64], b: &[f64]) -> Option<IndependentRatio> {
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
