//! Reads whole runs, and lists runs.

use crate::disk_use;
use crate::error::fault;
use crate::kernel_work;
use crate::observed;
use crate::resolve::{OF_ADVICE, VARIES};
use crate::row::{self, Fields, all, at, each, one, only, refused};
use crate::timeline;
use crate::{Store, StoreError};
use fsdyno_model::{
    Bytes, CacheEvidence, Cell, CellRecord, CommandRecord, CpuUse, DeviceUse, Effective, Failure,
    Figure, Fragmentation, Nanos, Outcome, Plan, Probe, ResultSet, RunInfo, Sample, StopReason,
    Tally, Warning,
};
use rusqlite::Connection;
use serde::Serialize;
use std::collections::{BTreeSet, HashMap};

/// A run in a list of runs.
#[derive(Debug, Clone, Serialize, PartialEq, Eq)]
pub struct RunSummary {
    pub id: String,
    /// The suite or the user's name for its plan.
    pub name: String,
    /// When it began: nanoseconds since 1970 (UTC).
    pub started_unix_ns: u64,
    /// When it ended; none if it has not.
    pub ended_unix_ns: Option<u64>,
    /// The reason why it ended; none if it has not.
    pub stop: Option<StopReason>,
    /// Whether a process works on it. A run that has no end and is not running
    /// was killed, or could not write to its store.
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
    /// All runs, newest first, without variants of others.
    pub fn runs(&self) -> Result<Vec<RunSummary>, StoreError> {
        let query = format!(
            "
            SELECT run.id, run.name, run.started_unix_ns, run.ended_unix_ns, run.stop,
                (SELECT json_group_array(tag) FROM (SELECT tag FROM tag WHERE run = run.id ORDER BY tag)),
                (SELECT json_group_array(json_extract(value, '$.label'))
                    FROM json_each(run.plan, '$.contenders')),
                count(cell.id), run.cells_planned,
                count(cell.id) FILTER (WHERE cell.outcome = 'failed'),
                count(cell.id) FILTER (WHERE cell.outcome = 'skipped'),
                coalesce(sum(cell.took_ns), 0)
            FROM run LEFT JOIN cell ON cell.run = run.id
            WHERE {VARIES} IS NULL
            GROUP BY run.id
            ORDER BY run.started_unix_ns DESC, run.rowid DESC"
        );
        all(&self.connection, &query, &[], |fields| {
            let id: String = fields.take()?;
            let (name, started_unix_ns) = (fields.take()?, fields.moment()?);
            let (ended_unix_ns, stop) = (fields.moment_or_none()?, fields.word_or_none()?);
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
        self.read_whole("run", id, |snapshot| result_set(snapshot, id))
    }

    /// A whole run; with its variants, if it is recorded that it has some.
    pub fn load_with_variants(&self, id: &str) -> Result<ResultSet, StoreError> {
        let mut set = self.load(id)?;
        if set.run.plan.robust {
            set.variants = self.variants(id)?;
        }
        Ok(set)
    }

    /// The variants of a run, in the order in which they began. It searches the plans of all runs.
    pub fn variants(&self, id: &str) -> Result<Vec<ResultSet>, StoreError> {
        self.load_where(&format!("{VARIES} = ?1"), id)
    }

    /// The runs of an advice, by the name of the first one, in the order in which they began.
    pub fn runs_of_advice(&self, first: &str) -> Result<Vec<ResultSet>, StoreError> {
        self.load_where(&format!("id = ?1 OR {OF_ADVICE} = ?1"), first)
    }

    /// The runs for which a condition on `?1` holds, in the order in which they began.
    fn load_where(&self, condition: &str, id: &str) -> Result<Vec<ResultSet>, StoreError> {
        let query = format!("SELECT id FROM run WHERE {condition} ORDER BY started_unix_ns, rowid");
        let what = format!("looking for the runs of `{id}`");
        let ids: Vec<String> =
            all(&self.connection, &query, &[id], only).map_err(fault(&self.path, what))?;
        ids.iter().map(|id| self.load(id)).collect()
    }

    /// Reads a run, a series or an exploration in one transaction.
    pub(crate) fn read_whole<T>(
        &self,
        what: &str,
        id: &str,
        read: impl FnOnce(&Connection) -> rusqlite::Result<Option<T>>,
    ) -> Result<T, StoreError> {
        let snapshot = self.connection.unchecked_transaction();
        snapshot
            .and_then(|snapshot| read(&snapshot))
            .map_err(fault(&self.path, format!("reading {what} `{id}`")))?
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
        variants: Vec::new(),
    }))
}

pub(crate) fn run(connection: &Connection, id: &str) -> rusqlite::Result<Option<RunInfo>> {
    let query = format!("SELECT {} FROM run WHERE id = ?1", row::RUN);
    one(connection, &query, [id], |fields| {
        Ok(RunInfo {
            id: fields.take()?,
            started_unix_ns: fields.moment()?,
            ended_unix_ns: fields.moment_or_none()?,
            stop: fields.word_or_none()?,
            plan_hash: fields.take()?,
            plan: plan(fields)?,
            provenance: fields.json()?,
            command_line: fields.json()?,
        })
    })
}

