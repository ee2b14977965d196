//! Events of a run. The conductor emits them; the terminal, the log and the store receive them.

use crate::cell::{Cell, CellRecord, Stage};
use crate::result::{RunInfo, StopReason};
use crate::sample::Sample;
use crate::units::Bytes;
use serde::{Deserialize, Serialize};

/// An event of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "event")]
pub enum Event {
    /// A run began or resumed.
    RunStarted {
        /// Its identity, plan and provenance.
        run: Box<RunInfo>,
        /// The number of cells already recorded.
        done: u32,
        /// The number of all cells.
        cells: u32,
    },
    /// A cell began.
    CellStarted {
        /// The cell.
        cell: Cell,
    },
    /// A cell entered a stage.
    StageEntered {
        /// The cell.
        cell: Cell,
        /// The stage.
        stage: Stage,
    },
    /// The file system is filled or aged, as its contender requires.
    StateProgress {
        /// The cell.
        cell: Cell,
        /// Bytes written so far.
        done: Bytes,
        /// Estimated total of bytes to write.
        of: Bytes,
    },
    /// A phase was measured.
    PhaseEnded {
        /// The cell.
        cell: Cell,
        /// Its figures.
        sample: Box<Sample>,
    },
    /// A cell ended, and its record is complete.
    CellEnded {
        /// Its record.
        record: Box<CellRecord>,
    },
    /// An interim analysis, which decides whether a run continues.
    Looked {
        /// The number of complete blocks.
        blocks: u32,
        /// Comparisons with a baseline that are inconclusive, counted once for each workload.
        open: u32,
        /// The number of all comparisons.
        of: u32,
    },
    /// The run ended.
    RunEnded {
        /// The reason.
        reason: StopReason,
        /// When: nanoseconds since 1970 (UTC).
        at_unix_ns: u64,
    },
}
