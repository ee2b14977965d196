//! The descriptions of `schema/columns.txt` cover exactly the schema.

use crate::describe::tables;
use crate::migrate::{SCHEMA_VERSION, at_version};
use std::collections::BTreeSet;

#[test]
fn every_table_and_column_is_described_once() {
    let schema = at_version(SCHEMA_VERSION).unwrap();
    let mut query = schema
        .prepare(
            "SELECT name FROM sqlite_schema
             WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite_%'",
        )
        .unwrap();
    let names = query.query_map([], |row| row.get(0)).unwrap();
    let in_store: BTreeSet<String> = names.map(Result::unwrap).collect();
    let tables = tables().unwrap();
    assert!(tables.len() == in_store.len() && in_store.len() > 10);
    for table in &tables {
        assert!(in_store.contains(&table.name), "{}", table.name);
        assert!(!table.about.is_empty(), "{} is not described", table.name);
        for column in &table.columns {
            let name = format!("{}.{}", table.name, column.name);
            assert!(!column.meaning.is_empty(), "{name} is not described");
        }
    }
    let rows = include_str!("../schema/columns.txt").lines();
    let described = rows.filter(|row| !row.starts_with('#') && row.matches('|').count() >= 2);
    let columns: usize = tables.iter().map(|table| table.columns.len()).sum();
    assert_eq!(
        described.count(),
        columns,
        "a row names no column, or one twice"
    );
}

#[test]
fn every_duration_and_size_has_its_unit_in_its_name() {
    for table in tables().unwrap() {
        for column in table.columns {
            let (name, unit) = (&column.name, column.unit.as_str());
            let named = match unit {
                "ns" => name.ends_with("_ns"),
                "bytes" => name.ends_with("_bytes") || name.contains("_bytes_"),
                _ => !name.ends_with("_ns") && !name.ends_with("_bytes"),
            };
            assert!(named, "`{name}` is in {unit:?}");
        }
    }
}
