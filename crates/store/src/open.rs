//! Opening: what is there is looked at, read-only, before anything is written.

use crate::error::fault;
use crate::migrate::{Identity, SCHEMA_VERSION, admit, identity, migrate};
use crate::{Store, StoreError};
use rusqlite::{Connection, ErrorCode, MAIN_DB, OpenFlags};
use std::ffi::OsString;
use std::fmt::Write as _;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// How long a writer waits for another one.
const PATIENCE: Duration = Duration::from_secs(30);

impl Store {
    /// Opens a store for writing; makes it, with its directory, where there is none.
    ///
    /// A file that is no store, or that has a newer schema, is refused and not touched. An older
    /// schema is brought up to date.
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        let path = absolute(path)?;
        match kind_of(&path)? {
            Kind::Missing => make_directory(&path)?,
            Kind::File => {
                look(&path)?;
            }
        }
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
            | OpenFlags::SQLITE_OPEN_CREATE
            | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let mut connection =
            Connection::open_with_flags(&path, flags).map_err(fault(&path, "opening"))?;
        settle(&path, &connection)?;
        migrate(&path, &mut connection)?;
        Ok(Self { path, connection })
    }

    /// Opens a store for reading; makes no file where there is none.
    pub fn open_existing_read_only(path: &Path) -> Result<Self, StoreError> {
        let path = absolute(path)?;
        let Kind::File = kind_of(&path)? else {
            return Err(StoreError::NoStore { path });
        };
        match look(&path)? {
            0 => Err(StoreError::NoStore { path }),
            SCHEMA_VERSION => {
                let connection = reader(&path).map_err(fault(&path, "opening for reading"))?;
                Ok(Self { path, connection })
            }
            found => Err(StoreError::Older {
                path,
                found,
                known: SCHEMA_VERSION,
            }),
        }
    }
}

/// The smallest database: one page of the smallest size.
const SMALLEST: u64 = 512;

enum Kind {
    Missing,
    File,
}

/// An absolute path, so that no name (`:memory:`, `file:x`) means anything special to `SQLite`.
fn absolute(path: &Path) -> Result<PathBuf, StoreError> {
    std::path::absolute(path).map_err(|source| StoreError::Io {
        path: path.to_owned(),
        doing: "finding the store",
        advice: "name a file with --store FILE",
        source,
    })
}

fn kind_of(path: &Path) -> Result<Kind, StoreError> {
    match fs::metadata(path) {
        // SQLite takes a file of one byte for an empty database, and would write over it.
        Ok(facts) if facts.is_file() && (facts.len() == 0 || facts.len() >= SMALLEST) => {
            Ok(Kind::File)
        }
        Ok(facts) => Err(StoreError::NotAStore {
            path: path.to_owned(),
            why: match (facts.is_file(), facts.is_dir()) {
                (true, _) => "it is too short for a SQLite database".to_owned(),
                (_, true) => "it is a directory".to_owned(),
                _ => "it is no regular file".to_owned(),
            },
        }),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Kind::Missing),
        Err(source) => Err(StoreError::Io {
            path: path.to_owned(),
            doing: "looking at the store",
            advice: "name another with --store FILE",
            source,
        }),
    }
}

fn make_directory(path: &Path) -> Result<(), StoreError> {
    let Some(directory) = path.parent() else {
        return Ok(());
    };
    fs::create_dir_all(directory).map_err(|source| StoreError::Io {
        path: directory.to_owned(),
        doing: "making the directory of the store",
        advice: "name a file in a directory you may write to with --store FILE",
        source,
    })
}

/// Tells what schema a file has (0: it is empty), or refuses it; writes nothing.
fn look(path: &Path) -> Result<i64, StoreError> {
    let attempt = || match identify(path) {
        Err(error) if error.sqlite_error_code() == Some(ErrorCode::NotADatabase) => {
            Err(StoreError::NotAStore {
                path: path.to_owned(),
                why: "it is no SQLite database".to_owned(),
            })
        }
        other => admit(path, other.map_err(fault(path, "looking at it"))?),
    };
    attempt().or_else(|_| {
        // It may be a store that another process is just making: that takes no longer than this.
        std::thread::sleep(Duration::from_millis(100));
        attempt()
    })
}

/// Reads what a database says it is. Where no log lies beside it, its file is the whole truth and
/// is read as immutable: an ordinary reader would leave a log and an index beside the file.
fn identify(path: &Path) -> rusqlite::Result<Identity> {
    let connection = if has_log(path) {
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        Connection::open_with_flags(path, flags)?
    } else {
        immutable(path)?
    };
    connection.busy_timeout(PATIENCE)?;
    connection.pragma_update(None, "trusted_schema", false)?;
    identity(&connection)
}

/// A connection that only reads. It may still tidy up the log of a killed writer, and takes its
/// own away when it closes, as any connection that could write does.
fn reader(path: &Path) -> rusqlite::Result<Connection> {
    let settle = |connection: Connection| {
        connection.busy_timeout(PATIENCE)?;
        connection.pragma_update(None, "query_only", true)?;
        connection.pragma_update(None, "trusted_schema", false)?;
        identity(&connection)?;
        Ok(connection)
    };
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    match Connection::open_with_flags(path, flags).and_then(settle) {
        // On a read-only file system there is no place for the index of the log
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

fn has_log(path: &Path) -> bool {
    let mut log = OsString::from(path);
    log.push("-wal");
    fs::metadata(log).is_ok_and(|facts| facts.len() > 0)
}

/// Opens a file of which nobody will change a byte meanwhile.
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

/// Sets what holds for every writing connection.
fn settle(path: &Path, connection: &Connection) -> Result<(), StoreError> {
    let failed = || fault(path, "opening for writing");
    connection.busy_timeout(PATIENCE).map_err(failed())?;
    // SQLite falls back to reading only, silently, where it may not write.
    if connection.is_readonly(MAIN_DB).map_err(failed())? {
        return Err(StoreError::Io {
            path: path.to_owned(),
            doing: "opening for writing",
            advice: "make it writable for this user, or name another store with --store FILE",
            source: io::ErrorKind::PermissionDenied.into(),
        });
    }
    write_ahead(connection).map_err(failed())?;
    for (pragma, value) in [
        ("foreign_keys", "ON"),
        ("synchronous", "FULL"),
        ("trusted_schema", "OFF"),
    ] {
        connection
            .pragma_update(None, pragma, value)
            .map_err(failed())?;
    }
    Ok(())
}

/// Switches to write-ahead logging. The switch needs the file for itself and does not always wait
/// for it by the busy timeout, so it is tried again. Where a file system does not allow it, the
/// rollback journal that stays in force is as safe.
fn write_ahead(connection: &Connection) -> rusqlite::Result<()> {
    let start = Instant::now();
    loop {
        let tried = connection.pragma_update_and_check(None, "journal_mode", "WAL", |_| Ok(()));
        match tried {
            Err(error)
                if error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy)
                    && start.elapsed() < PATIENCE =>
            {
                std::thread::sleep(Duration::from_millis(5));
            }
            other => return other,
        }
    }
}
