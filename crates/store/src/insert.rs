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
    let values = params![
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
    ];
    match insert(transaction, "run", row::RUN, values) {
        Err(error) if error.sqlite_error_code() == Some(ErrorCode::ConstraintViolation) => {
            if exists(transaction, id)? {
                return Err(StoreError::RunExists { id: id.clone() }.into());
            }
            Err(error.into())
        }
        other => Ok(other?),
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
    let (name, skip, failure) = match outcome {
        Outcome::Measured => ("measured", [None; 3], None),
        Outcome::Skipped {
            requirement,
            reason,
            remedy,
        } => ("skipped", [requirement, reason, remedy].map(Some), None),
        Outcome::Failed(failure) => ("failed", [None; 3], Some(failure)),
    };
    let stage = failure.map(|failure| stage_columns(&failure.stage));
    let (stage, phase) = stage.unzip();
    let values = params![
        run_id,
        cell.index,
        cell.block,
        cell.contender,
        cell.workload,
        signed(*started_unix_ns),
        signed(took_ns.0),
        name,
        skip[0],
        skip[1],
        skip[2],
        stage,
        phase.flatten(),
        failure.map(|failure| &failure.message),
        failure.and_then(|failure| failure.errno.as_ref()),
    ];
    insert(transaction, "cell", row::CELL, values)?;
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
        let values = params![id, place_of(place), source, text];
        insert(transaction, "effective", row::EFFECTIVE, values)?;
    }
    insert_warnings(transaction, run_id, id, None, warnings)?;
    Ok(())
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
    let values = params![
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
    ];
    insert(transaction, "sample", row::SAMPLE, values)?;
    if let Some(fragmentation) = fragmentation {
        insert_fragmentation(transaction, cell, place, fragmentation)?;
    }
    disk_use::insert_all(transaction, cell, place, disks)?;
    insert_reported(transaction, cell, place, figures)?;
    timeline::insert_latencies(transaction, cell, place, latencies)?;
    timeline::insert_progress(transaction, cell, place, progress.as_ref())?;
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
        let values = params![cell, place, place_of(at), name, value, unit, better.name()];
        insert(transaction, "reported", row::REPORTED, values)?;
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
    let values = params![
        cell,
        place,
        signed(floor.0),
        signed(*files),
        signed(*fragmented),
        signed(*extents),
        signed(bytes.0),
        by_size,
        unavailable,
    ];
    insert(transaction, "fragmentation", row::FRAGMENTATION, values)?;
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
    let values = params![
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
    ];
    insert(transaction, "command", row::COMMAND, values)?;
    Ok(())
}

pub(crate) fn insert_warnings(
    transaction: &Transaction<'_>,
    run_id: &str,
    cell: i64,
    sample: Option<i64>,
    warnings: &[Warning],
) -> rusqlite::Result<()> {
    for warning in warnings {
        #[rustfmt::skip]
        let Warning { kind, message, advice } = warning;
        let values = params![run_id, cell, sample, kind.name(), message, advice];
        insert(transaction, "warning", row::WARNING, values)?;
    }
    Ok(())
}
