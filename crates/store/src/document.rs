//! Documents: values of the model as JSON, checked when they are written and when they are read.
//!
//! A store may come from another program. [`Reader`] checks every number once, when it is read, so
//! that no other code checks: it is between 0 and [`LARGEST`], and so is the sum of a field over
//! the parts of a record.

use crate::StoreError;
use rusqlite::types::Type;
use serde::Serialize;
use serde::de::{DeserializeOwned, DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess};
use serde::de::{IgnoredAny, Visitor};
use std::collections::BTreeMap;
use std::fmt;

/// The largest number, and the largest sum of a field: 36 years of nanoseconds, 1 EiB. Sums over a
/// run, also of sixteen fields, are below 2^64.
pub(crate) const LARGEST: u64 = 1 << 60;

/// The longest documents of a record together, bytes.
const LONGEST: usize = 2 << 30;

/// The most fields of a kind of document. Some are keys of maps: classes of states, kinds of losses.
const MOST_FIELDS: usize = 10_000;

/// Fields without bounds: times of day, seeds, counts that may be any number, and histograms, of
/// which `check.rs` adds up the operations.
const UNBOUNDED: [&str; 4] = ["started_unix_ns", "seed", "legal", "buckets"];

/// A field whose sum has no bound, and is not used.
const NOT_ADDED: &str = "seek_distance_bytes";

/// A value of the model as JSON, if parsing it gives the same value: JSON has no infinite numbers
/// and no bytes that are not UTF-8. `what` names it in an error.
pub(crate) fn document<T>(what: &'static str, value: &T) -> Result<String, StoreError>
where
    T: Serialize + DeserializeOwned + PartialEq,
{
    let unstorable = |why: String| StoreError::Unstorable { what, why };
    let text = serde_json::to_string(value).map_err(|error| unstorable(error.to_string()))?;
    match serde_json::from_str::<T>(&text) {
        Ok(back) if back == *value => Ok(text),
        _ => Err(unstorable("it would come back changed".to_owned())),
    }
}

/// Reads the documents of the parts of one record.
#[derive(Default)]
pub(crate) struct Reader {
    root: Field,
    fields: usize,
    bytes: usize,
}

impl Reader {
    /// The value of a document.
    pub(crate) fn read<T: DeserializeOwned>(&mut self, text: &str) -> rusqlite::Result<T> {
        self.bytes = self.bytes.saturating_add(text.len());
        if self.bytes > LONGEST {
            return Err(refused(format!(
                "its documents have more than {LONGEST} bytes"
            )));
        }
        let mut json = serde_json::Deserializer::from_str(text);
        let walk = Walk {
            field: &mut self.root,
            fields: &mut self.fields,
        };
        walk.deserialize(&mut json).map_err(refused)?;
        parse(text)
    }
}

/// The value of a document, whose numbers are not checked.
pub(crate) fn parse<T: DeserializeOwned>(text: &str) -> rusqlite::Result<T> {
    serde_json::from_str(text).map_err(refused)
}

/// The error that the store holds a value that fsdyno never writes.
pub(crate) fn refused(why: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> rusqlite::Error {
    rusqlite::Error::FromSqlConversionFailure(usize::MAX, Type::Text, why.into())
}

/// Adds to the error of a value where it is: `cell 3`.
pub(crate) fn at(place: &str, error: rusqlite::Error) -> rusqlite::Error {
    match error {
        rusqlite::Error::FromSqlConversionFailure(_, _, why) => refused(format!("{place}: {why}")),
        other => other,
    }
}

/// A field of documents, and what its values added up to so far. All elements of a list count as
/// one field.
#[derive(Default)]
struct Field {
    /// Its path, as in `samples.tally.files`.
    path: String,
    sum: u64,
    fields: BTreeMap<String, Field>,
}

impl Field {
    fn add(&mut self, number: u64) -> Result<(), String> {
        let Self { path, sum, .. } = self;
        if number > LARGEST {
            return Err(format!("{path}: {number} is not between 0 and {LARGEST}"));
        }
        if !path.ends_with(NOT_ADDED) {
            *sum = sum.saturating_add(number);
        }
        if *sum > LARGEST {
            return Err(format!("{path}: its values add up to more than {LARGEST}"));
        }
        Ok(())
    }
}

/// Adds the numbers of a value to its field.
struct Walk<'f> {
    field: &'f mut Field,
    fields: &'f mut usize,
}

impl<'de> DeserializeSeed<'de> for Walk<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Walk<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<(), E> {
        self.field.add(number).map_err(E::custom)
    }

    // The type of the field decides on other values.
    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        Ok(())
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_str<E>(self, _: &str) -> Result<(), E> {
        Ok(())
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<(), A::Error> {
        let Self { field, fields } = self;
        while seq.next_element_seed(Walk { field, fields })?.is_some() {}
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let Self { field, fields } = self;
        while let Some(key) = map.next_key_seed(Key { field, fields })? {
            match key {
                Some(field) => map.next_value_seed(Walk { field, fields })?,
                None => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        Ok(())
    }
}

/// Finds the field of a key; none if its value has no bounds.
struct Key<'f, 'c> {
    field: &'f mut Field,
    fields: &'c mut usize,
}

impl<'de, 'f> DeserializeSeed<'de> for Key<'f, '_> {
    type Value = Option<&'f mut Field>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl<'f> Visitor<'_> for Key<'f, '_> {
    type Value = Option<&'f mut Field>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a key")
    }

    fn visit_str<E: Error>(self, key: &str) -> Result<Self::Value, E> {
        if UNBOUNDED.contains(&key) {
            return Ok(None);
        }
        let Field { path, fields, .. } = self.field;
        if !fields.contains_key(key) {
            *self.fields += 1;
            if *self.fields > MOST_FIELDS {
                return Err(E::custom(format!("more than {MOST_FIELDS} fields")));
            }
            let dot = if path.is_empty() { "" } else { "." };
            let field = Field {
                path: format!("{path}{dot}{key}"),
                ..Field::default()
            };
            fields.insert(key.to_owned(), field);
        }
        Ok(fields.get_mut(key))
    }
}