/// An error if the contender, the workload or a phase of a cell is not in the plan: they are indices
/// of its lists.
fn check_places(run: &RunInfo, cells: &[CellRecord]) -> rusqlite::Result<()> {
    let plan = &run.plan;
    for CellRecord { cell, samples, .. } in cells {
        let missing = |what: &str| {
            let why = format!("cell {}: the plan has no such {what}", cell.index);
            Err(refused(0, why))
        };
        if plan.contenders.get(cell.contender as usize).is_none() {
            return missing("contender");
        }
        let Some(workload) = plan.workloads.get(cell.workload as usize) else {
            return missing("workload");
        };
        let is_missing = |sample: &Sample| workload.phases.get(sample.phase as usize).is_none();
        if samples.iter().any(is_missing) {
            return missing("phase");
        }
    }
    Ok(())
}

/// The cells of a run, to which the rows of other tables are added.
struct Cells<'c> {
    connection: &'c Connection,
    run: &'c str,
    /// The index of each cell by its key.
    places: HashMap<i64, usize>,
    records: Vec<CellRecord>,
}

impl Cells<'_> {
    /// Adds all rows of the run in a table, in one pass. A row begins with the key of the cell.
    fn add(
        &mut self,
        table: &str,
        columns: &str,
        order: &str,
        read: impl Fn(&mut Fields<'_>, &mut CellRecord) -> rusqlite::Result<()>,
    ) -> rusqlite::Result<()> {
        let query = format!(
            "SELECT {columns} FROM {table} WHERE cell IN (SELECT id FROM cell WHERE run = ?1)
             ORDER BY {order}"
        );
        each(self.connection, &query, [self.run], |fields| {
            let key = fields.take()?;
            // Foreign keys ensure that it exists, unless another program wrote the store.
            let place = self.places.get(&key).copied();
            let place = place.ok_or_else(|| fields.unexpected("the cell is missing".into()))?;
            let record = &mut self.records[place];
            let index = record.cell.index;
            let place = format!("cell {index}, {table}");
            read(fields, record).map_err(|error| at(&place, fields, error))
        })
    }

    /// Adds all rows of the run in a table whose rows refer to samples.
    fn add_to_samples(
        &mut self,
        table: &str,
        columns: &str,
        order: &str,
        read: impl Fn(&mut Fields<'_>, &mut Sample) -> rusqlite::Result<()>,
    ) -> rusqlite::Result<()> {
        self.add(table, columns, order, |fields, record| {
            let place = fields.take()?;
            let sample = sample_at(fields, record, place)?;
            read(fields, sample)
        })
    }
}

/// The cells of a run, by index, each with its dependent rows.
fn cells(connection: &Connection, id: &str) -> rusqlite::Result<Vec<CellRecord>> {
    let query = format!(
        "SELECT {}, id FROM cell WHERE run = ?1 ORDER BY cell_index",
        row::CELL
    );
    let keyed = all(connection, &query, &[id], |fields| {
        cell(fields).map_err(|error| {
            let index = fields.peek::<i64>(1).unwrap_or(-1);
            at(&format!("cell {index}"), fields, error)
        })
    })?;
    let (keys, records): (Vec<i64>, Vec<CellRecord>) = keyed.into_iter().unzip();
    let mut cells = Cells {
        connection,
        run: id,
        places: keys.into_iter().zip(0..).collect(),
        records,
    };
    let order = "cell, place";
    cells.add("sample", row::SAMPLE, order, |fields, record| {
        record.samples.push(sample(fields)?);
        Ok(())
    })?;
    add_to_samples(&mut cells)?;
    cells.add("command", row::COMMAND, order, |fields, record| {
        record.commands.push(command(fields)?);
        Ok(())
    })?;
    cells.add("effective", row::EFFECTIVE, order, |fields, record| {
        record.effective.push(effective(fields)?);
        Ok(())
    })?;
    let columns = "cell, sample, kind, message, advice";
    cells.add("warning", columns, "id", |fields, record| {
        let scope = match fields.take::<Option<i64>>()? {
            None => &mut record.warnings,
            Some(place) => &mut sample_at(fields, record, place)?.warnings,
        };
        scope.push(warning(fields)?);
        Ok(())
    })?;
    Ok(cells.records)
}

/// Adds the rows that refer to the samples of a run, one table after the other.
fn add_to_samples(cells: &mut Cells<'_>) -> rusqlite::Result<()> {
    let (one, several) = ("cell, sample", "cell, sample, place");
    let columns = row::FRAGMENTATION;
    cells.add_to_samples("fragmentation", columns, "cell, place", |fields, sample| {
        sample.fragmentation = Some(fragmentation(fields)?);
        Ok(())
    })?;
    cells.add_to_samples("disk_use", row::DISK_USE, several, |fields, sample| {
        disk_use::read(fields, &mut sample.disks)
    })?;
    cells.add_to_samples("reported", row::REPORTED, several, |fields, sample| {
        sample.figures.push(figure(fields)?);
        Ok(())
    })?;
    cells.add_to_samples("latency", row::LATENCY, several, |fields, sample| {
        sample.latencies.push(timeline::read_latencies(fields)?);
        Ok(())
    })?;
    cells.add_to_samples("progress", row::PROGRESS, one, |fields, sample| {
        sample.progress = Some(timeline::read_progress(fields)?);
        Ok(())
    })?;
    // `return` is before `durable`.
    let order = "cell, sample, until DESC";
    cells.add_to_samples("kernel_work", row::KERNEL_WORK, order, |fields, sample| {
        sample.kernel.push(kernel_work::read(fields)?);
        Ok(())
    })?;
    cells.add_to_samples("observed", row::OBSERVED, one, |fields, sample| {
        sample.observed = Some(observed::read(fields)?);
        Ok(())
    })
}

/// The sample at an index. Foreign keys ensure that it exists, unless another program wrote the
/// store.
fn sample_at<'r>(
    fields: &Fields<'_>,
    record: &'r mut CellRecord,
    place: i64,
) -> rusqlite::Result<&'r mut Sample> {
    let place = usize::try_from(place).ok();
    let found = place.and_then(|place| record.samples.get_mut(place));
    found.ok_or_else(|| fields.unexpected("the sample is missing".into()))
}

