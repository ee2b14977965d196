//! Every raw sample as a table for CSV, one value a cell: one row for each sample, each figure that
//! a program reported, each warning, and each cell that was not measured.
//!
//! Each defined figure is a column. Column names contain the units; unknown values are empty. A run
//! with several labs has columns for lab and kernel, because figures of different labs must not be
//! compared. A run whose kernels count their work has columns for it, and for the parts of the time of
//! a phase. A run on model disks has columns for the disks, summed over the disks of a contender. A
//! contender with several disks has a further row for each of them.

use crate::comparison::labs::has_faults;
use crate::document::{Cell, Column, Row, Table};
use crate::processor::Processor;
use crate::why::parts::{Anatomy, Part};
use fsdyno_model::disk_use::{DiskFigures, DiskUse};
use fsdyno_model::figures::ALL;
use fsdyno_model::{
    CellRecord, Effective, Figure, FigureDefinition, FigureName, Fragmentation, KernelWork,
    LabShare, Nanos, Outcome, Point, ResultSet, RunInfo, Sample, Waits, Warning,
};
use std::collections::BTreeMap;

/// The part of a cell that a row shows.
#[derive(Clone, Copy)]
struct Line<'a> {
    /// `sample`, `disk`, `figure`, `warning` (of a sample, or of a cell without phase) or
    /// `outcome`.
    row: &'static str,
    set: &'a ResultSet,
    record: &'a CellRecord,
    /// The sample that names the phase.
    phase: Option<&'a Sample>,
    /// The sample whose figures are shown.
    sample: Option<&'a Sample>,
    /// The disk of a row about one of several disks of the sample.
    disk: Option<&'a DiskFigures>,
    warning: Option<&'a Warning>,
    figure: Option<&'a Figure>,
}

/// A column: its heading, and its cell of a row.
type Field = (&'static str, fn(&Line<'_>) -> Cell);

/// The columns of a cell, in order.
const CELL: [Field; 18] = [
    ("row", |l| text(l.row)),
    ("run", |l| text(&l.set.run.id)),
    ("plan", |l| text(&l.set.run.plan.name)),
    ("plan_hash", |l| text(&l.set.run.plan_hash)),
    ("seed", |l| Cell::Count(l.set.run.plan.seed)),
    ("scale", |l| Cell::Number(l.set.run.plan.scale)),
    ("contender", |l| {
        let contender = l.set.run.plan.contenders.get(l.contender());
        Cell::known(contender, |contender| text(&contender.label))
    }),
    ("filesystem", |l| {
        let contender = l.set.run.plan.contenders.get(l.contender());
        Cell::known(contender, |contender| text(&contender.filesystem))
    }),
    ("workload", |l| {
        let workload = l.set.run.plan.workloads.get(l.workload());
        Cell::known(workload, |workload| text(&workload.name))
    }),
    ("dataset", |l| {
        let workload = l.set.run.plan.workloads.get(l.workload());
        Cell::known(workload, |workload| text(&workload.dataset.to_string()))
    }),
    ("block", |l| Cell::Count(l.record.cell.block.into())),
    ("cell", |l| Cell::Count(l.record.cell.index.into())),
    ("cell_started_unix_ns", |l| {
        Cell::Count(l.record.started_unix_ns)
    }),
    ("cell_took_ns", |l| Cell::Duration(l.record.took_ns)),
    ("outcome", |l| text(l.outcome()[0])),
    ("outcome_at", |l| match &l.record.outcome {
        Outcome::Measured => Cell::Empty,
        Outcome::Skipped { requirement, .. } => text(requirement),
        Outcome::Failed(failure) => text(&failure.stage.to_string()),
    }),
    ("outcome_reason", |l| text(l.outcome()[1])),
    ("faulty_disks", |l| text(&has_faults(l.set).to_string())),
];

