//! Writing: runs and their cells. Each call is one transaction, on stable storage when it returns.

use crate::error::fault;
use crate::row::{self, insert, signed, stage_columns};
use crate::{Store, StoreError};
use fsdyno_model::{
    CellRecord, CommandRecord, CpuUse, Effective, Outcome, Plan, RunInfo, Sample, StopReason,
    Tally, Warning,
};
use rusqlite::{ErrorCode, Transaction, TransactionBehavior, params};

impl Store {
    /// Records that a run begins.
    pub fn begin(&mut self, run: &RunInfo) -> Result<(), StoreError> {
        self.write(&format!("beginning run `{}`", run.id), |transaction| {
            insert_run(transaction, run)
        })
    }

    /// Gives the run an id that no other run has ([`Store::new_id`]), and records that it begins;
    /// two processes that begin at once get two ids.
    pub fn begin_named(&mut self, run: &mut RunInfo) -> Result<(), StoreError> {
        let (plan_name, start) = (run.plan.name.clone(), run.started_unix_ns);
        // Within the write transaction nobody else can take the id that was found free.
        self.write("beginning a run", |transaction| {
            run.id = crate::resolve::free_id(transaction, &plan_name, start)?;
            insert_run(transaction, run)
        })
    }

    /// Records a cell with all that happened in it, once.
    pub fn record(&mut self, run_id: &str, record: &CellRecord) -> Result<(), StoreError> {
        let doing = format!("recording cell {} of run `{run_id}`", record.cell.index);
        let outcome = self.write(&doing, |transaction| {
            if !exists(transaction, run_id)? {
                return Ok(false);
            }
            insert_cell(transaction, run_id, record)?;
            Ok(true)
        });
        match outcome {
            Ok(true) => Ok(()),
            Ok(false) => Err(self.no_such_run(run_id)),
            Err(error) => Err(error),
        }
    }

    /// Records doubts about a whole run.
    pub fn warn(&mut self, run_id: &str, warnings: &[Warning]) -> Result<(), StoreError> {
        let known = self.write(&format!("recording warnings of run `{run_id}`"), |t| {
            let known = exists(t, run_id)?;
            if known {
                insert_warnings(t, run_id, None, None, warnings)?;
            }
            Ok(known)
        })?;
        self.known_or_refused(known, run_id)
    }

    /// Records that a run ended, when and why.
    pub fn end(
        &mut self,
        run_id: &str,
        reason: StopReason,
        at_unix_ns: u64,
    ) -> Result<(), StoreError> {
        let known = self.write(&format!("ending run `{run_id}`"), |transaction| {
            let changed = transaction.execute(
                "UPDATE run SET ended_unix_ns = ?2, stop = ?3 WHERE id = ?1",
                params![run_id, signed(at_unix_ns), reason.to_string()],
            )?;
            Ok(changed > 0)
        })?;
        self.known_or_refused(known, run_id)
    }

    /// Records that an ended run goes on.
    pub fn reopen(&mut self, run_id: &str) -> Result<(), StoreError> {
        let known = self.write(&format!("going on with run `{run_id}`"), |transaction| {
            let changed = transaction.execute(
                "UPDATE run SET ended_unix_ns = NULL, stop = NULL WHERE id = ?1",
                [run_id],
            )?;
            Ok(changed > 0)
        })?;
        self.known_or_refused(known, run_id)
    }

    /// Forgets a run and all that belongs to it. A run that a process works on is refused.
    pub fn remove(&mut self, run_id: &str) -> Result<(), StoreError> {
        let _claim = self.claim(run_id)?;
        let known = self.write(&format!("removing run `{run_id}`"), |transaction| {
            Ok(transaction.execute("DELETE FROM run WHERE id = ?1", [run_id])? > 0)
        })?;
        self.known_or_refused(known, run_id)
    }

