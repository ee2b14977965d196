//! Reads whole runs, and lists runs.

use crate::disk_use;
use crate::error::fault;
use crate::kernel_work;
use crate::observed;
use crate::row::{self, Fields, all, each, only};
use crate::timeline;
use crate::{Store, StoreError};
use fsdyno_model::{
    Bytes, CacheEvidence, Cell, CellRecord, CommandRecord, CpuUse, DeviceUse, Effective, Failure,
    Figure, Fragmentation, Nanos, Outcome, Probe, ResultSet, RunInfo, Sample, StopReason, Tally,
    Warning,
};
use rusqlite::{Connection, OptionalExtension as _, Row};
use serde::Serialize;
use std::collections::{BTreeSet, HashMap};

/// A run in a list of runs.
#[derive(Debug, Clone, Serialize, PartialEq, Eq)]
pub struct RunSummary {
    /// Its id.
    pub id: String,
    /// The suite or the user's name for its plan.
    pub name: String,
    /// When it began: nanoseconds since 1970 (UTC).
    pub started_unix_ns: u64,
    /// When it ended; none if it has not.
    pub ended_unix_ns: Option<u64>,
    /// Why it ended; none if it has not.
    pub stop: Option<StopReason>,
    /// Whether a process works on it. A run that has no end and is not running was killed.
    pub running: bool,
    /// The tags that its user gave it, sorted.
    pub tags: Vec<String>,
    /// The labels of its contenders, the baseline first.
    pub contenders: Vec<String>,
    /// Recorded cells, with any outcome.
    pub cells_recorded: u64,
    /// Cells of the whole plan.
    pub cells_planned: u64,
    /// Cells that failed.
    pub failed: u64,
    /// Cells that were skipped.
    pub skipped: u64,
    /// The duration: the sum of the times of its recorded cells. Pauses between an interruption and
    /// `--resume`, and unrecorded work of a killed session, do not count.
    pub took_ns: Nanos,
}

impl Store {
    /// All runs, newest first.
    pub fn runs(&self) -> Result<Vec<RunSummary>, StoreError> {
        const QUERY: &str = "
            SELECT run.id, run.name, run.started_unix_ns, run.ended_unix_ns, run.stop,
                (SELECT json_group_array(tag) FROM (SELECT tag FROM tag WHERE run = run.id ORDER BY tag)),
                (SELECT json_group_array(json_extract(value, '$.label'))
                    FROM json_each(run.plan, '$.contenders')),
                count(cell.id), run.cells_planned,
                count(cell.id) FILTER (WHERE cell.outcome = 'failed'),
                count(cell.id) FILTER (WHERE cell.outcome = 'skipped'),
                coalesce(sum(cell.took_ns), 0)
            FROM run LEFT JOIN cell ON cell.run = run.id
            GROUP BY run.id
            ORDER BY run.started_unix_ns DESC, run.rowid DESC";
        all(&self.connection, QUERY, &[], |fields| {
            let id: String = fields.take()?;
            let (name, started_unix_ns) = (fields.take()?, fields.number()?);
            let (ended_unix_ns, stop) = (fields.number_or_none()?, fields.word_or_none()?);
            Ok(RunSummary {
                running: ended_unix_ns.is_none() && self.is_claimed(&id),
                id,
                name,
                started_unix_ns,
                ended_unix_ns,
                stop,
                tags: fields.json()?,
                contenders: fields.json()?,
                cells_recorded: fields.number()?,
                cells_planned: fields.number()?,
                failed: fields.number()?,
                skipped: fields.number()?,
                took_ns: fields.nanos()?,
            })
        })
        .map_err(fault(&self.path, "listing the runs"))
    }

    /// The tags of a run, sorted.
    pub fn tags(&self, id: &str) -> Result<Vec<String>, StoreError> {
        let query = "SELECT tag FROM tag WHERE run = ?1 ORDER BY tag";
        all(&self.connection, query, &[id], only)
            .map_err(fault(&self.path, format!("reading the tags of run `{id}`")))
    }

    /// A whole run, read in one transaction: another process may be writing to it.
    pub fn load(&self, id: &str) -> Result<ResultSet, StoreError> {
        let read = || {
            let snapshot = self.connection.unchecked_transaction()?;
            result_set(&snapshot, id)
        };
        read()
            .map_err(fault(&self.path, format!("reading run `{id}`")))?
            .ok_or_else(|| self.no_such_run(id))
    }

