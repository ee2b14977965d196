//! The cells that a session of a recorded run executes: those that are still needed, and failed ones
//! that run again.

use crate::open::Open;
use crate::schedule::schedule;
use fsdyno_model::{Cell, CellRecord, Outcome, RunInfo, Warning, WarningKind};
use std::collections::BTreeSet;

/// The cells that are not recorded; none if the figures need no more.
///
/// The blocks of an adaptive run follow one another. So a cell of a block before the last recorded
/// one that is not recorded itself was not needed, and does not run later: its block is over.
pub fn remaining(run: &RunInfo, recorded: &[CellRecord]) -> Vec<Cell> {
    let recorded_cells: BTreeSet<u32> = recorded.iter().map(|one| one.cell.index).collect();
    let mut cells = schedule(&run.plan);
    if run.plan.adaptive.is_none() {
        cells.retain(|cell| !recorded_cells.contains(&cell.index));
        return cells;
    }
    let last = recorded.iter().map(|one| one.cell.block).max();
    cells.retain(|cell| {
        let is_over = last.is_some_and(|last| cell.block < last);
        !is_over && !recorded_cells.contains(&cell.index)
    });
    let mut open = Open::new(run, recorded);
    let needed = cells.iter().any(|cell| {
        open.interim_analysis(cell.block);
        open.needs(*cell)
    });
    if needed { cells } else { Vec::new() }
}

pub fn failed(recorded: &[CellRecord]) -> Vec<Cell> {
    let failed = recorded
        .iter()
        .filter(|record| matches!(record.outcome, Outcome::Failed(_)));
    failed.map(|record| record.cell).collect()
}

/// The record of a cell that failed and ran again: the one with more measured phases, the newer one
/// if both have as many. Its warning names the first failure.
pub(crate) fn after_retry(before: &CellRecord, again: CellRecord) -> CellRecord {
    let Outcome::Failed(failure) = &before.outcome else {
        return again;
    };
    let warning = match &again.outcome {
        Outcome::Failed(latest) if again.samples.len() < before.samples.len() => Warning::new(
            WarningKind::Retried,
            format!(
                "a retry failed earlier, at {}: {}; the first result is kept",
                latest.stage, latest.message
            ),
            "run it again when the cause is removed: --retry-failed",
        ),
        _ => Warning::new(
            WarningKind::Retried,
            format!(
                "the cell failed at {}: {}; it ran again later than the rest of its block",
                failure.stage, failure.message
            ),
            "if its figures differ from those of other blocks, add repeats",
        ),
    };
    let mut kept = if again.samples.len() < before.samples.len() {
        before.clone()
    } else {
        let retried = |warning: &&Warning| warning.kind == WarningKind::Retried;
        let earlier = before.warnings.iter().filter(retried).cloned();
        let mut again = again;
        again.warnings.extend(earlier);
        again
    };
    kept.warnings.push(warning);
    kept
}

#[cfg(test)]
mod tests {
    use super::*;
    use fsdyno_model::{Failure, Nanos, Sample, Stage};

    fn record(outcome: Outcome, phases: usize) -> CellRecord {
        CellRecord {
            cell: Cell {
                index: 4,
                block: 2,
                contender: 0,
                workload: 0,
            },
            outcome,
            started_unix_ns: 0,
            took_ns: Nanos(1),
            samples: vec![Sample::default(); phases],
            commands: Vec::new(),
            effective: Vec::new(),
            warnings: Vec::new(),
        }
    }

    fn at(stage: Stage) -> Outcome {
        Outcome::Failed(Failure {
            stage,
            message: "no space".into(),
            errno: None,
        })
    }

    #[test]
    fn a_retry_loses_no_measured_phase_and_names_the_first_failure() {
        let failed = record(at(Stage::Unmount), 3);
        let measured = after_retry(&failed, record(Outcome::Measured, 3));
        assert_eq!(measured.outcome, Outcome::Measured);
        assert!(measured.warnings[0].message.contains("unmount: no space"));
        let worse = after_retry(&failed, record(at(Stage::Mount), 0));
        assert_eq!((&worse.outcome, worse.samples.len()), (&failed.outcome, 3));
        assert!(worse.warnings[0].message.contains("mount: no space"));
        let third = after_retry(&worse, record(Outcome::Measured, 3));
        assert_eq!(third.warnings.len(), 2, "each retry is noted");
    }
}
