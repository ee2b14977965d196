//! Writes runs and their cells. Each call is one transaction, on stable storage when it returns.
//!
//! `insert.rs` maps the values of the model to rows.

use crate::error::{Refusal, fault};
use crate::insert::{exists, insert_cell, insert_run, plan_text};
use crate::resolve::{OF_ADVICE, VARIES, check_id, is_taken};
use crate::row::signed;
use crate::{Store, StoreError};
use fsdyno_model::{CellRecord, Plan, RunInfo, StopReason};
use rusqlite::{Transaction, TransactionBehavior, params};

impl Store {
    /// Records that a run begins.
    pub fn begin(&mut self, run: &RunInfo) -> Result<(), StoreError> {
        self.write(&format!("beginning run `{}`", run.id), |transaction| {
            insert_run(transaction, run)
        })
    }

    /// Gives the run an id that no other run has ([`Store::new_id`]), and records that it begins.
    /// Two processes that begin at the same time get different ids.
    pub fn begin_named(&mut self, run: &mut RunInfo) -> Result<(), StoreError> {
        let (plan_name, start) = (run.plan.name.clone(), run.started_unix_ns);
        // Within the write transaction no other process can take the free id.
        self.write("beginning a run", |transaction| {
            run.id = crate::resolve::free_id(transaction, &plan_name, start)?;
            insert_run(transaction, run)
        })
    }

    /// Records a cell with its samples, warnings and commands. A cell is recorded only once.
    pub fn record(&mut self, run_id: &str, record: &CellRecord) -> Result<(), StoreError> {
        let operation = format!("recording cell {} of run `{run_id}`", record.cell.index);
        let known = self.write(&operation, |transaction| {
            if !exists(transaction, run_id)? {
                return Ok(false);
            }
            insert_cell(transaction, run_id, record)?;
            Ok(true)
        })?;
        self.known_or_refused(known, run_id)
    }

    /// Replaces the record of a cell that failed by that of its retry. A cell with another outcome
    /// is never replaced.
    pub fn replace_failed(&mut self, run_id: &str, record: &CellRecord) -> Result<(), StoreError> {
        let operation = format!("replacing cell {} of run `{run_id}`", record.cell.index);
        let known = self.write(&operation, |transaction| {
            if !exists(transaction, run_id)? {
                return Ok(false);
            }
            transaction.execute(
                "DELETE FROM cell WHERE run = ?1 AND cell_index = ?2 AND outcome = 'failed'",
                params![run_id, record.cell.index],
            )?;
            insert_cell(transaction, run_id, record)?;
            Ok(true)
        })?;
        self.known_or_refused(known, run_id)
    }

    /// Records that a run ended, with the time and the reason.
    pub fn end(
        &mut self,
        run_id: &str,
        reason: StopReason,
        at_unix_ns: u64,
    ) -> Result<(), StoreError> {
        let operation = format!("ending run `{run_id}`");
        self.set_end("run", &operation, run_id, Some((reason, at_unix_ns)))
    }

    /// Records the time and the reason of the end of a run, a series or an exploration; without an
    /// end, that it resumes.
    pub(crate) fn set_end(
        &mut self,
        table: &str,
        operation: &str,
        id: &str,
        end: Option<(StopReason, u64)>,
    ) -> Result<(), StoreError> {
        let known = self.write(operation, |transaction| {
            let end = end.map(|(stop, at)| (stop.to_string(), signed(at)));
            let (stop, at) = end.unzip();
            let changed = transaction.execute(
                &format!("UPDATE {table} SET ended_unix_ns = ?2, stop = ?3 WHERE id = ?1"),
                params![id, at, stop],
            )?;
            Ok(changed > 0)
        })?;
        self.known_or_refused(known, id)
    }

