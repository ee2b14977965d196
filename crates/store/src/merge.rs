//! Taking over the runs of another store, and its series of cuts.

use crate::insert::{exists, insert_cell, insert_run};
use crate::record::Refusal;
use crate::series::{insert_whole, series_exists};
use crate::{Store, StoreError};
use std::path::Path;

/// What became of the runs of the other store, oldest first, and of its series behind them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Merged {
    /// Runs taken over.
    pub taken: Vec<String>,
    /// Runs that stand here already, exactly alike.
    pub known: Vec<String>,
    /// Runs left alone, because a run of that id stands here and differs (one was interrupted and
    /// the other resumed, or two machines gave the same id).
    pub differing: Vec<String>,
}

impl Store {
    /// Takes over the runs of the store at `other`, which is only read. Each run comes whole or
    /// not at all, as it stands at this moment if it is still under way; a run whose id stands here
    /// already is left alone on both sides. From a store that others could change, it comes as the
    /// run of the owner of the file.
    pub fn merge(&mut self, other: &Path) -> Result<Merged, StoreError> {
        let other = Self::open_existing_read_only(other)?;
        let mut merged = Merged::default();
        for id in other.ids()?.into_iter().rev() {
            let mut theirs = other.load(&id)?;
            if let Some(uid) = other.copied_from {
                // Whatever such a store says of who recorded the run.
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
