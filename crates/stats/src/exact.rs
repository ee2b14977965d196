//! Intervals, and the exact test of an order.

use crate::normal;

/// The most values whose orders are counted; of more, the normal approximation is as good.
const COUNTED: usize = 60;

/// An interval that holds the value with the confidence it was made at.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Interval {
    /// Its lower end.
    pub low: f64,
    /// Its upper end.
    pub high: f64,
}

/// The two-sided p-value of Kendall's test: how probable a balance of rising over falling pairs of
/// this size, or a larger one, is among all orders of `n` different values.
///
/// By the recurrence over the number of inversions: M. G. Kendall, "A New Measure of Rank
/// Correlation", Biometrika 30 (1938), 81-93; of many values by the normal approximation there.
pub(crate) fn kendall(n: usize, balance: u64) -> f64 {
    if n > COUNTED {
        return approximately(n, balance);
    }
    counted(n, balance)
}

/// The balance is even or odd with the number of pairs, so that its steps are 2 wide: half of one is
/// taken off.
fn approximately(n: usize, balance: u64) -> f64 {
    let n = n as f64;
    let deviation = (n * (n - 1.0) * (2.0 * n + 5.0) / 18.0).sqrt();
    let beyond = (balance as f64 - 1.0).max(0.0);
    (2.0 * normal::below(-beyond / deviation)).min(1.0)
}

fn counted(n: usize, balance: u64) -> f64 {
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
mod tests {
    use super::*;

    #[test]
    fn where_orders_are_no_longer_counted_the_approximation_is_near() {
        for balance in (0..900).step_by(50) {
            let (exact, near) = (counted(COUNTED, balance), approximately(COUNTED, balance));
            assert!((exact - near).abs() < 0.002, "{balance}: {exact} {near}");
        }
        // Every pair of a thousand rises.
        assert!(kendall(1000, 499_500) < 1e-9);
    }
}
