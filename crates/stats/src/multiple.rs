//! Multiple comparisons: p-values adjusted for the number of tests.

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

/// The p-values adjusted by the method of Benjamini and Hochberg, in the given order. Of all
/// rejections at a level, the expected share of wrong ones is at most that level. If all hypotheses
/// are true, the probability of any rejection is at most that level.
///
/// Y. Benjamini and Y. Hochberg, "Controlling the False Discovery Rate: a Practical and Powerful
/// Approach to Multiple Testing", Journal of the Royal Statistical Society B 57 (1995), 289-300. It
/// holds for independent tests and for those with positive dependence. For all pairwise comparisons
/// of a line: D. Yekutieli, "False discovery rate control for non-positively regression dependent
/// test statistics", Journal of Statistical Planning and Inference 138 (2008), 405-415.
pub fn benjamini_hochberg(p_values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..p_values.len()).collect();
    order.sort_by(|a, b| p_values[*a].total_cmp(&p_values[*b]));
    let n = p_values.len() as f64;
    let (mut adjusted, mut lowest) = (vec![1.0; p_values.len()], 1.0_f64);
    for (place, at) in order.into_iter().enumerate().rev() {
        lowest = lowest.min(p_values[at] * n / (place + 1) as f64);
        adjusted[at] = lowest;
    }
    adjusted
}
