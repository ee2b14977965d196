//! Warnings about repeats: two modes instead of one, and dependence from repeat to repeat.

use crate::describe::{mean, sorted};
use crate::normal;
use crate::ranks::midranks;

/// The fewest figures in which two modes are sought.
const FEWEST_FOR_MODES: usize = 8;

/// The fewest figures of which dependence is tested.
const FEWEST_FOR_DEPENDENCE: usize = 10;

/// The least distance of two modes, as defined by K. M. Ashman, C. M. Bird and S. E. Zepf,
/// "Detecting bimodality in astronomical datasets", The Astronomical Journal 108 (1994),
/// 2348-2361. They require 2 where the modes are given; where they are sought, one mode of
/// noise shows 2.65 by itself, and few figures more by chance.
const LEAST_DISTANCE: f64 = 7.0;

/// Two modes of a sample.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Modes {
    /// The mean of the figures in the lower one.
    pub low: f64,
    /// The mean of those in the upper one.
    pub high: f64,
    /// How many figures are in the upper one.
    pub above: usize,
}

/// The two modes of a sample, where they are far from each other, with two figures or more in
/// each; none among fewer than 8 figures above zero. The parting is that with the least squares
/// within: W. D. Fisher, "On Grouping for Maximum Homogeneity", Journal of the American
/// Statistical Association 53 (1958), 789-798; taken of logarithms, so that skewed noise is one
/// hump.
pub fn modes(values: &[f64]) -> Option<Modes> {
    let sorted = sorted(values).filter(|of| of.len() >= FEWEST_FOR_MODES && of[0] > 0.0)?;
    let logs: Vec<f64> = sorted.iter().map(|value| value.ln()).collect();
    let squares = |of: &[f64]| {
        let middle = mean(of).unwrap_or(0.0);
        of.iter().map(|log| (log - middle).powi(2)).sum::<f64>()
    };
    // The rest within both parts is least where most is between them.
    let middle = mean(&logs)?;
    let (mut below, mut parts) = (0.0, Vec::with_capacity(logs.len()));
    for (at, log) in logs.iter().enumerate() {
        below += log - middle;
        let (these, others) = ((at + 1) as f64, (logs.len() - at - 1) as f64);
        parts.push(below * below * (1.0 / these + 1.0 / others));
    }
    let place = (2..=logs.len() - 2).min_by(|a, b| parts[b - 1].total_cmp(&parts[a - 1]))?;
    let (low, high) = logs.split_at(place);
    let variance = |of: &[f64]| squares(of) / (of.len() - 1) as f64;
    let spread = f64::midpoint(variance(low), variance(high)).sqrt();
    let distance = mean(high)? - mean(low)?;
    (distance > LEAST_DISTANCE * spread).then_some(())?;
    Some(Modes {
        low: mean(&sorted[..place])?,
        high: mean(&sorted[place..])?,
        above: sorted.len() - place,
    })
}

/// The p-value that successive figures, in their order, are no nearer to each other than chance
/// puts them; small where each resembles the one before. None of fewer than 10, or of equal ones.
///
/// R. Bartels, "The Rank Version of von Neumann's Ratio Test for Randomness", Journal of the
/// American Statistical Association 77 (1982), 40-46, by its normal approximation.
pub fn dependence(values: &[f64]) -> Option<f64> {
    let n = values.len() as f64;
    let ranks = midranks(values).filter(|ranks| ranks.len() >= FEWEST_FOR_DEPENDENCE)?;
    let middle = mean(&ranks)?;
    let steps: f64 = ranks.windows(2).map(|two| (two[0] - two[1]).powi(2)).sum();
    let all: f64 = ranks.iter().map(|rank| (rank - middle).powi(2)).sum();
    (all > 0.0).then_some(())?;
    let deviation = (20.0 / (5.0 * n + 7.0)).sqrt();
    Some(normal::below((steps / all - 2.0) / deviation))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_modes_are_found_and_one_is_not_divided() {
        // A checkpoint in every third repeat.
        let checkpoint = [1.0, 1.01, 1.5, 0.99, 1.02, 1.52, 1.0, 1.01, 1.49];
        let found = modes(&checkpoint).unwrap();
        assert_eq!(found.above, 3);
        assert!((found.low - 1.005).abs() < 0.001 && (found.high - 1.503).abs() < 0.001);
        let one = [1.0, 1.01, 1.05, 0.99, 1.02, 0.95, 1.0, 1.1, 0.93];
        assert_eq!(modes(&one), None);
        // One figure far off is an outlier.
        assert_eq!(modes(&[1.0, 1.01, 1.02, 0.99, 1.0, 1.01, 1.0, 9.0]), None);
        assert_eq!(modes(&checkpoint[..7]), None, "too few");
        assert_eq!(modes(&[1.0; 20]), None);
    }

    #[test]
    fn noise_of_one_mode_rarely_has_two() {
        let mut state = 20_081_122_u64;
        let mut even = || {
            state = state * 48_271 % 0x7fff_ffff;
            state as f64 / f64::from(0x7fff_ffff)
        };
        for n in [8, 12, 30] {
            let found = (0..1000).filter(|_| {
                let sum_of_12 = |_| 1.0 + 0.03 * ((0..12).map(|_| even()).sum::<f64>() - 6.0);
                let values: Vec<f64> = (0..n).map(sum_of_12).collect();
                modes(&values).is_some()
            });
            let found = found.count();
            assert!(found <= 20, "{found} of 1000, {n} values");
        }
    }

    #[test]
    fn dependent_repeats_have_a_small_p_value_and_independent_ones_do_not() {
        let waves: Vec<f64> = (0..20).map(|k| (f64::from(k) / 4.0).sin()).collect();
        assert!(dependence(&waves).unwrap() < 0.001);
        let mixed: Vec<f64> = (0..20).map(|k| f64::from(k * 13 % 20)).collect();
        assert!(dependence(&mixed).unwrap() > 0.05);
        assert_eq!(dependence(&waves[..9]), None);
        assert_eq!(dependence(&[1.0; 12]), None);
    }
}
