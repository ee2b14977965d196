//! The schema through its versions. A version that was published is never edited again: what
//! changes is a new file in `schema/` and a new line in [`VERSIONS`].

use crate::StoreError;
use crate::error::fault;
use rusqlite::{Connection, TransactionBehavior};
use std::path::Path;

/// What marks a file as a store of fsdyno (`PRAGMA application_id`): `fsdy` in ASCII.
pub const APPLICATION_ID: i64 = 0x6673_6479;

/// The steps from nothing to the schema of today: step `n` (from 1) leads to version `n`.
const VERSIONS: [&str; 8] = [
    include_str!("schema/0001.sql"),
    include_str!("schema/0002.sql"),
    include_str!("schema/0003.sql"),
    include_str!("schema/0004.sql"),
    include_str!("schema/0005.sql"),
    include_str!("schema/0006.sql"),
    include_str!("schema/0007.sql"),
    include_str!("schema/0008.sql"),
];

/// The schema this program writes (`PRAGMA user_version`).
#[expect(clippy::cast_possible_wrap, reason = "a handful of versions")]
pub const SCHEMA_VERSION: i64 = VERSIONS.len() as i64;

/// What a database says it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Identity {
    /// Nothing is in it: a store may be made of it.
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

/// What to make of a store of this identity; the version it has, 0 where it is empty.
pub(crate) fn admit(path: &Path, identity: Identity) -> Result<i64, StoreError> {
    match identity {
        Identity::Empty => Ok(0),
        Identity::Store(found) if found > SCHEMA_VERSION => Err(StoreError::Newer {
            path: path.to_owned(),
            found,
            known: SCHEMA_VERSION,
        }),
        Identity::Store(found) => Ok(found.max(0)),
        Identity::Foreign(id) => Err(StoreError::NotAStore {
            path: path.to_owned(),
            why: format!("it is a database of another program (application id {id:#010x})"),
        }),
    }
}

/// Brings a store to the schema of today, whole or not at all.
pub(crate) fn migrate(path: &Path, connection: &mut Connection) -> Result<(), StoreError> {
    let failed = || fault(path, "bringing the schema up to date");
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
        transaction
            .pragma_update(None, "application_id", APPLICATION_ID)
            .map_err(failed())?;
        transaction
            .pragma_update(None, "user_version", SCHEMA_VERSION)
            .map_err(failed())?;
    }
    transaction.commit().map_err(failed())
}
