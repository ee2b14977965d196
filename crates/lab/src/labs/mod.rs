//! The labs: places where a cell can run.

pub mod host;

use fsdyno_model::{Cell, CellRecord, Event, Plan};

/// A place where cells run, as the conductor sees it.
pub trait Lab {
    /// Runs one cell and emits what happens in it. Nothing comes back from a cell that the user
    /// interrupted: it will be run again, whole.
    fn run_cell(
        &mut self,
        plan: &Plan,
        cell: Cell,
        emit: &mut dyn FnMut(Event),
    ) -> Option<CellRecord>;

    /// Whether the user wants to stop.
    fn stop_requested(&self) -> bool;
}
