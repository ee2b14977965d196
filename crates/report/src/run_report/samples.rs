//! Every raw sample as a table for CSV, one value a cell: one row for each sample, each figure that
//! a program reported, each warning, and each cell that was not measured.
//!
//! Column names contain the units; unknown values are empty. A run with several labs has columns
//! for lab and kernel, because figures of different labs must not be compared. A run whose kernels
//! count their work has columns for it. A run on model disks has columns for the disks, summed over
//! the disks of a contender. A contender with several disks has a further row for each of them.

use crate::comparison::labs::has_faults;
use crate::document::{Cell, Column, Group, Row, Table};
use fsdyno_model::disk_use::{DiskUse, Tallied};
use fsdyno_model::{
    CellRecord, DeviceUse, Fragmentation, KernelWork, LabShare, Outcome, ResultSet, Sample, Warning,
};

/// The columns, in order. `row` is `sample`, `disk` (one of several disks of a sample), `figure`,
/// `warning` (of a sample, or of a cell without phase) or `outcome`.
const COLUMNS: [&str; 57] = [
    "row",
    "run",
    "plan",
    "plan_hash",
    "seed",
    "scale",
    "contender",
    "filesystem",
    "workload",
    "dataset",
    "block",
    "cell",
    "cell_started_unix_ns",
    "cell_took_ns",
    "outcome",
    "outcome_at",
    "outcome_reason",
    "faulty_disks",
    "phase",
    "phase_kind",
    "engine",
    "method",
    "cache",
    "cache_proven",
    "cache_resident_pages",
    "return_ns",
    "durable_ns",
    "files",
    "directories",
    "data_bytes",
    "calls",
    "matches",
    "user_ns",
    "system_ns",
    "machine_busy_ns",
    "steal_ns",
    "reads",
    "read_bytes",
    "writes",
    "written_bytes",
    "discards",
    "discarded_bytes",
    "flushes",
    "device_busy_ns",
    "space_before_bytes",
    "space_after_bytes",
    "extents",
    "fragmented_files",
    "extent_files",
    "extent_data_bytes",
    "extent_floor_bytes",
    "extents_unavailable",
    "warning",
    "warning_message",
    "figure",
    "figure_value",
    "figure_unit",
];

/// The place of the column `figure`.
const FIGURE: usize = COLUMNS.len() - 3;

/// The additional columns of a run with several labs.
const LAB_COLUMNS: [&str; 2] = ["lab", "kernel"];

