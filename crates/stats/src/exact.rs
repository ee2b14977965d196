//! Exact, distribution-free inference from signs: the binomial distribution at one half.

use crate::describe::sorted;

/// An interval for a median.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Interval {
    /// Its lower end: one of the values.
    pub low: f64,
    /// Its upper end: one of the values.
    pub high: f64,
}

/// The probability of at most `k` heads in `n` throws of a fair coin.
fn at_most(k: u64, n: u64) -> f64 {
    if k >= n {
        return 1.0;
    }
    // By logarithms, beyond the range where 2^-n is a normal number.
    let mut log_term = -(n as f64) * std::f64::consts::LN_2;
    let mut term = 0.5_f64.powf(n as f64);
    let exact = n <= 1000;
    let mut sum = if exact { term } else { log_term.exp() };
    for heads in 1..=k {
        let step = (n - heads + 1) as f64 / heads as f64;
        if exact {
            term *= step;
        } else {
            log_term += step.ln();
            term = log_term.exp();
        }
        sum += term;
    }
    sum.min(1.0)
}

/// The narrowest interval between the `k`-th smallest and the `k`-th largest value that holds the
/// median with at least this confidence; none where there are too few values for it: `n` of them
/// reach 1 - 2^(1 - n), so that 95 % takes 6. It assumes nothing of the distribution but
/// independent values.
///
/// H. A. David and H. N. Nagaraja, "Order Statistics", 3rd ed. (2003), section 7.1; W. J. Conover,
/// "Practical Nonparametric Statistics", 3rd ed. (1999), section 3.2.
pub(crate) fn median_interval(values: &[f64], confidence: f64) -> Option<Interval> {
    let sorted = sorted(values)?;
    let n = sorted.len();
    let k = inside(n, confidence)?;
    Some(Interval {
        low: sorted[k],
        high: sorted[n - 1 - k],
    })
}

/// The probability with which the interval of [`median_interval`] of `n` values holds the median:
/// at least what is asked for, and exactly this where no two values can be equal; none where they
/// are too few for it.
pub(crate) fn reached(n: usize, confidence: f64) -> Option<f64> {
    inside(n, confidence).map(|k| holds(n, k))
}

/// How often the interval whose ends lie `k` values inside the range holds the median.
fn holds(n: usize, k: usize) -> f64 {
    1.0 - 2.0 * at_most(k as u64, n as u64)
}

/// How far inside the range the ends may lie; further inside, it holds the median less often.
fn inside(n: usize, confidence: f64) -> Option<usize> {
    (0..n.div_ceil(2))
        .take_while(|k| holds(n, *k) >= confidence)
        .last()
}

/// The two-sided p-value of Kendall's test: how probable a balance of rising over falling pairs of
/// this size, or a larger one, is among all orders of `n` different values.
///
/// By the recurrence over the number of inversions: M. G. Kendall, "A New Measure of Rank
/// Correlation", Biometrika 30 (1938), 81-93.
pub(crate) fn kendall(n: usize, balance: u64) -> f64 {
    // The share of orders with `k` inversions, for each `k`: placing one more value adds 0 to
    // `placed` of them, each equally likely.
    let mut share = vec![1.0];
    for placed in 1..n {
        let mut next = vec![0.0; share.len() + placed];
        for (inversions, part) in share.iter().enumerate() {
            for more in &mut next[inversions..=inversions + placed] {
                *more += part / (placed + 1) as f64;
            }
        }
        share = next;
    }
    // A balance of b over m pairs means (m - b) / 2 inversions, or fewer for larger ones.
    let pairs = share.len() as u64 - 1;
    let tail = (0_u64..)
        .zip(&share)
        .take_while(|(inversions, _)| 2 * inversions + balance <= pairs)
        .map(|(_, part)| part);
    (2.0 * tail.sum::<f64>()).min(1.0)
}

#[cfg(test)]
#[expect(clippy::float_cmp, reason = "these numbers are exact in binary")]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn close(a: f64, b: f64) -> bool {
        (a - b).abs() <= 1e-11
    }

    #[test]
    fn the_binomial_sum_agrees_with_scipy() {
        // scipy 1.17.1, scipy.stats.binom.cdf(k, n, 0.5).
        for (k, n, expected) in [
            (0, 6, 0.015_625),
            (1, 9, 0.019_531_25),
            (7, 20, 0.131_587_982_177_734_38),
            (40, 100, 0.028_443_966_820_490_444),
            (560, 1200, 0.011_268_313_783_754_766),
        ] {
            assert!(close(at_most(k, n), expected), "{k} of {n}");
        }
    }

    #[test]
    fn the_interval_of_a_median_is_that_of_the_tables() {
        // Ranks (from 0) and coverages by scipy 1.17.1, 1 - 2 binom.cdf(k, n, 0.5).
        for (n, rank, coverage) in [
            (6, 0, 0.968_75),
            (8, 0, 0.992_187_5),
            (9, 1, 0.960_937_5),
            (15, 3, 0.964_843_75),
            (30, 9, 0.957_226_054_742_932_3),
            (100, 39, 0.964_799_799_782_295_1),
        ] {
            let values: Vec<f64> = (0..n).rev().map(f64::from).collect();
            let interval = median_interval(&values, 0.95).unwrap();
            assert_eq!(interval.low, f64::from(rank), "{n}");
            assert_eq!(interval.high, f64::from(n - 1 - rank), "{n}");
            assert!(close(reached(values.len(), 0.95).unwrap(), coverage), "{n}");
        }
    }

    #[test]
    fn too_few_values_reach_no_confidence() {
        assert_eq!(median_interval(&[1., 2., 3., 4., 5.], 0.95), None);
        assert_eq!(median_interval(&[], 0.5), None);
        assert!(median_interval(&[1., 2., 3., 4., 5., 6.], 0.95).is_some());
        let interval = median_interval(&[3., 1., 2.], 0.75).unwrap();
        assert_eq!((interval.low, interval.high), (1.0, 3.0));
    }

    proptest! {
        #[test]
        fn an_interval_holds_the_median_of_its_sample(
            values in prop::collection::vec(-1e6_f64..1e6, 6..60),
        ) {
            let interval = median_interval(&values, 0.95).unwrap();
            let median = crate::describe::median(&values).unwrap();
            prop_assert!(interval.low <= median && median <= interval.high);
            let reached = reached(values.len(), 0.95).unwrap();
            prop_assert!((0.95..=1.0).contains(&reached));
        }
    }
}