    /// Does `work` in one transaction, which is undone where it fails.
    pub(crate) fn write<T>(
        &mut self,
        doing: &str,
        work: impl FnOnce(&Transaction<'_>) -> Result<T, Refusal>,
    ) -> Result<T, StoreError> {
        let Self { path, connection } = self;
        let failed = || fault(path, doing);
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

    fn known_or_refused(&self, known: bool, run_id: &str) -> Result<(), StoreError> {
        if known {
            Ok(())
        } else {
            Err(self.no_such_run(run_id))
        }
    }
}

/// Why a transaction was given up.
pub(crate) enum Refusal {
    /// `SQLite` said so.
    Sqlite(rusqlite::Error),
    /// The store did.
    Store(Box<StoreError>),
}

impl From<rusqlite::Error> for Refusal {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sqlite(error)
    }
}

impl From<StoreError> for Refusal {
    fn from(error: StoreError) -> Self {
        Self::Store(Box::new(error))
    }
}

pub(crate) fn exists(transaction: &Transaction<'_>, run_id: &str) -> rusqlite::Result<bool> {
    transaction
        .prepare_cached("SELECT 1 FROM run WHERE id = ?1")?
        .exists([run_id])
}

/// The cells a plan comes to: every contender does every workload in every block.
pub(crate) fn cells_planned(plan: &Plan) -> u64 {
    (plan.contenders.len() as u64)
        .saturating_mul(plan.workloads.len() as u64)
        .saturating_mul(u64::from(plan.repeats))
}

pub(crate) fn insert_run(transaction: &Transaction<'_>, run: &RunInfo) -> Result<(), Refusal> {
    let RunInfo {
        id,
        started_unix_ns,
        ended_unix_ns,
        stop,
        plan,
        plan_hash,
        provenance,
        command_line,
    } = run;
    crate::resolve::check_id(id)?;
    let plan_text = plan_text(plan)?;
    let provenance = serde_json::to_string(provenance).map_err(unstorable("the provenance"))?;
    let command_line = serde_json::to_string(command_line).map_err(unstorable("the argv"))?;
    let inserted = transaction
        .prepare_cached(&insert("run", row::RUN))?
        .execute(params![
            id,
            signed(*started_unix_ns),
            ended_unix_ns.map(signed),
            stop.map(|reason| reason.to_string()),
            plan_hash,
            plan_text,
            provenance,
            command_line,
            plan.name,
            signed(cells_planned(plan)),
        ]);
    match inserted {
        Err(error) if error.sqlite_error_code() == Some(ErrorCode::ConstraintViolation) => {
            if exists(transaction, id)? {
                return Err(StoreError::RunExists { id: id.clone() }.into());
            }
            Err(error.into())
        }
        other => Ok(other.map(|_| ())?),
    }
}

/// The plan as JSON, having made sure that the same plan comes back: JSON knows neither infinite
/// numbers nor bytes that are no text.
fn plan_text(plan: &Plan) -> Result<String, StoreError> {
    let text = serde_json::to_string(plan).map_err(unstorable("the plan"))?;
    let back: Plan = serde_json::from_str(&text).map_err(unstorable("the plan"))?;
    if back == *plan {
        Ok(text)
    } else {
        Err(StoreError::Unstorable {
            what: "the plan",
            why: "it would come back changed".to_owned(),
        })
    }
}

fn unstorable(what: &'static str) -> impl FnOnce(serde_json::Error) -> StoreError {
    move |error| StoreError::Unstorable {
        what,
        why: error.to_string(),
    }
}

pub(crate) fn insert_cell(
    transaction: &Transaction<'_>,
    run_id: &str,
    record: &CellRecord,
) -> Result<(), Refusal> {
    let CellRecord {
        cell,
        outcome,
        started_unix_ns,
        took_ns,
        samples,
        commands,
        effective,
        warnings,
    } = record;
    let standing = transaction
        .prepare_cached("SELECT 1 FROM cell WHERE run = ?1 AND cell_index = ?2")?
        .exists(params![run_id, cell.index])?;
    if standing {
        return Err(StoreError::CellRecorded {
            run: run_id.to_owned(),
            index: cell.index,
        }
        .into());
    }
    let ended = Ended::of(outcome);
    let (requirement, reason, remedy) = ended.skip;
    transaction
        .prepare_cached(&insert("cell", row::CELL))?
        .execute(params![
            run_id,
            cell.index,
            cell.block,
            cell.contender,
            cell.workload,
            signed(*started_unix_ns),
            signed(took_ns.0),
            ended.name,
            requirement,
            reason,
            remedy,
            ended.stage,
            ended.phase,
            ended.message,
            ended.errno,
        ])?;
    let id = transaction.last_insert_rowid();
    for (place, sample) in samples.iter().enumerate() {
        insert_sample(transaction, id, place_of(place), sample)?;
        let of_sample = Some(place_of(place));
        insert_warnings(transaction, run_id, Some(id), of_sample, &sample.warnings)?;
    }
    for (place, command) in commands.iter().enumerate() {
        insert_command(transaction, id, place_of(place), command)?;
    }
    for (place, Effective { source, text }) in effective.iter().enumerate() {
        transaction
            .prepare_cached(&insert("effective", row::EFFECTIVE))?
            .execute(params![id, place_of(place), source, text])?;
    }
    insert_warnings(transaction, run_id, Some(id), None, warnings)?;
    Ok(())
}

/// A place in a list, as a column holds it.
fn place_of(place: usize) -> i64 {
    signed(place as u64)
}

/// An outcome, as its columns.
struct Ended<'o> {
    name: &'static str,
    skip: (Option<&'o str>, Option<&'o str>, Option<&'o str>),
    stage: Option<String>,
    phase: Option<&'o str>,
    message: Option<&'o str>,
    errno: Option<&'o str>,
}

impl<'o> Ended<'o> {
    fn of(outcome: &'o Outcome) -> Self {
        let measured = Self {
            name: "measured",
            skip: (None, None, None),
            stage: None,
            phase: None,
            message: None,
            errno: None,
        };
        match outcome {
            Outcome::Measured => measured,
            Outcome::Skipped {
                requirement,
                reason,
                remedy,
            } => Self {
                name: "skipped",
                skip: (Some(requirement), Some(reason), Some(remedy)),
                ..measured
            },
            Outcome::Failed(failure) => {
                let (stage, phase) = stage_columns(&failure.stage);
                Self {
                    name: "failed",
                    stage: Some(stage),
                    phase,
                    message: Some(&failure.message),
                    errno: failure.errno.as_deref(),
                    ..measured
                }
            }
        }
    }
}

fn insert_sample(
    transaction: &Transaction<'_>,
    cell: i64,
    place: i64,
    sample: &Sample,
) -> rusqlite::Result<()> {
    // Taken apart by name, so that a new field of the model cannot be forgotten here.
    let Sample {
        phase,
        label,
        kind,
        engine,
        method,
        cache,
        return_ns,
        durable_ns,
        tally,
        cpu,
        device,
        space_before,
        space_after,
        warnings: _,
    } = sample;
    let Tally {
        files,
        directories,
        bytes,
        calls,
        matches,
    } = tally;
    let CpuUse {
        user_ns,
        system_ns,
        machine_busy_ns,
        steal_ns,
    } = cpu;
    let device = device.as_ref();
    transaction
        .prepare_cached(&insert("sample", row::SAMPLE))?
        .execute(params![
            cell,
            place,
            phase,
            label,
            kind,
            engine,
            method,
            cache.asked.name(),
            cache.proven,
            cache.method,
            cache.checked_by,
            signed(cache.files_checked),
            signed(cache.bytes_checked),
            cache.resident_pages.map(signed),
            cache.doubt,
            signed(return_ns.0),
            durable_ns.map(|ns| signed(ns.0)),
            signed(*files),
            signed(*directories),
            signed(bytes.0),
            signed(*calls),
            signed(*matches),
            signed(user_ns.0),
            signed(system_ns.0),
            signed(machine_busy_ns.0),
            signed(steal_ns.0),
            device.map(|d| signed(d.reads)),
            device.map(|d| signed(d.read_bytes.0)),
            device.map(|d| signed(d.writes)),
            device.map(|d| signed(d.written_bytes.0)),
            device.map(|d| signed(d.discards)),
            device.map(|d| signed(d.discarded_bytes.0)),
            device.map(|d| signed(d.flushes)),
            device.map(|d| signed(d.busy_ns.0)),
            signed(space_before.0),
            signed(space_after.0),
        ])?;
    Ok(())
}

fn insert_command(
    transaction: &Transaction<'_>,
    cell: i64,
    place: i64,
    command: &CommandRecord,
) -> Result<(), Refusal> {
    let CommandRecord {
        stage,
        argv,
        by_system_call,
        status,
        took_ns,
        stdout,
        stderr,
    } = command;
    let (stage, phase) = stage_columns(stage);
    let argv = serde_json::to_string(argv).map_err(unstorable("the argv of a command"))?;
    transaction
        .prepare_cached(&insert("command", row::COMMAND))?
        .execute(params![
            cell,
            place,
            stage,
            phase,
            argv,
            by_system_call,
            status,
            signed(took_ns.0),
            stdout,
            stderr,
        ])?;
    Ok(())
}

pub(crate) fn insert_warnings(
    transaction: &Transaction<'_>,
    run_id: &str,
    cell: Option<i64>,
    sample: Option<i64>,
    warnings: &[Warning],
) -> rusqlite::Result<()> {
    if warnings.is_empty() {
        return Ok(());
    }
    let mut statement = transaction.prepare_cached(&insert("warning", row::WARNING))?;
    for Warning {
        kind,
        message,
        advice,
    } in warnings
    {
        statement.execute(params![run_id, cell, sample, kind.name(), message, advice])?;
    }
    Ok(())
}
