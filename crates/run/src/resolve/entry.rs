//! The tables of a plan file, with the place of each key. `planfile` checks what they mean.

use super::settings::text;
use fsdyno_model::{Contender, Fill, ShortOr};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::{Error, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use std::borrow::Cow;
use std::fmt;
use toml::Spanned;

/// A contender as it is requested.
#[derive(Debug, Clone, PartialEq)]
pub enum ContenderEntry {
    /// In short form (a string) or in long form (a table).
    Typed(Spanned<ShortOr<ContenderTable>>),
    /// A value of this program.
    Value(Contender),
}

impl ContenderEntry {
    /// The text, with its place; none of a value.
    pub(super) fn typed(&self) -> Option<&Spanned<ShortOr<ContenderTable>>> {
        match self {
            Self::Typed(entry) => Some(entry),
            Self::Value(_) => None,
        }
    }
}

impl<'de> Deserialize<'de> for ContenderEntry {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Spanned::deserialize(deserializer).map(Self::Typed)
    }
}

impl JsonSchema for ContenderEntry {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        ShortOr::<ContenderTable>::schema_name()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let about = "A contender in short form (a string) or in long form (a table).";
        let mut schema = generator.subschema_for::<ShortOr<ContenderTable>>();
        schema.insert("description".to_owned(), about.into());
        schema
    }
}

impl From<&Contender> for ContenderEntry {
    fn from(contender: &Contender) -> Self {
        Self::Value(contender.clone())
    }
}

impl From<&str> for ContenderEntry {
    fn from(text: &str) -> Self {
        Self::Typed(Spanned::new(0..0, ShortOr::Short(text.to_owned())))
    }
}

impl From<String> for ContenderEntry {
    fn from(text: String) -> Self {
        Self::from(text.as_str())
    }
}

/// A contender in long form.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ContenderTable {
    /// File system (`fsdyno list filesystems`)
    #[schemars(with = "String")]
    pub filesystem: Spanned<String>,
    /// Name in reports; default: the short form
    pub label: Option<String>,
    /// Arguments of mkfs
    #[serde(default)]
    pub mkfs: Vec<String>,
    /// Mount options
    #[serde(default)]
    pub mount: Vec<String>,
    /// Layout (`fsdyno list layouts`); default: single
    pub layout: Option<String>,
    /// Number of devices; default: 1
    pub devices: Option<u32>,
    /// Directory, for the file system `dir`
    pub directory: Option<String>,
    /// Fill before the workload, as in the key `fill`
    #[serde(default, deserialize_with = "text")]
    #[schemars(with = "Option<String>")]
    pub fill: Option<Fill>,
    /// Age before the workload, as in the key `age`
    pub age: Option<u32>,
    /// Lab of this contender; default: the key `lab`
    #[schemars(with = "Option<String>")]
    pub lab: Option<Spanned<String>>,
}

/// A workload.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WorkloadTable {
    /// Name, unique in the plan
    #[schemars(with = "String")]
    pub name: Spanned<String>,
    /// Dataset: a name, `tree:DIR`, `tar:FILE`, `file:FILE` or `trace:FILE`; none if phases need none
    #[schemars(with = "Option<String>")]
    pub dataset: Option<Spanned<String>>,
    /// Phases in order: `KIND`, `KIND CACHE`, `KIND CACHE PATTERN`, or a table
    #[schemars(with = "Vec<ShortOr<PhaseTable>>")]
    pub phases: Spanned<Vec<Spanned<ShortOr<PhaseTable>>>>,
    /// Figure that its phases are judged by, instead of the key `judge`
    pub judge: Option<String>,
}

/// A phase in long form; other keys are parameters of its kind.
#[derive(Debug, Clone, PartialEq, JsonSchema)]
pub struct PhaseTable {
    /// Kind of phase (`fsdyno list phases`)
    #[schemars(with = "String")]
    pub kind: Spanned<String>,
    /// State of the caches at the start: cold, warm or as-is; default: cold
    #[schemars(with = "Option<String>")]
    pub cache: Option<Spanned<String>>,
    /// Name in reports; default: the kind
    pub label: Option<String>,
    /// Regular expression of a grep phase
    pub pattern: Option<String>,
    /// Figure that it is judged by
    pub judge: Option<String>,
    /// Parameters of the kind (`fsdyno list phases --long`).
    #[schemars(skip)]
    pub parameters: Vec<(Spanned<String>, Spanned<toml::Value>)>,
}

// Not derived with a flattened map, which would lose the positions of the keys.
impl<'de> Deserialize<'de> for PhaseTable {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Keys;

        impl<'de> Visitor<'de> for Keys {
            type Value = PhaseTable;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a phase: a table with its kind")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<PhaseTable, A::Error> {
                let (mut kind, mut cache, mut label, mut pattern) = (None, None, None, None);
                let mut judge = None;
                let mut parameters = Vec::new();
                while let Some(key) = map.next_key::<Spanned<String>>()? {
                    match key.get_ref().as_str() {
                        "kind" => kind = Some(map.next_value()?),
                        "cache" => cache = Some(map.next_value()?),
                        "label" => label = Some(map.next_value()?),
                        "pattern" => pattern = Some(map.next_value()?),
                        "judge" => judge = Some(map.next_value()?),
                        _ => parameters.push((key, map.next_value()?)),
                    }
                }
                Ok(PhaseTable {
                    kind: kind.ok_or_else(|| Error::missing_field("kind"))?,
                    cache,
                    label,
                    pattern,
                    judge,
                    parameters,
                })
            }
        }

        deserializer.deserialize_map(Keys)
    }
}
