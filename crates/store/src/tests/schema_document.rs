//! `schema.md` describes exactly the schema.

use super::WorkDir;
use std::collections::BTreeSet;

/// Every table and view of the store with its columns, as `table.column`.
fn in_the_store() -> BTreeSet<String> {
    let work_dir = WorkDir::new();
    let store = work_dir.open();
    let mut statement = store
        .connection
        .prepare(
            "SELECT t.name || '.' || c.name
             FROM sqlite_schema AS t JOIN pragma_table_xinfo(t.name) AS c
             WHERE t.type IN ('table', 'view') AND t.name NOT LIKE 'sqlite_%'",
        )
        .unwrap();
    let names = statement.query_map([], |row| row.get(0)).unwrap();
    names.map(Result::unwrap).collect()
}

/// Every table and view that the document names, by its headings and first columns.
fn in_the_document() -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    let mut table = "";
    for line in include_str!("../../schema.md").lines() {
        if let Some(heading) = line.strip_prefix("## `") {
            table = heading.trim_end_matches('`');
        } else if let Some(row) = line.strip_prefix("| `") {
            let (column, rest) = row.split_once('`').unwrap();
            let meaning = rest
                .trim_end_matches([' ', '|'])
                .rsplit('|')
                .next()
                .unwrap();
            assert!(
                !meaning.trim().is_empty(),
                "{table}.{column} has no meaning"
            );
            assert!(
                names.insert(format!("{table}.{column}")),
                "{table}.{column} stands twice"
            );
        }
    }
    names
}

#[test]
fn the_document_lists_exactly_the_tables_and_columns() {
    let (store, document) = (in_the_store(), in_the_document());
    assert!(store.len() > 80, "{store:?}");
    let undocumented: Vec<_> = store.difference(&document).collect();
    assert!(
        undocumented.is_empty(),
        "not in schema.md: {undocumented:?}"
    );
    let imagined: Vec<_> = document.difference(&store).collect();
    assert!(imagined.is_empty(), "only in schema.md: {imagined:?}");
}

#[test]
fn every_duration_and_size_has_its_unit_in_its_name() {
    for line in include_str!("../../schema.md").lines() {
        let Some(row) = line.strip_prefix("| `") else {
            continue;
        };
        let cells: Vec<_> = row.split('|').map(str::trim).collect();
        let (column, unit) = (cells[0].trim_end_matches('`'), cells[1]);
        let named = match unit {
            "ns" => column.ends_with("_ns"),
            "bytes" => column.ends_with("_bytes") || column.contains("_bytes_"),
            _ => !column.ends_with("_ns") && !column.ends_with("_bytes"),
        };
        assert!(named, "`{column}` is in {unit:?}");
    }
}
