//! Writes runs and their cells. Each call is one transaction, on stable storage when it returns.

use crate::document::{document, parse};
use crate::error::{Refusal, fault};
use crate::kept::{Kept, change, exists, info, insert, insert_part, place};
use crate::resolve::{check_id, free_id, is_taken};
use crate::row::{all, only};
use crate::{Store, StoreError};
use fsdyno_model::profile::Profile;
use fsdyno_model::{CellRecord, Plan, ResultSet, RunInfo, StopReason};
use rusqlite::{Transaction, TransactionBehavior, params};

impl Store {
    /// Records that a run begins.
    pub fn begin(&mut self, run: &RunInfo) -> Result<(), StoreError> {
        self.write(&format!("beginning run `{}`", run.id), |transaction| {
            insert(transaction, &mut ResultSet::whole(run.clone(), Vec::new()))
        })
    }

    /// Gives the run an id that no other run has ([`Store::new_id`]), and records that it begins.
    /// Two processes that begin at the same time get different ids.
    pub fn begin_named(&mut self, run: &mut RunInfo) -> Result<(), StoreError> {
        let mut whole = ResultSet::whole(run.clone(), Vec::new());
        run.id = self.begin_as(&mut whole, &run.plan.name)?;
        Ok(())
    }

    /// Gives a record a free id with this name, and records that it begins.
    pub(crate) fn begin_as<R: Kept>(
        &mut self,
        record: &mut R,
        name: &str,
    ) -> Result<String, StoreError> {
        // Within the write transaction no other process can take the free id.
        self.write(&format!("beginning a new {}", R::KIND), |transaction| {
            let id = free_id(transaction, name, *record.heading().started_unix_ns)?;
            record.heading().id.clone_from(&id);
            insert(transaction, record)?;
            Ok(id)
        })
    }

    /// Records a part of a record. It is recorded only once.
    pub(crate) fn record_part<R: Kept>(
        &mut self,
        id: &str,
        part: &R::Part,
    ) -> Result<(), StoreError> {
        let operation = format!("recording a {} of {} `{id}`", R::PART, R::KIND);
        self.write_known(&operation, id, |transaction| {
            let Some(info) = info::<R>(transaction, id)? else {
                return Ok(false);
            };
            insert_part::<R>(transaction, id, place::<R>(&info, id, part)?, part)?;
            Ok(true)
        })
    }

    /// Records a cell with its samples, warnings and commands. A cell is recorded only once.
    pub fn record(&mut self, run_id: &str, record: &CellRecord) -> Result<(), StoreError> {
        let operation = format!("recording cell {} of run `{run_id}`", record.cell.index);
        self.write_known(&operation, run_id, |transaction| {
            if !exists::<ResultSet>(transaction, run_id)? {
                return Ok(false);
            }
            insert_part::<ResultSet>(transaction, run_id, record.cell.index.into(), record)?;
            Ok(true)
        })
    }

    /// Replaces the record of a cell that failed by that of its retry. A cell with another outcome
    /// is never replaced.
    pub fn replace_failed(&mut self, run_id: &str, record: &CellRecord) -> Result<(), StoreError> {
        let operation = format!("replacing cell {} of run `{run_id}`", record.cell.index);
        self.write_known(&operation, run_id, |transaction| {
            if !exists::<ResultSet>(transaction, run_id)? {
                return Ok(false);
            }
            transaction.execute(
                "DELETE FROM part WHERE record = ?1 AND place = ?2 AND outcome = 'failed'",
                params![run_id, record.cell.index],
            )?;
            insert_part::<ResultSet>(transaction, run_id, record.cell.index.into(), record)?;
            Ok(true)
        })
    }

    /// Adds to a recorded sample which functions did its work; `at` is its place in its cell.
    pub fn add_profile(
        &mut self,
        run_id: &str,
        cell: u32,
        at: usize,
        profile: &Profile,
    ) -> Result<(), StoreError> {
        let operation = format!("adding a profile to cell {cell} of run `{run_id}`");
        self.write_known(&operation, run_id, |transaction| {
            let query = "SELECT document FROM part WHERE record = ?1 AND place = ?2";
            let texts: Vec<String> = all(transaction, query, params![run_id, cell], only)?;
            let Some(text) = texts.first() else {
                return Ok(false);
            };
            let mut record: CellRecord = parse(text)?;
            let Some(sample) = record.samples.get_mut(at) else {
                return Ok(false);
            };
            sample.profile = Some(profile.clone());
            transaction.execute(
                "UPDATE part SET document = ?3 WHERE record = ?1 AND place = ?2",
                params![run_id, cell, document("a part of a record", &record)?],
            )?;
            Ok(true)
        })
    }

