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
    /// The file system comes into the state its contender asks for.
    StateProgress {
        /// Which cell.
        cell: Cell,
        /// Bytes written so far.
        done: Bytes,
        /// Bytes that will have been written, as far as can be told.
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
    /// The figures were looked at, where they decide how long a run goes on.
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
