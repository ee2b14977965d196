//! Warnings about a series of repeats: outliers and drift.

use crate::describe::{mean, median, median_absolute_deviation};
use crate::exact;

/// The modified z-score above which a value is an outlier (Iglewicz and Hoaglin).
pub const OUTLYING: f64 = 3.5;

/// Above this number of figures, slopes are computed from means of neighbours instead of all pairs.
const MANY: usize = 200;

/// The smallest sample in which outliers are detected. Among four values, two outliers are
/// indistinguishable from a second mode of the distribution.
const MIN_VALUES: usize = 5;

/// The indices of outliers, in ascending order. An outlier has a modified z-score `0.6745 (x -
/// median) / MAD` above `threshold` (use [`OUTLYING`]). Fewer than five values have no outliers.
/// Outliers are reported, never removed.
///
/// B. Iglewicz and D. C. Hoaglin, "How to Detect and Handle Outliers", ASQC Quality Press (1993).
/// If more than half of the values are equal (MAD = 0), the mean absolute deviation is used, with
/// the factor 1.2533 instead of 1 / 0.6745.
pub fn outliers(values: &[f64], threshold: f64) -> Vec<usize> {
    let Some(middle) = median(values).filter(|_| values.len() >= MIN_VALUES) else {
        return Vec::new();
    };
    let distances: Vec<f64> = values.iter().map(|value| (value - middle).abs()).collect();
    let mad = median_absolute_deviation(values).unwrap_or(0.0);
    let scale = if mad > 0.0 {
        mad / 0.6745
    } else {
        mean(&distances).unwrap_or(0.0) * 1.253_314
    };
    let far = |(_, distance): &(usize, &f64)| **distance > threshold * scale;
    let far = distances.iter().enumerate().filter(far);
    far.map(|(place, _)| place).collect()
}

/// The drift of a series over its blocks.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Drift {
    /// The slope times the block range, as a part of the median; positive for rising figures.
    pub relative: f64,
    /// The two-sided p-value of Kendall's test. The null hypothesis is a random order.
    pub p: f64,
}

/// The drift of a series of `(block, figure)`. `None` with fewer than three blocks, or if a figure
/// is not finite.
///
/// The slope is the median of the slopes of all pairs: P. K. Sen, "Estimates of the Regression
/// Coefficient Based on Kendall's Tau", Journal of the American Statistical Association 63 (1968),
/// 1379-1389. The test is that of H. B. Mann, "Nonparametric Tests Against Trend", Econometrica 13
/// (1945), 245-259. It is exact for distinct figures and conservative with ties. With 3 blocks p is
/// at least 1/3; 5 monotonic ones give p = 0.017. Above 200 figures, means of neighbours are used,
/// because the number of pairs is quadratic.
pub fn drift(series: &[(u32, f64)]) -> Option<Drift> {
    if series.len() > MANY {
        return drift(&by_neighbours(series));
    }
    let mut slopes = Vec::new();
    let mut balance = 0_i64;
    for (place, (block, figure)) in series.iter().enumerate() {
        for (later, other) in &series[place + 1..] {
            if later == block {
                continue;
            }
            let slope = (other - figure) / (f64::from(*later) - f64::from(*block));
            balance += i64::from(slope > 0.0) - i64::from(slope < 0.0);
            slopes.push(slope);
        }
    }
    let mut blocks: Vec<u32> = series.iter().map(|(block, _)| *block).collect();
    blocks.sort_unstable();
    blocks.dedup();
    let span = f64::from(blocks.last()? - blocks.first()?);
    if blocks.len() < 3 {
        return None;
    }
    let figures: Vec<f64> = series.iter().map(|(_, figure)| *figure).collect();
    let middle = median(&figures)?;
    let per_block = middle_of(&mut slopes)?;
    Some(Drift {
        relative: if middle == 0.0 {
            0.0
        } else {
            per_block * span / middle.abs()
        },
        p: exact::kendall(figures.len(), balance.unsigned_abs()),
    })
}

/// Means of neighbours, each in the block of its middle. The result has a limited length.
fn by_neighbours(series: &[(u32, f64)]) -> Vec<(u32, f64)> {
    let mut series = series.to_vec();
    series.sort_by_key(|(block, _)| *block);
    let groups = series.chunks(series.len().div_ceil(MANY));
    let joined = groups.map(|group| {
        let figures = group.iter().map(|(_, figure)| *figure);
        (
            group[group.len() / 2].0,
            figures.sum::<f64>() / group.len() as f64,
        )
    });
    joined.collect()
}

