//! Imports the records of other stores. Shards of one
//! plan become one run; a copy of a record that is here is joined with it.

use crate::Detail;
use crate::claim::is_claimed;
use crate::error::Refusal;
use crate::join::{Joined, Joining};
use crate::kept::{Kept, insert, read};
use crate::resolve::is_taken;
use crate::row::{all, only, signed};
use crate::{Store, StoreError};
use fsdyno_model::names::short_hash;
use fsdyno_model::{Exploration, FaultTests, ResultSet, Series};
use rusqlite::Transaction;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// The number of stores that are imported in one transaction. Each transaction waits for the disk.
const AT_ONCE: usize = 64;

/// The result of an import, in the order of the other stores; of each the runs, oldest first, then
/// its series, its explorations, and its tests with faulty disks.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Merged {
    /// Imported runs, each with its id in the other store and its id here. They differ if another
    /// run here has that id.
    pub taken: Vec<(String, String)>,
    /// Runs that are here already, with all that the other store has of them.
    pub known: Vec<String>,
    /// Runs that shards, or later copies, were joined into.
    pub joined: Vec<Joined>,
    /// Stores, shards and copies that were not imported, each with the reason.
    pub refused: Vec<String>,
}

/// A record of another store with its tags and the path of that store.
struct Incoming<R> {
    record: R,
    tags: Vec<String>,
    path: PathBuf,
}

impl<R> Incoming<R> {
    /// Only runs have tags.
    fn untagged(record: R, path: &Path) -> Self {
        let (tags, path) = (Vec::new(), path.to_owned());
        Self { record, tags, path }
    }
}

/// The contents of other stores.
#[derive(Default)]
struct Contents {
    runs: Vec<Incoming<ResultSet>>,
    series: Vec<Incoming<Series>>,
    explorations: Vec<Incoming<Exploration>>,
    fault_tests: Vec<Incoming<FaultTests>>,
}

/// The wholes of one kind that shards are added to, by id: each as it was, and as it will be.
type Wholes<R> = BTreeMap<String, (Option<R>, Joining<R>, BTreeSet<String>)>;

impl Store {
    /// Imports the runs of another store: see [`Self::merge_all`].
    pub fn merge(&mut self, other: &Path) -> Result<Merged, StoreError> {
        self.merge_all(&[other.to_owned()])
    }

    /// Imports the runs of these stores, which are opened read-only. Each run is imported whole or
    /// not at all; of a run in progress, the rows recorded so far. If other users can change a
    /// store, its runs are recorded as runs of the owner of its file.
    ///
    /// Shards of one plan, those of this store too, are joined into one run, which is named after
    /// the plan and its hash. The result has the same runs in any order of the stores, however
    /// they are grouped, and merging again changes nothing; two different runs with one id keep the
    /// id of the first, and the other gets an id of its own. Of several stores, one that cannot be
    /// read is refused, and the others are imported.
    pub fn merge_all(&mut self, others: &[PathBuf]) -> Result<Merged, StoreError> {
        let mut merged = Merged::default();
        let (mut runs, mut series, mut explorations, mut fault_tests) = Default::default();
        let here = self.path.clone();
        for paths in others.chunks(AT_ONCE) {
            let mut contents = Contents::default();
            for path in paths {
                match contents.read(path) {
                    Err(error) if others.len() == 1 => return Err(error),
                    Err(error) => merged.refused.push(error.to_string()),
                    Ok(()) => {}
                }
            }
            self.write("importing runs", |transaction| {
                let into = &mut merged;
                import(transaction, &here, contents.runs, &mut runs, into)?;
                import(transaction, &here, contents.series, &mut series, into)?;
                import(
                    transaction,
                    &here,
                    contents.explorations,
                    &mut explorations,
                    into,
                )?;
                import(
                    transaction,
                    &here,
                    contents.fault_tests,
                    &mut fault_tests,
                    into,
                )
            })?;
        }
        self.write("joining shards", |transaction| {
            let into = &mut merged;
            finish(transaction, &here, runs, into)?;
            finish(transaction, &here, series, into)?;
            finish(transaction, &here, explorations, into)?;
            finish(transaction, &here, fault_tests, into)
        })?;
        Ok(merged)
    }
}

