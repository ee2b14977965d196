//! Shards: parts of a plan that are executed as runs of their own, on one machine or on several.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::num::NonZeroU32;
use std::str::FromStr;

/// One of several parts of a plan. Together they have each cell once.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, JsonSchema, Serialize, Deserialize,
)]
pub struct Shard {
    /// Its number, from 1.
    pub number: NonZeroU32,
    /// How many shards there are.
    pub of: NonZeroU32,
}

impl fmt::Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.number, self.of)
    }
}

impl FromStr for Shard {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parse = || {
            let (number, of) = text.split_once('/')?;
            let shard = Self {
                number: number.parse().ok()?,
                of: of.parse().ok()?,
            };
            (shard.number <= shard.of).then_some(shard)
        };
        parse().ok_or_else(|| {
            format!("`{text}` is not a shard: write I/N, for example 2/4 for the second of four")
        })
    }
}

impl Shard {
    /// All shards of this number.
    pub fn all(of: NonZeroU32) -> impl Iterator<Item = Self> {
        let numbers = (1..=of.get()).filter_map(NonZeroU32::new);
        numbers.map(move |number| Self { number, of })
    }

    /// The shard of this number that has a unit: units are assigned in turn.
    pub fn with(unit: u32, of: NonZeroU32) -> Self {
        Self {
            number: NonZeroU32::MIN.saturating_add(unit % of),
            of,
        }
    }

    /// How many of the first units it has.
    pub fn share(self, units: u64) -> u64 {
        let before = u64::from(self.number.get()) - 1;
        units.saturating_sub(before).div_ceil(self.of.get().into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shard_is_typed_as_number_of_all() {
        let shard: Shard = "2/4".parse().unwrap();
        assert_eq!((shard.number.get(), shard.of.get()), (2, 4));
        assert_eq!(shard.to_string(), "2/4");
        for wrong in ["", "2", "0/4", "5/4", "1/0", "-1/4", "1/4/2", "a/b"] {
            let error = wrong.parse::<Shard>().unwrap_err();
            assert!(error.contains("2/4"), "{error}");
        }
    }

    #[test]
    fn any_number_of_shards_has_each_unit_once() {
        for of in [1, 2, 3, 7, 24, 100].map(|n| NonZeroU32::new(n).unwrap()) {
            let mut all = 0;
            for unit in 0..24 {
                let shard = Shard::with(unit, of);
                assert!(shard.number <= of && Shard::all(of).any(|one| one == shard));
            }
            for shard in Shard::all(of) {
                let own = (0..24)
                    .filter(|unit| Shard::with(*unit, of) == shard)
                    .count();
                assert_eq!(shard.share(24), own as u64, "{shard}");
                all += own;
            }
            assert_eq!(all, 24);
        }
    }
}
