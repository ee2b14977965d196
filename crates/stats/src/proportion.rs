//! Confidence intervals of a probability, and of shares of samples.

use crate::bisection::bisect;
use crate::exact::Interval;
use crate::normal::quantile;
use crate::student::above;

/// How many times counts vary as much as those of independent samples.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Dispersion {
    /// At least 1.
    pub factor: f64,
    /// The degrees of freedom of the estimate; 0 if the factor is known, or assumed.
    pub df: u32,
}

impl Dispersion {
    /// That of independent samples.
    pub const NONE: Self = Self { factor: 1.0, df: 0 };

    /// The larger of the two factors.
    #[must_use]
    pub fn at_least(self, factor: f64) -> Self {
        let factor = self.factor.max(factor);
        Self { factor, ..self }
    }

    /// The estimate from two groups of counts that vary alike.
    #[must_use]
    pub fn pooled(self, other: Self) -> Self {
        let df = self.df + other.df;
        if df == 0 {
            return self.at_least(other.factor);
        }
        let weighted = |one: Self| one.factor * f64::from(one.df);
        Self {
            factor: (weighted(self) + weighted(other)) / f64::from(df),
            df,
        }
    }
}

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

/// The interval of a share of samples, at a confidence level such as 0.95. Samples that are not
/// independent count for fewer: as many as the dispersion's factor for one.
///
/// E. B. Wilson, "Probable Inference, the Law of Succession, and Statistical Inference", Journal of the
/// American Statistical Association 22 (1927), 209-212.
pub fn share_interval(hits: u64, trials: u64, dispersion: Dispersion, level: f64) -> Interval {
    if trials == 0 {
        return Interval {
            low: 0.0,
            high: 1.0,
        };
    }
    let n = trials as f64 / dispersion.factor.max(1.0);
    let p = hits.min(trials) as f64 / trials as f64;
    let z = two_sided(level, dispersion.df);
    let middle = p + z * z / (2.0 * n);
    let half = z * (p * (1.0 - p) / n + z * z / (4.0 * n * n)).sqrt();
    let whole = 1.0 + z * z / n;
    Interval {
        low: ((middle - half) / whole).max(0.0),
        high: ((middle + half) / whole).min(1.0),
    }
}

/// The interval of the expected number of samples, if there are so many: the limit of [`share_interval`]
/// for small shares.
pub fn count_interval(count: u64, dispersion: Dispersion, level: f64) -> Interval {
    let scale = dispersion.factor.max(1.0);
    let n = count as f64 / scale;
    let z = two_sided(level, dispersion.df);
    let middle = n + z * z / 2.0;
    let half = z * (n + z * z / 4.0).sqrt();
    Interval {
        low: scale * (middle - half).max(0.0),
        high: scale * (middle + half),
    }
}

/// The quantile that both tails exceed: of the standard normal distribution, or of Student's if the
/// dispersion is an estimate.
fn two_sided(level: f64, df: u32) -> f64 {
    let below = 1.0 - (1.0 - level) / 2.0;
    match df {
        0 => quantile(below),
        df => bisect(|t| 1.0 - above(t, df), below, (0.0, 1e9)),
    }
}

/// The dispersion of the counts of repeats, if each repeat is expected to have them in proportion to its
/// exposure: Pearson's statistic for each degree of freedom, at least 1; none if it is not known.
/// P. `McCullagh` and J. A. Nelder, "Generalized Linear Models" (1989), 4.5.
pub fn dispersion(counts: &[u64], exposures: &[u64]) -> Dispersion {
    let sum = |all: &[u64]| all.iter().sum::<u64>() as f64;
    let rate = sum(counts) / sum(exposures);
    if counts.len() < 2 || !rate.is_finite() || rate == 0.0 {
        return Dispersion::NONE;
    }
    let exposed = counts.iter().zip(exposures);
    let exposed = exposed.filter(|(_, exposure)| **exposure > 0);
    let terms = exposed.map(|(count, exposure)| {
        let expected = rate * *exposure as f64;
        (*count as f64 - expected).powi(2) / expected
    });
    let df = counts.len() - 1;
    Dispersion {
        factor: (terms.sum::<f64>() / df as f64).max(1.0),
        df: u32::try_from(df).unwrap_or(u32::MAX),
    }
}

