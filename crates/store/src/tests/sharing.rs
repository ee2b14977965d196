//! Several writers, several stores, and the lock of a live run.

use super::{WorkDir, specimen};
use crate::{Store, StoreError};
use std::collections::BTreeSet;
use std::fs;
use std::thread;

#[test]
fn concurrent_writers_on_a_new_store_get_separate_runs() {
    const WRITERS: usize = 4;
    let work_dir = WorkDir::new();
    let path = work_dir.path();
    let work = || {
        let mut store = Store::open(&path).unwrap();
        let mut run = specimen::run("", 1);
        store.begin_named(&mut run).unwrap();
        for index in 0..3 {
            store.record(&run.id, &specimen::measured(index)).unwrap();
        }
        run.id
    };
    let ids: BTreeSet<String> = thread::scope(|scope| {
        let writers: Vec<_> = (0..WRITERS).map(|_| scope.spawn(work)).collect();
        writers.into_iter().map(|w| w.join().unwrap()).collect()
    });
    assert_eq!(ids.len(), WRITERS);
    let store = work_dir.open();
    for id in ids {
        assert_eq!(store.recorded(&id).unwrap().len(), 3);
    }
}

#[test]
fn a_run_is_locked_by_one_process_at_a_time() {
    let work_dir = WorkDir::new();
    let (ours, theirs) = (work_dir.open(), work_dir.open());
    let claim = ours.claim("r").unwrap();
    let error = theirs.claim("r").unwrap_err();
    let pid = std::process::id();
    assert!(
        matches!(&error, StoreError::RunInProgress { id, pid: Some(p) } if id == "r" && *p == pid),
        "{error}"
    );
    let other = theirs.claim("r2").unwrap();
    drop(claim);
    let again = theirs.claim("r").unwrap();
    drop((again, other));
    let left: Vec<_> = fs::read_dir(work_dir.directory.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .filter(|name| name.to_string_lossy().ends_with(".lock"))
        .collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn the_lock_file_of_a_killed_process_does_not_block() {
    let work_dir = WorkDir::new();
    let store = work_dir.open();
    let file = work_dir.directory.path().join("runs.db.r.lock");
    fs::write(&file, "4194303 and more text than a number\n").unwrap();
    let claim = store.claim("r").unwrap();
    let text = fs::read_to_string(&file).unwrap();
    assert_eq!(text.trim(), std::process::id().to_string());
    drop(claim);
    assert!(!file.exists());
}

#[test]
fn a_live_run_is_not_removed() {
    let work_dir = WorkDir::new();
    let (ours, mut theirs) = (work_dir.open(), work_dir.open());
    theirs.begin(&specimen::run("r", 1)).unwrap();
    let _claim = ours.claim("r").unwrap();
    let error = theirs.remove("r").unwrap_err();
    assert!(matches!(error, StoreError::RunInProgress { .. }), "{error}");
    assert_eq!(theirs.runs().unwrap().len(), 1);
}

#[test]
fn concurrent_claims_are_held_one_at_a_time() {
    use std::sync::atomic::{AtomicU32, Ordering};
    let work_dir = WorkDir::new();
    drop(work_dir.open());
    let holders = AtomicU32::new(0);
    let held = AtomicU32::new(0);
    let work = || {
        let store = work_dir.open();
        for _ in 0..200 {
            if let Ok(claim) = store.claim("r") {
                assert_eq!(holders.fetch_add(1, Ordering::SeqCst), 0);
                held.fetch_add(1, Ordering::SeqCst);
                holders.fetch_sub(1, Ordering::SeqCst);
                drop(claim);
            }
        }
    };
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(work);
        }
    });
    assert!(held.load(Ordering::SeqCst) > 0);
}

#[test]
fn the_runs_of_another_store_are_imported_once() {
    let (here, there) = (WorkDir::new(), WorkDir::new());
    let (mut ours, mut theirs) = (here.open(), there.open());
    for store in [&mut ours, &mut theirs] {
        store.begin(&specimen::run("same", 1)).unwrap();
        store.begin(&specimen::run("resumed", 2)).unwrap();
    }
    ours.record("resumed", &specimen::measured(9)).unwrap();
    theirs.begin(&specimen::ended("new", 3)).unwrap();
    for cell in specimen::cells() {
        theirs.record("new", &cell).unwrap();
    }
    let merged = ours.merge(&there.path()).unwrap();
    assert_eq!(merged.taken, [("new".to_owned(), "new".to_owned())]);
    assert_eq!(merged.known, ["same", "resumed"]);
    assert_eq!(ours.load("new").unwrap(), theirs.load("new").unwrap());
    assert_eq!(ours.recorded("resumed").unwrap(), BTreeSet::from([9]));
    let again = ours.merge(&there.path()).unwrap();
    assert_eq!((again.taken.len(), again.known.len()), (0, 3));
    let itself = ours.merge(&here.path()).unwrap();
    assert_eq!(itself.known.len(), 3);
    let nowhere = ours.merge(&there.path().join("x")).unwrap_err();
    assert!(nowhere.to_string().contains("runs.db/x"), "{nowhere}");
}
