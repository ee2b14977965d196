//! Entry points for the fuzz target of stored rows. No other code uses them.

use crate::{Store, open};
use rusqlite::Connection;
use std::path::PathBuf;

/// A store in memory, from the bytes of its file. Its schema is not checked.
pub fn store_in_memory(bytes: &[u8]) -> rusqlite::Result<Store> {
    Ok(Store {
        path: PathBuf::from(":memory:"),
        connection: open::in_memory(bytes)?,
        copied_from: None,
    })
}

/// The connection of a store, which can change any row.
pub fn connection(store: &Store) -> &Connection {
    &store.connection
}
