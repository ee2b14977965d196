//! The schema through its versions. A version that was published is never edited again: what
//! changes is a new file in `schema/` and a new line in [`VERSIONS`].

use crate::StoreError;
use crate::error::fault;
use fsdyno_model::Plan;
use rusqlite::{Connection, MAIN_DB, Transaction, TransactionBehavior, params};
use std::collections::BTreeMap;
use std::path::Path;

/// What marks a file as a store of fsdyno (`PRAGMA application_id`): `fsdy` in ASCII.
pub const APPLICATION_ID: i64 = 0x6673_6479;

/// The steps from nothing to the schema of today: step `n` (from 1) leads to version `n`.
pub(crate) const VERSIONS: [&str; 9] = [
    include_str!("schema/0001.sql"),
    include_str!("schema/0002.sql"),
    include_str!("schema/0003.sql"),
    include_str!("schema/0004.sql"),
    include_str!("schema/0005.sql"),
    include_str!("schema/0006.sql"),
    include_str!("schema/0007.sql"),
    include_str!("schema/0008.sql"),
    include_str!("schema/0009.sql"),
];

/// The schema this program writes (`PRAGMA user_version`).
#[expect(clippy::cast_possible_wrap, reason = "a handful of versions")]
pub const SCHEMA_VERSION: i64 = VERSIONS.len() as i64;

/// What a database says it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Identity {
    /// Nothing is in it.
    Empty,
    /// A store with this schema.
    Store(i64),
    /// Somebody else's, with this application id.
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

/// The schema version of a store; whatever is no store that this program reads is refused.
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
        Identity::Store(found) if found < 1 => {
            refused(format!("its schema version is {found}, and the first is 1"))
        }
        Identity::Store(found) => Ok(found),
        Identity::Foreign(id) => refused(format!(
            "it is a database of another program (application id {id:#010x})"
        )),
    }
}

/// A store that holds nothing yet, as the bytes of its file.
pub(crate) fn new_store() -> rusqlite::Result<Vec<u8>> {
    let connection = at_version(SCHEMA_VERSION)?;
    connection.pragma_update(None, "application_id", APPLICATION_ID)?;
    connection.pragma_update(None, "user_version", SCHEMA_VERSION)?;
    Ok(connection.serialize(MAIN_DB)?.to_vec())
}

/// The tables of a schema version, in memory.
pub(crate) fn at_version(version: i64) -> rusqlite::Result<Connection> {
    let connection = Connection::open_in_memory()?;
    for step in VERSIONS.iter().take(usize::try_from(version).unwrap_or(0)) {
        connection.execute_batch(step)?;
    }
    Ok(connection)
}

/// The first difference between the schema of a store and that of its version: a trigger, a view or
/// a virtual table in place of a table would execute what another user wrote.
pub(crate) fn deviation(connection: &Connection, version: i64) -> rusqlite::Result<Option<String>> {
    let expected = objects(&at_version(version)?)?;
    let found = objects(connection)?;
    let differs = |(name, sql): (&String, &String), other: &Objects| other.get(name) != Some(sql);
    let strange = found.iter().find(|one| differs(*one, &expected));
    let lacking = expected.iter().find(|one| differs(*one, &found));
    Ok(strange.or(lacking).map(|(name, _)| name.clone()))
}

/// What a schema defines: kind and name, and how it is made, without its white space.
type Objects = BTreeMap<String, String>;

fn objects(connection: &Connection) -> rusqlite::Result<Objects> {
    // What `ANALYZE` gathers are tables of SQLite's own.
    const QUERY: &str = "SELECT type || ' ' || name, coalesce(sql, '') FROM sqlite_schema
        WHERE name NOT IN ('sqlite_stat1', 'sqlite_stat4')";
    let mut statement = connection.prepare(QUERY)?;
    let rows = statement.query_map([], |row| {
        let sql: String = row.get(1)?;
        Ok((row.get(0)?, sql.split_whitespace().collect()))
    })?;
    rows.collect()
}

/// Brings a store to the schema of today, whole or not at all.
///
/// Foreign keys are off meanwhile: a table that is made anew would take the rows that refer to it
/// with it. The caller turns them on.
pub(crate) fn migrate(path: &Path, connection: &mut Connection) -> Result<(), StoreError> {
    let failed = || fault(path, "bringing the schema up to date");
    connection
        .pragma_update(None, "foreign_keys", "OFF")
        .map_err(failed())?;
    let transaction = connection
        .transaction_with_behavior(TransactionBehavior::Immediate)
        .map_err(failed())?;
    // Looked at again: another process may have migrated since the file was first looked at.
    let found = admit(path, identity(&transaction).map_err(failed())?)?;
    if found < SCHEMA_VERSION {
        let done = usize::try_from(found).unwrap_or(0);
        for step in &VERSIONS[done..] {
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

/// Writes stored plans in the words of today, with their hashes: plans that are equal keep equal
/// hashes. A plan that does not parse stays as it is, and fails when it is read.
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

/// Makes sure that every row still refers to rows that exist.
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
