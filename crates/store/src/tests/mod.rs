//! Tests of the store, by theme.

mod describing;
mod exploration;
mod fault_tests;
mod hostile;
mod naming;
mod opening;
mod round_trip;
mod scale;
mod series;
mod shards;
mod sharing;
mod specimen;

use crate::Store;
use std::path::PathBuf;
use tempfile::TempDir;

/// A store in a directory of its own.
struct WorkDir {
    directory: TempDir,
}

impl WorkDir {
    fn new() -> Self {
        Self {
            directory: TempDir::new().unwrap(),
        }
    }

    fn path(&self) -> PathBuf {
        self.directory.path().join("runs.db")
    }

    fn open(&self) -> Store {
        Store::open(&self.path()).unwrap()
    }
}
