//! Opens stores. An existing file is checked read-only before anything is written.

use crate::error::fault;
use crate::place::{self, Copied, Ownership, Place, has_log};
use crate::schema::{admit, deviation, identity, new_store, renew_views};
use crate::{Store, StoreError};
use fsdyno_files::Existing;
use rusqlite::config::DbConfig;
use rusqlite::limits::Limit;
use rusqlite::{Connection, ErrorCode, MAIN_DB, OpenFlags};
use std::fmt::Write as _;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::time::{Duration, Instant};

/// The time that a writer waits for another writer.
const BUSY_TIMEOUT: Duration = Duration::from_secs(30);

/// The largest text or row that is read or written, bytes.
const LARGEST_VALUE: i32 = 64 << 20;

impl Store {
    /// Checks whether a store can be written here, as far as its directory exists. Creates nothing.
    pub fn check_place(path: &Path) -> Result<(), StoreError> {
        let exists = |parent: &Path| parent.as_os_str().is_empty() || parent.is_dir();
        if path.parent().is_some_and(exists) {
            Place::to_write(path)?;
        }
        Ok(())
    }

    /// Opens a store for writing; creates the store and its directory if they do not exist.
    ///
    /// An error, without any change: a file that is not a store, another schema, or a directory that
    /// other users can change.
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        let place = Place::to_write(path)?;
        let path = place.path.clone();
        if !place.taken {
            create(&path)?;
        }
        check(&path)?;
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
            | OpenFlags::SQLITE_OPEN_NOFOLLOW
            | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let mut connection =
            Connection::open_with_flags(&path, flags).map_err(fault(&path, "opening"))?;
        settle(&path, &connection)?;
        renew_views(&path, &mut connection)?;
        connection
            .pragma_update(None, "foreign_keys", "ON")
            .map_err(fault(&path, "opening for writing"))?;
        Ok(Self {
            path,
            connection,
            copied_from: None,
        })
    }

    /// Opens a store for reading; creates no file.
    ///
    /// A store that other users can change is copied to memory, and none of its companion files is
    /// read.
    pub fn open_existing_read_only(path: &Path) -> Result<Self, StoreError> {
        let (path, connection, copied_from) = match Place::to_read(path)? {
            Ownership::Own(Place { path, .. }) => {
                check(&path)?;
                let connection = reader(&path).map_err(fault(&path, "opening for reading"))?;
                (path, connection, None)
            }
            Ownership::Foreign(path) => {
                let Copied { bytes, uid } = place::copy(&path)?;
                let connection = in_memory(&bytes)
                    .and_then(read_only)
                    .map_err(fault(&path, "reading a copy of it"))?;
                admit_whole(&path, &connection, u64::try_from(bytes.len()).ok())?;
                (path, connection, Some(uid))
            }
        };
        Ok(Self {
            path,
            connection,
            copied_from,
        })
    }
}

/// Creates a store whole or not at all: an empty file is not a store.
fn create(path: &Path) -> Result<(), StoreError> {
    let bytes = new_store().map_err(fault(path, "making the tables of a new store"))?;
    match fsdyno_files::replace(path, &bytes, 0o600, Existing::Keep) {
        // Another process created it first.
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        made => made.map_err(|source| StoreError::Io {
            path: path.to_owned(),
            operation: "making the store",
            advice: "name a file in a directory you may write to with --store FILE",
            source,
        }),
    }
}

/// An error if the file is not a store that this program reads. Writes nothing.
fn check(path: &Path) -> Result<(), StoreError> {
    let attempt = || {
        let whole = !has_log(path);
        let connection = looker(path, whole).map_err(fault(path, "looking at it"))?;
        // Pages in a log may not be in the file yet.
        let length = fs::metadata(path).map_or(0, |about| about.len());
        admit_whole(path, &connection, whole.then_some(length))
    };
    attempt().or_else(|_| {
        // Another process may be switching to write-ahead logging, which takes no longer than this.
        std::thread::sleep(Duration::from_millis(100));
        attempt()
    })
}

/// An error if a database does not have exactly the tables of a store. With the length of its file,
/// checks that the file is complete.
fn admit_whole(
    path: &Path,
    connection: &Connection,
    length: Option<u64>,
) -> Result<(), StoreError> {
    let failed = |error: rusqlite::Error| match error.sqlite_error_code() {
        Some(ErrorCode::NotADatabase) => StoreError::NotAStore {
            path: path.to_owned(),
            why: "it is no SQLite database".to_owned(),
        },
        _ => fault(path, "looking at it")(error),
    };
    admit(path, identity(connection).map_err(failed)?)?;
    let not_a_store = |why: String| StoreError::NotAStore {
        path: path.to_owned(),
        why,
    };
    if let Some(length) = length {
        let number = |pragma| {
            let value = connection.pragma_query_value(None, pragma, |row| row.get::<_, i64>(0));
            value.map(i64::cast_unsigned)
        };
        let pages = number("page_count").map_err(failed)?;
        let whole = pages.saturating_mul(number("page_size").map_err(failed)?);
        if length < whole {
            let why =
                format!("it is cut off at {length} bytes of {whole}; restore it, or remove it");
            return Err(not_a_store(why));
        }
    }
    match deviation(connection).map_err(failed)? {
        None => Ok(()),
        Some(object) => Err(not_a_store(format!("{object:?} is not as fsdyno makes it"))),
    }
}