    /// The indices of the recorded cells; a resumed run skips them.
    pub fn recorded(&self, id: &str) -> Result<BTreeSet<u32>, StoreError> {
        const QUERY: &str = "SELECT cell_index FROM cell WHERE run = ?1";
        let failed = || fault(&self.path, format!("reading the cells of run `{id}`"));
        if run(&self.connection, id).map_err(failed())?.is_none() {
            return Err(self.no_such_run(id));
        }
        let indices = all(&self.connection, QUERY, &[id], only).map_err(failed())?;
        Ok(indices.into_iter().collect())
    }
}

/// A run with its cells, within a transaction of the caller.
pub(crate) fn result_set(connection: &Connection, id: &str) -> rusqlite::Result<Option<ResultSet>> {
    let Some(run) = run(connection, id)? else {
        return Ok(None);
    };
    let cells = cells(connection, id)?;
    check_places(&run, &cells)?;
    Ok(Some(ResultSet {
        schema: ResultSet::SCHEMA,
        run,
        cells,
    }))
}

/// The cell of a row. Foreign keys ensure that it exists, unless another program wrote the store.
fn place_of(places: &HashMap<i64, usize>, key: i64) -> rusqlite::Result<usize> {
    let place = places.get(&key).copied();
    place.ok_or(rusqlite::Error::IntegralValueOutOfRange(0, key))
}

pub(crate) fn run(connection: &Connection, id: &str) -> rusqlite::Result<Option<RunInfo>> {
    let read = |row: &Row<'_>| {
        let mut fields = Fields::of(row);
        Ok(RunInfo {
            id: fields.take()?,
            started_unix_ns: fields.number()?,
            ended_unix_ns: fields.number_or_none()?,
            stop: fields.word_or_none()?,
            plan_hash: fields.take()?,
            plan: fields.json()?,
            provenance: fields.json()?,
            command_line: fields.json()?,
        })
    };
    connection
        .query_row(
            &format!("SELECT {} FROM run WHERE id = ?1", row::RUN),
            [id],
            read,
        )
        .optional()
}

/// An error if the contender or the workload of a cell is not in the plan: both are indices of its
/// lists.
fn check_places(run: &RunInfo, cells: &[CellRecord]) -> rusqlite::Result<()> {
    let beyond = |place: u32, list: usize| usize::try_from(place).is_ok_and(|at| at >= list);
    let (contenders, workloads) = (run.plan.contenders.len(), run.plan.workloads.len());
    let strange = cells
        .iter()
        .map(|record| record.cell)
        .find(|cell| beyond(cell.contender, contenders) || beyond(cell.workload, workloads));
    strange.map_or(Ok(()), |cell| {
        Err(rusqlite::Error::IntegralValueOutOfRange(
            0,
            cell.index.into(),
        ))
    })
}

/// The condition that selects the rows of a run in a table that refers to cells.
const OF_RUN: &str = "WHERE cell IN (SELECT id FROM cell WHERE run = ?1)";

/// A query for all rows of a run in a table that refers to cells. Rows are read in one pass and
/// assigned by the key of the cell.
fn sweep(table: &str, columns: &str) -> String {
    format!("SELECT {columns} FROM {table} {OF_RUN} ORDER BY cell, place")
}

/// The cells of a run, by index, each with its dependent rows.
fn cells(connection: &Connection, id: &str) -> rusqlite::Result<Vec<CellRecord>> {
    let query = format!(
        "SELECT {}, id FROM cell WHERE run = ?1 ORDER BY cell_index",
        row::CELL
    );
    let keyed = all(connection, &query, &[id], cell)?;
    let mut places = HashMap::with_capacity(keyed.len());
    let mut records = Vec::with_capacity(keyed.len());
    for (place, (key, record)) in keyed.into_iter().enumerate() {
        places.insert(key, place);
        records.push(record);
    }
    each(connection, &sweep("sample", row::SAMPLE), &[id], |fields| {
        let (key, value) = sample(fields)?;
        records[place_of(&places, key)?].samples.push(value);
        Ok(())
    })?;
    hang_on_samples(connection, id, &places, &mut records)?;
    each(
        connection,
        &sweep("command", row::COMMAND),
        &[id],
        |fields| {
            let (key, value) = command(fields)?;
            records[place_of(&places, key)?].commands.push(value);
            Ok(())
        },
    )?;
    each(
        connection,
        &sweep("effective", row::EFFECTIVE),
        &[id],
        |fields| {
            let (key, value) = effective(fields)?;
            records[place_of(&places, key)?].effective.push(value);
            Ok(())
        },
    )?;
    let query =
        format!("SELECT cell, sample, kind, message, advice FROM warning {OF_RUN} ORDER BY id");
    each(connection, &query, &[id], |fields| {
        let (key, sample): (i64, Option<i64>) = (fields.take()?, fields.take()?);
        let record = &mut records[place_of(&places, key)?];
        let scope = match sample {
            None => &mut record.warnings,
            Some(place) => &mut sample_at(record, key, place)?.warnings,
        };
        scope.push(warning(fields)?);
        Ok(())
    })?;
    Ok(records)
}