impl Contents {
    fn read(&mut self, path: &Path) -> Result<(), StoreError> {
        let other = Store::open_existing_read_only(path)?;
        // The file's owner replaces the recorded user of a store that others can change.
        let owner = other.copied_from.map(|uid| {
            let another = uid != rustix::process::geteuid().as_raw();
            another.then_some(uid)
        });
        let mut read = Self::default();
        for id in other.ids()?.into_iter().rev() {
            let mut record = other.load(&id)?;
            if let Some(uid) = owner {
                record.run.provenance.uid = uid;
            }
            let (tags, path) = (other.tags(&id)?, path.to_owned());
            read.runs.push(Incoming { record, tags, path });
        }
        for id in other.listed("kind = 'series'")?.into_iter().rev() {
            let record = other.load_series(&id)?;
            read.series.push(Incoming::untagged(record, path));
        }
        for id in other.listed("kind = 'exploration'")?.into_iter().rev() {
            let record = other.exploration(&id)?;
            read.explorations.push(Incoming::untagged(record, path));
        }
        for id in other.listed("kind = 'fault-tests'")?.into_iter().rev() {
            let record = other.load_fault_tests(&id)?;
            read.fault_tests.push(Incoming::untagged(record, path));
        }
        self.runs.append(&mut read.runs);
        self.series.append(&mut read.series);
        self.explorations.append(&mut read.explorations);
        self.fault_tests.append(&mut read.fault_tests);
        Ok(())
    }
}

/// Imports records. Shards, and records that shards were joined into, are only added to `wholes`.
fn import<R: Kept>(
    transaction: &Transaction<'_>,
    here: &Path,
    incoming: Vec<Incoming<R>>,
    wholes: &mut Wholes<R>,
    merged: &mut Merged,
) -> Result<(), Refusal> {
    for Incoming {
        mut record,
        tags,
        path,
    } in incoming
    {
        let whole = record.whole_id();
        if record.id_of_joined() != whole {
            import_copy(transaction, here, record, &tags, &path, merged)?;
            continue;
        }
        let is_shard = record.shard().is_some();
        let refused = if let Some((_, joining, _)) = wholes.get_mut(&whole) {
            joining.add(record).err()
        } else {
            let before = read::<R>(transaction, &whole, Detail::All)?;
            let (joining, refused) = match before.clone() {
                None => (Joining::with(record), None),
                Some(ours) => {
                    let mut joining = Joining::with(ours);
                    let refused = joining.add(record).err();
                    (joining, refused)
                }
            };
            wholes.insert(whole.clone(), (before, joining, BTreeSet::new()));
            refused
        };
        if let Some(why) = refused {
            merged.refused.push(format!("{}: {why}", path.display()));
        } else if let Some((_, _, all)) = wholes.get_mut(&whole).filter(|_| !is_shard) {
            all.extend(tags);
        }
    }
    Ok(())
}

