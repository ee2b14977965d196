//! Schema versions and migrations. A published version is never edited: a change is a new file in
//! `schema/` and a new line in [`VERSIONS`].

use crate::StoreError;
use crate::error::fault;
use fsdyno_model::Plan;
use rusqlite::{Connection, MAIN_DB, Transaction, TransactionBehavior, params};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

/// The `PRAGMA application_id` of a store: `fsdy` in ASCII.
pub const APPLICATION_ID: i64 = 0x6673_6479;

/// The first schema that is read: that of fsdyno 0.2.
const FIRST: i64 = 18;

/// The tables of the first schema, then the steps to each later one.
const VERSIONS: [&str; 1] = [include_str!("schema/0018.sql")];

/// The schema version this program writes (`PRAGMA user_version`).
#[expect(clippy::cast_possible_wrap, reason = "a handful of versions")]
pub const SCHEMA_VERSION: i64 = FIRST - 1 + VERSIONS.len() as i64;

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

/// The schema version of a store; an error if this program cannot read the database.
pub(crate) fn admit(path: &Path, identity: Identity) -> Result<i64, StoreError> {
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
        Identity::Store(found) if found < FIRST => refused(format!(
            "its schema version is {found}, of fsdyno before 0.2; this version reads {FIRST} and later"
        )),
        Identity::Store(found) => Ok(found),
        Identity::Foreign(id) => refused(format!(
            "it is a database of another program (application id {id:#010x})"
        )),
    }
}

/// An empty store, as the bytes of its file.
pub(crate) fn new_store() -> rusqlite::Result<Vec<u8>> {
    let connection = at_version(SCHEMA_VERSION)?;
    connection.pragma_update(None, "application_id", APPLICATION_ID)?;
    connection.pragma_update(None, "user_version", SCHEMA_VERSION)?;
    Ok(connection.serialize(MAIN_DB)?.to_vec())
}

/// The number of steps from an empty database to a version.
fn steps_to(version: i64) -> usize {
    usize::try_from(version - FIRST + 1).unwrap_or(0)
}

/// The tables of a schema version, in a database in memory.
pub(crate) fn at_version(version: i64) -> rusqlite::Result<Connection> {
    let connection = Connection::open_in_memory()?;
    for step in VERSIONS.iter().take(steps_to(version)) {
        connection.execute_batch(step)?;
    }
    Ok(connection)
}

/// The first difference between the schema of a store and that of its version. A trigger, a view or
/// a virtual table instead of a table would execute code of another user.
pub(crate) fn deviation(connection: &Connection, version: i64) -> rusqlite::Result<Option<String>> {
    // All steps up to the version take milliseconds; `merge` opens thousands of stores.
    static EXPECTED: Mutex<BTreeMap<i64, Arc<Objects>>> = Mutex::new(BTreeMap::new());
    let mut known = EXPECTED.lock().unwrap_or_else(PoisonError::into_inner);
    let expected = if let Some(expected) = known.get(&version) {
        Arc::clone(expected)
    } else {
        let expected = Arc::new(objects(&at_version(version)?)?);
        known.insert(version, Arc::clone(&expected));
        expected
    };
    drop(known);
    let found = objects(connection)?;
    let differs = |(name, sql): (&String, &String), other: &Objects| other.get(name) != Some(sql);
    let strange = found.iter().find(|one| differs(*one, &expected));
    let lacking = expected.iter().find(|one| differs(*one, &found));
    Ok(strange.or(lacking).map(|(name, _)| name.clone()))
}

/// The objects of a schema: kind and name, and the definition without white space.
type Objects = BTreeMap<String, String>;

fn objects(connection: &Connection) -> rusqlite::Result<Objects> {
    // `ANALYZE` creates tables of SQLite's own.
    const QUERY: &str = "SELECT type || ' ' || name, coalesce(sql, '') FROM sqlite_schema
        WHERE name NOT IN ('sqlite_stat1', 'sqlite_stat4')";
    let mut statement = connection.prepare(QUERY)?;
    let rows = statement.query_map([], |row| {
        let sql: String = row.get(1)?;
        Ok((row.get(0)?, sql.split_whitespace().collect()))
    })?;
    rows.collect()
}

/// Migrates a store to the current schema, whole or not at all.
///
/// Foreign keys are off during the migration: recreating a table would delete the rows that refer
/// to it. The caller turns them on.
pub(crate) fn migrate(path: &Path, connection: &mut Connection) -> Result<(), StoreError> {
    let failed = || fault(path, "bringing the schema up to date");
    connection
        .pragma_update(None, "foreign_keys", "OFF")
        .map_err(failed())?;
    let transaction = connection
        .transaction_with_behavior(TransactionBehavior::Immediate)
        .map_err(failed())?;
    // Checked again: another process may have migrated the store since the first check.
    let found = admit(path, identity(&transaction).map_err(failed())?)?;
    if found < SCHEMA_VERSION {
        for step in &VERSIONS[steps_to(found)..] {
            transaction.execute_batch(step).map_err(failed())?;
        }
        write_plans_anew(&transaction).map_err(failed())?;
        check_references(path, &transaction)?;
        transaction
            .pragma_update(None, "application_id", APPLICATION_ID)
            .map_err(failed())?;
        transaction
            .pragma_update(None, "user_version", SCHEMA_VERSION)
            .map_err(failed())?;
    }
    transaction.commit().map_err(failed())
}

/// Rewrites stored plans with the current names, and updates their hashes: equal plans keep equal
/// hashes. A plan that does not parse stays unchanged, and fails when it is read.
fn write_plans_anew(transaction: &Transaction<'_>) -> rusqlite::Result<()> {
    let mut plans = transaction.prepare("SELECT id, plan FROM run")?;
    let stored = plans.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let stored: Vec<(String, String)> = stored.collect::<Result<_, _>>()?;
    for (id, text) in stored {
        let Ok(mut plan) = serde_json::from_str::<Plan>(&text) else {
            continue;
        };
        plan.schema = Plan::SCHEMA;
        if let Ok(today) = serde_json::to_string(&plan) {
            transaction.execute(
                "UPDATE run SET plan = ?2, plan_hash = ?3 WHERE id = ?1",
                params![id, today, plan.hash()],
            )?;
        }
    }
    Ok(())
}

/// Checks that every reference of a row is valid.
fn check_references(path: &Path, transaction: &Transaction<'_>) -> Result<(), StoreError> {
    let failed = || fault(path, "checking references after the migration");
    let mut check = transaction
        .prepare("PRAGMA foreign_key_check")
        .map_err(failed())?;
    if check.exists([]).map_err(failed())? {
        return Err(StoreError::NotAStore {
            path: path.to_owned(),
            why: "rows refer to rows that do not exist; restore it from a copy".to_owned(),
        });
    }
    Ok(())
}
