//! Errors of a store, each with a remedy.

use rusqlite::ErrorCode;
use std::io;
use std::path::{Path, PathBuf};

/// The reason why an operation on a store failed.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The store does not exist.
    #[error(
        "there is no store at {}; `fsdyno run` makes one, or name another with --store FILE",
        path.display()
    )]
    NoStore {
        /// The path that does not exist.
        path: PathBuf,
    },
    /// A later version of fsdyno wrote the store. It is unchanged.
    #[error(
        "store {} has schema {found}, this fsdyno reads {known}; it was left untouched: \
         use a newer fsdyno, or name another store with --store FILE",
        path.display()
    )]
    Newer {
        path: PathBuf,
        found: i64,
        /// The schema version of this program.
        known: i64,
    },
    /// An earlier version of fsdyno wrote the store. It is unchanged.
    #[error(
        "store {} has schema {found}, this fsdyno reads {known}; it was left untouched: read it \
         with the fsdyno that wrote it, and move it away or name another with --store FILE",
        path.display()
    )]
    Older {
        path: PathBuf,
        found: i64,
        /// The schema version of this program.
        known: i64,
    },
    /// The file is not a store. It is unchanged.
    #[error(
        "{} is no fsdyno store: {why}; it was left untouched: name another with --store FILE",
        path.display()
    )]
    NotAStore { path: PathBuf, why: String },
    /// Other users can change the store or its companion files. It is unchanged.
    #[error(
        "store {} is not written: {source}; name a file in a directory that only this user can \
         change, with --store FILE",
        path.display()
    )]
    Untrusted {
        path: PathBuf,
        source: fsdyno_files::Untrusted,
    },
    /// A store of another user has transactions that are not yet in its file.
    #[error(
        "store {} is not read: others could change it, and {} is not part of it yet; its owner \
         ends the run, or reads the store once after a kill (`fsdyno runs`)",
        path.display(),
        journal.display()
    )]
    Unfinished { path: PathBuf, journal: PathBuf },
    /// The lock of a run is not a regular lock file of this user.
    #[error("the lock of run `{id}` cannot be taken: {source}; remove that file if no run uses it")]
    Lock {
        id: String,
        source: fsdyno_files::Untrusted,
    },
    /// No run has that name.
    #[error("there is no run `{name}` in the store; {}", known_runs(recent))]
    NoSuchRun { name: String, recent: Vec<String> },
    /// All runs are in progress.
    #[error(
        "no run has ended yet: a process works on `{id}`. Wait, or write its name instead of `last`"
    )]
    OnlyRunning { id: String },
    /// The name matches several runs.
    #[error("`{name}` fits {} runs: {}; write more of the name", matches.len(), listed(matches))]
    Ambiguous { name: String, matches: Vec<String> },
    /// The name is not valid for a run.
    #[error(
        "`{id}` cannot name a run: take 1 to 100 letters, digits, dots, hyphens and underscores \
         (and not `last`)"
    )]
    BadId { id: String },
    /// The store already has a run of that name.
    #[error("run `{id}` exists in the store already. Choose another name")]
    RunExists { id: String },
    /// The cell, the power cut or the program is already recorded.
    #[error("{part} of `{id}` is recorded already; it is recorded once")]
    PartRecorded { part: String, id: String },
    /// Another process works on the run.
    #[error(
        "run `{id}` is in progress in another process{}; wait for its end, or interrupt it",
        pid.map(|pid| format!(" ({pid})")).unwrap_or_default()
    )]
    RunInProgress {
        id: String,
        /// The process, if its number could be read.
        pid: Option<u32>,
    },
    /// A value that the store cannot return unchanged.
    #[error(
        "{what} cannot be stored: {why}; paths that are not UTF-8 and numbers that are not finite \
         have no place in it"
    )]
    Unstorable { what: &'static str, why: String },
    /// A stored value has a form that fsdyno does not write.
    #[error(
        "{operation}: store {} holds what fsdyno does not write: {}; \
         look at it with `sqlite3`, or name another store with --store FILE",
        path.display(),
        reason(source)
    )]
    Corrupt {
        path: PathBuf,
        operation: String,
        source: Box<rusqlite::Error>,
    },
    /// A system call failed.
    #[error("{operation} {}: {source}; {advice}", path.display())]
    Io {
        path: PathBuf,
        operation: &'static str,
        advice: &'static str,
        source: io::Error,
    },
    /// `SQLite` returned an error.
    #[error("{operation}: store {}: {source}; {advice}", path.display())]
    Sqlite {
        path: PathBuf,
        operation: String,
        advice: &'static str,
        source: Box<rusqlite::Error>,
    },
}

/// Converts an error of `SQLite` to one that names the store, the operation and the remedy.
pub(crate) fn fault(
    path: &Path,
    operation: impl Into<String>,
) -> impl FnOnce(rusqlite::Error) -> StoreError {
    let (path, operation) = (path.to_owned(), operation.into());
    move |source| {
        use rusqlite::Error as E;
        if matches!(
            source,
            E::FromSqlConversionFailure(..)
                | E::IntegralValueOutOfRange(..)
                | E::InvalidColumnType(..)
                | E::Utf8Error(..)
        ) {
            return StoreError::Corrupt {
                path,
                operation,
                source: Box::new(source),
            };
        }
        let advice = advice(source.sqlite_error_code());
        StoreError::Sqlite {
            path,
            operation,
            advice,
            source: Box::new(source),
        }
    }
}

/// The reason of an error of a value, without the words of `SQLite` about conversions.
fn reason(error: &rusqlite::Error) -> String {
    match error {
        rusqlite::Error::FromSqlConversionFailure(_, _, why) => why.to_string(),
        other => other.to_string(),
    }
}

fn advice(code: Option<ErrorCode>) -> &'static str {
    match code {
        Some(ErrorCode::DiskFull) => {
            "free space on its file system, or name another store with --store FILE; \
             what was recorded before is kept"
        }
        Some(ErrorCode::ReadOnly | ErrorCode::CannotOpen | ErrorCode::PermissionDenied) => {
            "make the file and its directory writable for this user, \
             or name another store with --store FILE"
        }
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
            "another process kept it locked; try again when that one is done"
        }
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => {
            "the file is damaged: `sqlite3 FILE .recover` may save what it holds"
        }
        Some(ErrorCode::SystemIoFailure) => {
            "the device or file system below it failed: look at `dmesg`, \
             or name another store with --store FILE"
        }
        _ => "check the file with `sqlite3 FILE 'PRAGMA integrity_check'`",
    }
}

fn known_runs(recent: &[String]) -> String {
    if recent.is_empty() {
        "it holds no run yet: begin one with `fsdyno run`".to_owned()
    } else {
        format!("the latest are {}; `fsdyno runs` lists all", listed(recent))
    }
}

fn listed(names: &[String]) -> String {
    const SHOWN: usize = 8;
    let mut text = names
        .iter()
        .take(SHOWN)
        .map(|name| format!("`{name}`"))
        .collect::<Vec<_>>()
        .join(", ");
    if names.len() > SHOWN {
        text.push_str(", ...");
    }
    text
}

/// The reason why a transaction was rolled back.
pub(crate) enum Refusal {
    /// `SQLite` returned an error.
    Sqlite(rusqlite::Error),
    /// The store returned an error.
    Store(Box<StoreError>),
}

impl From<rusqlite::Error> for Refusal {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sqlite(error)
    }
}

impl From<StoreError> for Refusal {
    fn from(error: StoreError) -> Self {
        Self::Store(Box::new(error))
    }
}