    /// Records that a run ended, with the time and the reason.
    pub fn end(
        &mut self,
        run_id: &str,
        reason: StopReason,
        at_unix_ns: u64,
    ) -> Result<(), StoreError> {
        self.set_end::<ResultSet>(run_id, Some((reason, at_unix_ns)))
    }

    /// Records the time and the reason of the end of a record; without an end, that it resumes.
    pub(crate) fn set_end<R: Kept>(
        &mut self,
        id: &str,
        end: Option<(StopReason, u64)>,
    ) -> Result<(), StoreError> {
        let operation = format!("writing the end of {} `{id}`", R::KIND);
        self.write_known(&operation, id, |transaction| {
            change(transaction, id, |record: &mut R| {
                let heading = record.heading();
                (*heading.stop, *heading.ended_unix_ns) = end.unzip();
            })
        })
    }

    /// Records that an ended run resumes with this plan, which may have more repeats than before.
    pub fn reopen(&mut self, run_id: &str, plan: &Plan) -> Result<(), StoreError> {
        let operation = format!("resuming run `{run_id}`");
        self.write_known(&operation, run_id, |transaction| {
            change(transaction, run_id, |set: &mut ResultSet| {
                let run = &mut set.run;
                (run.ended_unix_ns, run.stop) = (None, None);
                (run.plan, run.plan_hash) = (plan.clone(), plan.hash());
            })
        })
    }

    /// Deletes a run with its variants, a series or an exploration with all its rows; an error if a
    /// process works on it.
    pub fn remove(&mut self, id: &str) -> Result<(), StoreError> {
        let _claim = self.claim(id)?;
        self.write_known(&format!("removing `{id}`"), id, |transaction| {
            transaction.execute("DELETE FROM record WHERE varies = ?1", [id])?;
            Ok(transaction.execute("DELETE FROM record WHERE id = ?1", [id])? > 0)
        })
    }

    /// Gives a run, a series or an exploration another id; an error if a process works on it, or if
    /// the new id is taken or cannot be typed.
    pub fn rename(&mut self, id: &str, new: &str) -> Result<(), StoreError> {
        // References of parts and tags follow the id.
        let all = [
            "UPDATE record SET document = json_set(document, '$.plan.variant.run', ?2)
                WHERE varies = ?1",
            "UPDATE record SET document = json_set(document, '$.plan.advice.first', ?2)
                WHERE advice = ?1",
            "UPDATE record SET id = ?2, document = json_set(document, '$.id', ?2) WHERE id = ?1",
        ];
        check_id(new)?;
        let _claim = self.claim(id)?;
        self.write_known(&format!("renaming `{id}`"), id, |transaction| {
            if is_taken(transaction, new)? {
                return Err(StoreError::RunExists { id: new.to_owned() }.into());
            }
            let mut changed = 0;
            for update in all {
                changed = transaction.execute(update, [id, new])?;
            }
            Ok(changed > 0)
        })
    }

    /// Adds a tag to a run, or removes it.
    pub fn tag(&mut self, run_id: &str, tag: &str, add: bool) -> Result<(), StoreError> {
        check_id(tag)?;
        self.write_known(&format!("tagging run `{run_id}`"), run_id, |transaction| {
            let update = if add {
                "INSERT OR IGNORE INTO tag (run, tag) VALUES (?1, ?2)"
            } else {
                "DELETE FROM tag WHERE run = ?1 AND tag = ?2"
            };
            if !exists::<ResultSet>(transaction, run_id)? {
                return Ok(false);
            }
            transaction.execute(update, [run_id, tag])?;
            Ok(true)
        })
    }

    /// Performs `work` in one transaction, which is rolled back on an error.
    pub(crate) fn write<T>(
        &mut self,
        operation: &str,
        work: impl FnOnce(&Transaction<'_>) -> Result<T, Refusal>,
    ) -> Result<T, StoreError> {
        let Self {
            path, connection, ..
        } = self;
        let failed = || fault(path, operation);
        let transaction = connection
            .transaction_with_behavior(TransactionBehavior::Immediate)
            .map_err(failed())?;
        let done = work(&transaction).map_err(|refusal| match refusal {
            Refusal::Sqlite(error) => failed()(error),
            Refusal::Store(error) => *error,
        })?;
        transaction.commit().map_err(failed())?;
        Ok(done)
    }

    /// Performs `work` in one transaction. It returns whether the store has the record.
    pub(crate) fn write_known(
        &mut self,
        operation: &str,
        id: &str,
        work: impl FnOnce(&Transaction<'_>) -> Result<bool, Refusal>,
    ) -> Result<(), StoreError> {
        if self.write(operation, work)? {
            Ok(())
        } else {
            Err(self.no_such_run(id))
        }
    }
}