/// The median by selection, without sorting: there may be half a million slopes. Reorders `values`.
fn middle_of(values: &mut [f64]) -> Option<f64> {
    if !values.iter().all(|value| value.is_finite()) {
        return None;
    }
    let count = values.len().checked_sub(1)?;
    let (below, high, _) = values.select_nth_unstable_by(count.div_ceil(2), f64::total_cmp);
    let high = *high;
    // For an even number, the mean of the two middle values.
    let low = below.iter().copied().max_by(f64::total_cmp);
    median(&[low.filter(|_| count % 2 == 1).unwrap_or(high), high])
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_drift_of_many_figures_uses_means_of_neighbours() {
        let rising = |n: u32| -> Vec<(u32, f64)> {
            let at = |k: u32| f64::from(k * 7919 % 101) / 101.0 + f64::from(k) / f64::from(n);
            (0..n).map(|k| (k, 10.0 + at(k))).collect()
        };
        let (few, many) = (drift(&rising(199)).unwrap(), drift(&rising(5000)).unwrap());
        assert!(
            (few.relative - many.relative).abs() < 0.01,
            "{few:?} {many:?}"
        );
        assert!(few.p < 0.001 && many.p < 0.001);
        let flat: Vec<(u32, f64)> = rising(5000)
            .into_iter()
            .map(|(k, x)| (k, x - f64::from(k) / 5000.0))
            .collect();
        let flat = drift(&flat).unwrap();
        assert!(flat.p > 0.05 && flat.relative.abs() < 0.01, "{flat:?}");
    }

    fn check(series: &[(u32, f64)], relative: f64, p: f64) {
        let drift = drift(series).unwrap();
        let near = |a: f64, b: f64| (a - b).abs() < 1e-12;
        assert!(near(drift.relative, relative), "{drift:?}");
        assert!(near(drift.p, p), "{drift:?}");
    }

    fn blocks(values: &[f64]) -> Vec<(u32, f64)> {
        (0..).zip(values.iter().copied()).collect()
    }

    #[test]
    fn drift_agrees_with_scipy() {
        // scipy 1.17.1: scipy.stats.theilslopes (times the block range, divided by the median) and
        // kendalltau(method="exact").
        check(
            &blocks(&[10.0, 10.3, 10.1, 10.6, 10.9, 10.7, 11.2]),
            0.2 * 6.0 / 10.6,
            0.010_714_285_714_285_714,
        );
        check(
            &blocks(&[5., 4., 6., 3., 7., 2., 8., 1., 9., 0.]),
            -0.5 * 9.0 / 4.5,
            0.727_489_528_218_694_8,
        );
        let gaps = [(4, 5.), (0, 9.), (1, 7.), (9, 1.), (3, 8.), (8, 4.)];
        check(&gaps, -0.8 * 9.0 / 6.0, 0.016_666_666_666_666_666);
    }

    #[test]
    fn drift_is_relative_to_the_median() {
        let drift = drift(&blocks(&[100.0, 105.0, 110.0])).unwrap();
        assert!((drift.relative - 10.0 / 105.0).abs() < 1e-12);
        assert!((drift.p - 1.0 / 3.0).abs() < 1e-12);
    }

    #[test]
    fn invalid_series_have_no_drift() {
        for series in [
            &[][..],
            &[(0, 1.0), (1, 2.0)],
            &[(0, 1.0), (0, 2.0), (1, 3.0)],
            &[(0, 1.0), (1, f64::NAN), (2, 3.0)],
        ] {
            assert_eq!(drift(series), None);
        }
        let still = drift(&[(0, 2.0), (1, 2.0), (2, 2.0)]).unwrap();
        assert_eq!((still.relative, still.p), (0.0, 1.0));
    }

    #[test]
    fn a_distant_value_is_an_outlier() {
        // Modified z-scores by scipy's median_abs_deviation: 30.8 for 17.0, at most 1.1 for the
        // others.
        assert_eq!(
            outliers(&[10.1, 10.2, 9.9, 10.0, 10.3, 17.0, 10.15], OUTLYING),
            [5]
        );
        assert_eq!(outliers(&[10.1, 10.2, 9.9, 10.0, 10.3], OUTLYING), [0; 0]);
        assert_eq!(
            outliers(&[1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 9.0], OUTLYING),
            [6]
        );
        assert_eq!(outliers(&[1.0; 9], OUTLYING), [0; 0]);
        assert_eq!(
            outliers(&[1.0, 1.0, 1.0, 99.0], OUTLYING),
            [0; 0],
            "too few"
        );
        assert_eq!(outliers(&[f64::NAN; 9], OUTLYING), [0; 0]);
    }

    proptest! {
        #[test]
        fn a_reversed_series_has_the_reversed_drift(
            values in prop::collection::vec(1.0_f64..100.0, 3..20),
        ) {
            let there = drift(&blocks(&values)).unwrap();
            let mirrored: Vec<f64> = values.iter().rev().copied().collect();
            let back = drift(&blocks(&mirrored)).unwrap();
            prop_assert!((there.relative + back.relative).abs() < 1e-9);
            prop_assert!((there.p - back.p).abs() < 1e-12);
            prop_assert!(there.p > 0.0 && there.p <= 1.0);
        }
    }
}