/// The plan of a run, with the ranges that `run` accepts.
fn plan(fields: &mut Fields<'_>) -> rusqlite::Result<Plan> {
    let plan: Plan = fields.json()?;
    let part = |number: f64| (0.0..=1000.0).contains(&number);
    let precise = plan
        .adaptive
        .is_none_or(|adaptive| part(adaptive.precision));
    let scale = plan.scale.is_finite() && plan.scale >= 0.0;
    if plan.contenders.is_empty() {
        return Err(fields.unexpected("it has no contender".into()));
    }
    if !(scale && part(plan.margin) && precise) {
        return Err(fields.unexpected("its scale, margin or precision is out of range".into()));
    }
    Ok(plan)
}

/// The next column as a list of counts.
fn counts(fields: &mut Fields<'_>) -> rusqlite::Result<Vec<u64>> {
    let counts: Vec<u64> = fields.json()?;
    fields.add(counts.iter().copied())?;
    Ok(counts)
}

fn cell(fields: &mut Fields<'_>) -> rusqlite::Result<(i64, CellRecord)> {
    let _run: String = fields.take()?;
    let (index, block, contender, workload) = (
        fields.take()?,
        fields.take()?,
        fields.take()?,
        fields.take()?,
    );
    let (started_unix_ns, took_ns) = (fields.moment()?, fields.nanos()?);
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

fn sample(fields: &mut Fields<'_>) -> rusqlite::Result<Sample> {
    let _place: i64 = fields.take()?;
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
    Ok(sample)
}

fn device(fields: &mut Fields<'_>) -> rusqlite::Result<Option<DeviceUse>> {
    let columns = fields.numbers_or_none()?;
    Ok(columns.map(|columns| {
        #[rustfmt::skip]
        let [reads, read, writes, written, discards, discarded, flushes, busy] = columns;
        DeviceUse {
            reads,
            read_bytes: Bytes(read),
            writes,
            written_bytes: Bytes(written),
            discards,
            discarded_bytes: Bytes(discarded),
            flushes,
            busy_ns: Nanos(busy),
            waits: None,
        }
    }))
}

fn fragmentation(fields: &mut Fields<'_>) -> rusqlite::Result<Fragmentation> {
    Ok(Fragmentation {
        floor: fields.bytes()?,
        files: fields.number()?,
        fragmented: fields.number()?,
        extents: fields.number()?,
        bytes: fields.bytes()?,
        extents_by_size: counts(fields)?,
        unavailable: fields.take()?,
    })
}

fn figure(fields: &mut Fields<'_>) -> rusqlite::Result<Figure> {
    let _place: i64 = fields.take()?;
    Ok(Figure {
        name: fields.take()?,
        value: fields.finite()?,
        unit: fields.take()?,
        better: fields.word()?,
    })
}

fn command(fields: &mut Fields<'_>) -> rusqlite::Result<CommandRecord> {
    let _place: i64 = fields.take()?;
    Ok(CommandRecord {
        stage: fields.stage()?,
        argv: fields.json()?,
        by_system_call: fields.take()?,
        status: fields.take()?,
        took_ns: fields.nanos()?,
        stdout: fields.take()?,
        stderr: fields.take()?,
    })
}

fn effective(fields: &mut Fields<'_>) -> rusqlite::Result<Effective> {
    let _place: i64 = fields.take()?;
    Ok(Effective {
        source: fields.take()?,
        text: fields.take()?,
    })
}

fn warning(fields: &mut Fields<'_>) -> rusqlite::Result<Warning> {
    Ok(Warning {
        kind: fields.word()?,
        message: fields.take()?,
        advice: fields.take()?,
    })
}
