//! The tables and views of the current schema with the meaning of each column, for the reference of
//! the store. Names and types come from the schema, units and meanings from `schema/columns.txt`.

use crate::migrate::{SCHEMA_VERSION, at_version};
use rusqlite::Connection;

const MEANINGS: &str = include_str!("schema/columns.txt");

/// A table or a view.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Table {
    pub name: String,
    /// The meaning of a row, in Markdown.
    pub about: String,
    /// Its columns, in the order of the schema.
    pub columns: Vec<Column>,
}

/// A column of a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Column {
    pub name: String,
    /// The type of its values; empty for an expression of a view.
    pub kind: String,
    /// Whether it is part of the primary key.
    pub key: bool,
    /// Whether it can be NULL; `None` for a column of a view.
    pub nullable: Option<bool>,
    /// The unit of its values; empty for names and texts.
    pub unit: String,
    /// Its content, in Markdown.
    pub meaning: String,
}

/// The tables and views in the order of `columns.txt`. A column without a meaning has an empty one.
pub fn tables() -> rusqlite::Result<Vec<Table>> {
    let schema = at_version(SCHEMA_VERSION)?;
    let sections = MEANINGS.split("\n[").skip(1);
    let sections = sections.filter_map(|section| section.split_once("]\n"));
    sections
        .map(|(name, text)| table(&schema, name, text))
        .collect()
}

/// A table of the schema, with the text of its section.
fn table(schema: &Connection, name: &str, text: &str) -> rusqlite::Result<Table> {
    let rows: Vec<[&str; 3]> = text.lines().filter_map(row).collect();
    let about: Vec<&str> = text.lines().filter(|line| row(line).is_none()).collect();
    let is_view: bool = schema.query_row(
        "SELECT type = 'view' FROM sqlite_schema WHERE name = ?1",
        [name],
        |row| row.get(0),
    )?;
    let mut query = schema
        .prepare("SELECT name, type, \"notnull\", pk FROM pragma_table_xinfo(?1) ORDER BY cid")?;
    let columns = query.query_map([name], |found| {
        let column: String = found.get(0)?;
        let known = rows.iter().find(|[name, ..]| *name == column);
        let [_, unit, meaning] = *known.unwrap_or(&["", "", ""]);
        Ok(Column {
            kind: found.get::<_, String>(1)?.to_lowercase(),
            key: found.get::<_, i64>(3)? > 0,
            nullable: (!is_view).then_some(!found.get::<_, bool>(2)?),
            unit: unit.to_owned(),
            meaning: meaning.to_owned(),
            name: column,
        })
    })?;
    Ok(Table {
        name: name.to_owned(),
        about: about.join("\n").trim().to_owned(),
        columns: columns.collect::<Result<_, _>>()?,
    })
}

/// The cells of a row `COLUMN | UNIT | MEANING`.
fn row(line: &str) -> Option<[&str; 3]> {
    let mut cells = line.splitn(3, '|').map(str::trim);
    Some([cells.next()?, cells.next()?, cells.next()?])
}
