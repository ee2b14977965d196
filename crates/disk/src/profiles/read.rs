//! Parses a [`Profile`] from TOML. Unknown keys and impossible values are errors that name the key.

use super::errors::{Factors, Intervals};
use super::{ALL, DataSheet, Profile, Timing};
use crate::models::flash::FlashSpec;
use crate::models::hdd::{HddSpec, Mechanics};
use crate::models::volume::VolumeSpec;
use crate::request::SECTOR;
use crate::values::{Impossible, size};
use fsdyno_files::named::{self, NamedError};
use fsdyno_model::Bytes;
use serde::Deserialize;
use std::path::Path;

/// A profile that cannot be loaded.
#[derive(Debug, thiserror::Error)]
pub enum ProfileError {
    /// There is no such profile, or its file cannot be read.
    #[error("{0}; `fsdyno disk list` prints the profiles")]
    Named(#[from] NamedError),
    /// The text does not parse as a profile.
    #[error("the disk profile {name} cannot be understood: {source}")]
    Form {
        name: String,
        /// Position in the text, and what the parser expected there.
        source: Box<toml::de::Error>,
    },
    /// The profile has an impossible value.
    #[error("the disk profile {name} is not valid: {source}")]
    Impossible { name: String, source: Impossible },
}

/// A profile in the form of its file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Text {
    title: String,
    source: String,
    #[serde(default)]
    estimated: Vec<String>,
    #[serde(deserialize_with = "size")]
    capacity: Bytes,
    queue_depth: u32,
    #[serde(default)]
    cache_survives: bool,
    hdd: Option<HddSpec>,
    flash: Option<FlashSpec>,
    volume: Option<VolumeSpec>,
    null: Option<Nothing>,
    #[serde(default)]
    sheet: DataSheet,
    #[serde(default)]
    errors: Intervals,
    #[serde(default)]
    factors: Factors,
}

/// Parameters of a disk that has none.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Nothing {}

impl Profile {
    /// Loads a built-in profile by name, or a file.
    pub fn named(name: &Path) -> Result<Self, ProfileError> {
        let (name, text) = named::find("disk profile", name, &ALL)?;
        Self::parse(&name, &text)
    }

    /// Parses a profile from TOML.
    pub fn parse(name: &str, text: &str) -> Result<Self, ProfileError> {
        let form = |source| ProfileError::Form {
            name: name.to_owned(),
            source: Box::new(source),
        };
        let impossible = |source| ProfileError::Impossible {
            name: name.to_owned(),
            source,
        };
        let read: Text = toml::from_str(text).map_err(form)?;
        let table: toml::Table = toml::from_str(text).map_err(form)?;
        estimates(&table, &read.estimated).map_err(impossible)?;
        read.profile(name, text).map_err(impossible)
    }
}

impl Text {
    fn profile(self, name: &str, text: &str) -> Result<Profile, Impossible> {
        let depth = f64::from(self.queue_depth);
        Impossible::outside("queue_depth", depth, 1.0, 65_536.0)?;
        Impossible::outside("capacity", self.capacity.0 as f64, 1_048_576.0, 1e16)?;
        self.sheet.check()?;
        let timings = [
            self.hdd.map(Timing::Hdd),
            self.flash.map(Timing::Flash),
            self.volume.map(Timing::Volume),
            self.null.map(|Nothing {}| Timing::Null),
        ];
        let mut timings: Vec<Timing> = timings.into_iter().flatten().collect();
        let why = "there is one table `[hdd]`, `[flash]`, `[volume]` or `[null]`";
        let count = timings.len();
        let timing = timings.pop().filter(|_| count == 1);
        let mut timing =
            timing.ok_or_else(|| Impossible::new("timing", format!("{count} tables"), why))?;
        timing.check_errors(&self.errors)?;
        timing.scale(&self.factors)?;
        timing.check(self.capacity)?;
        Ok(Profile {
            name: name.to_owned(),
            title: self.title,
            source: self.source,
            estimated: self.estimated,
            capacity: self.capacity,
            queue_depth: self.queue_depth,
            cache_survives: self.cache_survives,
            timing,
            sheet: self.sheet,
            stated_errors: self.errors,
            text: text.to_owned(),
        })
    }
}

impl Timing {
    fn check(&self, capacity: Bytes) -> Result<(), Impossible> {
        match self {
            Self::Hdd(spec) => {
                spec.check()?;
                let mechanics = Mechanics::new(spec, capacity.0 / SECTOR);
                spec.check_seeks(mechanics.geometry().cylinders())
            }
            Self::Flash(spec) => spec.check(capacity),
            Self::Volume(spec) => spec.check(),
            Self::Null => Ok(()),
        }
    }
}

/// Checks that every key listed as an estimate exists in the profile.
fn estimates(table: &toml::Table, keys: &[String]) -> Result<(), Impossible> {
    for key in keys {
        let mut words = key.split('.');
        let first = words.next().and_then(|word| table.get(word));
        let found = words.try_fold(first, |at, word| Some(at?.as_table()?.get(word)));
        if found.flatten().is_none() {
            let why = "this profile has no such key; name tables too, as in `hdd.rpm`";
            return Err(Impossible::new("estimated", format!("`{key}`"), why));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn built_in_profiles_parse_and_have_a_source() {
        for shipped in &ALL {
            let profile = Profile::try_from(shipped).unwrap_or_else(|e| panic!("{e}"));
            assert!(profile.source.len() > 10, "{}", profile.name);
            let checked = !profile.sheet.given().is_empty();
            assert!(
                checked || profile.timing == Timing::Null,
                "{}",
                profile.name
            );
        }
    }

    #[test]
    fn what_is_unknown_or_impossible_is_refused_by_name() {
        let good = ALL[2].text;
        for (from, to, words) in [
            ("rpm = 4200\n", "rmp = 4200\n", "rmp"),
            ("rpm = 4200\n", "rpm = 4\n", "`hdd.rpm` cannot be 4"),
            ("queue_depth = 1", "queue_depth = 0", "`queue_depth`"),
            (
                "capacity = \"40GB\"",
                "capacity = \"40 parsecs\"",
                "40 parsecs",
            ),
            ("[sheet]", "[null]\n[sheet]", "[volume]"),
            ("[sheet]", "[sheets]", "sheets"),
            ("estimated = [", "estimated = [\"hdd.rmp\",", "`hdd.rmp`"),
            ("full_ms = 23", "full_ms = 1", "hdd.seek"),
            (
                "write_room = \"4M\"",
                "write_room = \"0M\"",
                "`hdd.write_room`",
            ),
        ] {
            assert!(good.contains(from), "{from}");
            let text = good.replacen(from, to, 1);
            let message = Profile::parse("mine", &text).unwrap_err().to_string();
            assert!(message.contains(words), "{to}: {message}");
        }
    }

    #[test]
    fn a_profile_loads_from_a_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("mine.toml");
        std::fs::write(&path, ALL[0].text.replacen("rpm = 5200", "rpm = 5400", 1)).unwrap();
        let profile = Profile::named(&path).unwrap();
        assert_eq!(profile.name, "mine");
        assert_ne!(profile, Profile::try_from(&ALL[0]).unwrap());
    }
}
