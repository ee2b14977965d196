//! Of which files fragments are counted: `true`, `false` or `{ above = "16K" }` in a plan file, and
//! what follows from it for the plan. Counting itself lives in `load`.

use super::config_error::ConfigError;
use fsdyno_model::Bytes;
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserialize, Deserializer, Error, MapAccess, Visitor};
use std::fmt;

/// Of which files fragments are counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Counting {
    /// Of none.
    #[default]
    None,
    /// Of every file, however small.
    All,
    /// Of files larger than this.
    Above(Bytes),
}

impl Counting {
    /// What a plan file says.
    pub(super) fn written(text: &CountingText) -> Result<Self, ConfigError> {
        Ok(match text {
            CountingText::Whether(false) => Self::None,
            CountingText::Whether(true) => Self::All,
            CountingText::Large(large) => Self::Above(large.above.parse()?),
        })
    }

    /// Whether any are counted.
    pub fn is_counted(self) -> bool {
        self != Self::None
    }

    /// The size of the smallest file that counts.
    pub fn floor(self) -> Bytes {
        match self {
            Self::None | Self::All => Bytes(0),
            Self::Above(Bytes(size)) => Bytes(size.saturating_add(1)),
        }
    }
}

/// The same as it stands in a plan file.
#[derive(Debug)]
pub(super) enum CountingText {
    Whether(bool),
    Large(LargeTable),
}

#[derive(Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct LargeTable {
    above: String,
}

// Written out rather than derived as `untagged`, which could only say that no form fits.
impl<'de> Deserialize<'de> for CountingText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Either;

        impl<'de> Visitor<'de> for Either {
            type Value = CountingText;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("true, false, or a size that files are above: { above = \"16K\" }")
            }

            fn visit_bool<E: Error>(self, whether: bool) -> Result<Self::Value, E> {
                Ok(CountingText::Whether(whether))
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
                LargeTable::deserialize(MapAccessDeserializer::new(map)).map(CountingText::Large)
            }
        }

        deserializer.deserialize_any(Either)
    }
}
