//! Every raw sample as a table for CSV, one value a cell: one row for each sample, each figure that
//! a program reported, each warning, and each cell that was not measured.
//!
//! Each defined figure is a column. Column names contain the units; unknown values are empty. A run with several labs has columns
//! for lab and kernel, because figures of different labs must not be compared. A run whose kernels
//! count their work has columns for it. A run on model disks has columns for the disks, summed over
//! the disks of a contender. A contender with several disks has a further row for each of them.

use crate::comparison::labs::has_faults;
use crate::document::{Cell, Column, Row, Table};
use fsdyno_model::disk_use::{DiskFigures, DiskUse, Tallied};
use fsdyno_model::figures::ALL;
use fsdyno_model::{
    CellRecord, Figure, FigureDefinition, FigureName, Fragmentation, KernelWork, LabShare, Outcome,
    ResultSet, Sample, Warning,
};

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

/// The additional columns of a run whose kernels count their work, for the whole time of a phase.
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

/// The additional columns of a run on model disks.
const DISK: [&str; 38] = [
    "disk",
    "disk_reads",
    "disk_read_bytes",
    "disk_reads_failed",
    "disk_writes",
    "disk_written_bytes",
    "disk_writes_failed",
    "disk_discards",
    "disk_discarded_bytes",
    "disk_discards_failed",
    "disk_flushes",
    "disk_flushes_failed",
    "disk_requests_until_return",
    "disk_seeks",
    "disk_seek_distance_bytes",
    "disk_queue_ns",
    "disk_overhead_ns",
    "disk_seek_ns",
    "disk_rotation_ns",
    "disk_transfer_ns",
    "disk_flush_ns",
    "disk_cache_ns",
    "disk_fault_ns",
    "disk_slowest_ns",
    "disk_arm_moves",
    "disk_arm_cylinders",
    "disk_device_seek_ns",
    "disk_device_rotation_ns",
    "disk_device_transfer_ns",
    "disk_medium_read_bytes",
    "disk_medium_written_bytes",
    "disk_erases",
    "disk_cache_hits",
    "disk_reads_ns",
    "disk_writes_ns",
    "disk_discards_ns",
    "disk_flushes_ns",
    "disk_busy_ns",
];

/// The raw samples of a run.
pub fn figures(set: &ResultSet) -> Table {
    let labs = set.labs();
    let has_kernels = labs.iter().any(|share| share.kernels_of.is_some());
    let labs = if labs.len() > 1 || has_kernels {
        &labs[..]
    } else {
        &[]
    };
    let mut samples = set.cells.iter().flat_map(|record| &record.samples);
    let on_disks = samples.clone().any(|sample| !sample.disks.is_empty());
    let counted = samples.any(|sample| !sample.kernel.is_empty());
    let mut names: Vec<&str> = CELL.iter().map(|(name, _)| *name).collect();
    names.extend(PHASE.iter().chain(&CONDITIONS).map(|(name, _)| *name));
    let columns: Vec<String> = ALL.iter().map(FigureDefinition::column).collect();
    names.extend(columns.iter().map(String::as_str));
    names.extend(AMOUNTS.map(|(name, _)| name));
    names.extend(WARNING.map(|(name, _)| name));
    names.extend(FIGURE.map(|(name, _)| name));
    names.extend(LAB.iter().filter(|_| !labs.is_empty()));
    names.extend(KERNEL.iter().map(|(name, _)| *name).filter(|_| counted));
    names.extend(DISK.iter().filter(|_| on_disks));
    let mut rows = Vec::new();
    for record in &set.cells {
        let of_lab = of_lab(set, labs, record);
        let mut row = |line: Line<'_>| {
            let mut row: Vec<Cell> = CELL.iter().map(|(_, cell)| cell(&line)).collect();
            row.extend(cells(&PHASE, line.phase));
            row.extend(cells(&CONDITIONS, line.sample));
            row.extend(FigureName::all().map(|figure| {
                let value = line.sample.and_then(|sample| figure.value(sample));
                Cell::known(value, Cell::Number)
            }));
            row.extend(cells(&AMOUNTS, line.sample));
            row.extend(cells(&WARNING, line.warning));
            row.extend(cells(&FIGURE, line.figure));
            row.extend(of_lab.clone());
            if counted {
                let work = line.sample.and_then(Sample::whole_kernel_work);
                row.extend(cells(&KERNEL, work));
            }
            row.extend(line.disks());
            rows.push(Row::new("", row));
        };
        let whole = Line {
            row: "outcome",
            set,
            record,
            phase: None,
            sample: None,
            disk: None,
            warning: None,
            figure: None,
        };
        for warning in &record.warnings {
            row(Line {
                row: "warning",
                warning: Some(warning),
                ..whole
            });
        }
        for sample in &record.samples {
            let phase = Some(sample);
            row(Line {
                row: "sample",
                phase,
                sample: phase,
                ..whole
            });
            for disk in sample.disks.iter().filter(|_| sample.disks.len() > 1) {
                row(Line {
                    row: "disk",
                    phase,
                    disk: Some(disk),
                    ..whole
                });
            }
        }
        for sample in &record.samples {
            let phase = Some(sample);
            for warning in &sample.warnings {
                row(Line {
                    row: "warning",
                    phase,
                    warning: Some(warning),
                    ..whole
                });
            }
            for figure in &sample.figures {
                row(Line {
                    row: "figure",
                    phase,
                    figure: Some(figure),
                    ..whole
                });
            }
        }
        if record.outcome != Outcome::Measured {
            row(whole);
        }
    }
    Table::new("samples", "", names.into_iter().map(Column::new), rows)
}

impl Line<'_> {
    fn contender(&self) -> usize {
        self.record.cell.contender as usize
    }

    fn workload(&self) -> usize {
        self.record.cell.workload as usize
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
    let kind = |kind: &Tallied| [kind.requests, kind.bytes, kind.failed];
    let extents = [&whole.reads, &whole.writes, &whole.discards].map(kind);
    let flushes = [whole.flushes.requests, whole.flushes.failed];
    let seeks = [until_return.requests(), whole.seeks, whole.seek_distance.0];
    let numbers = extents.into_iter().flatten().chain(flushes).chain(seeks);
    let numbers = numbers
        .chain(whole.causes.parts())
        .chain([whole.slowest.0])
        .chain(whole.work.parts());
    let waits = whole.waits.map(|waits| waits.parts().map(Some));
    let waits = waits.unwrap_or_default().into_iter();
    let waits = waits.chain([whole.busy.map(|busy| busy.0)]);
    let waits = waits.map(|ns| Cell::known(ns, Cell::Count));
    let mut cells = vec![disk];
    cells.extend(numbers.map(Cell::Count));
    cells.extend(waits);
    cells
}
