//! Imports the runs, the series of power cuts and the explorations of other stores. Shards of one
//! plan become one run.

use crate::error::Refusal;
use crate::insert::{insert_cell, insert_run};
use crate::query::result_set;
use crate::resolve::{id_of_whole, id_of_whole_exploration, id_of_whole_series, is_taken};
use crate::shards::{self, JoinedShards};
use crate::{Store, StoreError, exploration, series};
use fsdyno_model::{Exploration, ResultSet, Series, Shard};
use rusqlite::Transaction;
use std::collections::BTreeSet;
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};

/// The number of stores that are imported in one transaction. Each transaction waits for the disk.
const AT_ONCE: usize = 64;

/// The result of an import, in the order of the other stores; of each the runs, oldest first, then
/// its series, then its explorations.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Merged {
    /// Imported runs.
    pub taken: Vec<String>,
    /// Identical runs that exist here already.
    pub known: Vec<String>,
    /// Runs that were not imported, because a different run with that id exists here. Either one
    /// copy was interrupted and the other resumed, or two machines chose the same id.
    pub differing: Vec<String>,
    /// The runs that shards were joined into.
    pub joined: Vec<JoinedShards>,
    /// Stores and shards that were not imported, each with the reason.
    pub refused: Vec<String>,
}

/// The contents of another store.
struct StoreContents {
    path: PathBuf,
    runs: Vec<(ResultSet, Vec<String>)>,
    series: Vec<Series>,
    explorations: Vec<Exploration>,
}

impl Store {
    /// Imports the runs of another store: see [`Self::merge_all`].
    pub fn merge(&mut self, other: &Path) -> Result<Merged, StoreError> {
        self.merge_all(&[other.to_owned()])
    }

    /// Imports the runs of these stores, which are opened read-only. Each run is imported whole or
    /// not at all; of a run in progress, the rows recorded so far. A run whose id exists here stays
    /// unchanged in all stores. If other users can change a store, its runs are recorded as runs of
    /// the owner of its file.
    ///
    /// Shards of one plan are joined into one run, which is named after the plan and its hash.
    /// Shards of several plans are accepted only if the first store has shards of each: a rerun has
    /// several runs. Of several stores, one that cannot be read is refused, and the others are
    /// imported.
    pub fn merge_all(&mut self, others: &[PathBuf]) -> Result<Merged, StoreError> {
        let mut merged = Merged::default();
        let mut plans: Option<(PathBuf, BTreeSet<String>)> = None;
        let mut joined = BTreeSet::new();
        for paths in others.chunks(AT_ONCE) {
            let mut incoming = Vec::new();
            for path in paths {
                match StoreContents::read(path) {
                    Err(error) if others.len() == 1 => return Err(error),
                    Err(error) => merged.refused.push(error.to_string()),
                    Ok(mut store) => {
                        let here = store.shard_plans();
                        if plans.is_none() && !here.is_empty() {
                            plans = Some((path.clone(), here));
                        }
                        if let Some((first, plans)) = &plans {
                            merged.refused.extend(store.refuse_others(first, plans));
                        }
                        incoming.push(store);
                    }
                }
            }
            self.write("importing runs", |transaction| {
                for store in &incoming {
                    joined.extend(store.import(transaction, &mut merged)?);
                }
                Ok(())
            })?;
        }
        for (id, of) in joined {
            merged
                .joined
                .push(self.write("joining shards", |transaction| {
                    shards::finish(transaction, &id, of)
                })?);
        }
        Ok(merged)
    }
}

impl StoreContents {
    fn read(path: &Path) -> Result<Self, StoreError> {
        let other = Store::open_existing_read_only(path)?;
        let mut runs = Vec::new();
        for id in other.ids()?.into_iter().rev() {
            let mut theirs = other.load(&id)?;
            if let Some(uid) = other.copied_from {
                // The file's owner replaces the recorded user of such a store.
                let another = uid != rustix::process::geteuid().as_raw();
                theirs.run.provenance.uid = another.then_some(uid);
            }
            runs.push((theirs, other.tags(&id)?));
        }
        let series = other.series()?.into_iter().rev();
        let series = series.map(|series| other.load_series(&series.id));
        let explorations = other.explorations()?.into_iter().rev();
        let explorations = explorations.map(|one| other.exploration(&one.id));
        Ok(Self {
            path: path.to_owned(),
            runs,
            series: series.collect::<Result<_, _>>()?,
            explorations: explorations.collect::<Result<_, _>>()?,
        })
    }

