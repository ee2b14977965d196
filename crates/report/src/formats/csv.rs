//! Every raw sample, one row each, and one row for each cell that was not measured (RFC 4180).
//! Units stand in the names of the columns; what is not known is empty. A run of several labs has
//! two columns more behind all others: the lab and the kernel, without which figures that must not
//! be compared would look alike. A run on model disks has columns of these behind them, summed over
//! the disks of a contender; where it has several, a row more for each of them.

mod disks;

use crate::ReportError;
use fsdyno_model::{CellRecord, Fragmentation, LabShare, Outcome, ResultSet, Sample};

/// The columns, in order. `row` is `sample` or `outcome`, or `disk` for one of several of a sample.
const COLUMNS: [&str; 54] = [
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
    "cell_warnings",
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
    "warnings",
    "figures",
];

/// What comes behind them where a run has several labs.
const LAB_COLUMNS: [&str; 2] = ["lab", "kernel"];

/// What comes behind all others where a run is on model disks.
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

/// Columns that say which cell a row belongs to and how it ended.
const CELL_COLUMNS: usize = 18;

/// Writes the rows.
pub fn render(set: &ResultSet) -> Result<Vec<u8>, ReportError> {
    rows(set).map_err(|source| ReportError::Csv {
        run: set.run.id.clone(),
        source,
    })
}

fn rows(set: &ResultSet) -> Result<Vec<u8>, csv::Error> {
    let mut writer = csv::WriterBuilder::new()
        .terminator(csv::Terminator::CRLF)
        .from_writer(Vec::new());
    let labs = set.labs();
    let labs = if labs.len() > 1 { &labs[..] } else { &[] };
    let apart = (!labs.is_empty()).then_some(LAB_COLUMNS);
    let mut samples = set.cells.iter().flat_map(|record| &record.samples);
    let on_disks = samples.any(|sample| !sample.disks.is_empty());
    let disk_columns = on_disks.then_some(DISK_COLUMNS);
    let behind = apart.into_iter().flatten();
    let behind = behind.chain(disk_columns.into_iter().flatten());
    writer.write_record(COLUMNS.into_iter().chain(behind))?;
    for record in &set.cells {
        let of_lab = of_lab(labs, record);
        for sample in &record.samples {
            let mut row = cell(set, record, "sample");
            row.extend(figures(sample));
            row.extend(of_lab.clone());
            if on_disks {
                row.extend(disks::all(sample));
            }
            writer.write_record(&row)?;
            for disk in disks::each(sample) {
                let mut row = cell(set, record, "disk");
                row.extend(disks::whose(sample));
                row.resize(COLUMNS.len(), String::new());
                row.extend(of_lab.clone());
                row.extend(disk);
                writer.write_record(&row)?;
            }
        }
        if record.outcome != Outcome::Measured {
            let mut row = cell(set, record, "outcome");
            row.resize(COLUMNS.len(), String::new());
            row.extend(of_lab);
            row.extend(on_disks.then(disks::none).into_iter().flatten());
            writer.write_record(&row)?;
        }
    }
    writer
        .into_inner()
        .map_err(|e| csv::Error::from(e.into_error()))
}

/// Lab and kernel of a cell, where there are several.
fn of_lab(labs: &[LabShare], record: &CellRecord) -> Vec<String> {
    let contender = record.cell.contender as usize;
    let mut shares = labs.iter();
    let share = shares.find(|share| share.contenders.contains(&contender));
    share.map_or_else(Vec::new, |share| {
        let kernel = share.kernel.as_deref().unwrap_or_default();
        vec![safe(&share.lab.to_string()), safe(kernel)]
    })
}

