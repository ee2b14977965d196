//! The store: all SQL of fsdyno. Records runs and reads them back whole.
//!
//! A store is one `SQLite` file. [`describe::tables`] lists its tables and columns; the reference
//! of the store is made from it. This crate opens and migrates stores ([`Store::open`]), records
//! runs ([`Store::begin`], [`Store::record`]) and reads them ([`Store::load`], [`Store::runs`]). It
//! resolves names ([`Store::resolve`]), imports another store ([`Store::merge`]) and locks a live
//! run ([`Store::claim`]). Series of power cuts ([`Store::begin_series`] ...) and explorations
//! ([`Store::begin_exploration`] ...) have the same functions. This crate computes no statistics,
//! and the caller passes the path of the store.

mod claim;
pub mod describe;
mod disk_use;
mod error;
mod exploration;
pub mod fuzz;
mod insert;
mod join;
mod kernel_work;
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
mod timeline;

pub use claim::Claim;
pub use error::StoreError;
pub use exploration::ExplorationSummary;
pub use join::{Joined, Unit};
pub use merge::Merged;
pub use migrate::{APPLICATION_ID, SCHEMA_VERSION};
pub use query::RunSummary;
pub use resolve::Named;
pub use series::SeriesSummary;

use rusqlite::Connection;
use std::path::{Path, PathBuf};

/// An open store.
///
/// Several processes may open the same store and write to it. A writer waits for a transaction of
/// another process for at most 30 s.
#[derive(Debug)]
pub struct Store {
    path: PathBuf,
    connection: Connection,
    /// The owner of the file, if other users can change it and a copy is read.
    copied_from: Option<u32>,
}

impl Store {
    /// The absolute path of the store.
    pub fn path(&self) -> &Path {
        &self.path
    }
}
