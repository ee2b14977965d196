//! Values in profiles and fault plans: sizes, and errors that name the key.

use fsdyno_model::Bytes;
use serde::{Deserializer, de};
use std::fmt;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{key}` cannot be {value}: {why}")]
pub struct Impossible {
    /// The key with its tables.
    pub key: String,
    pub value: String,
    /// The reason, and the valid values.
    pub why: String,
}

impl Impossible {
    /// Creates the error from key, value and reason.
    pub fn new(key: impl Into<String>, value: impl fmt::Display, why: impl Into<String>) -> Self {
        Self {
            key: key.into(),
            value: value.to_string(),
            why: why.into(),
        }
    }

    /// Returns an error if a number is out of bounds or NaN.
    pub(crate) fn outside(
        key: impl Into<String>,
        value: f64,
        least: f64,
        most: f64,
    ) -> Result<(), Self> {
        if (least..=most).contains(&value) {
            return Ok(());
        }
        Err(Self::new(
            key,
            value,
            format!("it must be between {least} and {most}"),
        ))
    }
}

/// Parses a size such as `40GB`, or a number of bytes.
pub(crate) fn size<'de, D: Deserializer<'de>>(from: D) -> Result<Bytes, D::Error> {
    struct Either;
    impl de::Visitor<'_> for Either {
        type Value = Bytes;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a size: 4096, \"64K\", \"2.7G\" or \"600MB\"")
        }

        fn visit_i64<E: de::Error>(self, bytes: i64) -> Result<Bytes, E> {
            let bytes = u64::try_from(bytes);
            bytes
                .map(Bytes)
                .map_err(|_| E::custom("a size is not negative"))
        }

        fn visit_str<E: de::Error>(self, text: &str) -> Result<Bytes, E> {
            text.parse().map_err(E::custom)
        }
    }
    from.deserialize_any(Either)
}

pub(crate) fn some_size<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Bytes>, D::Error> {
    size(from).map(Some)
}
