//! Intervals, and the exact test of an order.

/// An interval that holds what is asked for with the confidence it was made at.
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
