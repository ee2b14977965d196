//! Quantities with units: [`Bytes`] and [`Nanos`], how they are parsed and displayed.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// A number of bytes.
///
/// Typed as `4096`, `64K`, `2.7G`, `4KiB` (powers of 1024) or `600MB` (powers of 1000).
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Default,
    JsonSchema,
    Serialize,
    Deserialize,
)]
#[serde(transparent)]
#[schemars(inline)]
pub struct Bytes(pub u64);

/// A duration in nanoseconds.
///
/// Typed as `90`, `90s`, `15m`, `2h`, `500ms` (a bare number is seconds).
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Default,
    JsonSchema,
    Serialize,
    Deserialize,
)]
#[serde(transparent)]
#[schemars(inline)]
pub struct Nanos(pub u64);

/// Conversions between a quantity and its number.
macro_rules! number {
    ($($quantity:ident),*) => {$(
        impl From<u64> for $quantity {
            fn from(number: u64) -> Self {
                Self(number)
            }
        }

        impl From<$quantity> for u64 {
            fn from(quantity: $quantity) -> Self {
                quantity.0
            }
        }
    )*};
}

number!(Bytes, Nanos);

impl From<std::time::Duration> for Nanos {
    /// Beyond 584 years it is the most that fits.
    fn from(duration: std::time::Duration) -> Self {
        Self(u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX))
    }
}

/// A text that is not a quantity.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not {what}; write it like {like}")]
pub struct UnitError {
    /// The text as typed.
    pub text: String,
    /// The expected quantity.
    pub what: &'static str,
    /// An example of the expected form.
    pub like: &'static str,
}

/// Splits `2.7G` into its number and its suffix.
fn split_number(text: &str) -> Option<(f64, &str)> {
    let text = text.trim();
    let end = text
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .unwrap_or(text.len());
    let number: f64 = text[..end].parse().ok()?;
    Some((number, text[end..].trim()))
}

/// `number * factor` as a whole number; none if it does not fit.
fn scaled(number: f64, factor: f64) -> Option<u64> {
    let value = (number * factor).round();
    // 2^53: above it f64 does not represent every whole number.
    if !(0.0..=9_007_199_254_740_992.0).contains(&value) {
        return None;
    }
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "checked above"
    )]
    Some(value as u64)
}

impl Bytes {
    /// Whether it is zero.
    pub fn is_zero(&self) -> bool {
        self.0 == 0
    }
}

impl FromStr for Bytes {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<Self, UnitError> {
        let error = || UnitError {
            text: text.to_owned(),
            what: "a size",
            like: "4096, 64K, 2.7G or 600MB",
        };
        let (number, suffix) = split_number(text).ok_or_else(error)?;
        let (base, letter): (f64, &str) = match suffix {
            "" | "B" => (1.0, ""),
            s if s.ends_with("iB") => (1024.0, &s[..s.len() - 2]),
            s if s.ends_with('B') => (1000.0, &s[..s.len() - 1]),
            s => (1024.0, s),
        };
        let power = match letter {
            "" => 0,
            "K" | "k" => 1,
            "M" | "m" => 2,
            "G" | "g" => 3,
            "T" | "t" => 4,
            _ => return Err(error()),
        };
        scaled(number, base.powi(power)).map(Self).ok_or_else(error)
    }
}

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const UNITS: [&str; 6] = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
        if self.0 < 1024 {
            return f.pad(&format!("{} B", self.0));
        }
        let mut value = self.0 as f64;
        let mut unit = 0;
        while value >= 1024.0 && unit < UNITS.len() - 1 {
            value /= 1024.0;
            unit += 1;
        }
        f.pad(&format!("{} {}", three_digits(value), UNITS[unit]))
    }
}

impl Nanos {
    /// From seconds; negative or excessive values become zero or the largest duration.
    pub fn from_seconds(seconds: f64) -> Self {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "`as` saturates"
        )]
        Self((seconds * 1e9).round() as u64)
    }

    /// In seconds.
    pub fn seconds(self) -> f64 {
        self.0 as f64 / 1e9
    }

    /// In the form of the published tables: `m:ss`, with tenths below ten minutes (`1:07.3`).
    pub fn clock(self) -> String {
        let tenths = (self.0 + 50_000_000) / 100_000_000;
        let (minutes, rest) = (tenths / 600, tenths % 600);
        if minutes >= 10 {
            let seconds = (self.0 + 500_000_000) / 1_000_000_000;
            return format!("{}:{:02}", seconds / 60, seconds % 60);
        }
        format!("{minutes}:{:02}.{}", rest / 10, rest % 10)
    }
}

