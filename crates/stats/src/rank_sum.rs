//! The rank sum test of two unpaired samples and its interval. It assumes a shift between two
//! distributions of any shape.
//!
//! H. B. Mann and D. R. Whitney, "On a Test of Whether one of Two Random Variables is
//! Stochastically Larger than the Other", The Annals of Mathematical Statistics 18 (1947), 50-60;
//! M. Hollander and D. A. Wolfe, "Nonparametric Statistics", 2nd ed. (1999), sections 4.1 to 4.3.

use crate::describe::{median, sorted};
use crate::exact::Interval;
use crate::normal;

/// The largest sample size with the exact distribution. Larger samples use the normal
/// approximation.
const EXACT: usize = 40;

/// The one-sided p-values that these exceed the others by more than `limit`, and by less. A tie
/// counts one half for each side, rounded conservatively.
pub(crate) fn beyond(these: &[f64], others: &[f64], limit: f64) -> Option<(f64, f64)> {
    let (these, others) = (sorted(these)?, sorted(others)?);
    let count = |wanted: fn(f64) -> bool| {
        let of = |a: &f64| others.iter().filter(|b| wanted(a - **b - limit)).count();
        these.iter().map(of).sum::<usize>()
    };
    let all = these.len() * others.len();
    let (below, above) = (count(|d| d < 0.0), count(|d| d > 0.0));
    let tied = all - below - above;
    let known = cumulated(these.len(), others.len());
    let p = |inversions: usize| known[inversions + tied.div_ceil(2)];
    Some((p(below), p(above)))
}

/// The probability of at most each number of inversions.
fn cumulated(m: usize, n: usize) -> Vec<f64> {
    if m.max(n) > EXACT {
        let (all, of_m, of_n) = (m * n, m as f64, n as f64);
        let deviation = (of_m * of_n * (of_m + of_n + 1.0) / 12.0).sqrt();
        let z = |inversions: usize| (inversions as f64 + 0.5 - of_m * of_n / 2.0) / deviation;
        return (0..=all)
            .map(|inversions| normal::below(z(inversions)))
            .collect();
    }
    let mut sum = 0.0;
    let each = distribution(m, n).into_iter();
    each.map(|part| {
        sum += part;
        f64::min(sum, 1.0)
    })
    .collect()
}

/// The probability of each number of inversions, by recurrence. The largest value is one of the `m`
/// (then it exceeds all `n` others) or one of the `n`.
fn distribution(m: usize, n: usize) -> Vec<f64> {
    let mut of_fewer: Vec<Vec<f64>> = vec![vec![1.0]; n + 1];
    for a in 1..=m {
        let mut row: Vec<Vec<f64>> = vec![vec![1.0]];
        for b in 1..=n {
            let (is_one, is_other) = (a as f64 / (a + b) as f64, b as f64 / (a + b) as f64);
            let mut share = vec![0.0; a * b + 1];
            for (inversions, part) in of_fewer[b].iter().enumerate() {
                share[inversions + b] += is_one * part;
            }
            for (inversions, part) in row[b - 1].iter().enumerate() {
                share[inversions] += is_other * part;
            }
            row.push(share);
        }
        of_fewer = row;
    }
    of_fewer.pop().unwrap_or_default()
}

/// The smallest two-sided p-value for these sample sizes, of samples that do not overlap.
pub(crate) fn smallest(m: usize, n: usize) -> f64 {
    let ways = (1..=m).map(|k| (n + k) as f64 / k as f64);
    2.0 / ways.product::<f64>()
}

/// The Hodges-Lehmann estimate of the shift: the median of all differences.
pub(crate) fn shift(these: &[f64], others: &[f64]) -> Option<f64> {
    median(&differences(&sorted(these)?, &sorted(others)?))
}

/// The confidence interval of the shift; `None` if the samples are too small.
///
/// P. K. Sen, "On the Estimation of Relative Potency in Dilution (-Direct) Assays by
/// Distribution-Free Methods", Biometrics 19 (1963), 532-552.
pub(crate) fn interval(these: &[f64], others: &[f64], confidence: f64) -> Option<Interval> {
    let differences = sorted(&differences(&sorted(these)?, &sorted(others)?))?;
    let level = (1.0 - confidence) / 2.0 * (1.0 + 1e-9);
    let known = cumulated(these.len(), others.len());
    let outside = known.iter().take_while(|part| **part <= level).count();
    let inside = outside.checked_sub(1)?;
    Some(Interval {
        low: differences[inside],
        high: differences[differences.len() - 1 - inside],
    })
}

fn differences(these: &[f64], others: &[f64]) -> Vec<f64> {
    let of = |a: &f64| others.iter().map(|b| a - b).collect::<Vec<_>>();
    these.iter().flat_map(of).collect()
}
