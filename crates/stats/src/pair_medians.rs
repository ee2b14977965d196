//! The confidence interval of a median, for any distribution.
//!
//! The interval is that of the sign test: the number of figures above the median is binomial. W. R.
//! Thompson, "On Confidence Ranges for the Median", Annals of Mathematical Statistics 7 (1936),
//! 122-128; M. Hollander and D. A. Wolfe, "Nonparametric Statistics", 2nd ed. (1999), section 3.6.

use crate::describe::sorted;
use crate::exact::Interval;

/// The largest sample with the exact distribution. Larger samples use the normal approximation.
const EXACT: usize = 900;

/// The confidence interval of the median (at least 95 %), from the `k`-th smallest to the `k`-th
/// largest figure. `None` with fewer than 6 figures, or if one is not finite.
pub fn median_interval(values: &[f64]) -> Option<Interval> {
    let sorted = sorted(values)?;
    let outside = outside(sorted.len())?;
    Some(Interval {
        low: sorted[outside],
        high: sorted[sorted.len() - 1 - outside],
    })
}

/// The number of figures outside the interval on each side. `None` if the sample is too small.
fn outside(n: usize) -> Option<usize> {
    const EACH_SIDE: f64 = 0.025;
    if n > EXACT {
        let half_width = 1.96 * (n as f64).sqrt() / 2.0;
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "between 0 and n"
        )]
        return Some((n as f64 / 2.0 - half_width).floor() as usize - 1);
    }
    // The probability of at most k heads in n fair coin tosses.
    let (mut chance, mut at_most) = (0.5_f64.powi(i32::try_from(n).ok()?), 0.0);
    let mut outside = None;
    for k in 0..n / 2 {
        at_most += chance;
        if at_most > EACH_SIDE {
            break;
        }
        outside = Some(k);
        chance *= (n - k) as f64 / (k + 1) as f64;
    }
    outside
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_interval_agrees_with_published_tables() {
        // Hollander and Wolfe, table A.2, and scipy: binom.cdf(k, n, 0.5) <= 0.025.
        let known = [
            (5, None),
            (6, Some(0)),
            (8, Some(0)),
            (9, Some(1)),
            (10, Some(1)),
        ];
        let more = [
            (15, Some(3)),
            (20, Some(5)),
            (50, Some(17)),
            (100, Some(39)),
        ];
        for (n, expected) in known.into_iter().chain(more) {
            assert_eq!(outside(n), expected, "{n}");
        }
        // The exact and the normal interval agree at the limit, and the normal one is not narrower.
        let (exact, normal) = (outside(EXACT).unwrap(), outside(EXACT + 1).unwrap());
        assert!(normal <= exact && exact - normal <= 2, "{exact} {normal}");
    }

    #[test]
    fn the_limits_are_figures_and_few_figures_have_no_interval() {
        let values = [3.0, 9.0, 1.0, 4.0, 2.0, 7.0];
        let interval = median_interval(&values).unwrap();
        assert_eq!((interval.low, interval.high), (1.0, 9.0));
        assert_eq!(median_interval(&values[..5]), None);
        assert_eq!(median_interval(&[f64::NAN; 9]), None);
        assert_eq!(median_interval(&[]), None);
    }
}
