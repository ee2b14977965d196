//! Distributions of sizes, as a user writes them: `16K`, `uniform(4K, 64K)`, `gamma(16K, 1.5)`.
//!
//! All machines draw the same sizes of a seed: only exactly rounded operations are used.

use crate::sizes::{LogNormal, exp, ln, normal_quantile};
use fsdyno_model::random::{self, Random, unit};
use fsdyno_model::units::Bytes;
use std::fmt::{self, Display, Formatter};
use std::str::FromStr;

/// The forms of a distribution, for messages and help.
pub const FORMS: &str = "SIZE, uniform(MIN, MAX), exponential(MEAN), normal(MEAN, DEVIATION), \
                         gamma(MEAN, SHAPE), lognormal(MEDIAN, SIGMA) or choice(SIZE*WEIGHT, ...); \
                         gamma and lognormal also take MIN and MAX";

/// The largest size of a distribution: 2^53 bytes, above which `f64` skips whole numbers.
const LARGEST: u64 = 1 << 53;

/// A distribution of sizes in bytes.
#[derive(Debug, Clone, PartialEq)]
pub enum Distribution {
    /// Always this size.
    Fixed(u64),
    /// Every size from the first to the second is equally likely.
    Uniform(u64, u64),
    /// Exponential with this mean.
    Exponential(u64),
    /// Normal with this mean and standard deviation; never below 0.
    Normal(u64, u64),
    /// Gamma with this mean and shape, within bounds.
    Gamma(u64, f64, Bounds),
    /// Lognormal with this median and standard deviation of the logarithm, within bounds.
    LogNormal(u64, f64, Bounds),
    /// One of these sizes, each as likely as its weight.
    Choice(Vec<(u64, u64)>),
}

/// The smallest and the largest size of a distribution.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds {
    /// The smallest size.
    pub min: u64,
    /// The largest size.
    pub max: u64,
}

impl Bounds {
    /// No bounds.
    pub const NONE: Self = Self {
        min: 0,
        max: LARGEST,
    };
}

impl Distribution {
    /// The next size.
    pub fn draw(&self, random: &mut Random) -> u64 {
        self.draw_from(&mut || random.next_u64())
    }

    /// The next size, from 64 random bits for each number that it needs.
    pub fn draw_from(&self, bits: &mut dyn FnMut() -> u64) -> u64 {
        match self {
            Self::Fixed(size) => *size,
            Self::Uniform(min, max) => min + random::below(bits(), max - min + 1),
            Self::Exponential(mean) => whole(-ln(unit(bits())) * *mean as f64),
            Self::Normal(mean, deviation) => {
                whole(*mean as f64 + normal_quantile(unit(bits())) * *deviation as f64)
            }
            Self::Gamma(mean, shape, bounds) => {
                let size = whole(gamma(*shape, bits) / shape * *mean as f64);
                size.clamp(bounds.min, bounds.max)
            }
            Self::LogNormal(median, sigma, bounds) => {
                let sizes = LogNormal::new(*median as f64, *sigma, bounds.min, bounds.max);
                sizes.at(unit(bits()))
            }
            Self::Choice(choices) => {
                let sum = choices.iter().map(|(_, weight)| weight).sum();
                let mut place = random::below(bits(), sum);
                for (size, weight) in choices {
                    if place < *weight {
                        return *size;
                    }
                    place -= weight;
                }
                0
            }
        }
    }

    /// The largest size that it can draw, as far as it has one; else a size that few draws exceed.
    pub fn most(&self) -> u64 {
        match self {
            Self::Fixed(size) | Self::Uniform(_, size) => *size,
            Self::Exponential(mean) => mean.saturating_mul(20),
            Self::Normal(mean, deviation) => mean.saturating_add(deviation.saturating_mul(6)),
            Self::Gamma(mean, shape, bounds) => {
                let many = whole(*mean as f64 * (1.0 + 20.0 / shape));
                many.min(bounds.max)
            }
            Self::LogNormal(median, sigma, bounds) => {
                whole(*median as f64 * exp(5.0 * sigma)).min(bounds.max)
            }
            Self::Choice(choices) => choices.iter().map(|(size, _)| *size).max().unwrap_or(0),
        }
    }
}

/// A size as a whole number within the possible ones.
fn whole(size: f64) -> u64 {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "`as` saturates, and the bound follows"
    )]
    let size = (size + 0.5) as u64;
    size.min(LARGEST)
}

/// A number of the gamma distribution of that shape and scale 1 (G. Marsaglia and W. W. Tsang, "A
/// simple method for generating gamma variables", 2000).
fn gamma(shape: f64, bits: &mut dyn FnMut() -> u64) -> f64 {
    if shape < 1.0 {
        return gamma(shape + 1.0, bits) * exp(ln(unit(bits())) / shape);
    }
    let d = shape - 1.0 / 3.0;
    let c = 1.0 / (9.0 * d).sqrt();
    loop {
        let x = normal_quantile(unit(bits()));
        let cube = 1.0 + c * x;
        let v = cube * cube * cube;
        if v > 0.0 && ln(unit(bits())) < 0.5 * x * x + d - d * v + d * ln(v) {
            return d * v;
        }
    }
}