/// The additional columns of a run on model disks.
const DISK_COLUMNS: [&str; 38] = [
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

/// The additional columns of a run whose kernels count their work, for the whole time of a phase.
const KERNEL_COLUMNS: [&str; 10] = [
    "kernel_process_blocks",
    "kernel_thread_blocks",
    "kernel_interrupt_blocks",
    "kernel_system_calls",
    "kernel_copied_bytes",
    "kernel_cleared_bytes",
    "kernel_checksummed_bytes",
    "kernel_disk_requests",
    "kernel_waits",
    "charged_ns",
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
    let lab_columns = LAB_COLUMNS.iter().filter(|_| !labs.is_empty());
    let kernel_columns = KERNEL_COLUMNS.iter().filter(|_| counted);
    let disk_columns = DISK_COLUMNS.iter().filter(|_| on_disks);
    let columns = COLUMNS.iter().chain(lab_columns);
    let columns = columns.chain(kernel_columns).chain(disk_columns);
    let mut rows = Vec::new();
    for record in &set.cells {
        let of_lab = of_lab(set, labs, record);
        let mut row = |mut cells: Vec<Cell>, kernel: Option<&KernelWork>, disks: Vec<Cell>| {
            cells.resize(COLUMNS.len(), Cell::Empty);
            cells.extend(of_lab.clone());
            if counted {
                cells.extend(of_kernel(kernel));
            }
            cells.extend(disks);
            rows.push(Row::new("", cells));
        };
        for one in &record.warnings {
            row(warning(cell(set, record, "warning"), one), None, Vec::new());
        }
        for sample in &record.samples {
            let mut cells = cell(set, record, "sample");
            cells.extend(of_sample(sample));
            row(
                cells,
                sample.whole_kernel_work(),
                if on_disks {
                    all_disks(sample)
                } else {
                    Vec::new()
                },
            );
            for disk in sample.disks.iter().filter(|_| sample.disks.len() > 1) {
                let mut cells = cell(set, record, "disk");
                cells.extend([text(&sample.label), text(&sample.kind)]);
                let number = Cell::Count(u64::from(disk.disk));
                row(
                    cells,
                    None,
                    of_disks(number, &disk.whole(), &disk.to_return),
                );
            }
        }
        for sample in &record.samples {
            let named = |row: &str| {
                let mut cells = cell(set, record, row);
                cells.extend([text(&sample.label), text(&sample.kind)]);
                cells
            };
            for one in &sample.warnings {
                row(warning(named("warning"), one), None, Vec::new());
            }
            for figure in &sample.figures {
                let mut cells = named("figure");
                cells.resize(FIGURE, Cell::Empty);
                let (name, unit) = (text(&figure.name), text(&figure.unit));
                cells.extend([name, Cell::Number(figure.value), unit]);
                row(cells, None, Vec::new());
            }
        }
        if record.outcome != Outcome::Measured {
            row(cell(set, record, "outcome"), None, Vec::new());
        }
    }
    Table {
        name: "samples".to_owned(),
        columns: columns.map(|name| Column::new(*name)).collect(),
        groups: vec![Group {
            rows,
            ..Group::default()
        }],
        ..Table::default()
    }
}

fn text(text: &str) -> Cell {
    Cell::Text(text.to_owned())
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

/// The cell of a row, and its outcome.
fn cell(set: &ResultSet, record: &CellRecord, row: &str) -> Vec<Cell> {
    let plan = &set.run.plan;
    let contender = plan.contenders.get(record.cell.contender as usize);
    let workload = plan.workloads.get(record.cell.workload as usize);
    let (outcome, at, reason) = match &record.outcome {
        Outcome::Measured => ("measured", String::new(), String::new()),
        Outcome::Skipped {
            requirement,
            reason,
            ..
        } => ("skipped", requirement.clone(), reason.clone()),
        Outcome::Failed(failure) => ("failed", failure.stage.to_string(), failure.message.clone()),
    };
    vec![
        text(row),
        text(&set.run.id),
        text(&plan.name),
        text(&set.run.plan_hash),
        Cell::Count(plan.seed),
        Cell::Number(plan.scale),
        Cell::known(contender, |c| text(&c.label)),
        Cell::known(contender, |c| text(&c.filesystem)),
        Cell::known(workload, |w| text(&w.name)),
        Cell::known(workload, |w| Cell::Text(w.dataset.to_string())),
        Cell::Count(u64::from(record.cell.block)),
        Cell::Count(u64::from(record.cell.index)),
        Cell::Count(record.started_unix_ns),
        Cell::Duration(record.took_ns),
        text(outcome),
        Cell::Text(at),
        Cell::Text(reason),
        Cell::Text(has_faults(set).to_string()),
    ]
}

fn of_sample(sample: &Sample) -> Vec<Cell> {
    let device = |of: fn(&DeviceUse) -> u64| {
        Cell::known(sample.device.as_ref(), |device| Cell::Count(of(device)))
    };
    let (tally, cpu) = (sample.tally, sample.cpu);
    let mut row = vec![
        text(&sample.label),
        text(&sample.kind),
        text(&sample.engine),
        text(&sample.method),
        text(sample.cache.requested.name()),
        Cell::Text(sample.cache.proven.to_string()),
        Cell::known(sample.cache.resident_pages, Cell::Count),
        Cell::Duration(sample.return_ns),
        Cell::known(sample.durable_ns, Cell::Duration),
        Cell::Count(tally.files),
        Cell::Count(tally.directories),
        Cell::Size(tally.bytes),
        Cell::Count(tally.calls),
        Cell::Count(tally.matches),
        Cell::Duration(cpu.user_ns),
        Cell::Duration(cpu.system_ns),
        Cell::Duration(cpu.machine_busy_ns),
        Cell::Duration(cpu.steal_ns),
        device(|d| d.reads),
        device(|d| d.read_bytes.0),
        device(|d| d.writes),
        device(|d| d.written_bytes.0),
        device(|d| d.discards),
        device(|d| d.discarded_bytes.0),
        device(|d| d.flushes),
        device(|d| d.busy_ns.0),
        Cell::Size(sample.space_before),
        Cell::Size(sample.space_after),
    ];
    row.extend(extent_cells(sample.fragmentation.as_ref()));
    row
}

/// Empty if extents were not counted; only the reason if counting failed.
fn extent_cells(counted: Option<&Fragmentation>) -> [Cell; 6] {
    let mut row = [const { Cell::Empty }; 6];
    let Some(counted) = counted else {
        return row;
    };
    if let Some(reason) = &counted.unavailable {
        row[5] = text(reason);
        return row;
    }
    row[..5].clone_from_slice(&[
        Cell::Count(counted.extents),
        Cell::Count(counted.fragmented),
        Cell::Count(counted.files),
        Cell::Size(counted.bytes),
        Cell::Size(counted.floor),
    ]);
    row
}

/// The work of the kernel; empty where it was not counted.
fn of_kernel(work: Option<&KernelWork>) -> [Cell; KERNEL_COLUMNS.len()] {
    let Some(work) = work else {
        return [const { Cell::Empty }; KERNEL_COLUMNS.len()];
    };
    [
        Cell::Count(work.process_blocks),
        Cell::Count(work.kthread_blocks),
        Cell::Count(work.interrupt_blocks),
        Cell::Count(work.system_calls),
        Cell::Size(work.copied),
        Cell::Size(work.cleared),
        Cell::Size(work.checksummed),
        Cell::Count(work.disk_requests),
        Cell::Count(work.waits),
        Cell::Duration(work.charged_ns),
    ]
}

/// The row of a warning.
fn warning(mut row: Vec<Cell>, warning: &Warning) -> Vec<Cell> {
    row.resize(FIGURE - 2, Cell::Empty);
    row.extend([Cell::Text(warning.kind.to_string()), text(&warning.message)]);
    row
}

/// The sum over all model disks of a sample; empty if there are no figures.
fn all_disks(sample: &Sample) -> Vec<Cell> {
    let until_return = sample.disks.iter().map(|disk| disk.to_return);
    match (sample.on_disks(), until_return.reduce(|sum, one| sum + one)) {
        (Some(whole), Some(until_return)) => of_disks(Cell::Empty, &whole, &until_return),
        _ => Vec::new(),
    }
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
