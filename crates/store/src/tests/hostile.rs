//! Stores and companion files that another user wrote: fsdyno executes nothing in them, and changes
//! nothing outside.

use super::{WorkDir, specimen};
use crate::{Store, StoreError};
use rusqlite::Connection;
use rusqlite::config::DbConfig;
use std::fs;
use std::io::Write as _;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, chown, symlink};
use std::path::{Path, PathBuf};

/// The user id of `nobody`.
const NOBODY: u32 = 65_534;

fn root() -> bool {
    rustix::process::geteuid().is_root()
}

fn sibling(work_dir: &WorkDir, ending: &str) -> PathBuf {
    work_dir.directory.path().join(format!("runs.db{ending}"))
}

/// A closed store with one run and one cell.
fn filled() -> WorkDir {
    let work_dir = WorkDir::new();
    let mut store = work_dir.open();
    store.begin(&specimen::run("r", 1)).unwrap();
    store.record("r", &specimen::measured(0)).unwrap();
    work_dir
}

/// Changes a closed store as its owner could.
fn change(work_dir: &WorkDir, sql: &str) {
    let connection = Connection::open(work_dir.path()).unwrap();
    connection
        .set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, false)
        .unwrap();
    connection
        .pragma_update(None, "foreign_keys", false)
        .unwrap();
    connection
        .pragma_update(None, "ignore_check_constraints", true)
        .unwrap();
    connection.execute_batch(sql).unwrap();
}

/// Changes the permissions, so that other users can change the store.
fn give_away(work_dir: &WorkDir) {
    fs::set_permissions(work_dir.path(), fs::Permissions::from_mode(0o666)).unwrap();
}