/// Whether two quantities differ, each with its estimate and its interval, at the level of these intervals:
/// the interval of the difference that they make excludes zero.
///
/// G. Y. Zou and A. Donner, "Construction of confidence limits about effect measures: a general approach",
/// Statistics in Medicine 27 (2008), 1693-1702.
pub fn differ(a: (f64, Interval), b: (f64, Interval)) -> bool {
    let ((small, of_small), (large, of_large)) = if a.0 < b.0 { (a, b) } else { (b, a) };
    large - small > (large - of_large.low).hypot(of_small.high - small)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(factor: f64, df: u32) -> Dispersion {
        Dispersion { factor, df }
    }

    fn close(interval: Interval, [low, high]: [f64; 2]) {
        let off = (interval.low - low).abs().max((interval.high - high).abs());
        assert!(off < 5e-5 * high.max(1.0), "{interval:?}");
    }

    #[test]
    fn the_interval_of_a_share_is_that_of_wilson() {
        // Computed by a separate implementation of the formula.
        close(
            share_interval(10, 100, Dispersion::NONE, 0.95),
            [0.05523, 0.17437],
        );
        close(
            share_interval(0, 30, Dispersion::NONE, 0.95),
            [0.0, 0.11351],
        );
        close(
            share_interval(30, 30, Dispersion::NONE, 0.95),
            [0.88649, 1.0],
        );
        let four_times = share_interval(40, 400, of(4.0, 0), 0.95);
        close(four_times, [0.05523, 0.17437]);
        close(share_interval(0, 0, Dispersion::NONE, 0.95), [0.0, 1.0]);
    }

    #[test]
    fn the_interval_of_a_count_is_the_limit_of_small_shares() {
        let share = share_interval(50, 50_000_000, Dispersion::NONE, 0.95);
        let whole = 50_000_000.0;
        close(
            count_interval(50, Dispersion::NONE, 0.95),
            [share.low * whole, share.high * whole],
        );
        assert!(
            count_interval(50, of(9.0, 0), 0.95).low
                < count_interval(50, Dispersion::NONE, 0.95).low
        );
        assert!(count_interval(0, Dispersion::NONE, 0.95).low.abs() < 1e-12);
    }

    #[test]
    fn counts_that_vary_more_than_chance_are_dispersed() {
        for (counts, exposures, expected) in [
            (&[5][..], &[1][..], 1.0),
            (&[100, 101, 99], &[1, 1, 1], 1.0),
            (&[50, 150], &[1, 1], 50.0),
            (&[50, 150], &[100, 300], 1.0),
            (&[0, 0], &[1, 1], 1.0),
            (&[0, 3], &[0, 1], 1.0),
        ] {
            let found = dispersion(counts, exposures);
            assert!(
                (found.factor - expected).abs() < 1e-9,
                "{counts:?}: {found:?}"
            );
        }
        assert_eq!(dispersion(&[100, 101, 99], &[1, 1, 1]).df, 2);
    }

    #[test]
    fn quantities_differ_if_the_interval_of_their_difference_excludes_zero() {
        let count = |count: u64| (count as f64, count_interval(count, Dispersion::NONE, 0.95));
        // Of two means of 100 the standard deviation of the difference is 14.
        assert!(!differ(count(100), count(125)));
        assert!(differ(count(100), count(132)) && differ(count(132), count(100)));
        assert!(!differ(count(0), count(3)) && differ(count(0), count(12)));
    }

    #[test]
    fn an_estimated_dispersion_widens_intervals() {
        // Student's quantiles: 4.303 with two degrees of freedom, 2.228 with ten.
        for (df, t) in [(2, 4.303), (10, 2.228), (0, 1.960)] {
            let Interval { low, high } = count_interval(1_000_000, of(1.0, df), 0.95);
            assert!(
                ((high - low) / 2000.0 - t).abs() < 0.01,
                "{df}: {low} {high}"
            );
        }
        let pooled = of(2.0, 1).pooled(of(5.0, 2));
        assert_eq!(pooled.df, 3);
        assert!((pooled.factor - 4.0).abs() < 1e-12);
        assert_eq!(of(3.0, 0).pooled(Dispersion::NONE), of(3.0, 0));
    }

    #[test]
    fn equal_rates_differ_as_seldom_as_the_level_promises() {
        let mut poisson = poisson();
        for mean in [2.0, 20.0, 200.0] {
            let mut wrong = 0;
            for _ in 0..2000 {
                let counts = [poisson(mean), poisson(mean)];
                let [a, b] = counts.map(|n| (n as f64, count_interval(n, Dispersion::NONE, 0.95)));
                wrong += u32::from(differ(a, b));
            }
            assert!(wrong < 130, "{wrong} of 2000 at {mean}");
        }
    }

    #[test]
    fn three_repeats_that_scatter_differ_as_seldom_as_the_level_promises() {
        let mut poisson = poisson();
        let mut wrong = 0;
        for _ in 0..2000 {
            // Samples in clusters of four.
            let groups = [(); 2].map(|()| [(); 3].map(|()| 4 * poisson(50.0)));
            let [a, b] = groups.map(|group| dispersion(&group, &[1, 1, 1]));
            let of = a.pooled(b);
            let [a, b] = groups.map(|group| {
                let sum = group.iter().sum();
                (sum as f64, count_interval(sum, of, 0.99))
            });
            wrong += u32::from(differ(a, b));
        }
        assert!(wrong < 40, "{wrong} of 2000, of which 20 are expected");
    }

    /// Random counts with this mean, by Knuth's product of uniform numbers.
    fn poisson() -> impl FnMut(f64) -> u64 {
        let mut random = 1_u64;
        let mut uniform = move || {
            random = random
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            (random >> 11) as f64 / (1_u64 << 53) as f64
        };
        move |mean| {
            let (limit, mut product, mut count) = ((-mean).exp(), uniform(), 0_u64);
            while product > limit {
                product *= uniform();
                count += 1;
            }
            count
        }
    }
}