/// Adds the rows that refer to the samples of a run, one table after the other.
fn hang_on_samples(
    connection: &Connection,
    id: &str,
    places: &HashMap<i64, usize>,
    records: &mut [CellRecord],
) -> rusqlite::Result<()> {
    each(
        connection,
        &sweep("fragmentation", row::FRAGMENTATION),
        &[id],
        |fields| {
            let (key, place, value) = fragmentation(fields)?;
            sample_at(&mut records[place_of(places, key)?], key, place)?.fragmentation =
                Some(value);
            Ok(())
        },
    )?;
    let query = disk_use::query(OF_RUN);
    each(connection, &query, &[id], |fields| {
        let (key, place) = (fields.take()?, fields.take()?);
        let sample = sample_at(&mut records[place_of(places, key)?], key, place)?;
        disk_use::read(fields, &mut sample.disks)
    })?;
    let figures = format!(
        "SELECT {} FROM reported {OF_RUN} ORDER BY cell, sample, place",
        row::REPORTED
    );
    each(connection, &figures, &[id], |fields| {
        let (key, place, value) = figure(fields)?;
        sample_at(&mut records[place_of(places, key)?], key, place)?
            .figures
            .push(value);
        Ok(())
    })?;
    each(connection, &timeline::latencies(OF_RUN), &[id], |fields| {
        let (key, place) = (fields.take()?, fields.take()?);
        let sample = sample_at(&mut records[place_of(places, key)?], key, place)?;
        sample.latencies.push(timeline::read_latencies(fields)?);
        Ok(())
    })?;
    each(connection, &timeline::progress(OF_RUN), &[id], |fields| {
        let (key, place) = (fields.take()?, fields.take()?);
        let sample = sample_at(&mut records[place_of(places, key)?], key, place)?;
        sample.progress = Some(timeline::read_progress(fields)?);
        Ok(())
    })?;
    each(connection, &kernel_work::query(OF_RUN), &[id], |fields| {
        let (key, place) = (fields.take()?, fields.take()?);
        let sample = sample_at(&mut records[place_of(places, key)?], key, place)?;
        sample.kernel.push(kernel_work::read(fields)?);
        Ok(())
    })?;
    each(connection, &observed::query(OF_RUN), &[id], |fields| {
        let (key, place) = (fields.take()?, fields.take()?);
        let sample = sample_at(&mut records[place_of(places, key)?], key, place)?;
        sample.observed = Some(observed::read(fields)?);
        Ok(())
    })?;
    Ok(())
}

/// The sample at an index. Foreign keys ensure that it exists, unless another program wrote the
/// store.
fn sample_at(record: &mut CellRecord, key: i64, place: i64) -> rusqlite::Result<&mut Sample> {
    usize::try_from(place)
        .ok()
        .and_then(|place| record.samples.get_mut(place))
        .ok_or(rusqlite::Error::IntegralValueOutOfRange(1, key))
}

fn cell(fields: &mut Fields<'_>) -> rusqlite::Result<(i64, CellRecord)> {
    let _run: String = fields.take()?;
    let (index, block, contender, workload) = (
        fields.take()?,
        fields.take()?,
        fields.take()?,
        fields.take()?,
    );
    let (started_unix_ns, took_ns) = (fields.number()?, fields.nanos()?);
    let outcome = outcome(fields)?;
    let record = CellRecord {
        cell: Cell {
            index,
            block,
            contender,
            workload,
        },
        outcome,
        started_unix_ns,
        took_ns,
        samples: Vec::new(),
        commands: Vec::new(),
        effective: Vec::new(),
        warnings: Vec::new(),
    };
    Ok((fields.take()?, record))
}

fn outcome(fields: &mut Fields<'_>) -> rusqlite::Result<Outcome> {
    let name: String = fields.take()?;
    let skip: [Option<String>; 3] = [fields.take()?, fields.take()?, fields.take()?];
    let stage = fields.stage_or_none()?;
    let (message, errno): (Option<String>, Option<String>) = (fields.take()?, fields.take()?);
    match (name.as_str(), skip, stage, message) {
        ("measured", ..) => Ok(Outcome::Measured),
        ("skipped", [Some(requirement), Some(reason), Some(remedy)], ..) => Ok(Outcome::Skipped {
            requirement,
            reason,
            remedy,
        }),
        ("failed", _, Some(stage), Some(message)) => Ok(Outcome::Failed(Failure {
            stage,
            message,
            errno,
        })),
        _ => Err(fields.unexpected(format!("`{name}` is no outcome, or lacks its reason").into())),
    }
}

