//! Runs one cell of any lab. A cell with missing requirements is skipped; a cell that exceeds its
//! time budget is cancelled.
//!
//! A thread waits for the end of the budget and does nothing until then.

use crate::missing::Missing;
use crate::notes::Notes;
use crate::procedure::CellEnd;
use fsdyno_model::{CancelToken, Cell, CellRecord, Event, Nanos, Outcome, Plan};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// Cancels one cell when its time budget ends; on drop the cancellation is withdrawn.
struct Limit {
    stop: CancelToken,
    watch: Option<(Arc<EndSignal>, JoinHandle<()>)>,
}

#[derive(Default)]
struct EndSignal {
    over: Mutex<bool>,
    changed: Condvar,
}

impl Limit {
    /// Starts the timer, if there is a limit.
    fn begin(time: Option<Nanos>, stop: &CancelToken) -> Self {
        let watch = time.map(|time| {
            let over = Arc::new(EndSignal::default());
            let (seen, token) = (Arc::clone(&over), stop.clone());
            let thread = thread::spawn(move || {
                let time = Duration::from_nanos(time.0);
                let over = seen.over.lock().unwrap_or_else(PoisonError::into_inner);
                let waited = seen.changed.wait_timeout_while(over, time, |over| !*over);
                let over = waited.unwrap_or_else(PoisonError::into_inner).0;
                // The lock is held: a cell that ends now ends after the cancellation.
                if !*over {
                    token.expire();
                }
            });
            (over, thread)
        });
        Self {
            stop: stop.clone(),
            watch,
        }
    }
}

impl Drop for Limit {
    fn drop(&mut self) {
        if let Some((over, thread)) = self.watch.take() {
            *over.over.lock().unwrap_or_else(PoisonError::into_inner) = true;
            over.changed.notify_all();
            // The thread cannot panic.
            let _ = thread.join();
            self.stop.withdraw();
        }
    }
}

/// Runs one cell within its time limit and records its outcome. A cell with missing requirements is
/// skipped; a cell that the user interrupted has no record.
pub(crate) fn run_cell(
    plan: &Plan,
    cell: Cell,
    emit: &mut dyn FnMut(Event),
    missing: &Missing,
    stop: &CancelToken,
    execute: impl FnOnce(&mut Notes<'_>) -> Result<Outcome, CellEnd>,
) -> Option<CellRecord> {
    let mut notes = Notes::new(cell, emit);
    if let Some(skipped) = missing.skips(cell) {
        return Some(notes.into_record(skipped));
    }
    let limit = Limit::begin(plan.cell_budget, stop);
    let outcome = match execute(&mut notes) {
        Ok(outcome) => outcome,
        Err(end) => failed(end, &notes, stop, plan.cell_budget)?,
    };
    drop(limit);
    // The real time of a cell in virtual time would make equal cells differ.
    if plan.disk.is_none() || plan.disk_in_real_time().is_some() {
        notes.record_stages();
    }
    Some(notes.into_record(outcome))
}

/// The failure of a cell; none if the user interrupted it.
fn failed(
    end: CellEnd,
    notes: &Notes<'_>,
    stop: &CancelToken,
    limit: Option<Nanos>,
) -> Option<Outcome> {
    // After an interrupt every failure is a consequence of it.
    if stop.by_user() {
        return None;
    }
    match (end, limit) {
        (end, Some(limit)) if stop.requested() || matches!(end, CellEnd::Stopped) => {
            let limit = limit.clock();
            let message = format!("ended after {limit}, the time a cell may take (--cell-budget)");
            Some(Outcome::Failed(notes.failure(message, None)))
        }
        (CellEnd::Failed(failure), _) => Some(Outcome::Failed(failure)),
        (CellEnd::Stopped, _) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_over_its_budget_is_cancelled_and_the_next_is_not() {
        let stop = CancelToken::new();
        {
            let _limit = Limit::begin(Some(Nanos(1)), &stop);
            while !stop.requested() {
                thread::yield_now();
            }
            assert!(!stop.by_user());
        }
        assert!(!stop.requested());
        drop(Limit::begin(Some(Nanos(u64::MAX)), &stop));
        assert!(!stop.requested());
        stop.request();
        drop(Limit::begin(Some(Nanos(1)), &stop));
        assert!(stop.requested(), "a cancellation by the user remains");
    }
}