/// A column, with the function that makes its cells.
type Of<T> = (&'static str, fn(&T) -> Cell);

/// The columns of a phase.
const PHASE: [Of<Sample>; 2] = [
    ("phase", |s| text(&s.label)),
    ("phase_kind", |s| text(&s.kind)),
];

/// The columns of a sample: its conditions.
const CONDITIONS: [Of<Sample>; 5] = [
    ("engine", |s| text(&s.engine)),
    ("method", |s| text(&s.method)),
    ("cache", |s| text(s.cache.requested.name())),
    ("cache_proven", |s| text(&s.cache.proven.to_string())),
    ("cache_resident_pages", |s| count(s.cache.resident_pages)),
];

/// The columns of a sample: the amount of its work, from which figures are computed.
const AMOUNTS: [Of<Sample>; 12] = [
    ("files", |s| Cell::Count(s.tally.files)),
    ("directories", |s| Cell::Count(s.tally.directories)),
    ("data_bytes", |s| Cell::Size(s.tally.bytes)),
    ("calls", |s| Cell::Count(s.tally.calls)),
    ("matches", |s| Cell::Count(s.tally.matches)),
    ("space_before_bytes", |s| Cell::Size(s.space_before)),
    ("space_after_bytes", |s| Cell::Size(s.space_after)),
    ("fragmented_files", |s| extents(s, |e| e.fragmented)),
    ("extent_files", |s| extents(s, |e| e.files)),
    ("extent_data_bytes", |s| extents(s, |e| e.bytes.0)),
    ("extent_floor_bytes", |s| extents(s, |e| e.floor.0)),
    ("extents_unavailable", |s| {
        let counted = s.fragmentation.as_ref();
        let reason = counted.and_then(|counted| counted.unavailable.as_deref());
        Cell::known(reason, text)
    }),
];

/// The columns of a warning.
const WARNING: [Of<Warning>; 2] = [
    ("warning", |warning| text(&warning.kind.to_string())),
    ("warning_message", |warning| text(&warning.message)),
];

/// The columns of a figure that a program reported.
const FIGURE: [Of<Figure>; 3] = [
    ("figure", |figure| text(&figure.name)),
    ("figure_value", |figure| Cell::Number(figure.value)),
    ("figure_unit", |figure| text(&figure.unit)),
];

/// The additional columns of a run with several labs.
const LAB: [&str; 2] = ["lab", "kernel"];

/// The additional columns of a run whose kernels count their work: for the whole time of a phase, and
/// again until return.
const KERNEL: [Of<KernelWork>; 10] = [
    ("kernel_process_blocks", |w| Cell::Count(w.process_blocks)),
    ("kernel_thread_blocks", |w| Cell::Count(w.kthread_blocks)),
    ("kernel_interrupt_blocks", |w| {
        Cell::Count(w.interrupt_blocks)
    }),
    ("kernel_system_calls", |w| Cell::Count(w.system_calls)),
    ("kernel_copied_bytes", |w| Cell::Size(w.copied)),
    ("kernel_cleared_bytes", |w| Cell::Size(w.cleared)),
    ("kernel_checksummed_bytes", |w| Cell::Size(w.checksummed)),
    ("kernel_disk_requests", |w| Cell::Count(w.disk_requests)),
    ("kernel_waits", |w| Cell::Count(w.waits)),
    ("charged_ns", |w| Cell::Duration(w.charged_ns)),
];

/// The additional columns of a run on model disks: for the whole time of a phase, and again until
/// return.
const DISK: [Of<DiskUse>; 36] = [
    ("disk_reads", |did| Cell::Count(did.reads.requests)),
    ("disk_read_bytes", |did| Cell::Count(did.reads.bytes)),
    ("disk_reads_failed", |did| Cell::Count(did.reads.failed)),
    ("disk_writes", |did| Cell::Count(did.writes.requests)),
    ("disk_written_bytes", |did| Cell::Count(did.writes.bytes)),
    ("disk_writes_failed", |did| Cell::Count(did.writes.failed)),
    ("disk_discards", |did| Cell::Count(did.discards.requests)),
    ("disk_discarded_bytes", |did| {
        Cell::Count(did.discards.bytes)
    }),
    ("disk_discards_failed", |did| {
        Cell::Count(did.discards.failed)
    }),
    ("disk_flushes", |did| Cell::Count(did.flushes.requests)),
    ("disk_flushes_failed", |did| Cell::Count(did.flushes.failed)),
    ("disk_seeks", |did| Cell::Count(did.seeks)),
    ("disk_seek_distance_bytes", |did| {
        Cell::Count(did.seek_distance.0)
    }),
    ("disk_queue_ns", |did| Cell::Count(did.causes.queue)),
    ("disk_overhead_ns", |did| Cell::Count(did.causes.overhead)),
    ("disk_seek_ns", |did| Cell::Count(did.causes.seek)),
    ("disk_rotation_ns", |did| Cell::Count(did.causes.rotation)),
    ("disk_transfer_ns", |did| Cell::Count(did.causes.transfer)),
    ("disk_flush_ns", |did| Cell::Count(did.causes.flush)),
    ("disk_cache_ns", |did| Cell::Count(did.causes.cache)),
    ("disk_fault_ns", |did| Cell::Count(did.causes.fault)),
    ("disk_slowest_ns", |did| Cell::Count(did.slowest.0)),
    ("disk_arm_moves", |did| Cell::Count(did.work.seeks)),
    ("disk_arm_cylinders", |did| Cell::Count(did.work.cylinders)),
    ("disk_device_seek_ns", |did| Cell::Count(did.work.seek_ns)),
    ("disk_device_rotation_ns", |did| {
        Cell::Count(did.work.rotation_ns)
    }),
    ("disk_device_transfer_ns", |did| {
        Cell::Count(did.work.transfer_ns)
    }),
    ("disk_medium_read_bytes", |did| {
        Cell::Count(did.work.medium_read)
    }),
    ("disk_medium_written_bytes", |did| {
        Cell::Count(did.work.medium_written)
    }),
    ("disk_erases", |did| Cell::Count(did.work.erases)),
    ("disk_cache_hits", |did| Cell::Count(did.work.cache_hits)),
    ("disk_reads_ns", |did| waited(did, |waits| waits.reads)),
    ("disk_writes_ns", |did| waited(did, |waits| waits.writes)),
    ("disk_discards_ns", |did| {
        waited(did, |waits| waits.discards)
    }),
    ("disk_flushes_ns", |did| waited(did, |waits| waits.flushes)),
    ("disk_busy_ns", |did| count(did.busy.map(|busy| busy.0))),
];

/// How the names of columns until return begin.
const UNTIL_RETURN: &str = "return_";

/// The raw samples of a run.
pub fn figures(set: &ResultSet) -> Table {
    let mut seen = Seen::default();
    for record in &set.cells {
        seen.note(record);
    }
    let samples = Samples::of(set.run.clone(), seen);
    let rows = set.cells.iter().flat_map(|record| samples.rows(record));
    Table::new("samples", "", samples.columns(), rows)
}

/// What cells have that decides which columns there are.
#[derive(Debug, Default)]
pub struct Seen {
    /// For each contender, the first cell that names its guest, without samples.
    guests: BTreeMap<u32, CellRecord>,
    on_disks: bool,
    counted: bool,
}

impl Seen {
    pub fn note(&mut self, record: &CellRecord) {
        let mut effective = record.effective.iter();
        if let Some(guest) = effective.find(|one| one.source == Effective::GUEST) {
            self.guests
                .entry(record.cell.contender)
                .or_insert_with(|| CellRecord {
                    samples: Vec::new(),
                    commands: Vec::new(),
                    effective: vec![guest.clone()],
                    warnings: Vec::new(),
                    ..record.clone()
                });
        }
        let samples = record.samples.iter();
        self.on_disks |= samples.clone().any(|sample| !sample.disks.is_empty());
        self.counted |= samples.clone().any(|sample| !sample.kernel.is_empty());
    }
}

/// The rows of a run, cell by cell.
#[derive(Debug)]
pub struct Samples {
    /// The run, with the cells that name guests.
    set: ResultSet,
    /// If there are several, or one of several kernels.
    labs: Vec<LabShare>,
    on_disks: bool,
    counted: bool,
    processor: Processor,
}

impl Samples {
    pub fn of(run: RunInfo, seen: Seen) -> Self {
        let processor = Processor::of(&run.plan);
        let mut cells: Vec<CellRecord> = seen.guests.into_values().collect();
        cells.sort_by_key(|record| record.cell.index);
        let set = ResultSet {
            schema: ResultSet::SCHEMA,
            run,
            cells,
            variants: Vec::new(),
        };
        let mut labs = set.labs();
        if labs.len() == 1 && labs.iter().all(|share| share.kernels_of.is_none()) {
            labs.clear();
        }
        Self {
            set,
            labs,
            on_disks: seen.on_disks,
            counted: seen.counted,
            processor,
        }
    }

    pub fn columns(&self) -> Vec<Column> {
        columns(!self.labs.is_empty(), self.counted, self.on_disks)
    }

    /// The rows of a cell of the run.
    pub fn rows(&self, record: &CellRecord) -> Vec<Row> {
        let whole = Line {
            row: "outcome",
            set: &self.set,
            record,
            phase: None,
            sample: None,
            disk: None,
            warning: None,
            figure: None,
        };
        let mut lines: Vec<Line<'_>> = Vec::new();
        lines.extend(record.warnings.iter().map(|warning| Line {
            row: "warning",
            warning: Some(warning),
            ..whole
        }));
        for sample in &record.samples {
            let phase = Some(sample);
            lines.push(Line {
                row: "sample",
                phase,
                sample: phase,
                ..whole
            });
            let disks = sample.disks.iter().filter(|_| sample.disks.len() > 1);
            lines.extend(disks.map(|disk| Line {
                row: "disk",
                phase,
                disk: Some(disk),
                ..whole
            }));
        }
        for sample in &record.samples {
            let phase = Some(sample);
            lines.extend(sample.warnings.iter().map(|warning| Line {
                row: "warning",
                phase,
                warning: Some(warning),
                ..whole
            }));
            lines.extend(sample.figures.iter().map(|figure| Line {
                row: "figure",
                phase,
                figure: Some(figure),
                ..whole
            }));
        }
        if record.outcome != Outcome::Measured {
            lines.push(whole);
        }
        lines.iter().map(|line| self.row(line)).collect()
    }

    fn row(&self, line: &Line<'_>) -> Row {
        let mut row: Vec<Cell> = CELL.iter().map(|(_, cell)| cell(line)).collect();
        row.extend(cells(&PHASE, line.phase));
        row.extend(cells(&CONDITIONS, line.sample));
        row.extend(FigureName::all().map(|figure| {
            let value = line.sample.and_then(|sample| figure.value(sample));
            Cell::known(value, Cell::Number)
        }));
        row.extend(cells(&AMOUNTS, line.sample));
        row.extend(cells(&WARNING, line.warning));
        row.extend(cells(&FIGURE, line.figure));
        row.extend(of_lab(&self.set, &self.labs, line.record));
        if self.counted {
            let work = line.sample.and_then(Sample::whole_kernel_work);
            row.extend(cells(&KERNEL, work));
            let work = line
                .sample
                .and_then(|one| one.kernel_work_until(Point::Returned));
            row.extend(cells(&KERNEL, work));
            row.extend(line.parts(self.processor));
        }
        row.extend(line.disks());
        Row::new("", row)
    }
}

/// The columns of a run with several labs, whose kernels count their work, or on model disks.
fn columns(labs: bool, counted: bool, on_disks: bool) -> Vec<Column> {
    let mut names: Vec<String> = CELL.iter().map(|(name, _)| (*name).to_owned()).collect();
    names.extend(names_of(&PHASE).chain(names_of(&CONDITIONS)));
    names.extend(ALL.iter().map(FigureDefinition::column));
    names.extend(names_of(&AMOUNTS).chain(names_of(&WARNING)));
    names.extend(names_of(&FIGURE));
    if labs {
        names.extend(LAB.map(str::to_owned));
    }
    if counted {
        names.extend(names_of(&KERNEL).chain(names_until_return(&KERNEL)));
        names.extend(Part::ALL.map(part_column));
    }
    if on_disks {
        names.push("disk".to_owned());
        names.extend(names_of(&DISK));
        names.push("disk_requests_until_return".to_owned());
        names.extend(names_until_return(&DISK));
    }
    names.into_iter().map(Column::new).collect()
}

fn names_of<T>(columns: &[Of<T>]) -> impl Iterator<Item = String> {
    columns.iter().map(|(name, _)| (*name).to_owned())
}

fn names_until_return<T>(columns: &[Of<T>]) -> impl Iterator<Item = String> {
    names_of(columns).map(|name| format!("{UNTIL_RETURN}{name}"))
}

/// The column of a part of the time: `part_processor_workload_ns`.
fn part_column(part: Part) -> String {
    let words = part.name().replace(',', "").replace(' ', "_");
    format!("part_{words}_ns")
}

impl Line<'_> {
    fn contender(&self) -> usize {
        self.record.cell.contender as usize
    }

    fn workload(&self) -> usize {
        self.record.cell.workload as usize
    }

    /// The parts of the time of the sample; empty if they are unknown.
    fn parts(&self, processor: Processor) -> Vec<Cell> {
        let contender = self.set.run.plan.contenders.get(self.contender());
        let parts = self.sample.zip(contender).and_then(|(sample, contender)| {
            Anatomy::of(sample, contender.layout.devices, processor).parts_ns
        });
        match parts {
            Some(parts) => parts.map(|ns| Cell::Duration(Nanos(ns))).to_vec(),
            None => vec![Cell::Empty; Part::COUNT],
        }
    }

    /// One of several disks, or the sum over all disks of the sample; empty without figures.
    fn disks(&self) -> Vec<Cell> {
        if let Some(disk) = self.disk {
            let number = Cell::Count(disk.disk.into());
            return of_disks(number, &disk.whole(), &disk.to_return);
        }
        let disks = self.sample.iter().flat_map(|sample| &sample.disks);
        let until_return = disks.clone().map(|disk| disk.to_return);
        let whole = disks.map(DiskFigures::whole).reduce(|sum, one| sum + one);
        match (whole, until_return.reduce(|sum, one| sum + one)) {
            (Some(whole), Some(until_return)) => of_disks(Cell::Empty, &whole, &until_return),
            _ => Vec::new(),
        }
    }

    /// The outcome of the cell, and its reason.
    fn outcome(&self) -> [&str; 2] {
        match &self.record.outcome {
            Outcome::Measured => ["measured", ""],
            Outcome::Skipped { reason, .. } => ["skipped", reason],
            Outcome::Failed(failure) => ["failed", &failure.message],
        }
    }
}