/// Parses a percentage: `2%`, `2 %`, `0.5%`, or `2`. A bare number between 0 and 1 may be meant as a
/// part of 1, so it is refused.
pub fn percent(text: &str) -> Result<f64, UnitError> {
    let error = || UnitError {
        text: text.to_owned(),
        what: "a part",
        like: "2% or 0.5%",
    };
    let (number, suffix) = split_number(text).ok_or_else(error)?;
    let ambiguous = suffix.is_empty() && number > 0.0 && number < 1.0;
    (matches!(suffix, "" | "%") && !ambiguous)
        .then_some(number / 100.0)
        .ok_or_else(error)
}

/// Parses a multiple of a full size: `0.1`, or as a percentage `10%`.
pub fn multiple(text: &str) -> Result<f64, UnitError> {
    let error = || UnitError {
        text: text.to_owned(),
        what: "a multiple of the full size",
        like: "0.1 or 10%",
    };
    match text.strip_suffix('%') {
        Some(percent) => percent.trim().parse().map(|number: f64| number / 100.0),
        None => text.trim().parse(),
    }
    .map_err(|_| error())
}

impl FromStr for Nanos {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<Self, UnitError> {
        let error = || UnitError {
            text: text.to_owned(),
            what: "a duration",
            like: "90s, 15m, 2h or 500ms",
        };
        let (number, suffix) = split_number(text).ok_or_else(error)?;
        let factor = match suffix {
            "ns" => 1.0,
            "us" => 1e3,
            "ms" => 1e6,
            "" | "s" => 1e9,
            "m" | "min" => 60e9,
            "h" => 3600e9,
            _ => return Err(error()),
        };
        scaled(number, factor).map(Self).ok_or_else(error)
    }
}

impl fmt::Display for Nanos {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ns = self.0 as f64;
        let text = match self.0 {
            0..1_000 => format!("{} ns", self.0),
            1_000..1_000_000 => format!("{} us", three_digits(ns / 1e3)),
            1_000_000..1_000_000_000 => format!("{} ms", three_digits(ns / 1e6)),
            _ => format!("{} s", three_digits(ns / 1e9)),
        };
        f.pad(&text)
    }
}

/// Three significant digits, never in exponent form: `1.23`, `12.3`, `123`, `1234`.
pub fn three_digits(value: f64) -> String {
    let size = value.abs();
    if size >= 99.95 {
        format!("{value:.0}")
    } else if size >= 9.995 {
        format!("{value:.1}")
    } else {
        format!("{value:.2}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_parsed() {
        for (text, bytes) in [
            ("4096", 4096),
            ("64K", 65_536),
            ("4KiB", 4096),
            ("2.5G", 2_684_354_560),
            ("600MB", 600_000_000),
            ("1T", 1 << 40),
            ("7 B", 7),
        ] {
            assert_eq!(text.parse(), Ok(Bytes(bytes)), "{text}");
        }
        for text in ["", "K", "-4", "4Q", "1e99", "12 parsecs", "9999999T"] {
            assert!(text.parse::<Bytes>().is_err(), "{text}");
        }
    }

    #[test]
    fn durations_are_parsed() {
        for (text, ns) in [
            ("90", 90_000_000_000),
            ("1.5s", 1_500_000_000),
            ("2m", 120_000_000_000),
            ("5ms", 5_000_000),
        ] {
            assert_eq!(text.parse(), Ok(Nanos(ns)), "{text}");
        }
        assert!("5 parsecs".parse::<Nanos>().is_err());
    }

    #[test]
    fn quantities_show_three_digits_and_a_unit() {
        assert_eq!(Bytes(830 << 20).to_string(), "830 MiB");
        assert_eq!(Bytes(1023).to_string(), "1023 B");
        assert_eq!(Nanos(1_234_567_890).to_string(), "1.23 s");
        assert_eq!(Nanos(999_999).to_string(), "1000 us");
        assert_eq!(Nanos(42).to_string(), "42 ns");
    }

    #[test]
    fn the_clock_form_is_that_of_the_published_tables() {
        assert_eq!(Nanos::from_seconds(67.34).clock(), "1:07.3");
        assert_eq!(Nanos::from_seconds(1013.0).clock(), "16:53");
        assert_eq!(Nanos::from_seconds(59.96).clock(), "1:00.0");
    }
}
