//! The number of cells of a plan by outcome.

use crate::terms;
use fsdyno_model::{Outcome, ResultSet, StopReason};
use std::fmt::Write as _;

/// The number of cells of a plan by outcome.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CellCounts {
    /// Cells of the plan at its number of repeats. For adaptive runs, the minimum; if the run is
    /// complete, all cells that ran.
    pub planned: usize,
    /// Cells measured.
    pub measured: usize,
    /// Cells skipped.
    pub skipped: usize,
    /// Cells failed.
    pub failed: usize,
}

impl CellCounts {
    pub(super) fn of(set: &ResultSet) -> Self {
        let plan = &set.run.plan;
        let count =
            |wanted: fn(&Outcome) -> bool| set.cells.iter().filter(|r| wanted(&r.outcome)).count();
        Self {
            planned: if plan.adaptive.is_some() && set.run.stop == Some(StopReason::Complete) {
                set.cells.len()
            } else {
                plan.contenders.len() * plan.workloads.len() * plan.repeats as usize
            },
            measured: count(|o| matches!(o, Outcome::Measured)),
            skipped: count(|o| matches!(o, Outcome::Skipped { .. })),
            failed: count(|o| matches!(o, Outcome::Failed(_))),
        }
    }

    /// The counts as text: `5 cells measured, 1 failed, 2 of 8 not run`.
    pub fn describe(self) -> String {
        let mut text = format!("{} measured", terms::count(self.measured, "cell"));
        if self.failed > 0 {
            let _ = write!(text, ", {} failed", self.failed);
        }
        if self.skipped > 0 {
            let _ = write!(text, ", {} skipped", self.skipped);
        }
        let recorded = self.measured + self.failed + self.skipped;
        if recorded < self.planned {
            let _ = write!(
                text,
                ", {} of {} not run",
                self.planned - recorded,
                self.planned
            );
        }
        text
    }
}
