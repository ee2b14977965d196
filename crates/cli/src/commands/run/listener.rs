//! The listener of a run: it passes events to the store first, then to the screen.

use crate::screen::Screen;
use fsdyno_model::{CellRecord, Event, RunInfo, Warning};
use fsdyno_store::{Store, StoreError};

/// Passes each event to the store and to the screen.
pub struct Listener<'a> {
    store: &'a mut Store,
    id: String,
    screen: Screen,
    /// The warning that is recorded with every cell.
    warning: Option<Warning>,
}

impl<'a> Listener<'a> {
    pub fn new(
        store: &'a mut Store,
        info: &RunInfo,
        before: &[CellRecord],
        warning: Option<Warning>,
    ) -> Self {
        let screen = Screen::new(info, before);
        Self {
            store,
            id: info.id.clone(),
            screen,
            warning,
        }
    }

    /// Stores a finished cell before the screen shows it.
    pub fn hear(&mut self, event: &Event) -> Result<(), StoreError> {
        match event {
            Event::CellEnded { record } => {
                let mut record = CellRecord::clone(record);
                record.warnings.extend(self.warning.clone());
                self.store.record(&self.id, &record)?;
            }
            Event::RunEnded { reason, at_unix_ns } => {
                self.store.end(&self.id, *reason, *at_unix_ns)?;
            }
            _ => {}
        }
        self.screen.show(event);
        Ok(())
    }
}
