//! The number of repeats that an inconclusive comparison needs.

use crate::describe::mean;
use crate::normal;
use crate::pairs::Series;
use crate::signed_rank;
use crate::verdict::{LEVEL, Paired, Rule};

/// The probability with which the forecast number of repeats decides.
const POWER: f64 = 0.8;

/// The asymptotic efficiency of the signed rank test compared with Student's test on normal noise.
///
/// J. L. Hodges and E. L. Lehmann, "The Efficiency of Some Nonparametric Competitors of the
/// t-Test", The Annals of Mathematical Statistics 27 (1956), 324-335.
const EFFICIENCY: f64 = 3.0 / std::f64::consts::PI;

/// More repeats than this are no useful answer.
const MAX_REPEATS: f64 = 10_000.0;

/// A forecast of one comparison.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Forecast {
    /// The estimated ratio: the direction in which the comparison leans.
    pub ratio: f64,
    /// The standard deviation of the logarithm of the ratio in a block.
    pub deviation: f64,
    /// The number of pairs so far.
    pub pairs: usize,
    /// The number of repeats, in total, that decide with a probability of 80 % if the ratio is as
    /// estimated. `None` if it is so near the margin that 10,000 do not suffice.
    pub repeats: Option<u32>,
}

/// The forecast of one comparison of a family of `comparisons`. `None` with fewer than 3 pairs.
///
/// The number of repeats is that of the normal test of a mean, divided by the efficiency of the
/// signed rank test. It is for a faster or slower verdict if the estimate is beyond the margin, and
/// for equivalence if it is within. J. Cohen, "Statistical Power Analysis for the Behavioral
/// Sciences", 2nd ed. (1988), section 2.4; for equivalence K. F. Phillips, "Power of the two
/// one-sided tests procedure in bioequivalence", Journal of Pharmacokinetics and Biopharmaceutics
/// 18 (1990), 137-144. The level is the family's, divided by the number of comparisons: with a
/// false discovery rate fewer repeats may do.
pub fn forecast(
    times: Series<'_>,
    baseline: Series<'_>,
    rule: &Rule,
    comparisons: usize,
) -> Option<Forecast> {
    let logs = Paired::of(times, baseline).logs;
    let (middle, centre) = (signed_rank::middle(&logs)?, mean(&logs)?);
    let pairs = logs.len();
    if pairs < 3 {
        return None;
    }
    let squares = logs.iter().map(|log| (log - centre).powi(2));
    let deviation = (squares.sum::<f64>() / (pairs - 1) as f64).sqrt();
    let margin = rule.margin.max(0.0).ln_1p();
    let distance = (middle.abs() - margin).abs();
    let (level, power) = if middle.abs() > margin {
        (LEVEL / comparisons.max(1) as f64, POWER)
    } else {
        // Both one-sided tests must reject, each at half of the level.
        (LEVEL, f64::midpoint(1.0, POWER))
    };
    let quantiles = normal::quantile(1.0 - level / 2.0) + normal::quantile(power);
    let repeats = (quantiles * deviation / distance).powi(2) / EFFICIENCY;
    let enough = repeats.ceil().max(6.0);
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "from 6 to 10,000"
    )]
    let repeats = (enough <= MAX_REPEATS).then_some(enough as u32);
    Some(Forecast {
        ratio: middle.exp(),
        deviation,
        pairs,
        repeats,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    type Times = Vec<(u32, f64)>;

    fn with_ratio(ratio: f64, noise: f64) -> (Times, Times) {
        let log = |block: u32| {
            ratio.ln()
                + if block.is_multiple_of(2) {
                    noise
                } else {
                    -noise
                }
        };
        let times = (0..10).map(|block| (block, log(block).exp())).collect();
        (times, (0..10).map(|block| (block, 1.0)).collect())
    }

    fn repeats(ratio: f64, noise: f64, comparisons: usize) -> Option<u32> {
        let (times, baseline) = with_ratio(ratio, noise);
        forecast(&times, &baseline, &Rule::default(), comparisons)?.repeats
    }

    #[test]
    fn noise_and_a_small_difference_need_more_repeats() {
        // ((1.96 + 0.8416) * 0.2108 / (ln 1.2 - ln 1.02))^2 * pi / 3, by hand.
        assert_eq!(repeats(1.2, 0.2, 1), Some(14));
        assert!(repeats(1.2, 0.4, 1) > repeats(1.2, 0.2, 1));
        assert!(repeats(1.1, 0.2, 1) > repeats(1.2, 0.2, 1));
        assert!(repeats(1.2, 0.2, 24) > repeats(1.2, 0.2, 1));
        // Both directions need the same.
        assert_eq!(repeats(1.0 / 1.2, 0.2, 1), repeats(1.2, 0.2, 1));
        // At the margin nothing decides.
        assert_eq!(repeats(1.02, 0.2, 1), None);
        // Equivalence, with little noise.
        assert!(repeats(1.0, 0.02, 1).is_some_and(|n| n < 30));
        assert_eq!(repeats(1.0, 1.5, 1), None);
    }

    #[test]
    fn the_forecast_leans_to_the_estimate_and_needs_three_pairs() {
        let (times, baseline) = with_ratio(1.1, 0.2);
        let found = forecast(&times, &baseline, &Rule::default(), 3).unwrap();
        assert!(found.ratio > 1.0 && found.pairs == 10);
        assert!((found.deviation - 0.2108).abs() < 1e-3);
        assert_eq!(forecast(&times[..2], &baseline, &Rule::default(), 3), None);
    }
}
