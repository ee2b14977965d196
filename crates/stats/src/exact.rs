//! The type of intervals, and Kendall's exact test of a trend.

use crate::normal;

/// The largest sample with exact counts. Larger samples use the normal approximation.
const COUNTED: usize = 60;

/// A confidence interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Interval {
    /// Its lower end.
    pub low: f64,
    /// Its upper end.
    pub high: f64,
}

/// The two-sided p-value of Kendall's test: the probability of this balance of rising over falling
/// pairs, or a larger one, among all orders of `n` distinct values.
///
/// The method is the recurrence over the number of inversions: M. G. Kendall, "A New Measure of
/// Rank Correlation", Biometrika 30 (1938), 81-93. Large samples use its normal approximation.
pub(crate) fn kendall(n: usize, balance: u64) -> f64 {
    if n > COUNTED {
        return approximately(n, balance);
    }
    counted(n, balance)
}

/// The normal approximation. The balance has the parity of the number of pairs, so its steps are 2
/// wide. The continuity correction is half a step.
fn approximately(n: usize, balance: u64) -> f64 {
    let n = n as f64;
    let deviation = (n * (n - 1.0) * (2.0 * n + 5.0) / 18.0).sqrt();
    let beyond = (balance as f64 - 1.0).max(0.0);
    (2.0 * normal::below(-beyond / deviation)).min(1.0)
}

fn counted(n: usize, balance: u64) -> f64 {
    // The share of orders with `k` inversions, for each `k`. One more value adds 0 to `placed`
    // inversions, each with equal probability.
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
    // A balance of b over m pairs means (m - b) / 2 inversions, and fewer for larger balances.
    let pairs = share.len() as u64 - 1;
    let tail = (0_u64..)
        .zip(&share)
        .take_while(|(inversions, _)| 2 * inversions + balance <= pairs)
        .map(|(_, part)| part);
    (2.0 * tail.sum::<f64>()).min(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_normal_approximation_is_close_to_the_exact_test() {
        for balance in (0..900).step_by(50) {
            let (exact, near) = (counted(COUNTED, balance), approximately(COUNTED, balance));
            assert!((exact - near).abs() < 0.002, "{balance}: {exact} {near}");
        }
        // Every pair of a thousand rises.
        assert!(kendall(1000, 499_500) < 1e-9);
    }
}