/// The cells of these columns; empty ones without a value.
fn cells<T>(columns: &[Of<T>], of: Option<&T>) -> impl Iterator<Item = Cell> {
    let columns = columns.iter();
    columns.map(move |(_, cell)| of.map_or(Cell::Empty, cell))
}

fn text(text: &str) -> Cell {
    Cell::Text(text.to_owned())
}

fn count(count: Option<u64>) -> Cell {
    Cell::known(count, Cell::Count)
}

/// Empty if extents were not counted, or counting failed.
fn extents(sample: &Sample, of: fn(&Fragmentation) -> u64) -> Cell {
    let counted = sample.fragmentation.as_ref();
    count(counted.filter(|one| one.unavailable.is_none()).map(of))
}

/// The lab and the kernel of a cell, if there are several labs.
fn of_lab(set: &ResultSet, labs: &[LabShare], record: &CellRecord) -> Vec<Cell> {
    let contender = record.cell.contender as usize;
    let mut shares = labs.iter();
    let share = shares.find(|share| share.contenders.contains(&contender));
    share.map_or_else(Vec::new, |share| {
        let kernel = set.kernel_of(contender).unwrap_or_default();
        vec![text(&share.lab.to_string()), text(kernel)]
    })
}

fn of_disks(disk: Cell, whole: &DiskUse, until_return: &DiskUse) -> Vec<Cell> {
    let mut row = vec![disk];
    row.extend(cells(&DISK, Some(whole)));
    row.push(Cell::Count(until_return.requests()));
    row.extend(cells(&DISK, Some(until_return)));
    row
}

/// The time of all requests of a kind, if it is known.
fn waited(did: &DiskUse, of: fn(&Waits) -> Nanos) -> Cell {
    count(did.waits.as_ref().map(|waits| of(waits).0))
}
