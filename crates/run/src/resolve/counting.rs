//! Which files have their extents counted: `true`, `false` or `{ above = "16K" }` in a plan file.

use crate::resolve::settings::{text, typed};
use fsdyno_model::Bytes;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserialize, Deserializer, Error, MapAccess, Visitor};
use std::borrow::Cow;
use std::fmt;

/// Which files have their extents counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Counting {
    #[default]
    None,
    All,
    /// Files larger than this.
    Above(Bytes),
}

impl Counting {
    /// Reads `all` or a size.
    pub(crate) fn typed(text: &str) -> Result<Self, String> {
        match text {
            "all" => Ok(Self::All),
            size => typed::<Bytes>(size).map(Self::Above),
        }
    }

    /// Whether extents are counted for any file.
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

#[derive(Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct LargeFiles {
    #[serde(deserialize_with = "text")]
    above: Option<Bytes>,
}

// Not derived as `untagged`, because that error would not name the wrong form.
impl<'de> Deserialize<'de> for Counting {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Forms;

        impl<'de> Visitor<'de> for Forms {
            type Value = Counting;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("true, false, or a size that files are above: { above = \"16K\" }")
            }

            fn visit_bool<E: Error>(self, all: bool) -> Result<Self::Value, E> {
                Ok(if all { Counting::All } else { Counting::None })
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
                let large = LargeFiles::deserialize(MapAccessDeserializer::new(map))?;
                Ok(Counting::Above(large.above.unwrap_or_default()))
            }
        }

        deserializer.deserialize_any(Forms)
    }
}

impl JsonSchema for Counting {
    fn schema_name() -> Cow<'static, str> {
        "Counting".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "anyOf": [
            { "type": "boolean" },
            { "type": "object", "properties": { "above": { "type": "string" } } },
        ] })
    }
}