fn cell(set: &ResultSet, record: &CellRecord, row: &str) -> Vec<String> {
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
    let row = vec![
        row.to_owned(),
        safe(&set.run.id),
        safe(&plan.name),
        set.run.plan_hash.clone(),
        plan.seed.to_string(),
        plan.scale.to_string(),
        contender.map_or_else(String::new, |c| safe(&c.label)),
        contender.map_or_else(String::new, |c| safe(&c.filesystem)),
        workload.map_or_else(String::new, |w| safe(&w.name)),
        workload.map_or_else(String::new, |w| safe(&w.dataset.to_string())),
        record.cell.block.to_string(),
        record.cell.index.to_string(),
        record.started_unix_ns.to_string(),
        record.took_ns.0.to_string(),
        outcome.to_owned(),
        safe(&at),
        safe(&reason),
        kinds_and_messages(&record.warnings),
    ];
    debug_assert_eq!(row.len(), CELL_COLUMNS);
    row
}

fn figures(sample: &Sample) -> Vec<String> {
    let device = |of: fn(&fsdyno_model::DeviceUse) -> u64| {
        sample
            .device
            .as_ref()
            .map_or_else(String::new, |d| of(d).to_string())
    };
    let known = |value: Option<u64>| value.map_or_else(String::new, |v| v.to_string());
    let (tally, cpu) = (sample.tally, sample.cpu);
    let mut row = vec![
        safe(&sample.label),
        safe(&sample.kind),
        safe(&sample.engine),
        safe(&sample.method),
        sample.cache.asked.name().to_owned(),
        sample.cache.proven.to_string(),
        known(sample.cache.resident_pages),
        sample.return_ns.0.to_string(),
        known(sample.durable_ns.map(|t| t.0)),
        tally.files.to_string(),
        tally.directories.to_string(),
        tally.bytes.0.to_string(),
        tally.calls.to_string(),
        tally.matches.to_string(),
        cpu.user_ns.0.to_string(),
        cpu.system_ns.0.to_string(),
        cpu.machine_busy_ns.0.to_string(),
        cpu.steal_ns.0.to_string(),
        device(|d| d.reads),
        device(|d| d.read_bytes.0),
        device(|d| d.writes),
        device(|d| d.written_bytes.0),
        device(|d| d.discards),
        device(|d| d.discarded_bytes.0),
        device(|d| d.flushes),
        device(|d| d.busy_ns.0),
        sample.space_before.0.to_string(),
        sample.space_after.0.to_string(),
    ];
    row.extend(fragments(sample.fragmentation.as_ref()));
    row.push(kinds_and_messages(&sample.warnings));
    row.push(told(sample));
    row
}

/// Empty where they were not counted; only the reason where they could not be.
fn fragments(counted: Option<&Fragmentation>) -> [String; 6] {
    let Some(counted) = counted else {
        return Default::default();
    };
    if let Some(reason) = &counted.unavailable {
        let mut row: [String; 6] = Default::default();
        row[5] = safe(reason);
        return row;
    }
    [
        counted.extents.to_string(),
        counted.fragmented.to_string(),
        counted.files.to_string(),
        counted.bytes.0.to_string(),
        counted.floor.0.to_string(),
        String::new(),
    ]
}

/// What a program told: `write=1234 KiB/s; seeks=567 1/s`.
fn told(sample: &Sample) -> String {
    let figures = sample.figures.iter();
    let texts: Vec<String> = figures
        .map(|figure| format!("{}={} {}", figure.name, figure.value, figure.unit))
        .collect();
    safe(&texts.join("; "))
}

/// `too-short: the phase took 2 ms; steal: ...`. It begins with a kind, never like a formula.
fn kinds_and_messages(warnings: &[fsdyno_model::Warning]) -> String {
    let told: Vec<String> = warnings
        .iter()
        .map(|w| format!("{}: {}", w.kind, w.message))
        .collect();
    told.join("; ")
}

/// Text that a spreadsheet would run as a formula gets an apostrophe in front, which spreadsheets
/// do not show.
pub(super) fn safe(text: &str) -> String {
    if text.starts_with(['=', '+', '-', '@', '\t', '\r', '\n']) {
        return format!("'{text}");
    }
    text.to_owned()
}

#[cfg(test)]
mod tests {
    use super::safe;

    #[test]
    fn no_text_begins_like_a_formula() {
        assert_eq!(safe("=1+1"), "'=1+1");
        assert_eq!(safe("@SUM(A1)"), "'@SUM(A1)");
        assert_eq!(safe("ext4:noatime"), "ext4:noatime");
    }
}
