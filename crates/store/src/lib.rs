//! The store: all SQL of fsdyno. Records runs and reads them back whole.
//!
//! A store is one `SQLite` file: each cell, power cut and explored program is one document, with
//! views for people who use SQL (`views::tables`). This crate opens stores ([`Store::open`]), records
//! runs ([`Store::begin`], [`Store::record`]) and reads them ([`Store::load`], [`Store::runs`]). It
//! resolves names ([`Store::resolve`]), imports another store ([`Store::merge`]) and locks a live
//! run ([`Store::claim`]). Series of power cuts ([`Store::begin_series`] ...), explorations
//! ([`Store::begin_exploration`] ...) and tests with faulty disks ([`Store::begin_fault_tests`] ...)
//! have the same functions. This crate computes no statistics,
//! and the caller passes the path of the store.

mod claim;
mod document;
mod error;
mod exploration;
mod fault_tests;
pub mod fuzz;
mod join;
mod kept;
mod merge;
mod open;
mod place;
mod query;
mod record;
mod resolve;
mod row;
mod schema;
mod series;
#[cfg(test)]
mod tests;
pub mod views;

pub use claim::Claim;
pub use error::StoreError;
pub use exploration::ExplorationSummary;
pub use fault_tests::FaultTestsSummary;
pub use join::{Joined, Unit};
pub use merge::Merged;
pub use query::{Detail, Reading, RunSummary};
pub use resolve::Named;
pub use schema::{APPLICATION_ID, SCHEMA_VERSION};
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
