//! The only SQL: runs are recorded into a store, and read back whole.
//!
//! A store is one `SQLite` file; its tables are described in `schema.md` beside this crate, so
//! that anybody can query it with `sqlite3`. What lives here: opening and migrating
//! ([`Store::open`]), recording ([`Store::begin`], [`Store::record`]), reading
//! ([`Store::load`], [`Store::runs`]), naming ([`Store::resolve`]), taking over another store
//! ([`Store::merge`]) and the lock of a live run ([`Store::claim`]); and the same of series of cuts
//! ([`Store::begin_series`] ...). What does not: any reckoning
//! with the figures, and where the store lies (the caller says).

mod claim;
mod course;
mod disk_use;
mod error;
pub mod fuzz;
mod insert;
mod merge;
mod migrate;
mod observed;
mod open;
mod place;
mod query;
mod record;
mod resolve;
mod row;
mod series;
#[cfg(test)]
mod tests;

pub use claim::Claim;
pub use error::StoreError;
pub use merge::Merged;
pub use migrate::{APPLICATION_ID, SCHEMA_VERSION};
pub use query::RunSummary;
pub use resolve::Named;
pub use series::SeriesSummary;

use rusqlite::Connection;
use std::path::{Path, PathBuf};

/// An open store.
///
/// Several processes may have the same store open, and write to it: a writer waits for another
/// one's transaction, at most half a minute.
#[derive(Debug)]
pub struct Store {
    path: PathBuf,
    connection: Connection,
    /// The owner of the file, where others could change it and a copy is read.
    copied_from: Option<u32>,
}

impl Store {
    /// The file it lies in, as an absolute path.
    pub fn path(&self) -> &Path {
        &self.path
    }
}
