//! After SIGKILL the store has every recorded cell, and the run can be resumed.

#[expect(dead_code, reason = "this test needs a part of it")]
#[path = "../src/tests/specimen.rs"]
mod specimen;

use fsdyno_store::{Store, StoreError};
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// The environment variable with the path of the victim's store.
const STORE: &str = "FSDYNO_TEST_STORE";

/// The process that the test kills, not a test itself. It locks the run and records cells forever.
#[test]
#[ignore = "the victim of the test below, which starts it"]
fn victim() {
    let Some(path) = std::env::var_os(STORE) else {
        return;
    };
    let mut store = Store::open(Path::new(&path)).unwrap();
    let _claim = store.claim("r").unwrap();
    let first = store
        .recorded("r")
        .unwrap()
        .last()
        .map_or(0, |last| last + 1);
    for index in first.. {
        store.record("r", &specimen::measured(index)).unwrap();
        println!("\nrecorded {index}");
    }
}

fn start(path: &Path) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["victim", "--exact", "--ignored", "--nocapture"])
        .env(STORE, path)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap()
}

/// Kills a process when a test ends or panics.
struct Victim(Child);

impl Drop for Victim {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn a_killed_process_loses_no_recorded_cell_and_releases_its_lock() {
    let directory = tempfile::TempDir::new().unwrap();
    let path = directory.path().join("runs.db");
    let mut store = Store::open(&path).unwrap();
    store.begin(&specimen::run("r", 1)).unwrap();
    let mut last_reported = None;
    for kill in 0..5 {
        let mut victim = Victim(start(&path));
        let output = BufReader::new(victim.0.stdout.take().unwrap());
        // The pipe stays open until the kill: a closed pipe would end the victim earlier.
        let mut lines = output
            .lines()
            .map_while(Result::ok)
            .filter_map(|line| line.strip_prefix("recorded ")?.parse::<u32>().ok());
        last_reported = lines.by_ref().take(1 + kill * 3).last().or(last_reported);
        let error = store.claim("r").unwrap_err();
        let pid = victim.0.id();
        assert!(
            matches!(error, StoreError::RunInProgress { pid: Some(p), .. } if p == pid),
            "{error}"
        );
        drop(victim);
        drop(lines);
        drop(store.claim("r").unwrap());
        let recorded = store.recorded("r").unwrap();
        let last_reported = last_reported.expect("the victim recorded something");
        assert!(
            (0..=last_reported).all(|index| recorded.contains(&index)),
            "{recorded:?}"
        );
    }
    let run = store.load("r").unwrap();
    for cell in &run.cells {
        assert_eq!(
            *cell,
            specimen::measured(cell.cell.index),
            "whole, or not there"
        );
    }
}
