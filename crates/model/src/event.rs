//! What happens during a run. The conductor emits events; screen, log and store listen.

use crate::cell::{Cell, CellRecord, Stage};
use crate::result::{RunInfo, StopReason};
use crate::sample::Sample;
use crate::units::Bytes;
use serde::{Deserialize, Serialize};

/// One thing that happened.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "event")]
pub enum Event {
    /// A run began, or went on.
    RunStarted {
        /// Its identity, plan and provenance.
        run: Box<RunInfo>,
        /// Cells that stand recorded already.
        done: u32,
        /// Cells in all.
        cells: u32,
    },
    /// A cell began.
    CellStarted {
        /// Which.
        cell: Cell,
    },
    /// A cell entered a stage.
    StageEntered {
        /// Which cell.
        cell: Cell,
        /// Which stage.
        stage: Stage,
    },
    /// The file system is brought into the state of its contender.
    StateProgress {
        /// Which cell.
        cell: Cell,
        /// Bytes written so far.
        done: Bytes,
        /// Bytes that will have been written, as an estimate.
        of: Bytes,
    },
    /// A phase was measured.
    PhaseEnded {
        /// Which cell.
        cell: Cell,
        /// Its figures.
        sample: Box<Sample>,
    },
    /// A cell ended, and is complete.
    CellEnded {
        /// All of it.
        record: Box<CellRecord>,
    },
    /// An interim analysis of the figures, which decides how long a run continues.
    Looked {
        /// After so many blocks.
        blocks: u32,
        /// Comparisons with a baseline that are open, each counted for each workload.
        open: u32,
        /// All there are.
        of: u32,
    },
    /// The run ended.
    RunEnded {
        /// Why.
        reason: StopReason,
        /// When: nanoseconds since 1970 (UTC).
        at_unix_ns: u64,
    },
}
