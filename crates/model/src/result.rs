//! A run as it is read back from the store: what every report is made from.

use crate::cell::{CellRecord, Effective, Outcome};
use crate::plan::Plan;
use crate::provenance::Provenance;
use crate::sample::Sample;
use serde::{Deserialize, Serialize};
use std::fmt;

/// One run, whole.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ResultSet {
    /// The version of this structure, as JSON carries it.
    pub schema: u32,
    /// Identity, plan and provenance.
    pub run: RunInfo,
    /// All cells recorded, by index.
    pub cells: Vec<CellRecord>,
}

/// A run without its cells.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunInfo {
    /// Its name: date and time (UTC), suite, and a number where that is taken (`20261121-1730-quick-2`).
    pub id: String,
    /// When it began: nanoseconds since 1970 (UTC).
    pub started_unix_ns: u64,
    /// When it ended, if it did.
    pub ended_unix_ns: Option<u64>,
    /// Why it ended, if it did.
    pub stop: Option<StopReason>,
    /// What was to be done.
    pub plan: Plan,
    /// The hash of the plan.
    pub plan_hash: String,
    /// Where.
    pub provenance: Provenance,
    /// The command line that began it.
    pub command_line: Vec<String>,
}

/// Why a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StopReason {
    /// All cells of the plan are recorded.
    Complete,
    /// The budget was spent.
    Budget,
    /// The user interrupted it.
    Interrupted,
}

impl fmt::Display for StopReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Complete => "complete",
            Self::Budget => "budget",
            Self::Interrupted => "interrupted",
        })
    }
}

impl ResultSet {
    /// The version of the structure this program writes.
    pub const SCHEMA: u32 = 1;

    /// The samples of one contender at one phase of one workload, with their blocks, by block.
    pub fn samples(&self, contender: usize, workload: usize, phase: usize) -> Vec<(u32, &Sample)> {
        let mut samples: Vec<_> = self
            .cells
            .iter()
            .filter(|r| {
                r.cell.contender as usize == contender && r.cell.workload as usize == workload
            })
            .flat_map(|r| r.samples.iter().map(move |s| (r.cell.block, s)))
            .filter(|(_, s)| s.phase as usize == phase)
            .collect();
        samples.sort_by_key(|(block, _)| *block);
        samples
    }

    /// What was done to a contender before its workloads, as each of its cells tells it.
    pub fn states(&self, contender: usize) -> Vec<&str> {
        self.cells
            .iter()
            .filter(|record| record.cell.contender as usize == contender)
            .flat_map(|record| &record.effective)
            .filter(|effective| effective.source == Effective::STATE)
            .map(|effective| effective.text.as_str())
            .collect()
    }

    /// The guest in which cells ran, as the first of them tells it; none where all ran on the host.
    pub fn guest(&self) -> Option<&str> {
        let mut told = self.cells.iter().flat_map(|record| &record.effective);
        told.find(|effective| effective.source == Effective::GUEST)
            .map(|effective| effective.text.as_str())
    }

    /// The kernel under test: of the guest where there is one, else of the host.
    pub fn kernel(&self) -> &str {
        let of_guest = self.guest().and_then(|text| text.split(',').next());
        of_guest.unwrap_or(&self.run.provenance.kernel)
    }

    /// The cells that were not measured.
    pub fn unmeasured(&self) -> impl Iterator<Item = &CellRecord> {
        self.cells.iter().filter(|r| r.outcome != Outcome::Measured)
    }
}
