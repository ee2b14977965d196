//! The stonewall: a moment after which no rank begins another operation, as that of IOR. Later phases
//! work on the files and blocks that each rank has written until then.

use crate::phase::{Done, Report, worker};
use crate::plan::stonewall;
use fsdyno_load::measure;
use fsdyno_model::{Better, Bytes, Figure, Nanos, PhasePlan, Sample, Warning, WarningKind};

/// The number of files and of blocks that each worker has written in a cell; empty where no stonewall
/// ended the phase.
#[derive(Debug, Default)]
pub struct Left {
    files: Vec<u64>,
    blocks: Vec<u64>,
}

impl Left {
    /// The most files or blocks of a worker that a phase finds or writes.
    pub fn of(&self, phase: &PhasePlan, worker: usize) -> u64 {
        let counts = match phase.kind.as_str() {
            "op-write" | "op-read" => &self.blocks,
            _ => &self.files,
        };
        counts.get(worker).copied().unwrap_or(u64::MAX)
    }

    /// The files or blocks of an earlier phase that a phase works on.
    pub fn before(&self, phase: &PhasePlan, worker: usize) -> u64 {
        match phase.kind.as_str() {
            "op-create" | "op-write" => u64::MAX,
            _ => self.of(phase, worker),
        }
    }

    /// Records the operations of all ranks in a phase.
    pub fn record(&mut self, phase: &PhasePlan, operations: Vec<u64>) {
        match phase.kind.as_str() {
            "op-create" => self.files = operations,
            "op-write" => self.blocks = operations,
            _ => {}
        }
    }
}

/// The operations of each rank, if the phase had a stonewall. Every rank succeeded.
pub fn operations(phase: &PhasePlan, reports: &[Report]) -> Vec<u64> {
    if stonewall(phase).is_none() {
        return Vec::new();
    }
    let done = reports.iter().map(|report| report.end.as_ref().ok());
    done.map(|done| done.map_or(0, Done::operations)).collect()
}

/// Adds the operations of a rank until the stonewall: the fewest, the mean and the most. Warns of a phase
/// that did not do all its work.
pub fn report(phase: &PhasePlan, reports: &[Report], left: &Left, sample: &mut Sample) {
    let ended = operations(phase, reports);
    if !ended.is_empty() {
        spread("operations", "1", &ended, &mut sample.figures);
        let done = reports.iter().filter_map(|report| report.end.as_ref().ok());
        let bytes: Vec<u64> = done.map(|done| done.tally.bytes.0).collect();
        if bytes.iter().any(|bytes| *bytes > 0) {
            spread("bytes", "B", &bytes, &mut sample.figures);
        }
    }
    sample
        .warnings
        .extend(warning(phase, &ended, reports.len(), left));
}

/// The warning about the time of a phase that had less work because of a stonewall. `ended` are the
/// operations of each rank, if the phase has one.
fn warning(phase: &PhasePlan, ended: &[u64], ranks: usize, left: &Left) -> Option<Warning> {
    let planned = |most: &dyn Fn(usize) -> u64| -> Vec<u64> {
        let of = |worker| measure::operations(phase, worker, most(worker)).unwrap_or(0);
        (0..ranks).map(|rank| of(worker(phase, rank))).collect()
    };
    let found = planned(&|worker| left.before(phase, worker));
    let whole: u64 = planned(&|_| u64::MAX).iter().sum();
    let stopped = ended
        .iter()
        .zip(&found)
        .filter(|(done, found)| done < found);
    let stopped = stopped.count();
    let done: u64 = if ended.is_empty() { &found } else { ended }.iter().sum();
    if done >= whole {
        return None;
    }
    let message = match stonewall(phase) {
        Some(time) if stopped > 0 => format!(
            "the stonewall ended {stopped} of {ranks} ranks after {}, with {done} of {whole} \
             operations done: the time of the phase is that of the stonewall",
            Nanos::from(time)
        ),
        _ => format!(
            "the phase worked on what an earlier stonewall left: {done} of {whole} operations"
        ),
    };
    Some(Warning::new(
        WarningKind::TimeLimit,
        message,
        "compare rates, not times; leave out --stonewall to compare times",
    ))
}

/// The operations of the ranks at the stonewall, for the line of a phase.
pub fn summary(sample: &Sample) -> String {
    let figure = |which: &str| {
        let name = format!("{which} operations of a rank");
        let found = sample.figures.iter().find(|one| one.name == name);
        found.map(|one| one.value)
    };
    match (figure("fewest"), figure("mean"), figure("most")) {
        (Some(fewest), Some(mean), Some(most)) => {
            format!(", at the stonewall {fewest} to {most} operations a rank, mean {mean:.1}")
        }
        _ => String::new(),
    }
}

fn spread(what: &str, unit: &str, values: &[u64], figures: &mut Vec<Figure>) {
    let (Some(least), Some(most)) = (values.iter().min(), values.iter().max()) else {
        return;
    };
    let mean = values.iter().sum::<u64>() as f64 / values.len() as f64;
    for (which, value) in [
        ("fewest", *least as f64),
        ("mean", mean),
        ("most", *most as f64),
    ] {
        let name = format!("{which} {what} of a rank");
        figures.push(Figure::new(name, value, unit, Better::Higher));
    }
}

/// The work of one rank, for the report on the ranks.
pub fn text(phase: &PhasePlan, report: &Report) -> String {
    let (Some(time), Ok(done)) = (stonewall(phase), &report.end) else {
        return String::new();
    };
    let Bytes(bytes) = done.tally.bytes;
    format!(
        "; {} operations, {bytes} bytes at the stonewall after {}",
        done.operations(),
        Nanos::from(time)
    )
}
