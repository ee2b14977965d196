//! Inserts the rows of a run or a cell, within a transaction of the caller.

use crate::StoreError;
use crate::disk_use;
use crate::error::Refusal;
use crate::kernel_work;
use crate::observed;
use crate::row::{self, insert, json, place_of, signed, stage_columns};
use crate::timeline;
use fsdyno_model::{
    CellRecord, CommandRecord, CpuUse, Effective, Figure, Fragmentation, Outcome, Plan, RunInfo,
    Sample, Tally, Warning,
};
use rusqlite::{ErrorCode, Transaction, params};

pub(crate) fn exists(transaction: &Transaction<'_>, run_id: &str) -> rusqlite::Result<bool> {
    transaction
        .prepare_cached("SELECT 1 FROM run WHERE id = ?1")?
        .exists([run_id])
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
    let provenance = json("the provenance", provenance)?;
    let command_line = json("the argv", command_line)?;
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
            signed(plan.cells()),
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

/// The plan as JSON. Checks that parsing it gives the same plan: JSON has no infinite numbers and
/// no bytes that are not UTF-8.
pub(crate) fn plan_text(plan: &Plan) -> Result<String, StoreError> {
    let text = json("the plan", plan)?;
    match serde_json::from_str::<Plan>(&text) {
        Ok(back) if back == *plan => Ok(text),
        _ => Err(StoreError::Unstorable {
            what: "the plan",
            why: "it would come back changed".to_owned(),
        }),
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
        insert_warnings(transaction, run_id, id, of_sample, &sample.warnings)?;
    }
    for (place, command) in commands.iter().enumerate() {
        insert_command(transaction, id, place_of(place), command)?;
    }
    for (place, Effective { source, text }) in effective.iter().enumerate() {
        transaction
            .prepare_cached(&insert("effective", row::EFFECTIVE))?
            .execute(params![id, place_of(place), source, text])?;
    }
    insert_warnings(transaction, run_id, id, None, warnings)?;
    Ok(())
}

/// The columns of an outcome.
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
) -> Result<(), Refusal> {
    // Destructured by name, so that a new field of the model is a compile error here.
    #[rustfmt::skip]
    let Sample {
        phase, label, kind, engine, method, cache, return_ns, durable_ns, tally, cpu, device,
        disks, space_before, space_after, fragmentation, figures, latencies, progress, kernel, observed,
        probe, warnings: _,
    } = sample;
    #[rustfmt::skip]
    let Tally { files, directories, bytes, calls, matches } = tally;
    #[rustfmt::skip]
    let CpuUse { user_ns, system_ns, machine_busy_ns, steal_ns } = cpu;
    let device = device.as_ref();
    let waits = device.and_then(|d| d.waits).map(|waits| waits.parts());
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
            cache.requested.name(),
            cache.proven,
            cache.method,
            cache.checked_by,
            signed(cache.files_checked),
            signed(cache.bytes_checked),
            cache.resident_pages.map(signed),
            cache.reason,
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
            waits.map(|of| signed(of[0])),
            waits.map(|of| signed(of[1])),
            waits.map(|of| signed(of[2])),
            waits.map(|of| signed(of[3])),
            probe.map(|of| signed(of.system_ns.0)),
            probe.and_then(|of| of.device_ns).map(|ns| signed(ns.0)),
        ])?;
    if let Some(fragmentation) = fragmentation {
        insert_fragmentation(transaction, cell, place, fragmentation)?;
    }
    disk_use::insert_all(transaction, cell, place, disks)?;
    insert_reported(transaction, cell, place, figures)?;
    timeline::insert_both(transaction, (cell, place), latencies, progress.as_ref())?;
    kernel_work::insert_all(transaction, cell, place, kernel)?;
    observed::insert_one(transaction, cell, place, observed.as_ref())
}

fn insert_reported(
    transaction: &Transaction<'_>,
    cell: i64,
    place: i64,
    figures: &[Figure],
) -> Result<(), Refusal> {
    for (at, figure) in figures.iter().enumerate() {
        #[rustfmt::skip]
        let Figure { name, value, unit, better } = figure;
        transaction
            .prepare_cached(&insert("reported", row::REPORTED))?
            .execute(params![
                cell,
                place,
                place_of(at),
                name,
                value,
                unit,
                better.name()
            ])?;
    }
    Ok(())
}

fn insert_fragmentation(
    transaction: &Transaction<'_>,
    cell: i64,
    place: i64,
    fragmentation: &Fragmentation,
) -> Result<(), Refusal> {
    let Fragmentation {
        floor,
        files,
        fragmented,
        extents,
        bytes,
        extents_by_size,
        unavailable,
    } = fragmentation;
    let by_size = json("a histogram", extents_by_size)?;
    transaction
        .prepare_cached(&insert("fragmentation", row::FRAGMENTATION))?
        .execute(params![
            cell,
            place,
            signed(floor.0),
            signed(*files),
            signed(*fragmented),
            signed(*extents),
            signed(bytes.0),
            by_size,
            unavailable,
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
    let argv = json("the argv of a command", argv)?;
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
    cell: i64,
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
