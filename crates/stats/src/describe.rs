//! Describing one sample.

use std::cmp::Ordering;

/// A sample in a few numbers.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Summary {
    /// How many values.
    pub n: usize,
    /// The smallest.
    pub min: f64,
    /// The lower quartile.
    pub lower_quartile: f64,
    /// The median.
    pub median: f64,
    /// The upper quartile.
    pub upper_quartile: f64,
    /// The largest.
    pub max: f64,
    /// The arithmetic mean: only where a published table that gives one is reproduced.
    pub mean: f64,
    /// The median absolute deviation, unscaled.
    pub mad: f64,
}

impl Summary {
    /// Describes a sample; none where it is empty or holds what is no finite number.
    pub fn of(values: &[f64]) -> Option<Self> {
        let sorted = sorted(values)?;
        let median = at(&sorted, 0.5);
        Some(Self {
            n: sorted.len(),
            min: sorted[0],
            lower_quartile: at(&sorted, 0.25),
            median,
            upper_quartile: at(&sorted, 0.75),
            max: sorted[sorted.len() - 1],
            mean: mean(values)?,
            mad: median_absolute_deviation(values)?,
        })
    }
}

/// The values in order; none where there are none, or one is no finite number.
pub(crate) fn sorted(values: &[f64]) -> Option<Vec<f64>> {
    if values.is_empty() || !values.iter().all(|value| value.is_finite()) {
        return None;
    }
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    Some(sorted)
}

/// The quantile at `p` (0 to 1): a linear interpolation between order statistics, so that
/// `p = k / (n - 1)` is the value of rank `k` (from 0).
///
/// Definition 7 of R. J. Hyndman and Y. Fan, "Sample Quantiles in Statistical Packages", The
/// American Statistician 50 (1996), 361-365: the default of R and `NumPy`.
pub fn quantile(values: &[f64], p: f64) -> Option<f64> {
    if !(0.0..=1.0).contains(&p) {
        return None;
    }
    Some(at(&sorted(values)?, p))
}

/// The quantile of values in order, of which there is at least one; `p` lies in 0 to 1.
fn at(sorted: &[f64], p: f64) -> f64 {
    let position = p * (sorted.len() - 1) as f64;
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "between 0 and the length"
    )]
    let below = position.floor() as usize;
    let above = (below + 1).min(sorted.len() - 1);
    let (low, high) = (sorted[below], sorted[above]);
    // The interpolation must not leave the two values between which it lies by rounding.
    (low + (high - low) * position.fract()).clamp(low, high)
}

/// The median: the quantile at one half.
pub fn median(values: &[f64]) -> Option<f64> {
    quantile(values, 0.5)
}

/// The arithmetic mean.
pub fn mean(values: &[f64]) -> Option<f64> {
    let sorted = sorted(values)?;
    Some(sorted.iter().sum::<f64>() / sorted.len() as f64)
}

/// The median of the distances from the median: a measure of spread that half of the values
/// cannot spoil. Unscaled; times 1.4826 it estimates the standard deviation of a normal sample.
///
/// F. R. Hampel, "The Influence Curve and its Role in Robust Estimation", Journal of the American
/// Statistical Association 69 (1974), 383-393.
pub fn median_absolute_deviation(values: &[f64]) -> Option<f64> {
    let middle = median(values)?;
    let distances: Vec<f64> = values.iter().map(|value| (value - middle).abs()).collect();
    median(&distances)
}

/// The geometric mean; none where a value is not above zero.
///
/// The mean to take of ratios: it alone gives the same order of contenders whichever of them is
/// the baseline. P. J. Fleming and J. J. Wallace, "How not to lie with statistics: the correct
/// way to summarize benchmark results", Communications of the ACM 29 (1986), 218-221.
pub fn geometric_mean(values: &[f64]) -> Option<f64> {
    if !values.iter().all(|value| *value > 0.0) {
        return None;
    }
    let logs: Vec<f64> = values.iter().map(|value| value.ln()).collect();
    mean(&logs).map(f64::exp)
}

/// The rank of each value, from 1; equal values share the mean of their ranks.
///
/// Midranks: M. G. Kendall, "The Treatment of Ties in Ranking Problems", Biometrika 33 (1945),
/// 239-251.
pub fn ranks(values: &[f64]) -> Option<Vec<f64>> {
    if values.iter().any(|value| value.is_nan()) {
        return None;
    }
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|a, b| values[*a].total_cmp(&values[*b]));
    let mut ranks = vec![0.0; values.len()];
    let mut start = 0;
    // The partial order takes 0 and -0 for equal; in the total order they stand side by side.
    let equal = |a: &usize, b: &usize| values[*a].partial_cmp(&values[*b]) == Some(Ordering::Equal);
    for tied in order.chunk_by(equal) {
        let end = start + tied.len();
        for place in tied {
            ranks[*place] = (start + 1 + end) as f64 / 2.0;
        }
        start = end;
    }
    Some(ranks)
}

