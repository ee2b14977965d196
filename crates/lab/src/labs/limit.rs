//! The time a cell may take: when it is over, whatever the cell does is asked to stop, as the user
//! would ask for it, and the cell fails by that name.
//!
//! A thread waits for the end of the time, and does nothing until then.

use crate::labs::notes::Notes;
use crate::procedure::CellEnd;
use fsdyno_model::{CancelToken, Nanos, Outcome};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// Watches one cell; the watch ends, and what it asked for is taken back, on drop.
pub(crate) struct Limit {
    stop: CancelToken,
    watch: Option<(Arc<Over>, JoinHandle<()>)>,
}

/// Whether the cell is over.
#[derive(Default)]
struct Over {
    over: Mutex<bool>,
    told: Condvar,
}

impl Limit {
    /// Begins to watch, where there is a limit.
    pub fn begin(time: Option<Nanos>, stop: &CancelToken) -> Self {
        let watch = time.map(|time| {
            let over = Arc::new(Over::default());
            let (seen, wish) = (Arc::clone(&over), stop.clone());
            let thread = thread::spawn(move || {
                let time = Duration::from_nanos(time.0);
                let over = seen.over.lock().unwrap_or_else(PoisonError::into_inner);
                let waited = seen.told.wait_timeout_while(over, time, |over| !*over);
                let over = waited.unwrap_or_else(PoisonError::into_inner).0;
                // The lock is held: a cell that ends now ends after this.
                if !*over {
                    wish.expire();
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
            over.told.notify_all();
            // It cannot have panicked.
            let _ = thread.join();
            self.stop.recall();
        }
    }
}

/// How a cell ended that did not get to its end; none where the user wanted that.
pub(crate) fn halted(
    halt: CellEnd,
    notes: &Notes<'_>,
    stop: &CancelToken,
    limit: Option<Nanos>,
) -> Option<Outcome> {
    // Whatever fails while the user wants to stop fails for that.
    if stop.by_user() {
        return None;
    }
    match (halt, limit) {
        (halt, Some(limit)) if stop.requested() || matches!(halt, CellEnd::Stopped) => {
            Some(Outcome::Failed(notes.failure(
                format!(
                    "ended after {}, the time a cell may take (--cell-budget)",
                    limit.clock()
                ),
                None,
            )))
        }
        (CellEnd::Failed(failure), _) => Some(Outcome::Failed(failure)),
        (CellEnd::Stopped, _) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_over_its_time_is_asked_to_stop_and_the_next_is_not() {
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
        assert!(stop.requested(), "the user's wish stands");
    }
}