fn sample(fields: &mut Fields<'_>) -> rusqlite::Result<(i64, Sample)> {
    let (key, _place): (i64, i64) = (fields.take()?, fields.take()?);
    // Struct fields are read in the order written here, which is that of `row::SAMPLE`.
    let mut sample = Sample {
        phase: fields.take()?,
        label: fields.take()?,
        kind: fields.take()?,
        engine: fields.take()?,
        method: fields.take()?,
        cache: CacheEvidence {
            requested: fields.word()?,
            proven: fields.take()?,
            method: fields.take()?,
            checked_by: fields.take()?,
            files_checked: fields.number()?,
            bytes_checked: fields.number()?,
            resident_pages: fields.number_or_none()?,
            reason: fields.take()?,
        },
        return_ns: fields.nanos()?,
        durable_ns: fields.number_or_none()?.map(Nanos),
        tally: Tally {
            files: fields.number()?,
            directories: fields.number()?,
            bytes: fields.bytes()?,
            calls: fields.number()?,
            matches: fields.number()?,
        },
        cpu: CpuUse {
            user_ns: fields.nanos()?,
            system_ns: fields.nanos()?,
            machine_busy_ns: fields.nanos()?,
            steal_ns: fields.nanos()?,
        },
        device: device(fields)?,
        disks: Vec::new(),
        space_before: fields.bytes()?,
        space_after: fields.bytes()?,
        fragmentation: None,
        figures: Vec::new(),
        latencies: Vec::new(),
        progress: None,
        kernel: Vec::new(),
        observed: None,
        probe: None,
        warnings: Vec::new(),
    };
    let waits = fields.waits()?;
    if let Some(device) = &mut sample.device {
        device.waits = waits;
    }
    let (system, device_ns) = (fields.number_or_none()?, fields.number_or_none()?);
    sample.probe = system.map(|ns| Probe {
        system_ns: Nanos(ns),
        device_ns: device_ns.map(Nanos),
    });
    Ok((key, sample))
}

fn device(fields: &mut Fields<'_>) -> rusqlite::Result<Option<DeviceUse>> {
    let mut columns = [None; 8];
    for column in &mut columns {
        *column = fields.number_or_none()?;
    }
    let [
        Some(reads),
        Some(read_bytes),
        Some(writes),
        Some(written_bytes),
        Some(discards),
        Some(discarded_bytes),
        Some(flushes),
        Some(busy_ns),
    ] = columns
    else {
        return Ok(None);
    };
    Ok(Some(DeviceUse {
        reads,
        read_bytes: Bytes(read_bytes),
        writes,
        written_bytes: Bytes(written_bytes),
        discards,
        discarded_bytes: Bytes(discarded_bytes),
        flushes,
        busy_ns: Nanos(busy_ns),
        waits: None,
    }))
}

fn fragmentation(fields: &mut Fields<'_>) -> rusqlite::Result<(i64, i64, Fragmentation)> {
    let (key, place) = (fields.take()?, fields.take()?);
    let fragmentation = Fragmentation {
        floor: fields.bytes()?,
        files: fields.number()?,
        fragmented: fields.number()?,
        extents: fields.number()?,
        bytes: fields.bytes()?,
        extents_by_size: fields.json()?,
        unavailable: fields.take()?,
    };
    Ok((key, place, fragmentation))
}

fn figure(fields: &mut Fields<'_>) -> rusqlite::Result<(i64, i64, Figure)> {
    let (key, place, _order): (i64, i64, i64) = (fields.take()?, fields.take()?, fields.take()?);
    let figure = Figure {
        name: fields.take()?,
        value: fields.take()?,
        unit: fields.take()?,
        better: fields.word()?,
    };
    Ok((key, place, figure))
}

fn command(fields: &mut Fields<'_>) -> rusqlite::Result<(i64, CommandRecord)> {
    let (key, _place): (i64, i64) = (fields.take()?, fields.take()?);
    let command = CommandRecord {
        stage: fields.stage()?,
        argv: fields.json()?,
        by_system_call: fields.take()?,
        status: fields.take()?,
        took_ns: fields.nanos()?,
        stdout: fields.take()?,
        stderr: fields.take()?,
    };
    Ok((key, command))
}

fn effective(fields: &mut Fields<'_>) -> rusqlite::Result<(i64, Effective)> {
    let (key, _place): (i64, i64) = (fields.take()?, fields.take()?);
    let effective = Effective {
        source: fields.take()?,
        text: fields.take()?,
    };
    Ok((key, effective))
}

fn warning(fields: &mut Fields<'_>) -> rusqlite::Result<Warning> {
    Ok(Warning {
        kind: fields.word()?,
        message: fields.take()?,
        advice: fields.take()?,
    })
}
