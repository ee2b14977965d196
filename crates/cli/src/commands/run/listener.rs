//! The listener of a run: it passes events to the store first, then to the screen.

use super::Session;
use crate::screen::Screen;
use fsdyno_model::{CellRecord, Effective, Event, Warning};
use fsdyno_observe::provenance;
use fsdyno_store::{Store, StoreError};

/// Passes each event to the store and to the screen.
pub struct Listener<'a> {
    store: &'a mut Store,
    session: &'a Session,
    /// The progress view; none if the command prints its progress itself.
    screen: Option<Screen>,
    /// The warning that is recorded with every cell.
    warning: Option<Warning>,
    /// This machine, for a run that is executed on several.
    machine: Option<Effective>,
}

impl<'a> Listener<'a> {
    pub fn new(
        store: &'a mut Store,
        session: &'a Session,
        screen: Option<Screen>,
        warning: Option<Warning>,
    ) -> Self {
        Self {
            store,
            session,
            screen,
            warning,
            machine: session.info.plan.shard.map(|_| provenance::machine()),
        }
    }

    /// Stores a finished cell before the screen shows it.
    pub fn receive(&mut self, event: &Event) -> Result<(), StoreError> {
        let id = &self.session.info.id;
        match event {
            Event::CellEnded { record } => {
                let mut record = CellRecord::clone(record);
                record.warnings.extend(self.warning.clone());
                record.effective.extend(self.machine.clone());
                let mut before = self.session.before.iter();
                if before.any(|other| other.cell.index == record.cell.index) {
                    self.store.replace_failed(id, &record)?;
                } else {
                    self.store.record(id, &record)?;
                }
            }
            // After nothing but retries, the run ended when and why it ended before.
            Event::RunEnded { reason, at_unix_ns } if !self.session.retries_only => {
                self.store.end(id, *reason, *at_unix_ns)?;
            }
            _ => {}
        }
        if let Some(screen) = &mut self.screen {
            screen.show(event);
        }
        Ok(())
    }
}
