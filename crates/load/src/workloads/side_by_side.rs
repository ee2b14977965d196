//! Workers side by side, each in a thread of its own.

use crate::measure::watch;
use std::sync::{Barrier, OnceLock};

/// Does one piece of work with each of these, all at the same time, and waits for the last; what each
/// came to, in their order. A panic of one is passed on.
pub(super) fn side_by_side<W: Send, T: Send>(
    workers: &mut [W],
    work: impl Fn(&mut W) -> T + Sync,
) -> Vec<T> {
    let work = &work;
    std::thread::scope(|scope| {
        let threads: Vec<_> = workers
            .iter_mut()
            .map(|worker| scope.spawn(move || work(worker)))
            .collect();
        let ends = threads.into_iter().map(|thread| {
            thread
                .join()
                .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        });
        ends.collect()
    })
}

/// The moment at which workers begin that wait for one another.
#[derive(Debug)]
pub(super) struct Start {
    barrier: Barrier,
    moment: OnceLock<u64>,
}

impl Start {
    /// For so many workers.
    pub fn new(workers: usize) -> Self {
        Self {
            barrier: Barrier::new(workers),
            moment: OnceLock::new(),
        }
    }

    /// Waits until all workers are here.
    pub fn wait(&self) {
        self.barrier.wait();
    }

    /// A worker begins now: when the first of them did.
    pub fn begin(&self) -> u64 {
        let now = watch::now();
        *self.moment.get_or_init(|| now)
    }

    /// When the first of them began; 0 where none has.
    pub fn began(&self) -> u64 {
        self.moment.get().copied().unwrap_or(0)
    }
}
