//! Size distributions: the sizes of files, and the number of files of a kind.
//!
//! File sizes are approximately lognormal in every published survey (Douceur and Bolosky, "A
//! Large-Scale Study of File-System Contents", 1999; Agrawal and others, "A Five-Year Study of
//! File-System Metadata", 2007). Only exactly rounded operations are used, so that all machines
//! give the same sizes: the `exp` and `ln` of C libraries differ in the last digit.

use crate::seed::Spread;

/// A lognormal distribution, truncated at both ends.
#[derive(Debug, Clone, Copy)]
pub struct LogNormal {
    /// The median. The mean is this times exp(sigma^2 / 2).
    pub median: f64,
    /// Standard deviation of the logarithm.
    pub sigma: f64,
    pub min: u64,
    pub max: u64,
}

impl LogNormal {
    /// A distribution of that median and spread within bounds.
    pub const fn new(median: f64, sigma: f64, min: u64, max: u64) -> Self {
        Self {
            median,
            sigma,
            min,
            max,
        }
    }

    /// The next size.
    pub fn draw(&self, spread: &mut Spread) -> u64 {
        self.at(spread.draw())
    }

    /// The size below which this part of all sizes is.
    pub fn at(&self, part: f64) -> u64 {
        let size = self.median * exp(self.sigma * normal_quantile(part));
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "positive; `as` saturates, and the bounds follow"
        )]
        let whole = size as u64;
        whole.clamp(self.min, self.max)
    }
}

/// A number of files of a kind: geometric with the given mean, at least `least`, at most 64 more.
pub fn count(least: u32, mean: f64, spread: &mut Spread) -> u32 {
    let beyond = mean - f64::from(least);
    let again = beyond / (1.0 + beyond);
    let mut unit = spread.draw();
    let mut number = least;
    while unit < again && number < least + 64 {
        unit /= again;
        number += 1;
    }
    number
}

/// `base * scale`, rounded, and at least `least`.
pub fn scaled(base: u64, scale: f64, least: u64) -> u64 {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "the scale is checked to be positive and small when a dataset is opened"
    )]
    let number = (base as f64 * scale + 0.5) as u64;
    number.max(least)
}

/// Natural logarithm of a positive number: its exponent, and the series of atanh.
pub(crate) fn ln(x: f64) -> f64 {
    let bits = x.to_bits();
    let exponent = f64::from(u32::try_from(bits >> 52).unwrap_or(0)) - 1023.0;
    let mantissa = f64::from_bits((bits & ((1 << 52) - 1)) | (1023 << 52));
    let t = (mantissa - 1.0) / (mantissa + 1.0);
    let square = t * t;
    let (mut power, mut sum) = (t, 0.0);
    for odd in 0..16 {
        sum += power / f64::from(2 * odd + 1);
        power *= square;
    }
    exponent * std::f64::consts::LN_2 + 2.0 * sum
}

/// The exponential function for arguments of moderate size: Taylor's series near 0, then squared.
pub(crate) fn exp(x: f64) -> f64 {
    let near = x / 1024.0;
    let (mut term, mut sum) = (1.0, 1.0);
    for n in 1..9 {
        term *= near / f64::from(n);
        sum += term;
    }
    for _ in 0..10 {
        sum *= sum;
    }
    sum
}

/// The quantile of the standard normal distribution: Abramowitz and Stegun, formula 26.2.23,
/// whose error stays below 4.5e-4.
pub(crate) fn normal_quantile(p: f64) -> f64 {
    let tail = p.min(1.0 - p);
    let t = (-2.0 * ln(tail)).sqrt();
    let above = 2.515_517 + t * (0.802_853 + t * 0.010_328);
    let below = 1.0 + t * (1.432_788 + t * (0.189_269 + t * 0.001_308));
    let z = t - above / below;
    if p < 0.5 { -z } else { z }
}

#[cfg(test)]
mod tests {
    use super::super::seed::Seed;
    use super::*;

    #[test]
    fn the_functions_agree_with_the_library() {
        for x in [1e-9, 0.1, 0.5, 0.99, 1.0, 3.0, 1e6] {
            assert!((ln(x) - x.ln()).abs() < 1e-9, "{x}");
        }
        for x in [-9.0_f64, -1.0, 0.0, 0.5, 4.0, 9.0] {
            assert!((exp(x) / x.exp() - 1.0).abs() < 1e-9, "{x}");
        }
        assert!((normal_quantile(0.975) - 1.96).abs() < 1e-3);
        assert!((normal_quantile(0.1) + 1.2816).abs() < 1e-3);
    }

    #[test]
    fn sizes_have_the_median_and_mean_stated() {
        let sizes = LogNormal {
            median: 1000.0,
            sigma: 1.0,
            min: 0,
            max: u64::MAX,
        };
        let mut spread = Spread::new(Seed::new(3));
        let mut drawn: Vec<u64> = (0..20_000).map(|_| sizes.draw(&mut spread)).collect();
        drawn.sort_unstable();
        let median = drawn[drawn.len() / 2];
        let mean = drawn.iter().sum::<u64>() / drawn.len() as u64;
        assert!((990..1010).contains(&median), "{median}");
        assert!((1620..1680).contains(&mean), "{mean}");
    }

    #[test]
    fn counts_have_the_mean_stated() {
        let mut spread = Spread::new(Seed::new(3));
        let sum: u32 = (0..10_000).map(|_| count(1, 2.2, &mut spread)).sum();
        assert!((21_500..22_500).contains(&sum), "{sum}");
    }
}
