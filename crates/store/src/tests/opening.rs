//! Files that open as a store and files that are refused; a refusal changes nothing.

use super::{WorkDir, specimen};
use crate::{APPLICATION_ID, SCHEMA_VERSION, Store, StoreError};
use rusqlite::Connection;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

/// All bytes below a directory, by name.
fn bytes_below(directory: &Path) -> Vec<(std::ffi::OsString, Vec<u8>)> {
    let mut all: Vec<_> = fs::read_dir(directory)
        .unwrap()
        .map(|entry| {
            let entry = entry.unwrap();
            (entry.file_name(), fs::read(entry.path()).unwrap())
        })
        .collect();
    all.sort();
    all
}

/// Both ways to open return an error, and the file stays unchanged byte for byte.
fn check_refused(work_dir: &WorkDir, expected: impl Fn(&StoreError) -> bool) {
    let before = bytes_below(work_dir.directory.path());
    for error in [
        Store::open(&work_dir.path()).unwrap_err(),
        Store::open_existing_read_only(&work_dir.path()).unwrap_err(),
    ] {
        assert!(expected(&error), "{error}");
        assert!(error.to_string().contains("runs.db"), "{error}");
    }
    assert!(
        before == bytes_below(work_dir.directory.path()),
        "a file changed"
    );
}

#[test]
fn a_store_is_made_with_its_directory() {
    let work_dir = WorkDir::new();
    let path = work_dir.directory.path().join("a/b c/runs.db");
    let store = Store::open(&path).unwrap();
    assert!(store.runs().unwrap().is_empty());
    let pragma = |name: &str| -> i64 {
        store
            .connection
            .pragma_query_value(None, name, |row| row.get(0))
            .unwrap()
    };
    assert_eq!(pragma("application_id"), APPLICATION_ID);
    assert_eq!(pragma("user_version"), SCHEMA_VERSION);
    assert_eq!(pragma("synchronous"), 2, "FULL");
    assert_eq!(pragma("foreign_keys"), 1);
}

#[test]
fn any_file_name_works() {
    let work_dir = WorkDir::new();
    for name in [
        &b"file:x?mode=memory"[..],
        b":memory:",
        b"\xff\xfe %41?#.db",
    ] {
        let path = work_dir.directory.path().join(OsStr::from_bytes(name));
        let mut store = Store::open(&path).unwrap();
        store.begin(&specimen::run("r", 1)).unwrap();
        drop(store);
        assert!(path.is_file(), "{}", path.display());
        let reader = Store::open_existing_read_only(&path).unwrap();
        assert_eq!(reader.runs().unwrap().len(), 1);
    }
}

#[test]
fn reading_creates_no_file() {
    let work_dir = WorkDir::new();
    let error = Store::open_existing_read_only(&work_dir.path()).unwrap_err();
    assert!(matches!(error, StoreError::NoStore { .. }), "{error}");
    assert!(bytes_below(work_dir.directory.path()).is_empty());
}

#[test]
fn a_newer_schema_is_refused_untouched() {
    let work_dir = WorkDir::new();
    let store = work_dir.open();
    store
        .connection
        .pragma_update(None, "user_version", SCHEMA_VERSION + 1)
        .unwrap();
    drop(store);
    check_refused(&work_dir, |error| {
        matches!(error, StoreError::Newer { found, known, .. }
            if (*found, *known) == (SCHEMA_VERSION + 1, SCHEMA_VERSION))
    });
}

#[test]
fn a_file_of_another_kind_is_refused_untouched() {
    let work_dir = WorkDir::new();
    for bytes in [
        &b"my thesis"[..],
        &[0; 8192],
        b"SQLite format 3\0",
        b"\n",
        &[b' '; 512],
        b"",
    ] {
        fs::write(work_dir.path(), bytes).unwrap();
        check_refused(&work_dir, |error| {
            matches!(error, StoreError::NotAStore { .. })
        });
    }
}

#[test]
fn a_database_of_another_program_is_refused_untouched() {
    for setup in [
        "CREATE TABLE thesis (chapter TEXT)",
        "PRAGMA application_id = 7",
        "PRAGMA user_version = 1",
        "PRAGMA journal_mode = WAL; CREATE TABLE thesis (chapter TEXT)",
    ] {
        let work_dir = WorkDir::new();
        let foreign = Connection::open(work_dir.path()).unwrap();
        foreign.execute_batch(setup).unwrap();
        drop(foreign);
        check_refused(&work_dir, |error| {
            matches!(error, StoreError::NotAStore { .. })
        });
    }
}

#[test]
fn a_path_that_is_not_a_file_is_refused() {
    let work_dir = WorkDir::new();
    for path in [work_dir.directory.path(), Path::new("/dev/null")] {
        for error in [
            Store::open(path).unwrap_err(),
            Store::open_existing_read_only(path).unwrap_err(),
        ] {
            assert!(matches!(error, StoreError::NotAStore { .. }), "{error}");
        }
    }
    let below_a_file = Path::new("/dev/null/runs.db");
    let error = Store::open(below_a_file).unwrap_err().to_string();
    assert!(
        error.contains("/dev/null") && error.contains("--store"),
        "{error}"
    );
}

#[test]
fn reading_includes_the_log_of_a_killed_writer() {
    let work_dir = WorkDir::new();
    let mut store = work_dir.open();
    store.begin(&specimen::run("r", 1)).unwrap();
    store.record("r", &specimen::measured(0)).unwrap();
    // A copy of the files equals the state after SIGKILL.
    let after = WorkDir::new();
    for (name, bytes) in bytes_below(work_dir.directory.path()) {
        if !name.to_string_lossy().ends_with("-shm") {
            fs::write(after.directory.path().join(name), bytes).unwrap();
        }
    }
    assert!(
        fs::metadata(after.path().with_extension("db-wal"))
            .unwrap()
            .len()
            > 0
    );
    let reader = Store::open_existing_read_only(&after.path()).unwrap();
    assert_eq!(reader.load("r").unwrap().cells, [specimen::measured(0)]);
    drop(reader);
    let writer = Store::open(&after.path()).unwrap();
    assert_eq!(writer.load("r").unwrap().cells, [specimen::measured(0)]);
}

#[test]
fn reading_leaves_no_companion_files() {
    let work_dir = WorkDir::new();
    let mut store = work_dir.open();
    store.begin(&specimen::run("r", 1)).unwrap();
    drop(store);
    let before = bytes_below(work_dir.directory.path());
    assert_eq!(before.len(), 1);
    let reader = Store::open_existing_read_only(&work_dir.path()).unwrap();
    assert_eq!(reader.runs().unwrap().len(), 1);
    drop(reader);
    assert!(
        before == bytes_below(work_dir.directory.path()),
        "a file changed"
    );
}

#[test]
fn writing_to_a_store_opened_for_reading_is_refused() {
    let work_dir = WorkDir::new();
    drop(work_dir.open());
    let mut reader = Store::open_existing_read_only(&work_dir.path()).unwrap();
    let error = reader
        .begin(&specimen::run("r", 1))
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("readonly") && error.contains("--store"),
        "{error}"
    );
}

#[test]
fn an_older_schema_is_refused_untouched() {
    let work_dir = WorkDir::new();
    let store = work_dir.open();
    store
        .connection
        .pragma_update(None, "user_version", SCHEMA_VERSION - 1)
        .unwrap();
    drop(store);
    check_refused(&work_dir, |error| {
        let found =
            matches!(error, StoreError::Older { found, .. } if *found == SCHEMA_VERSION - 1);
        found && error.to_string().contains("the fsdyno that wrote it")
    });
}