    /// The names of the runs, series and explorations that its shards belong to.
    fn shard_plans(&self) -> BTreeSet<String> {
        let runs = self.runs.iter().map(|(set, _)| &set.run);
        let runs = runs.filter(|run| run.plan.shard.is_some()).map(id_of_whole);
        let series = self.series.iter().map(|series| &series.info);
        let series = series.filter(|info| info.shard.is_some());
        let explorations = self.explorations.iter().map(|one| &one.info);
        let explorations = explorations.filter(|info| info.shard.is_some());
        runs.chain(series.map(id_of_whole_series))
            .chain(explorations.map(id_of_whole_exploration))
            .collect()
    }

    /// Removes the shards of plans that the first store does not have.
    fn refuse_others(&mut self, first: &Path, plans: &BTreeSet<String>) -> Vec<String> {
        let path = self.path.display();
        let mut refused = Vec::new();
        let mut belongs = |id: &str, shard: Option<Shard>, whole: String| {
            let Some(shard) = shard.filter(|_| !plans.contains(&whole)) else {
                return true;
            };
            refused.push(format!(
                "{path}: {id} is shard {shard} of {whole}, and {} has shards of {}; merge the \
                 shards of each plan separately",
                first.display(),
                plans
                    .iter()
                    .map(String::as_str)
                    .collect::<Vec<_>>()
                    .join(" and ")
            ));
            false
        };
        self.runs
            .retain(|(set, _)| belongs(&set.run.id, set.run.plan.shard, id_of_whole(&set.run)));
        self.series
            .retain(|one| belongs(&one.info.id, one.info.shard, id_of_whole_series(&one.info)));
        self.explorations.retain(|one| {
            let whole = id_of_whole_exploration(&one.info);
            belongs(&one.info.id, one.info.shard, whole)
        });
        refused
    }

    /// Writes the rows of this store; returns the runs that its shards were joined into, each with
    /// the number of its shards.
    fn import(
        &self,
        transaction: &Transaction<'_>,
        merged: &mut Merged,
    ) -> Result<Vec<(String, NonZeroU32)>, Refusal> {
        let (mut joined, mut refused) = (Vec::new(), Vec::new());
        let mut join = |shard: Shard, result: Result<String, String>| match result {
            Ok(whole) => joined.push((whole, shard.of)),
            Err(why) => refused.push(format!("{}: {why}", self.path.display())),
        };
        for (theirs, tags) in &self.runs {
            let id = &theirs.run.id;
            if let Some(shard) = theirs.run.plan.shard {
                join(shard, shards::join(transaction, theirs)?);
                continue;
            }
            if is_taken(transaction, id)? {
                merged.compared(id, result_set(transaction, id)?.as_ref() == Some(theirs));
                continue;
            }
            insert_run(transaction, &theirs.run)?;
            for record in &theirs.cells {
                insert_cell(transaction, id, record)?;
            }
            for tag in tags {
                transaction.execute("INSERT INTO tag (run, tag) VALUES (?1, ?2)", [id, tag])?;
            }
            merged.taken.push(id.clone());
        }
        for theirs in &self.series {
            let id = &theirs.info.id;
            if let Some(shard) = theirs.info.shard {
                join(shard, shards::join_series(transaction, theirs)?);
            } else if is_taken(transaction, id)? {
                let ours = series::series(transaction, id)?;
                merged.compared(id, ours.as_ref() == Some(theirs));
            } else {
                series::insert_whole(transaction, theirs)?;
                merged.taken.push(id.clone());
            }
        }
        for theirs in &self.explorations {
            let id = &theirs.info.id;
            if let Some(shard) = theirs.info.shard {
                join(shard, shards::join_exploration(transaction, theirs)?);
            } else if is_taken(transaction, id)? {
                let ours = exploration::exploration(transaction, id)?;
                merged.compared(id, ours.as_ref() == Some(theirs));
            } else {
                exploration::insert_whole(transaction, theirs)?;
                merged.taken.push(id.clone());
            }
        }
        merged.refused.extend(refused);
        Ok(joined)
    }
}

impl Merged {
    /// Notes an id that exists here already.
    fn compared(&mut self, id: &str, is_same: bool) {
        let list = if is_same {
            &mut self.known
        } else {
            &mut self.differing
        };
        list.push(id.to_owned());
    }
}
