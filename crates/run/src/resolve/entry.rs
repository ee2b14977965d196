//! The keys of a plan file as they stand in its text, each with its place. What they mean is
//! judged in `planfile`.

use super::counting::CountingText;
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserialize, Deserializer, Error, MapAccess, Visitor};
use std::fmt;
use std::marker::PhantomData;
use toml::Spanned;

/// A plan file, or a suite.
#[derive(Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PlanText {
    pub name: Option<Spanned<String>>,
    pub title: Option<String>,
    pub about: Option<String>,
    pub source: Option<String>,
    pub repeats: Option<Spanned<u32>>,
    pub max_repeats: Option<Spanned<u32>>,
    pub precision: Option<Spanned<String>>,
    pub margin: Option<Spanned<String>>,
    pub budget: Option<Spanned<String>>,
    pub cell_budget: Option<Spanned<String>>,
    pub seed: Option<u64>,
    pub vary: Option<Spanned<String>>,
    pub scale: Option<Spanned<f64>>,
    pub engine: Option<Spanned<String>>,
    pub copy_method: Option<Spanned<String>>,
    pub device: Option<Spanned<String>>,
    pub verify: Option<bool>,
    pub check: Option<bool>,
    pub fragments: Option<Spanned<CountingText>>,
    pub trace: Option<bool>,
    pub lab: Option<Spanned<String>>,
    pub disk: Option<Spanned<String>>,
    #[serde(alias = "disk_record")]
    pub disk_trace: Option<String>,
    pub disk_payloads: Option<bool>,
    pub disk_faults: Option<Spanned<String>>,
    pub time: Option<Spanned<String>>,
    pub guest_memory: Option<Spanned<String>>,
    pub guest_processors: Option<Spanned<u32>>,
    pub guest_kernel: Option<Spanned<String>>,
    #[serde(default)]
    pub fill: Vec<Spanned<String>>,
    #[serde(default)]
    pub age: Vec<u32>,
    #[serde(default)]
    pub workers: Vec<u32>,
    #[serde(default)]
    pub contenders: Vec<Spanned<ShortOr<ContenderTable>>>,
    #[serde(default)]
    pub workload: Vec<Spanned<WorkloadTable>>,
}

/// A contender in its long form.
#[derive(Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ContenderTable {
    pub filesystem: Spanned<String>,
    pub label: Option<String>,
    #[serde(default)]
    pub mkfs: Vec<String>,
    #[serde(default)]
    pub mount: Vec<String>,
    pub layout: Option<String>,
    pub devices: Option<u32>,
    pub directory: Option<String>,
    pub fill: Option<String>,
    pub age: Option<u32>,
    pub lab: Option<Spanned<String>>,
}

/// A workload.
#[derive(Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WorkloadTable {
    pub name: Spanned<String>,
    /// None where its phases make what they work on.
    pub dataset: Option<Spanned<String>>,
    pub phases: Spanned<Vec<Spanned<ShortOr<PhaseTable>>>>,
}

/// A phase in its long form.
#[derive(Debug)]
pub struct PhaseTable {
    pub kind: Spanned<String>,
    pub cache: Option<Spanned<String>>,
    pub label: Option<String>,
    pub pattern: Option<String>,
    /// Every other key, which is a parameter of its kind or nothing.
    pub parameters: Vec<(Spanned<String>, Spanned<toml::Value>)>,
}

// Written out rather than derived with a flattened map, which would lose the places of its keys.
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
                let mut parameters = Vec::new();
                while let Some(key) = map.next_key::<Spanned<String>>()? {
                    match key.get_ref().as_str() {
                        "kind" => kind = Some(map.next_value()?),
                        "cache" => cache = Some(map.next_value()?),
                        "label" => label = Some(map.next_value()?),
                        "pattern" => pattern = Some(map.next_value()?),
                        _ => parameters.push((key, map.next_value()?)),
                    }
                }
                Ok(PhaseTable {
                    kind: kind.ok_or_else(|| Error::missing_field("kind"))?,
                    cache,
                    label,
                    pattern,
                    parameters,
                })
            }
        }

        deserializer.deserialize_map(Keys)
    }
}

/// A string in short form, or a table in long form.
#[derive(Debug)]
pub enum ShortOr<T> {
    /// The short form.
    Short(String),
    /// The long form.
    Long(T),
}

// Written out rather than derived as `untagged`, which would lose the place of what is wrong
// inside the table and could only say that no form fits.
impl<'de, T: Deserialize<'de>> Deserialize<'de> for ShortOr<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Either<T>(PhantomData<T>);

        impl<'de, T: Deserialize<'de>> Visitor<'de> for Either<T> {
            type Value = ShortOr<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string in short form or a table in long form")
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Self::Value, E> {
                Ok(ShortOr::Short(text.to_owned()))
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
                T::deserialize(MapAccessDeserializer::new(map)).map(ShortOr::Long)
            }
        }

        deserializer.deserialize_any(Either(PhantomData))
    }
}