/// A connection that inspects a database. Without a log, the file is complete and is opened as
/// immutable: an ordinary reader would leave a log and an index next to the file.
fn looker(path: &Path, whole: bool) -> rusqlite::Result<Connection> {
    let connection = if whole {
        immutable(path)?
    } else {
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        Connection::open_with_flags(path, flags)?
    };
    connection.busy_timeout(BUSY_TIMEOUT)?;
    harden(&connection)?;
    Ok(connection)
}

/// A database in memory, from the bytes of its file.
pub(crate) fn in_memory(bytes: &[u8]) -> rusqlite::Result<Connection> {
    let mut connection = Connection::open_in_memory()?;
    harden(&connection)?;
    connection.deserialize_read_exact(MAIN_DB, bytes, bytes.len(), false)?;
    Ok(connection)
}

fn read_only(connection: Connection) -> rusqlite::Result<Connection> {
    connection.pragma_update(None, "query_only", true)?;
    Ok(connection)
}

/// Hardens a connection: a schema can execute nothing outside its own tables, and no value is
/// larger than the values that fsdyno writes (<https://sqlite.org/security.html>).
fn harden(connection: &Connection) -> rusqlite::Result<()> {
    for (option, on) in [
        (DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false),
        (DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true),
        (DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER, false),
    ] {
        connection.set_db_config(option, on)?;
    }
    for (limit, most) in [
        (Limit::SQLITE_LIMIT_LENGTH, LARGEST_VALUE),
        (Limit::SQLITE_LIMIT_ATTACHED, 0),
    ] {
        connection.set_limit(limit, most)?;
    }
    connection.pragma_update(None, "cell_size_check", true)
}

/// A read-only connection. It may still clean up the log of a killed writer. It removes its own log
/// when it closes, like a connection that can write.
fn reader(path: &Path) -> rusqlite::Result<Connection> {
    let settle = |connection: Connection| {
        connection.busy_timeout(BUSY_TIMEOUT)?;
        connection.pragma_update(None, "query_only", true)?;
        harden(&connection)?;
        identity(&connection)?;
        Ok(connection)
    };
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
        | OpenFlags::SQLITE_OPEN_NOFOLLOW
        | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    match Connection::open_with_flags(path, flags).and_then(settle) {
        // A read-only file system has no place for the index of the log
        // (https://sqlite.org/wal.html, "Read-Only Databases").
        Err(error) if cannot_index(&error) && !has_log(path) => immutable(path).and_then(settle),
        other => other,
    }
}

fn cannot_index(error: &rusqlite::Error) -> bool {
    matches!(
        error.sqlite_error_code(),
        Some(ErrorCode::CannotOpen | ErrorCode::ReadOnly)
    )
}

/// Opens a file that no process changes while it is open.
fn immutable(path: &Path) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY
        | OpenFlags::SQLITE_OPEN_NO_MUTEX
        | OpenFlags::SQLITE_OPEN_URI;
    Connection::open_with_flags(immutable_uri(path), flags)
}

fn immutable_uri(path: &Path) -> String {
    let mut uri = "file:".to_owned();
    for byte in path.as_os_str().as_bytes() {
        if byte.is_ascii_alphanumeric() || b"/-_.".contains(byte) {
            uri.push(char::from(*byte));
        } else {
            let _ = write!(uri, "%{byte:02X}");
        }
    }
    uri.push_str("?immutable=1");
    uri
}

/// Sets the pragmas of a writing connection.
fn settle(path: &Path, connection: &Connection) -> Result<(), StoreError> {
    let failed = || fault(path, "opening for writing");
    connection.busy_timeout(BUSY_TIMEOUT).map_err(failed())?;
    // SQLite silently opens a file read-only if it cannot write to it.
    if connection.is_readonly(MAIN_DB).map_err(failed())? {
        return Err(StoreError::Io {
            path: path.to_owned(),
            operation: "opening for writing",
            advice: "make it writable for this user, or name another store with --store FILE",
            source: io::ErrorKind::PermissionDenied.into(),
        });
    }
    harden(connection).map_err(failed())?;
    write_ahead(connection).map_err(failed())?;
    connection
        .pragma_update(None, "synchronous", "FULL")
        .map_err(failed())
}

/// Switches to write-ahead logging. The switch needs exclusive access and does not always wait for
/// the busy timeout, so it is retried. If a file system does not support it, the rollback journal
/// remains in use and is equally safe.
fn write_ahead(connection: &Connection) -> rusqlite::Result<()> {
    let start = Instant::now();
    loop {
        let tried = connection.pragma_update_and_check(None, "journal_mode", "WAL", |_| Ok(()));
        match tried {
            Err(error)
                if error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy)
                    && start.elapsed() < BUSY_TIMEOUT =>
            {
                std::thread::sleep(Duration::from_millis(5));
            }
            other => return other,
        }
    }
}