#[cfg(test)]
#[expect(clippy::float_cmp, reason = "these numbers are exact in binary")]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn close(a: f64, b: f64) -> bool {
        (a - b).abs() <= 1e-12 * (1.0 + a.abs().max(b.abs()))
    }

    const A: [f64; 7] = [12.31, 11.87, 13.02, 12.55, 11.99, 14.21, 12.48];

    #[test]
    fn descriptions_agree_with_scipy() {
        // scipy 1.17.1, numpy.quantile, scipy.stats.median_abs_deviation, gmean, rankdata.
        for (p, expected) in [
            (0.0, 11.87),
            (0.1, 11.942),
            (0.25, 12.15),
            (0.5, 12.48),
            (0.75, 12.785),
            (0.9, 13.496),
            (1.0, 14.21),
        ] {
            assert!(close(quantile(&A, p).unwrap(), expected), "{p}");
        }
        for (p, expected) in [(0.1, 11.93), (0.25, 12.07), (0.5, 12.43), (0.75, 12.9025)] {
            assert!(close(quantile(&A[..6], p).unwrap(), expected), "{p}");
        }
        let summary = Summary::of(&A).unwrap();
        assert!(close(summary.mad, 0.49));
        assert!(close(summary.mean, 12.632_857_142_857_144));
        assert_eq!((summary.n, summary.min, summary.max), (7, 11.87, 14.21));
        assert!(close(geometric_mean(&A).unwrap(), 12.612_429_776_512_187));
        assert_eq!(
            ranks(&[3., 1., 4., 1., 5., 9., 2., 6., 5., 3., 5.]).unwrap(),
            [4.5, 1.5, 6., 1.5, 8., 11., 3., 10., 8., 4.5, 8.]
        );
    }

    #[test]
    fn what_is_no_sample_has_no_description() {
        for values in [&[][..], &[f64::NAN], &[1.0, f64::INFINITY]] {
            assert_eq!(Summary::of(values), None);
            assert_eq!(median(values), None);
            assert_eq!(geometric_mean(values), None);
        }
        assert_eq!(geometric_mean(&[1.0, 0.0]), None);
        assert_eq!(quantile(&[1.0], 1.5), None);
        assert_eq!(ranks(&[1.0, f64::NAN]), None);
        assert_eq!(ranks(&[]), Some(vec![]));
        assert_eq!(ranks(&[0.0, -0.0]), Some(vec![1.5, 1.5]));
        assert_eq!(median(&[7.0]), Some(7.0));
    }

    proptest! {
        #[test]
        fn quantiles_never_leave_the_sample_nor_fall(
            values in prop::collection::vec(-1e9_f64..1e9, 1..40),
            p in 0.0_f64..=1.0,
            q in 0.0_f64..=1.0,
        ) {
            let summary = Summary::of(&values).unwrap();
            let (low, high) = (p.min(q), p.max(q));
            let (a, b) = (quantile(&values, low).unwrap(), quantile(&values, high).unwrap());
            prop_assert!(summary.min <= a && a <= b && b <= summary.max);
        }

        #[test]
        fn a_change_of_unit_changes_the_unit_only(
            values in prop::collection::vec(0.001_f64..1e6, 1..40),
            power in -20_i32..20,
        ) {
            let factor = 2.0_f64.powi(power);
            let scaled: Vec<f64> = values.iter().map(|value| value * factor).collect();
            let (a, b) = (Summary::of(&values).unwrap(), Summary::of(&scaled).unwrap());
            prop_assert!(close(a.median * factor, b.median) && close(a.mad * factor, b.mad));
            let (g, h) = (geometric_mean(&values).unwrap(), geometric_mean(&scaled).unwrap());
            prop_assert!(((g * factor - h) / h).abs() < 1e-9);
        }

        #[test]
        fn ranks_sum_to_what_ranks_sum_to(values in prop::collection::vec(0_u8..9, 0..40)) {
            let values: Vec<f64> = values.into_iter().map(f64::from).collect();
            let n = values.len() as f64;
            let sum: f64 = ranks(&values).unwrap().iter().sum();
            prop_assert_eq!(sum, n * (n + 1.0) / 2.0);
        }
    }
}
