//! A value of a file in TOML that has a short form.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::value::MapAccessDeserializer;
use serde::de::{Error, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

/// A string in short form, or a table in long form.
#[derive(Debug, Clone, PartialEq)]
pub enum ShortOr<T> {
    /// The short form.
    Short(String),
    /// The long form.
    Long(T),
}

// Not derived as `untagged`, which would lose the position of an error inside the table and would
// only report that no form matches.
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

impl<T: JsonSchema> JsonSchema for ShortOr<T> {
    fn schema_name() -> Cow<'static, str> {
        format!("ShortOr{}", T::schema_name()).into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        json_schema!({ "anyOf": [{ "type": "string" }, generator.subschema_for::<T>()] })
    }
}
