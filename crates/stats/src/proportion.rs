//! The confidence interval of a probability.

use crate::bisection::bisect;
use crate::exact::Interval;

/// The exact confidence interval of a probability (at least 95 %) for `hits` in `trials`. It
/// contains each probability for which both tails have at least 1 in 40.
///
/// C. J. Clopper and E. S. Pearson, "The Use of Confidence or Fiducial Limits Illustrated in the
/// Case of the Binomial", Biometrika 26 (1934), 404-413.
pub fn proportion_interval(hits: u64, trials: u64) -> Interval {
    let hits = hits.min(trials);
    // The probability of at least `hits` increases with the probability of one hit.
    let low = if hits == 0 {
        0.0
    } else {
        solve(|p| 1.0 - at_most(hits - 1, trials, p), 0.025)
    };
    let high = if hits == trials {
        1.0
    } else {
        solve(|p| 1.0 - at_most(hits, trials, p), 0.975)
    };
    Interval { low, high }
}

/// The probability at which an increasing function reaches a level.
fn solve(function: impl Fn(f64) -> f64, level: f64) -> f64 {
    bisect(function, level, (0.0, 1.0))
}

/// The probability of at most `k` hits, by logarithms of the terms.
fn at_most(k: u64, n: u64, p: f64) -> f64 {
    let mut log = n as f64 * (-p).ln_1p();
    let odds = p.ln() - (-p).ln_1p();
    let mut sum = log.exp();
    for hit in 1..=k {
        log += ((n - hit + 1) as f64 / hit as f64).ln() + odds;
        sum += log.exp();
    }
    sum.min(1.0)
}