/// Imports a record that is no shard, or joins it with the copy that is here.
fn import_copy<R: Kept>(
    transaction: &Transaction<'_>,
    here: &Path,
    mut record: R,
    tags: &[String],
    path: &Path,
    merged: &mut Merged,
) -> Result<(), Refusal> {
    let Some(mut ours) = copy_of(transaction, &mut record)? else {
        let theirs = record.heading().id.clone();
        if is_taken(transaction, &theirs)? {
            let heading = record.heading();
            let origin = serde_json::to_string(&(*heading.started_unix_ns, heading.provenance));
            let hash = short_hash(&format!(
                "{}{}",
                origin.unwrap_or_default(),
                record.whole_id()
            ));
            *record.heading().id = format!("{theirs}-{hash}");
        }
        insert(transaction, &mut record)?;
        let id = record.heading().id.clone();
        add_tags(transaction, &id, tags)?;
        merged.taken.push((theirs, id));
        return Ok(());
    };
    let id = ours.heading().id.clone();
    record.heading().id.clone_from(&id);
    let (ours, _) = Joining::with(ours).finish();
    let mut joining = Joining::with(ours.clone());
    if let Err(why) = joining.add(record) {
        merged.refused.push(format!("{}: {why}", path.display()));
        return Ok(());
    }
    let (record, joined) = joining.finish();
    if record == ours {
        merged.known.push(id);
    } else if is_claimed(here, &id) {
        merged.refused.push(in_progress(path, &id));
    } else {
        replace(transaction, &id, record, tags.iter().cloned().collect())?;
        merged.joined.push(joined);
    }
    Ok(())
}

fn in_progress(path: &Path, id: &str) -> String {
    format!(
        "{}: {id} is in progress in this store; merge again when it has ended",
        path.display()
    )
}

/// The record here that began at the same time with the same plan.
fn copy_of<R: Kept>(transaction: &Transaction<'_>, record: &mut R) -> Result<Option<R>, Refusal> {
    let query = "SELECT id FROM record WHERE kind = ?1 AND started_unix_ns = ?2";
    let key = (R::KIND, signed(*record.heading().started_unix_ns));
    for id in all(transaction, query, key, only::<String>)? {
        let found = read::<R>(transaction, &id, Detail::All)?;
        let copy =
            found.filter(|ours| ours.whole_id() == record.whole_id() && id != ours.whole_id());
        if let Some(mut ours) = copy
            && ours.shard().is_none()
        {
            return Ok(Some(ours));
        }
    }
    Ok(None)
}

/// Joins the shards of this store with those of the others, and writes the wholes that changed.
fn finish<R: Kept>(
    transaction: &Transaction<'_>,
    here: &Path,
    mut wholes: Wholes<R>,
    merged: &mut Merged,
) -> Result<(), Refusal> {
    if wholes.is_empty() {
        return Ok(());
    }
    let query = "SELECT id FROM record WHERE kind = ?1 AND sharded";
    for id in all(transaction, query, [R::KIND], only::<String>)? {
        let Some(ours) = read::<R>(transaction, &id, Detail::All)? else {
            continue;
        };
        if let Some((_, joining, _)) = wholes.get_mut(&ours.whole_id())
            && let Err(why) = joining.add(ours)
        {
            merged.refused.push(format!("{}: {why}", here.display()));
        }
    }
    for (id, (before, joining, tags)) in wholes {
        let (record, joined) = joining.finish();
        if before.as_ref() != Some(&record) {
            if is_claimed(here, &id) {
                merged.refused.push(in_progress(here, &id));
                continue;
            }
            replace(transaction, &id, record, tags)?;
        }
        merged.joined.push(joined);
    }
    Ok(())
}

/// Writes a record in place of the one with its id; its tags stay, and these are added.
fn replace<R: Kept>(
    transaction: &Transaction<'_>,
    id: &str,
    mut record: R,
    mut tags: BTreeSet<String>,
) -> Result<(), Refusal> {
    tags.extend(all(
        transaction,
        "SELECT tag FROM tag WHERE run = ?1",
        [id],
        only::<String>,
    )?);
    transaction.execute("DELETE FROM record WHERE id = ?1", [id])?;
    insert(transaction, &mut record)?;
    add_tags(transaction, id, &tags.into_iter().collect::<Vec<_>>())
}

fn add_tags(transaction: &Transaction<'_>, id: &str, tags: &[String]) -> Result<(), Refusal> {
    for tag in tags {
        transaction.execute("INSERT INTO tag (run, tag) VALUES (?1, ?2)", [id, tag])?;
    }
    Ok(())
}