fn names(work_dir: &WorkDir) -> Vec<String> {
    let entries = fs::read_dir(work_dir.directory.path()).unwrap();
    let mut names: Vec<_> = entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

/// The errors of both ways to open the store, which stays unchanged.
fn refused(work_dir: &WorkDir) -> [String; 2] {
    let before = fs::read(work_dir.path()).unwrap();
    let errors = [
        Store::open(&work_dir.path()).unwrap_err(),
        Store::open_existing_read_only(&work_dir.path()).unwrap_err(),
    ];
    assert!(
        before == fs::read(work_dir.path()).unwrap(),
        "the file changed"
    );
    errors.map(|error| error.to_string())
}

#[test]
fn a_truncated_store_is_refused_and_not_recreated() {
    let whole = fs::read(filled().path()).unwrap();
    assert!(whole.len() > 3 * 4096);
    for length in [0, 1, 100, 600, 4096, whole.len() / 2, whole.len() - 1] {
        let work_dir = WorkDir::new();
        fs::write(work_dir.path(), &whole[..length]).unwrap();
        for why in refused(&work_dir) {
            assert!(why.contains("runs.db"), "{length}: {why}");
        }
        give_away(&work_dir);
        refused(&work_dir);
    }
}

#[test]
fn another_schema_version_is_refused() {
    for version in [-1, 0, i64::from(i32::MIN)] {
        let work_dir = filled();
        change(&work_dir, &format!("PRAGMA user_version = {version}"));
        for why in refused(&work_dir) {
            assert!(why.contains(&format!("has schema {version}")), "{why}");
        }
    }
}

#[test]
fn a_schema_that_differs_from_its_version_is_refused() {
    for sql in [
        "CREATE TRIGGER t AFTER INSERT ON record BEGIN DELETE FROM part; END",
        "ALTER TABLE tag RENAME TO t; CREATE VIEW tag AS SELECT * FROM t",
        "DROP TABLE tag; CREATE VIRTUAL TABLE tag USING fts5(run, name)",
        "DROP TABLE tag",
        "CREATE INDEX mine ON record (abs(started_unix_ns))",
    ] {
        let work_dir = filled();
        change(&work_dir, sql);
        for why in refused(&work_dir) {
            assert!(why.contains("not as fsdyno makes it"), "{sql}: {why}");
        }
        give_away(&work_dir);
        for why in refused(&work_dir) {
            assert!(
                why.contains("not as") || why.contains("writable by"),
                "{why}"
            );
        }
    }
    // `ANALYZE` creates no code, and no code of a view is executed.
    let work_dir = filled();
    change(&work_dir, "ANALYZE; CREATE VIEW mine AS SELECT 1");
    work_dir.open();
}

#[test]
fn views_of_another_version_are_made_anew_and_those_of_the_user_stay() {
    let work_dir = filled();
    change(
        &work_dir,
        "CREATE VIEW mine AS SELECT count(*) AS n FROM sample;
         DROP VIEW sample; CREATE VIEW sample AS SELECT 1 AS x; DROP VIEW cell",
    );
    let reader = Store::open_existing_read_only(&work_dir.path()).unwrap();
    assert_eq!(reader.load("r").unwrap().cells, [specimen::measured(0)]);
    drop(reader);
    let store = work_dir.open();
    let query = "SELECT (SELECT n FROM mine) + (SELECT count(*) FROM cell)";
    let count = store.connection.query_row(query, [], |row| row.get(0));
    assert_eq!(
        count,
        Ok(i64::try_from(specimen::measured(0).samples.len() + 1).unwrap())
    );
}

#[test]
fn invalid_rows_are_an_error_without_a_panic() {
    for sql in [
        "UPDATE part SET document = json_set(document, '$.cell.contender', 4000000000)",
        "UPDATE part SET document = json_set(document, '$.cell.workload', 7)",
        "UPDATE part SET document = json_set(document, '$.outcome.outcome', 'won')",
        "UPDATE part SET document = 7",
        "UPDATE part SET place = 8",
        "UPDATE record SET document = json_set(document, '$.plan', json('[]'))",
        "UPDATE part SET document = replace(document, '\"samples\"', '\"sample\"')",
    ] {
        let work_dir = filled();
        change(&work_dir, sql);
        for own in [true, false] {
            if !own {
                give_away(&work_dir);
            }
            let store = Store::open_existing_read_only(&work_dir.path()).unwrap();
            let error = store.load("r").unwrap_err();
            assert!(
                matches!(error, StoreError::Corrupt { .. }),
                "{sql}: {error}"
            );
        }
    }
    let work_dir = filled();
    change(
        &work_dir,
        "UPDATE record SET document =
            json_set(document, '$.plan.name', printf('%.*c', 60000000, 'x') || hex(zeroblob(5000000)))",
    );
    let store = Store::open_existing_read_only(&work_dir.path()).unwrap();
    let error = store.runs().unwrap_err().to_string();
    assert!(error.contains("too big"), "{error}");
}

#[test]
fn a_store_and_its_companion_files_are_private() {
    let work_dir = WorkDir::new();
    let path = work_dir.directory.path().join("new/runs.db");
    let mut store = Store::open(&path).unwrap();
    store.begin(&specimen::run("r", 1)).unwrap();
    let _claim = store.claim("r").unwrap();
    let mode = |path: &Path| fs::metadata(path).unwrap().mode() & 0o777;
    assert_eq!(mode(path.parent().unwrap()), 0o700);
    let entries: Vec<_> = fs::read_dir(path.parent().unwrap())
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    assert_eq!(entries.len(), 4, "store, log, index, lock: {entries:?}");
    for entry in entries {
        assert_eq!(mode(&entry), 0o600, "{}", entry.display());
    }
}

#[test]
fn a_store_that_others_can_change_is_read_from_a_copy_and_not_written() {
    let work_dir = filled();
    let chmod = |path: &Path, mode| {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    };
    let check = || {
        let error = Store::open(&work_dir.path()).unwrap_err();
        assert!(matches!(error, StoreError::Untrusted { .. }), "{error}");
        let store = Store::open_existing_read_only(&work_dir.path()).unwrap();
        assert_eq!(store.load("r").unwrap().cells, [specimen::measured(0)]);
        assert_eq!(names(&work_dir), ["runs.db"]);
    };
    chmod(&work_dir.path(), 0o606);
    check();
    chmod(&work_dir.path(), 0o600);
    chmod(work_dir.directory.path(), 0o1777);
    check();
    chmod(work_dir.directory.path(), 0o700);
    if root() {
        chown(work_dir.path(), Some(NOBODY), None).unwrap();
        check();
        // A log or a journal of that user is not part of the store, and is never replayed.
        for ending in ["-wal", "-journal"] {
            fs::write(sibling(&work_dir, ending), "planted").unwrap();
            let error = Store::open_existing_read_only(&work_dir.path()).unwrap_err();
            assert!(matches!(error, StoreError::Unfinished { .. }), "{error}");
            fs::remove_file(sibling(&work_dir, ending)).unwrap();
        }
    }
}

/// A hot rollback journal (<https://sqlite.org/fileformat.html#the_rollback_journal>): one
/// unchanged page, and the name of the journal of a transaction over several databases.
fn journal(store: &[u8], super_journal: &Path) -> Vec<u8> {
    const MAGIC: [u8; 8] = [0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7];
    const PENDING: u32 = 0x4000_0000 / 4096 + 1;
    let sum = |bytes: &[u8]| bytes.iter().fold(0_u32, |sum, byte| sum + u32::from(*byte));
    let mut journal = MAGIC.to_vec();
    let page = &store[..4096];
    let pages = u32::try_from(store.len() / 4096).unwrap();
    for number in [1, 0, pages, 512, 4096] {
        journal.extend(u32::to_be_bytes(number));
    }
    journal.resize(512, 0);
    journal.extend(1_u32.to_be_bytes());
    journal.extend(page);
    let picked = (1..=20).map(|n| 4096 - 200 * n).filter(|at| *at > 0);
    let check = picked.fold(0_u32, |sum, at| sum + u32::from(page[at]));
    journal.extend(check.to_be_bytes());
    let name = super_journal.as_os_str().as_encoded_bytes();
    journal.extend(PENDING.to_be_bytes());
    journal.extend(name);
    journal.extend(u32::try_from(name.len()).unwrap().to_be_bytes());
    journal.extend(sum(name).to_be_bytes());
    journal.extend(MAGIC);
    journal
}

#[test]
fn a_planted_journal_deletes_no_file_of_the_reader() {
    let work_dir = filled();
    change(&work_dir, "PRAGMA journal_mode = DELETE");
    let victim = work_dir.directory.path().join("victim");
    fs::write(&victim, "precious").unwrap();
    let store = fs::read(work_dir.path()).unwrap();
    let planted = sibling(&work_dir, "-journal");
    fs::write(&planted, journal(&store, &victim)).unwrap();
    // The attack succeeds if SQLite opens the file directly.
    let copy = WorkDir::new();
    fs::copy(work_dir.path(), copy.path()).unwrap();
    let other = copy.directory.path().join("victim");
    fs::write(&other, "precious").unwrap();
    fs::write(sibling(&copy, "-journal"), journal(&store, &other)).unwrap();
    let opened = Connection::open(copy.path()).unwrap();
    let count = opened.query_row("SELECT count(*) FROM run", [], |row| row.get::<_, i64>(0));
    assert_eq!((count.unwrap(), other.exists()), (1, false));

    fs::set_permissions(&planted, fs::Permissions::from_mode(0o666)).unwrap();
    for why in refused(&work_dir) {
        assert!(why.contains("-journal"), "{why}");
    }
    assert!(victim.exists());
}

#[test]
fn planted_symbolic_links_are_never_written_through() {
    let work_dir = filled();
    let target = work_dir.directory.path().join("target");
    for ending in ["-wal", "-shm", "-journal"] {
        fs::write(&target, "precious").unwrap();
        symlink(&target, sibling(&work_dir, ending)).unwrap();
        let error = Store::open(&work_dir.path()).unwrap_err();
        assert!(matches!(error, StoreError::Untrusted { .. }), "{error}");
        let _ = Store::open_existing_read_only(&work_dir.path());
        assert_eq!(fs::read_to_string(&target).unwrap(), "precious");
        fs::remove_file(sibling(&work_dir, ending)).unwrap();
    }
    fs::remove_file(&target).unwrap();
    let link = work_dir.directory.path().join("link.db");
    symlink(&target, &link).unwrap();
    let error = Store::open(&link).unwrap_err();
    assert!(matches!(error, StoreError::NotAStore { .. }), "{error}");
    assert!(!target.exists());
    // A symbolic link to a store is accepted as its name.
    fs::remove_file(&link).unwrap();
    symlink(work_dir.path(), &link).unwrap();
    assert_eq!(Store::open(&link).unwrap().path(), work_dir.path());
}

#[test]
fn a_planted_lock_is_refused_at_once_and_its_target_is_not_touched() {
    let work_dir = filled();
    let store = work_dir.open();
    let lock = sibling(&work_dir, ".r.lock");
    let target = work_dir.directory.path().join("target");
    fs::write(&target, "precious").unwrap();
    let check = || {
        let error = store.claim("r").unwrap_err();
        assert!(matches!(error, StoreError::Lock { .. }), "{error}");
        assert!(error.to_string().contains("runs.db.r.lock"), "{error}");
        assert_eq!(fs::read_to_string(&target).unwrap(), "precious");
    };
    symlink(&target, &lock).unwrap();
    check();
    fs::remove_file(&lock).unwrap();
    fs::hard_link(&target, &lock).unwrap();
    check();
    fs::remove_file(&lock).unwrap();
    rustix::fs::mkfifoat(rustix::fs::CWD, &lock, rustix::fs::Mode::RWXU).unwrap();
    check();
    fs::remove_file(&lock).unwrap();
    drop(store.claim("r").unwrap());
}

#[test]
fn the_lock_of_another_user_keeps_us_out_only_while_a_process_holds_it() {
    use rustix::fs::{FlockOperation, flock};
    if !root() {
        println!("SKIP root: the_lock_of_another_user_keeps_us_out_only_while_a_process_holds_it");
        return;
    }
    let work_dir = filled();
    let store = work_dir.open();
    let lock = sibling(&work_dir, ".r.lock");
    let mut theirs = fs::File::create(&lock).unwrap();
    theirs.write_all(b"4194303\n").unwrap();
    chown(&lock, Some(NOBODY), None).unwrap();
    flock(&theirs, FlockOperation::LockExclusive).unwrap();
    let error = store.claim("r").unwrap_err();
    assert!(error.to_string().contains("65534"), "{error}");
    drop(theirs);
    let claim = store.claim("r").unwrap();
    assert_eq!(fs::metadata(&lock).unwrap().uid(), 0);
    drop(claim);
}

#[test]
fn runs_of_an_untrusted_store_belong_to_its_owner() {
    let theirs = filled();
    let id = |store: &Store| store.load("r").unwrap().run.provenance.uid;
    let us = rustix::process::geteuid().as_raw();
    change(
        &theirs,
        &format!("UPDATE record SET document = json_set(document, '$.provenance.uid', {us})"),
    );
    let merge = || {
        let mut ours = WorkDir::new().open();
        assert_eq!(ours.merge(&theirs.path()).unwrap().taken.len(), 1);
        assert_eq!(ours.merge(&theirs.path()).unwrap().known, ["r"]);
        id(&ours)
    };
    assert_eq!(merge(), Some(us));
    give_away(&theirs);
    assert_eq!(merge(), None, "anybody could have written it");
    if root() {
        chown(theirs.path(), Some(NOBODY), None).unwrap();
        assert_eq!(merge(), Some(NOBODY));
    }
}

#[test]
fn a_value_out_of_range_is_refused_with_its_run_cell_and_field() {
    let set = |path: &str, value: &str| {
        format!("UPDATE part SET document = json_set(document, '$.{path}', json('{value}'))")
    };
    let number = |path: &str, value: &str| {
        format!("UPDATE part SET document = json_set(document, '$.{path}', {value})")
    };
    for (sql, words) in [
        (
            number("samples[0].latencies[0].max_ns", "0"),
            "cell 0: max_ns: 0 is below",
        ),
        (
            number("samples[0].latencies[0].max_ns", "-1"),
            "cell 0: invalid value: integer `-1`",
        ),
        (
            set("samples[0].latencies[0].buckets", "[[9,1],[3,1]]"),
            "cell 0: buckets",
        ),
        (
            number("samples[0].progress.slices[0].operations", "1 << 61"),
            "cell 0: samples.progress.slices.operations: 2305843009213693952 is not between",
        ),
        (
            number("samples[0].tally.files", "1 << 61"),
            "cell 0: samples.tally.files",
        ),
        (
            number("samples[0].return_ns", "1 << 60"),
            "samples.return_ns: its values add up",
        ),
        (
            number("samples[0].profile.paths[1].caller", "1"),
            "cell 0: profile: call path 1 is invalid",
        ),
        (
            number("samples[0].profile.paths[0].function", "2"),
            "cell 0: profile: call path 0 is invalid",
        ),
        (
            set("samples[0].profile.sources", "[]"),
            "cell 0: profile: its functions do not",
        ),
        (
            number("samples[0].profile.functions[0]", "char(27)"),
            "cell 0: profile: the name of a function",
        ),
        (
            number("samples[0].phase", "77"),
            "cell 0: the plan has no such phase",
        ),
        (
            number("cell.workload", "9"),
            "cell 0: the plan has no such workload",
        ),
        (
            "UPDATE part SET document = replace(document, '\"value\":', '\"value\":9e999,\"v\":')"
                .to_owned(),
            "cell 0: number out of range",
        ),
        (
            "UPDATE record SET document = json_set(document, '$.started_unix_ns', -5)".to_owned(),
            "integer `-5`",
        ),
        (
            "UPDATE record SET document = json_set(document, '$.plan.contenders', json('[]'))"
                .to_owned(),
            "plan: it has no contender",
        ),
    ] {
        let work_dir = filled();
        change(&work_dir, &sql);
        let store = Store::open_existing_read_only(&work_dir.path()).unwrap();
        let error = store.load("r").unwrap_err();
        assert!(
            matches!(error, StoreError::Corrupt { .. }),
            "{sql}: {error}"
        );
        let text = error.to_string();
        assert!(
            text.contains("`r`") && text.contains(words),
            "{sql}: {text}"
        );
    }
}