    /// Records that an ended run resumes with this plan, which may have more repeats than before.
    pub fn reopen(&mut self, run_id: &str, plan: &Plan) -> Result<(), StoreError> {
        let known = self.write(&format!("resuming run `{run_id}`"), |transaction| {
            let changed = transaction.execute(
                "UPDATE run SET ended_unix_ns = NULL, stop = NULL, plan = ?2, plan_hash = ?3,
                    cells_planned = ?4 WHERE id = ?1",
                params![run_id, plan_text(plan)?, plan.hash(), signed(plan.cells())],
            )?;
            Ok(changed > 0)
        })?;
        self.known_or_refused(known, run_id)
    }

    /// Deletes a run with its variants, a series or an exploration with all its rows; an error if a
    /// process works on it.
    pub fn remove(&mut self, id: &str) -> Result<(), StoreError> {
        let _claim = self.claim(id)?;
        let known = self.write(&format!("removing `{id}`"), |transaction| {
            transaction.execute(&format!("DELETE FROM run WHERE {VARIES} = ?1"), [id])?;
            let mut deleted = 0;
            for table in ["run", "series", "exploration"] {
                deleted +=
                    transaction.execute(&format!("DELETE FROM {table} WHERE id = ?1"), [id])?;
            }
            Ok(deleted > 0)
        })?;
        self.known_or_refused(known, id)
    }

    /// Gives a run, a series or an exploration another id; an error if a process works on it, or if
    /// the new id is taken or cannot be typed.
    pub fn rename(&mut self, id: &str, new: &str) -> Result<(), StoreError> {
        let of_variants = format!(
            "UPDATE run SET plan = json_set(plan, '$.variant.run', ?2) WHERE {VARIES} = ?1"
        );
        let of_advice = format!(
            "UPDATE run SET plan = json_set(plan, '$.advice.first', ?2) WHERE {OF_ADVICE} = ?1"
        );
        let all = [
            of_variants.as_str(),
            of_advice.as_str(),
            "UPDATE run SET id = ?2 WHERE id = ?1",
            "UPDATE cell SET run = ?2 WHERE run = ?1",
            "UPDATE warning SET run = ?2 WHERE run = ?1",
            "UPDATE tag SET run = ?2 WHERE run = ?1",
            "UPDATE series SET id = ?2 WHERE id = ?1",
            "UPDATE cut SET series = ?2 WHERE series = ?1",
            "UPDATE exploration SET id = ?2 WHERE id = ?1",
            "UPDATE explored SET exploration = ?2 WHERE exploration = ?1",
            "UPDATE finding SET exploration = ?2 WHERE exploration = ?1",
        ];
        check_id(new)?;
        let _claim = self.claim(id)?;
        let known = self.write(&format!("renaming `{id}`"), |transaction| {
            if is_taken(transaction, new)? {
                return Err(StoreError::RunExists { id: new.to_owned() }.into());
            }
            // References are checked when the transaction ends.
            transaction.pragma_update(None, "defer_foreign_keys", true)?;
            let mut changed = 0;
            for update in all {
                changed += transaction.execute(update, [id, new])?;
            }
            Ok(changed > 0)
        })?;
        self.known_or_refused(known, id)
    }

    /// Adds a tag to a run, or removes it.
    pub fn tag(&mut self, run_id: &str, tag: &str, add: bool) -> Result<(), StoreError> {
        check_id(tag)?;
        let known = self.write(&format!("tagging run `{run_id}`"), |transaction| {
            let update = if add {
                "INSERT OR IGNORE INTO tag (run, tag) VALUES (?1, ?2)"
            } else {
                "DELETE FROM tag WHERE run = ?1 AND tag = ?2"
            };
            if !exists(transaction, run_id)? {
                return Ok(false);
            }
            transaction.execute(update, [run_id, tag])?;
            Ok(true)
        })?;
        self.known_or_refused(known, run_id)
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

    pub(crate) fn known_or_refused(&self, known: bool, run_id: &str) -> Result<(), StoreError> {
        if known {
            Ok(())
        } else {
            Err(self.no_such_run(run_id))
        }
    }
}
