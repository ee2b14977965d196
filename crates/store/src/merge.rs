//! Imports the runs and the series of power cuts of another store.

use crate::error::Refusal;
use crate::insert::{exists, insert_cell, insert_run};
use crate::series::{insert_whole, series_exists};
use crate::{Store, StoreError};
use std::path::Path;

/// The result of an import: the runs of the other store, oldest first, then its series.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Merged {
    /// Imported runs.
    pub taken: Vec<String>,
    /// Identical runs that exist here already.
    pub known: Vec<String>,
    /// Runs that were not imported, because a different run with that id exists here. Either one
    /// copy was interrupted and the other resumed, or two machines chose the same id.
    pub differing: Vec<String>,
}

impl Store {
    /// Imports the runs of the store at `other`, which is opened read-only. Each run is imported
    /// whole or not at all; of a run in progress, the rows recorded so far. A run whose id exists
    /// here stays unchanged in both stores. If other users can change that store, its runs are
    /// recorded as runs of the owner of its file.
    pub fn merge(&mut self, other: &Path) -> Result<Merged, StoreError> {
        let other = Self::open_existing_read_only(other)?;
        let mut merged = Merged::default();
        for id in other.ids()?.into_iter().rev() {
            let mut theirs = other.load(&id)?;
            let tags = other.tags(&id)?;
            if let Some(uid) = other.copied_from {
                // The file's owner replaces the recorded user of such a store.
                let another = uid != rustix::process::geteuid().as_raw();
                theirs.run.provenance.uid = another.then_some(uid);
            }
            let taken = self.write(&format!("taking over run `{id}`"), |transaction| {
                if exists(transaction, &id)? {
                    return Ok(false);
                }
                insert_run(transaction, &theirs.run)?;
                for record in &theirs.cells {
                    insert_cell(transaction, &id, record)?;
                }
                for tag in &tags {
                    transaction
                        .execute("INSERT INTO tag (run, tag) VALUES (?1, ?2)", [&id, tag])?;
                }
                Ok::<_, Refusal>(true)
            })?;
            if taken {
                merged.taken.push(id);
            } else if self.load(&id)? == theirs {
                merged.known.push(id);
            } else {
                merged.differing.push(id);
            }
        }
        for series in other.series()?.into_iter().rev() {
            let id = series.id;
            let theirs = other.load_series(&id)?;
            let taken = self.write(&format!("taking over series `{id}`"), |transaction| {
                if exists(transaction, &id)? || series_exists(transaction, &id)? {
                    return Ok(false);
                }
                insert_whole(transaction, &theirs)?;
                Ok::<_, Refusal>(true)
            })?;
            let here = || self.load_series(&id).is_ok_and(|ours| ours == theirs);
            match taken {
                true => merged.taken.push(id),
                false if here() => merged.known.push(id),
                false => merged.differing.push(id),
            }
        }
        Ok(merged)
    }
}