impl Display for Distribution {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let bounded = |bounds: &Bounds| match *bounds {
            Bounds::NONE => String::new(),
            Bounds { min, max } => format!(", {min}, {max}"),
        };
        match self {
            Self::Fixed(size) => write!(f, "{size}"),
            Self::Uniform(min, max) => write!(f, "uniform({min}, {max})"),
            Self::Exponential(mean) => write!(f, "exponential({mean})"),
            Self::Normal(mean, deviation) => write!(f, "normal({mean}, {deviation})"),
            Self::Gamma(mean, shape, bounds) => {
                write!(f, "gamma({mean}, {shape}{})", bounded(bounds))
            }
            Self::LogNormal(median, sigma, bounds) => {
                write!(f, "lognormal({median}, {sigma}{})", bounded(bounds))
            }
            Self::Choice(choices) => {
                let choices: Vec<String> = choices
                    .iter()
                    .map(|(size, weight)| format!("{size}*{weight}"))
                    .collect();
                write!(f, "choice({})", choices.join(", "))
            }
        }
    }
}

impl FromStr for Distribution {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("`{text}` is no size and no distribution of sizes: write {FORMS}");
        let text = text.trim();
        let Some((name, rest)) = text.split_once('(') else {
            return size(text).map(Self::Fixed).ok_or_else(wrong);
        };
        let inside = rest.strip_suffix(')').ok_or_else(wrong)?;
        let values: Vec<&str> = inside.split(',').map(str::trim).collect();
        let size_at = |at: usize| values.get(at).and_then(|text| size(text));
        let factor_at = |at: usize| {
            let number: f64 = values.get(at)?.parse().ok()?;
            (0.01..=1000.0).contains(&number).then_some(number)
        };
        let bounds = || match values.len() {
            2 => Some(Bounds::NONE),
            4 => {
                let (min, max) = (size_at(2)?, size_at(3)?);
                (min <= max).then_some(Bounds { min, max })
            }
            _ => None,
        };
        let two = values.len() == 2;
        let distribution = match name.trim() {
            "uniform" if two => size_at(0).zip(size_at(1)).and_then(|(min, max)| {
                let is_valid = min <= max;
                is_valid.then_some(Self::Uniform(min, max))
            }),
            "exponential" if values.len() == 1 => size_at(0).map(Self::Exponential),
            "normal" if two => size_at(0).zip(size_at(1)).map(|(m, d)| Self::Normal(m, d)),
            "gamma" => (|| Some(Self::Gamma(size_at(0)?, factor_at(1)?, bounds()?)))(),
            "lognormal" => {
                let sigma = factor_at(1).filter(|sigma| *sigma <= 6.0);
                (|| Some(Self::LogNormal(size_at(0)?, sigma?, bounds()?)))()
            }
            "choice" => {
                let choices = values.iter().map(|choice| {
                    let (one, weight) = choice.split_once('*').unwrap_or((choice, "1"));
                    let weight: u32 = weight.trim().parse().ok().filter(|weight| *weight > 0)?;
                    Some((size(one.trim())?, u64::from(weight)))
                });
                choices.collect::<Option<Vec<_>>>().map(Self::Choice)
            }
            _ => None,
        };
        distribution.ok_or_else(wrong)
    }
}

fn size(text: &str) -> Option<u64> {
    let bytes: Bytes = text.parse().ok()?;
    (bytes.0 <= LARGEST).then_some(bytes.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mean(text: &str) -> f64 {
        let distribution: Distribution = text.parse().unwrap();
        let mut random = Random::new(7);
        let drawn = (0..50_000).map(|_| distribution.draw(&mut random) as f64);
        drawn.sum::<f64>() / 50_000.0
    }

    #[test]
    fn means_are_those_of_the_distributions() {
        for (text, expected) in [
            ("16K", 16_384.0),
            ("uniform(4K, 8K)", 6144.0),
            ("exponential(16K)", 16_384.0),
            ("normal(16K, 1K)", 16_384.0),
            ("gamma(16K, 1.5)", 16_384.0),
            ("gamma(16K, 0.5)", 16_384.0),
            // median * exp(sigma^2 / 2)
            ("lognormal(1000, 1)", 1648.7),
            ("choice(1K*3, 5K*1)", 2048.0),
        ] {
            let mean = mean(text);
            assert!((mean / expected - 1.0).abs() < 0.02, "{text}: {mean}");
        }
        assert!(mean("lognormal(1000, 2, 900, 1100)") < 1100.0);
    }

    #[test]
    fn the_text_of_a_distribution_is_read_again() {
        for text in [
            "4096",
            "uniform(1, 2)",
            "exponential(5)",
            "normal(9, 2)",
            "gamma(16384, 1.5)",
            "gamma(16384, 1.5, 1, 9)",
            "lognormal(3500, 1.63, 500, 3000000)",
            "choice(512*5, 1024*1)",
        ] {
            let distribution: Distribution = text.parse().unwrap();
            assert_eq!(distribution.to_string(), text);
        }
    }

    #[test]
    fn a_wrong_distribution_is_refused_with_the_forms() {
        for text in [
            "",
            "big",
            "uniform(8K, 4K)",
            "uniform(4K)",
            "gamma(16K)",
            "gamma(16K, 0)",
            "gamma(1K, 1, 9, 8)",
            "zipf(4K, 1)",
            "choice()",
            "choice(4K*0)",
            "uniform(1, 2",
        ] {
            let error = text.parse::<Distribution>().unwrap_err();
            assert!(error.contains("gamma(MEAN, SHAPE)"), "{text}: {error}");
        }
    }
}
