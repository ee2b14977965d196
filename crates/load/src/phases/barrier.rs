//! Parallel workers, each in its own thread.

use crate::clock;
use crate::stack;
use fsdyno_files::uninterrupted;
use rustix::thread::futex;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// Runs a function on each of these items in parallel, and waits for all. Returns the results in
/// order. A panic is passed on.
pub(super) fn run_threads<W: Send, T: Send>(
    workers: &mut [W],
    work: impl Fn(&mut W) -> T + Sync,
) -> Vec<T> {
    let work = &work;
    std::thread::scope(|scope| {
        let threads: Vec<_> = workers
            .iter_mut()
            .map(|worker| {
                scope.spawn(move || {
                    stack::touch();
                    work(worker)
                })
            })
            .collect();
        let ends = threads.into_iter().map(|thread| {
            thread
                .join()
                .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        });
        ends.collect()
    })
}

/// A start barrier for workers. It has only atomics, so that both processes and threads can share
/// it.
#[derive(Debug)]
pub(super) struct Start {
    /// The number of workers that have not arrived.
    missing: AtomicU32,
    /// The start of the first worker; 0 before that.
    moment: AtomicU64,
}

impl Start {
    /// A barrier for this number of workers.
    pub fn new(workers: usize) -> Self {
        Self {
            missing: AtomicU32::new(u32::try_from(workers).unwrap_or(u32::MAX)),
            moment: AtomicU64::new(0),
        }
    }

    /// Waits until all workers have arrived.
    pub fn wait(&self) {
        if self.missing.fetch_sub(1, Ordering::AcqRel) == 1 {
            // No worker may be waiting.
            let _ = futex::wake(
                &self.missing,
                futex::Flags::empty(),
                i32::MAX.cast_unsigned(),
            );
            return;
        }
        loop {
            let missing = self.missing.load(Ordering::Acquire);
            if missing == 0 {
                return;
            }
            // After a spurious wake-up, or if the value changed before the sleep, it checks again.
            let flags = futex::Flags::empty();
            let _ = uninterrupted(|| futex::wait(&self.missing, flags, missing, None));
        }
    }

    /// Records that a worker begins now; returns when the first worker began.
    pub fn begin(&self) -> u64 {
        let now = clock::now();
        let first = self
            .moment
            .compare_exchange(0, now, Ordering::AcqRel, Ordering::Acquire);
        first.err().unwrap_or(now)
    }

    /// The start of the first worker; 0 before that.
    pub fn began(&self) -> u64 {
        self.moment.load(Ordering::Acquire)
    }
}
