//! Descriptive statistics of one sample.

/// A summary of a sample.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Summary {
    /// The number of values.
    pub n: usize,
    /// The smallest.
    pub min: f64,
    /// The median.
    pub median: f64,
    /// The largest.
    pub max: f64,
}

impl Summary {
    /// Describes a sample. `None` if it is empty, or if a value is not finite.
    pub fn of(values: &[f64]) -> Option<Self> {
        let sorted = sorted(values)?;
        Some(Self {
            n: sorted.len(),
            min: sorted[0],
            median: middle(&sorted),
            max: sorted[sorted.len() - 1],
        })
    }
}

/// The sorted values. `None` if there are none, or if a value is not finite.
pub(crate) fn sorted(values: &[f64]) -> Option<Vec<f64>> {
    if values.is_empty() || !values.iter().all(|value| value.is_finite()) {
        return None;
    }
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    Some(sorted)
}

/// The median of sorted values, which are not empty.
fn middle(sorted: &[f64]) -> f64 {
    let (low, high) = (sorted[(sorted.len() - 1) / 2], sorted[sorted.len() / 2]);
    // Rounding must not leave the range of the two values.
    (low + (high - low) / 2.0).clamp(low, high)
}

/// The median; of an even number of values, the mean of the two middle ones. `None` if there are
/// none, or if a value is not finite.
pub fn median(values: &[f64]) -> Option<f64> {
    Some(middle(&sorted(values)?))
}

/// The median of whole numbers, as [`median`], rounded half up. `None` if there are none.
pub fn median_whole<T>(values: impl IntoIterator<Item = T>) -> Option<T>
where
    T: Ord + Copy + Into<i128> + TryFrom<i128>,
{
    let mut sorted: Vec<T> = values.into_iter().collect();
    sorted.sort_unstable();
    let last = sorted.len().checked_sub(1)?;
    let both: i128 = sorted[last / 2].into() + sorted[last.div_ceil(2)].into();
    T::try_from((both + 1).div_euclid(2)).ok()
}

/// The arithmetic mean.
pub(crate) fn mean(values: &[f64]) -> Option<f64> {
    let sorted = sorted(values)?;
    Some(sorted.iter().sum::<f64>() / sorted.len() as f64)
}

/// The median absolute deviation: a measure of spread that is robust up to half of the values. It
/// is unscaled; 1.4826 times it estimates the standard deviation of a normal sample.
///
/// F. R. Hampel, "The Influence Curve and its Role in Robust Estimation", Journal of the American
/// Statistical Association 69 (1974), 383-393.
pub(crate) fn median_absolute_deviation(values: &[f64]) -> Option<f64> {
    let middle = median(values)?;
    let distances: Vec<f64> = values.iter().map(|value| (value - middle).abs()).collect();
    median(&distances)
}

/// The geometric mean. `None` if a value is not positive.
///
/// It is the correct mean of ratios: only this mean orders contenders independently of the choice
/// of the baseline. P. J. Fleming and J. J. Wallace, "How not to lie with statistics: the correct
/// way to summarize benchmark results", Communications of the ACM 29 (1986), 218-221.
pub fn geometric_mean(values: &[f64]) -> Option<f64> {
    if !values.iter().all(|value| *value > 0.0) {
        return None;
    }
    let logs: Vec<f64> = values.iter().map(|value| value.ln()).collect();
    mean(&logs).map(f64::exp)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn close(a: f64, b: f64) -> bool {
        (a - b).abs() <= 1e-12 * (1.0 + a.abs().max(b.abs()))
    }

    const A: [f64; 7] = [12.31, 11.87, 13.02, 12.55, 11.99, 14.21, 12.48];

    #[test]
    fn descriptions_agree_with_scipy() {
        // scipy 1.17.1: numpy.median, scipy.stats.median_abs_deviation, gmean.
        let summary = Summary::of(&A).unwrap();
        assert_eq!((summary.n, summary.min, summary.max), (7, 11.87, 14.21));
        assert!(close(summary.median, 12.48));
        assert!(close(median(&A[..6]).unwrap(), 12.43));
        assert!(close(median_absolute_deviation(&A).unwrap(), 0.49));
        assert!(close(mean(&A).unwrap(), 12.632_857_142_857_144));
        assert!(close(geometric_mean(&A).unwrap(), 12.612_429_776_512_187));
    }

    #[test]
    fn invalid_samples_have_no_summary() {
        for values in [&[][..], &[f64::NAN], &[1.0, f64::INFINITY]] {
            assert_eq!(Summary::of(values), None);
            assert_eq!(median(values), None);
            assert_eq!(geometric_mean(values), None);
        }
        assert_eq!(geometric_mean(&[1.0, 0.0]), None);
        assert_eq!(median(&[7.0]), Some(7.0));
        assert_eq!(median_whole::<u64>([]), None);
    }

    proptest! {
        #[test]
        fn the_median_of_whole_numbers_is_the_rounded_median(
            values in proptest::collection::vec(-1_000_000_i64..1_000_000, 1..20),
        ) {
            let figures: Vec<f64> = values.iter().map(|value| *value as f64).collect();
            let whole = median_whole(values).unwrap() as f64;
            prop_assert!(close(whole, (median(&figures).unwrap() + 0.5).floor()));
        }

        #[test]
        fn half_of_a_sample_is_on_each_side_of_its_median(
            values in prop::collection::vec(-1e9_f64..1e9, 1..40),
        ) {
            let summary = Summary::of(&values).unwrap();
            prop_assert!(summary.min <= summary.median && summary.median <= summary.max);
            let below = values.iter().filter(|value| **value < summary.median).count();
            let above = values.iter().filter(|value| **value > summary.median).count();
            prop_assert!(2 * below <= values.len() && 2 * above <= values.len());
        }

        #[test]
        fn a_change_of_unit_scales_the_summary(
            values in prop::collection::vec(0.001_f64..1e6, 1..40),
            power in -20_i32..20,
        ) {
            let factor = 2.0_f64.powi(power);
            let scaled: Vec<f64> = values.iter().map(|value| value * factor).collect();
            let (a, b) = (Summary::of(&values).unwrap(), Summary::of(&scaled).unwrap());
            prop_assert!(close(a.median * factor, b.median));
            let (g, h) = (geometric_mean(&values).unwrap(), geometric_mean(&scaled).unwrap());
            prop_assert!(((g * factor - h) / h).abs() < 1e-9);
        }
    }
}
