//! Processor profiles: files like those of model disks.

use crate::Prices;
use fsdyno_files::built_in;
use fsdyno_files::named::{self, BuiltIn, NamedError};
use serde::Deserialize;
use std::path::Path;

/// The name of the profile that virtual time takes by default.
pub const DEFAULT: &str = "vm-2026";

/// The error of a profile that states none: that of the default profile on its machine.
const ERROR: f64 = 0.15;

/// All profiles that come with fsdyno, the slowest processor first.
pub const ALL: [BuiltIn; 5] = built_in![
    "desktop-2000",
    "laptop-2004",
    "desktop-2008",
    "vm-2026",
    "server-2023"
];

#[derive(Debug, Clone, PartialEq)]
pub struct Profile {
    /// Name of the profile: its file name.
    pub name: String,
    /// One-line description.
    pub title: String,
    /// Source of the figures.
    pub source: String,
    /// Prices that are estimates without a source.
    pub estimated: Vec<String>,
    pub prices: Prices,
    /// The known relative error of the prices: 0.15 is 15 %.
    pub error: f64,
    pub text: String,
}

/// The reason why a profile cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ProfileError {
    /// There is no such profile, or its file cannot be read.
    #[error("{0}; `fsdyno cpu list` prints the profiles")]
    Named(#[from] NamedError),
    #[error("the processor profile `{name}` is not valid: {source}")]
    Form {
        name: String,
        /// Where and why.
        #[source]
        source: Box<toml::de::Error>,
    },
    #[error("in the processor profile `{name}`, `{key}` cannot be {value}: {why}")]
    Impossible {
        name: String,
        key: String,
        value: String,
        /// The valid values.
        why: &'static str,
    },
}

impl TryFrom<&BuiltIn> for Profile {
    type Error = ProfileError;

    fn try_from(one: &BuiltIn) -> Result<Self, ProfileError> {
        Self::parse(one.name, one.text)
    }
}

/// A profile in the form of its file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Text {
    title: String,
    source: String,
    #[serde(default)]
    estimated: Vec<String>,
    error: Option<f64>,
    prices: Prices,
    #[serde(default)]
    factors: Factors,
}

/// Factors of all prices, of a profile that is changed by its known error.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Factors {
    prices: f64,
}

impl Default for Factors {
    fn default() -> Self {
        Self { prices: 1.0 }
    }
}

impl Profile {
    /// Loads a built-in profile by name, or a file.
    pub fn named(name: &Path) -> Result<Self, ProfileError> {
        let (name, text) = named::find("processor profile", name, &ALL)?;
        Self::parse(&name, &text)
    }

    /// Parses a profile from TOML.
    pub fn parse(name: &str, text: &str) -> Result<Self, ProfileError> {
        let read: Text = toml::from_str(text).map_err(|source| ProfileError::Form {
            name: name.to_owned(),
            source: Box::new(source),
        })?;
        let impossible = |key: &str, value: String, why| ProfileError::Impossible {
            name: name.to_owned(),
            key: key.to_owned(),
            value,
            why,
        };
        for (key, price) in Prices::NAMES.into_iter().zip(read.prices.all()) {
            if !(0.0..=1e6).contains(&price) {
                let key = format!("prices.{key}");
                let why = "a price is between 0 and 1,000,000 ns";
                return Err(impossible(&key, price.to_string(), why));
            }
        }
        let (error, factor) = (read.error.unwrap_or(ERROR), read.factors.prices);
        for (key, value, [least, most]) in [
            ("error", error, [0.001, 10.0]),
            ("factors.prices", factor, [0.01, 100.0]),
        ] {
            if !(least..=most).contains(&value) {
                let why = "an error is between 0.001 and 10, a factor between 0.01 and 100";
                return Err(impossible(key, value.to_string(), why));
            }
        }
        for key in &read.estimated {
            if !Prices::NAMES.contains(&key.as_str()) {
                let why = "it names prices, as in `block_ns`";
                return Err(impossible("estimated", format!("`{key}`"), why));
            }
        }
        Ok(Self {
            name: name.to_owned(),
            title: read.title,
            source: read.source,
            estimated: read.estimated,
            prices: Prices::of(read.prices.all().map(|price| price * factor)),
            error,
            text: text.to_owned(),
        })
    }
}

impl Profile {
    /// The text of this profile with all prices multiplied by a factor.
    pub fn scaled(&self, factor: f64) -> String {
        format!(
            "{}\n\n[factors]\nprices = {factor:?}\n",
            self.text.trim_end()
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scaled_profile_has_all_prices_multiplied() {
        let profile = Profile::named(DEFAULT.as_ref()).unwrap();
        let scaled = Profile::parse(DEFAULT, &profile.scaled(1.15)).unwrap();
        let both = profile.prices.all().into_iter().zip(scaled.prices.all());
        assert!(
            both.clone()
                .all(|(one, other)| (other - 1.15 * one).abs() < 1e-9)
        );
        assert_eq!((profile.error, scaled.error), (0.15, 0.15));
        let error = Profile::parse("mine", &profile.scaled(0.0)).unwrap_err();
        assert!(error.to_string().contains("factors.prices"), "{error}");
    }

    #[test]
    fn every_shipped_profile_is_valid_and_has_a_source() {
        for one in &ALL {
            let profile = Profile::try_from(one).unwrap();
            assert!(profile.source.len() > 20, "{}", one.name);
            assert!(profile.prices.block_ns > 0.0, "{}", one.name);
        }
        assert!(ALL.iter().any(|one| one.name == DEFAULT));
    }

    #[test]
    fn invalid_profiles_are_refused_by_the_name_of_the_key() {
        let good = ALL[0].text;
        for (from, to, words) in [
            ("block_ns", "blok_ns", "blok_ns"),
            ("block_ns = ", "block_ns = -", "`prices.block_ns`"),
            ("estimated = [", "estimated = [\"seek_ns\", ", "`seek_ns`"),
        ] {
            let text = good.replacen(from, to, if from == "block_ns" { 9 } else { 1 });
            assert_ne!(text, good);
            let message = Profile::parse("mine", &text).unwrap_err().to_string();
            assert!(message.contains(words), "{to}: {message}");
        }
    }
}
