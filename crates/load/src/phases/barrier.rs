//! Workers in parallel, each in a thread of its own.

use crate::clock;
use rustix::thread::futex;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// Does one piece of work with each of these, all in parallel, and waits for the last; what each
/// came to, in their order. A panic of one is passed on.
pub(super) fn run_threads<W: Send, T: Send>(
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

/// The moment at which workers begin that wait for one another: nothing but atomics, so that processes
/// can share it as well as threads.
#[derive(Debug)]
pub(super) struct Start {
    /// How many are not here yet.
    missing: AtomicU32,
    /// When the first began; 0 where none has.
    moment: AtomicU64,
}

impl Start {
    /// For so many workers.
    pub fn new(workers: usize) -> Self {
        Self {
            missing: AtomicU32::new(u32::try_from(workers).unwrap_or(u32::MAX)),
            moment: AtomicU64::new(0),
        }
    }

    /// Waits until all workers are here.
    pub fn wait(&self) {
        if self.missing.fetch_sub(1, Ordering::AcqRel) == 1 {
            // There may be nobody to be woken.
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
            // Woken for another reason, or too late to sleep, it looks again.
            let _ = futex::wait(&self.missing, futex::Flags::empty(), missing, None);
        }
    }

    /// A worker begins now: when the first of them did.
    pub fn begin(&self) -> u64 {
        let now = clock::now();
        let first = self
            .moment
            .compare_exchange(0, now, Ordering::AcqRel, Ordering::Acquire);
        first.err().unwrap_or(now)
    }

    /// When the first of them began; 0 where none has.
    pub fn began(&self) -> u64 {
        self.moment.load(Ordering::Acquire)
    }
}
