//! The schema of a store: its version, its tables, and how it is recognised.

use crate::StoreError;
use crate::error::fault;
use crate::views::{self, View};
use rusqlite::{Connection, MAIN_DB, TransactionBehavior};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::OnceLock;

/// The `PRAGMA application_id` of a store: `fsdy` in ASCII.
pub const APPLICATION_ID: i64 = 0x6673_6479;

/// The schema version of this program (`PRAGMA user_version`). A change of the tables, or of a type
/// of a document that serde does not bridge, is another version.
pub const SCHEMA_VERSION: i64 = 20;

/// The tables. Views are made from the types of the documents.
const TABLES: &str = include_str!("schema/tables.sql");

/// The kind of a database, by its application id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Identity {
    /// An empty database.
    Empty,
    /// A store with this schema version.
    Store(i64),
    /// A database of another program, with this application id.
    Foreign(i64),
}

pub(crate) fn identity(connection: &Connection) -> rusqlite::Result<Identity> {
    let number =
        |pragma: &str| connection.pragma_query_value(None, pragma, |row| row.get::<_, i64>(0));
    let (application, version) = (number("application_id")?, number("user_version")?);
    if application == APPLICATION_ID {
        return Ok(Identity::Store(version));
    }
    let objects: i64 =
        connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
    Ok(if (application, version, objects) == (0, 0, 0) {
        Identity::Empty
    } else {
        Identity::Foreign(application)
    })
}

/// An error if this program cannot read the database.
pub(crate) fn admit(path: &Path, identity: Identity) -> Result<(), StoreError> {
    let refused = |why: String| {
        Err(StoreError::NotAStore {
            path: path.to_owned(),
            why,
        })
    };
    match identity {
        Identity::Empty => refused("it is a database without tables".to_owned()),
        Identity::Store(found) if found > SCHEMA_VERSION => Err(StoreError::Newer {
            path: path.to_owned(),
            found,
            known: SCHEMA_VERSION,
        }),
        Identity::Store(SCHEMA_VERSION) => Ok(()),
        Identity::Store(found) => Err(StoreError::Older {
            path: path.to_owned(),
            found,
            known: SCHEMA_VERSION,
        }),
        Identity::Foreign(id) => refused(format!(
            "it is a database of another program (application id {id:#010x})"
        )),
    }
}

/// An empty store, as the bytes of its file.
pub(crate) fn new_store() -> rusqlite::Result<Vec<u8>> {
    let connection = tables_in_memory()?;
    connection.pragma_update(None, "application_id", APPLICATION_ID)?;
    connection.pragma_update(None, "user_version", SCHEMA_VERSION)?;
    Ok(connection.serialize(MAIN_DB)?.to_vec())
}

/// The tables of a store, in a database in memory.
pub(crate) fn tables_in_memory() -> rusqlite::Result<Connection> {
    let connection = Connection::open_in_memory()?;
    connection.execute_batch(TABLES)?;
    Ok(connection)
}

/// The first difference between the tables of a store and those that fsdyno makes. A trigger, or a
/// view or a virtual table instead of a table, would execute code of another user.
pub(crate) fn deviation(connection: &Connection) -> rusqlite::Result<Option<String>> {
    // `merge` opens thousands of stores.
    static EXPECTED: OnceLock<Objects> = OnceLock::new();
    let expected = if let Some(expected) = EXPECTED.get() {
        expected
    } else {
        let expected = tables(&tables_in_memory()?)?;
        EXPECTED.get_or_init(|| expected)
    };
    let found = tables(connection)?;
    let differs = |(name, sql): (&String, &String), other: &Objects| other.get(name) != Some(sql);
    let strange = found.iter().find(|one| differs(*one, expected));
    let lacking = expected.iter().find(|one| differs(*one, &found));
    Ok(strange.or(lacking).map(|(name, _)| name.clone()))
}

/// The objects of a schema: kind and name, and the definition without white space.
type Objects = BTreeMap<String, String>;

/// The objects of a schema without views, which this program never reads.
fn tables(connection: &Connection) -> rusqlite::Result<Objects> {
    // `ANALYZE` creates tables of SQLite's own.
    objects(
        connection,
        "type <> 'view' AND name NOT IN ('sqlite_stat1', 'sqlite_stat4')",
    )
}

fn objects(connection: &Connection, condition: &str) -> rusqlite::Result<Objects> {
    let query = format!(
        "SELECT type || ' ' || name, coalesce(sql, '') FROM sqlite_schema WHERE {condition}"
    );
    let mut statement = connection.prepare(&query)?;
    let rows = statement.query_map([], |row| {
        let sql: String = row.get(1)?;
        Ok((row.get(0)?, sql.split_whitespace().collect()))
    })?;
    rows.collect()
}

/// Makes the views of this program, if the store has others: a type of a document has a new field.
/// Views of the user stay.
pub(crate) fn renew_views(path: &Path, connection: &mut Connection) -> Result<(), StoreError> {
    let failed = || fault(path, "making its views");
    let found = objects(connection, "type = 'view'").map_err(failed())?;
    let is_known = |view: &&View| {
        let known = found.get(&format!("view {}", view.name));
        known.is_some_and(|known| *known == view.sql.split_whitespace().collect::<String>())
    };
    let views = views::all();
    if views.iter().all(|view| is_known(&view)) {
        return Ok(());
    }
    let mut renew = || {
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        for View { name, sql, .. } in views {
            transaction.execute_batch(&format!("DROP VIEW IF EXISTS {name}; {sql}"))?;
        }
        transaction.commit()
    };
    renew().map_err(failed())
}
