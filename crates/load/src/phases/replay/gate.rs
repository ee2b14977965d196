//! Lets an operation wait until other workers have completed theirs. A wait sleeps and never polls:
//! in virtual time, a thread that polls would be waited for.

use super::order::Wait;
use fsdyno_files::uninterrupted;
use rustix::thread::futex;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

/// The number of completed operations of each worker.
#[derive(Debug)]
pub(super) struct Gate {
    workers: Box<[Progress]>,
    /// Whether the replay ends early: nobody waits any more.
    ended: AtomicBool,
}

/// The progress of one worker, in a cache line of its own.
#[derive(Debug, Default)]
#[repr(align(64))]
struct Progress {
    completed: AtomicU32,
    waiting: AtomicU32,
}

/// The count of a replay that has ended early: larger than that of any worker.
const ENDED: u32 = u32::MAX;

impl Gate {
    /// No worker has completed anything.
    pub fn new(workers: usize) -> Self {
        Self {
            workers: (0..workers).map(|_| Progress::default()).collect(),
            ended: AtomicBool::new(false),
        }
    }

    /// Sleeps until the worker has completed this number of operations. Returns false if the replay
    /// ends early.
    pub fn wait(&self, wait: Wait) -> bool {
        let Some(progress) = self.workers.get(wait.worker as usize) else {
            return true;
        };
        let mut completed = progress.completed.load(Ordering::Acquire);
        if completed < wait.completed {
            progress.waiting.fetch_add(1, Ordering::SeqCst);
            loop {
                completed = progress.completed.load(Ordering::SeqCst);
                if completed >= wait.completed {
                    break;
                }
                // After a spurious wake-up, or if the count changed before the sleep, it checks
                // again.
                let flags = futex::Flags::PRIVATE;
                let completion = &progress.completed;
                let _ = uninterrupted(|| futex::wait(completion, flags, completed, None));
            }
            progress.waiting.fetch_sub(1, Ordering::SeqCst);
        }
        !self.ended.load(Ordering::Relaxed)
    }

    /// Records that the worker has completed this number of operations.
    #[inline]
    pub fn complete(&self, worker: u32, completed: u32) {
        let progress = &self.workers[worker as usize];
        // A replay that ended early keeps its count.
        progress.completed.fetch_max(completed, Ordering::SeqCst);
        if progress.waiting.load(Ordering::SeqCst) > 0 {
            wake(&progress.completed);
        }
    }

    /// Ends the replay early: all workers that wait, or will wait, continue.
    pub fn end(&self) {
        self.ended.store(true, Ordering::SeqCst);
        for progress in &self.workers {
            progress.completed.store(ENDED, Ordering::SeqCst);
            wake(&progress.completed);
        }
    }

    /// Whether the replay ends early.
    pub fn has_ended(&self) -> bool {
        self.ended.load(Ordering::Relaxed)
    }
}

fn wake(count: &AtomicU32) {
    // No worker may be waiting.
    let _ = futex::wake(count, futex::Flags::PRIVATE, i32::MAX.cast_unsigned());
}
