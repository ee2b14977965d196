//! A store on a file system that is full or read-only. Needs root, to mount one.

#[expect(dead_code, reason = "these tests need a part of it")]
#[path = "../src/tests/specimen.rs"]
mod specimen;

use fsdyno_store::Store;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use tempfile::TempDir;

/// A small file system in memory, unmounted on drop.
struct WorkDir {
    directory: TempDir,
}

impl WorkDir {
    /// `None` if mounting is not possible here: then the test is skipped.
    fn new(test: &str) -> Option<Self> {
        let work_dir = Self {
            directory: TempDir::new().unwrap(),
        };
        if mount("size=1m,mode=700", work_dir.directory.path()) {
            Some(work_dir)
        } else {
            println!("SKIP root: {test}");
            None
        }
    }

    fn path(&self) -> PathBuf {
        self.directory.path().join("runs.db")
    }

    fn remount(&self, options: &str) {
        assert!(mount(&format!("remount,{options}"), self.directory.path()));
    }
}

impl Drop for WorkDir {
    fn drop(&mut self) {
        // A process that is being started may still hold the mount, which then ends with it.
        let _ = Command::new("umount")
            .arg("--lazy")
            .arg(self.directory.path())
            .status();
    }
}

fn mount(options: &str, at: &Path) -> bool {
    Command::new("mount")
        .args(["-t", "tmpfs", "-o", options, "fsdyno-test"])
        .arg(at)
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}

#[test]
fn a_full_file_system_is_named_and_loses_nothing() {
    let Some(work_dir) = WorkDir::new("a_full_file_system_is_named_and_loses_nothing") else {
        return;
    };
    let mut store = Store::open(&work_dir.path()).unwrap();
    store.begin(&specimen::run("r", 1)).unwrap();
    let (full, error) = (0..)
        .find_map(|index| {
            let refused = store.record("r", &specimen::measured(index)).err()?;
            Some((index, refused.to_string()))
        })
        .unwrap();
    assert!(
        error.contains("runs.db") && error.contains("free space"),
        "{error}"
    );
    work_dir.remount("size=16m");
    assert_eq!(store.recorded("r").unwrap(), (0..full).collect());
    store.record("r", &specimen::measured(full)).unwrap();
    drop(store);
    let store = Store::open(&work_dir.path()).unwrap();
    assert_eq!(store.load("r").unwrap().cells.len(), full as usize + 1);
}

#[test]
fn a_read_only_store_is_readable_and_refuses_writes_with_a_reason() {
    let Some(work_dir) = WorkDir::new("a_read_only_store_can_be_read") else {
        return;
    };
    let mut store = Store::open(&work_dir.path()).unwrap();
    store.begin(&specimen::run("r", 1)).unwrap();
    drop(store);
    work_dir.remount("ro");
    let reader = Store::open_existing_read_only(&work_dir.path()).unwrap();
    assert_eq!(reader.load("r").unwrap().run, specimen::run("r", 1));
    let error = Store::open(&work_dir.path()).unwrap_err().to_string();
    assert!(
        error.contains("runs.db") && error.contains("--store"),
        "{error}"
    );
    let error = Store::open(&work_dir.directory.path().join("new/runs.db"));
    let error = error.unwrap_err().to_string();
    assert!(
        error.contains("new") && error.contains("Read-only"),
        "{error}"
    );
    let error = Store::open(&work_dir.directory.path().join("new.db"));
    let error = error.unwrap_err().to_string();
    assert!(
        error.contains("new.db") && error.contains("Read-only"),
        "{error}"
    );
}
