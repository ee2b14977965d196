//! The normal distribution, for samples too large for exact distributions.

use crate::bisection::bisect;
use std::f64::consts::{FRAC_2_SQRT_PI, SQRT_2};

/// The distribution function of the standard normal distribution at `z`.
///
/// The method is the series of the error function near the middle, and its continued fraction in
/// the tails: M. Abramowitz and I. A. Stegun, "Handbook of Mathematical Functions" (1964), 7.1.6
/// and 7.1.14.
pub(crate) fn below(z: f64) -> f64 {
    let x = z.abs() / SQRT_2;
    let beyond = if x < 2.5 {
        let (mut term, mut sum, mut odd) = (x, x, 1.0);
        while term > sum * 1e-17 {
            odd += 2.0;
            term *= 2.0 * x * x / odd;
            sum += term;
        }
        1.0 - FRAC_2_SQRT_PI * (-x * x).exp() * sum
    } else {
        let fraction = (1..=60_u32).rev();
        let below = fraction.fold(x, |below, k| x + f64::from(k) / 2.0 / below);
        (-x * x).exp() / below * FRAC_2_SQRT_PI / 2.0
    };
    let tail = beyond / 2.0;
    if z < 0.0 { tail } else { 1.0 - tail }
}

/// The quantile of the standard normal distribution.
pub(crate) fn quantile(p: f64) -> f64 {
    bisect(below, p, (-40.0, 40.0))
}
