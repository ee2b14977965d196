//! Reads the columns of lists. Each value is checked once, when it is read: a store may come from
//! another program.

use crate::document::{LARGEST, refused};
use fsdyno_model::Nanos;
use rusqlite::types::{FromSql, Type};
use rusqlite::{Connection, Params, Row};
use serde::de::DeserializeOwned;
use serde_json::Value;

/// All rows of a query, each read from left to right.
pub(crate) fn all<T>(
    connection: &Connection,
    query: &str,
    parameters: impl Params,
    mut read: impl FnMut(&mut Fields<'_>) -> rusqlite::Result<T>,
) -> rusqlite::Result<Vec<T>> {
    let mut statement = connection.prepare(query)?;
    let mut rows = statement.query(parameters)?;
    let mut values = Vec::new();
    while let Some(row) = rows.next()? {
        let mut fields = Fields { row, next: 0 };
        values.push(read(&mut fields).map_err(|error| named(row, error))?);
    }
    Ok(values)
}

/// The error of a value, with the name of its column.
fn named(row: &Row<'_>, error: rusqlite::Error) -> rusqlite::Error {
    use rusqlite::Error as E;
    let (column, why) = match error {
        E::FromSqlConversionFailure(column, _, why) if column < usize::MAX => (column, why),
        E::InvalidColumnType(column, _, kind) => (
            column,
            format!("a value of type {kind} is not expected").into(),
        ),
        other => return other,
    };
    let name = row.as_ref().column_name(column).unwrap_or_default();
    refused(format!("{name}: {why}"))
}

/// The value of a row of one column.
pub(crate) fn only<T: FromSql>(fields: &mut Fields<'_>) -> rusqlite::Result<T> {
    fields.take()
}

/// A row, read from left to right.
pub(crate) struct Fields<'r> {
    row: &'r Row<'r>,
    next: usize,
}

impl Fields<'_> {
    /// The next column, of any type.
    pub(crate) fn take<T: FromSql>(&mut self) -> rusqlite::Result<T> {
        self.next += 1;
        self.row.get(self.next - 1)
    }

    /// The next column as a count, a size or a duration.
    pub(crate) fn number(&mut self) -> rusqlite::Result<u64> {
        let number: i64 = self.take()?;
        let fitting = u64::try_from(number).ok().filter(|one| *one <= LARGEST);
        fitting.ok_or_else(|| self.unexpected(format!("{number} is not between 0 and {LARGEST}")))
    }

    pub(crate) fn nanos(&mut self) -> rusqlite::Result<Nanos> {
        self.number().map(Nanos)
    }

    /// The next column as a time: nanoseconds since 1970.
    pub(crate) fn moment(&mut self) -> rusqlite::Result<u64> {
        let moment = self.moment_or_none()?;
        moment.ok_or_else(|| self.unexpected("no time where one must be"))
    }

    pub(crate) fn moment_or_none(&mut self) -> rusqlite::Result<Option<u64>> {
        let time = self.take::<Option<i64>>()?.map(u64::try_from).transpose();
        time.map_err(|_| self.unexpected("a time before 1970"))
    }

    /// The next column as a value of the model in JSON.
    pub(crate) fn json<T: DeserializeOwned>(&mut self) -> rusqlite::Result<T> {
        let text: String = self.take()?;
        serde_json::from_str(&text).map_err(|error| self.unexpected(error))
    }

    /// The next column as an enum value of the model, by its serde name; none if it is null.
    pub(crate) fn word_or_none<T: DeserializeOwned>(&mut self) -> rusqlite::Result<Option<T>> {
        let word: Option<String> = self.take()?;
        let value = word.map(|word| serde_json::from_value(Value::String(word)));
        value.transpose().map_err(|error| self.unexpected(error))
    }

    /// The error that the last column read holds a value that fsdyno never writes.
    pub(crate) fn unexpected(
        &self,
        why: impl Into<Box<dyn std::error::Error + Send + Sync>>,
    ) -> rusqlite::Error {
        let column = self.next.saturating_sub(1);
        rusqlite::Error::FromSqlConversionFailure(column, Type::Text, why.into())
    }
}

/// An unsigned number as a column value. `SQLite` has only signed 64-bit integers.
pub(crate) fn signed(number: u64) -> i64 {
    number.cast_signed()
}
