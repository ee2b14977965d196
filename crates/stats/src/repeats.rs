//! Warnings about repeats: bimodal samples and serial dependence.

use crate::describe::{mean, sorted};
use crate::normal;
use crate::ranks::midranks;

/// The smallest sample in which two modes are detected.
const MIN_FOR_MODES: usize = 8;

/// The smallest sample in which dependence is tested.
const MIN_FOR_DEPENDENCE: usize = 10;

/// The smallest distance of two modes, as defined by K. M. Ashman, C. M. Bird and S. E. Zepf,
/// "Detecting bimodality in astronomical datasets", The Astronomical Journal 108 (1994), 2348-2361.
/// They require 2 for known modes. For fitted modes, unimodal noise alone has 2.65, and small
/// samples have more by chance.
const MIN_DISTANCE: f64 = 7.0;

/// Two modes of a sample.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Modes {
    /// The mean of the lower mode.
    pub low: f64,
    /// The mean of the upper mode.
    pub high: f64,
    /// The number of figures in the upper mode.
    pub above: usize,
}

/// The two modes of a sample, if they are well separated and each has at least two figures. `None`
/// with fewer than 8 figures, or if one is not positive. The split minimizes the sum of squares
/// within groups: W. D. Fisher, "On Grouping for Maximum Homogeneity", Journal of the American
/// Statistical Association 53 (1958), 789-798. It uses logarithms, so that skewed noise counts as
/// one mode.
pub fn modes(values: &[f64]) -> Option<Modes> {
    let sorted = sorted(values).filter(|of| of.len() >= MIN_FOR_MODES && of[0] > 0.0)?;
    let logs: Vec<f64> = sorted.iter().map(|value| value.ln()).collect();
    let squares = |of: &[f64]| {
        let middle = mean(of).unwrap_or(0.0);
        of.iter().map(|log| (log - middle).powi(2)).sum::<f64>()
    };
    // The sum of squares within groups is smallest where the sum between groups is largest.
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
    (distance > MIN_DISTANCE * spread).then_some(())?;
    Some(Modes {
        low: mean(&sorted[..place])?,
        high: mean(&sorted[place..])?,
        above: sorted.len() - place,
    })
}

/// The p-value of the test for serial dependence. The null hypothesis is that successive figures
/// are independent; p is small if each figure is near its predecessor. `None` with fewer than 10
/// figures, or if all are equal.
///
/// R. Bartels, "The Rank Version of von Neumann's Ratio Test for Randomness", Journal of the
/// American Statistical Association 77 (1982), 40-46, by its normal approximation.
pub fn dependence(values: &[f64]) -> Option<f64> {
    let n = values.len() as f64;
    let ranks = midranks(values).filter(|ranks| ranks.len() >= MIN_FOR_DEPENDENCE)?;
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
    fn two_modes_are_found_and_one_mode_is_not_split() {
        // A checkpoint in every third repeat.
        let checkpoint = [1.0, 1.01, 1.5, 0.99, 1.02, 1.52, 1.0, 1.01, 1.49];
        let found = modes(&checkpoint).unwrap();
        assert_eq!(found.above, 3);
        assert!((found.low - 1.005).abs() < 0.001 && (found.high - 1.503).abs() < 0.001);
        let one = [1.0, 1.01, 1.05, 0.99, 1.02, 0.95, 1.0, 1.1, 0.93];
        assert_eq!(modes(&one), None);
        // One value far from the others is an outlier, not a mode.
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
