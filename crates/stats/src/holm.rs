//! Multiple comparisons: p-values adjusted so that the family-wise error rate is that of one test.

/// The p-values adjusted by Holm's method, in the given order. The probability of any wrong
/// rejection at a level is at most that level, for any dependence between the tests.
///
/// S. Holm, "A Simple Sequentially Rejective Multiple Test Procedure", Scandinavian Journal of
/// Statistics 6 (1979), 65-70.
pub fn holm(p_values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..p_values.len()).collect();
    order.sort_by(|a, b| p_values[*a].total_cmp(&p_values[*b]));
    let (mut adjusted, mut highest) = (vec![1.0; p_values.len()], 0.0_f64);
    for (left, place) in (1..=p_values.len()).rev().zip(order) {
        highest = highest.max(p_values[place] * left as f64).min(1.0);
        adjusted[place] = highest;
    }
    adjusted
}
