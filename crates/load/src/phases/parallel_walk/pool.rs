//! The queue of directories that workers of a walk pass to each other, and the waits for them. The
//! walk itself is in the parent module.

use std::collections::VecDeque;
use std::ffi::CStr;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// The maximum number of queued directories just below the root. Each deeper level has a quarter of
/// it, because deeper directories are smaller and cost the same to take over.
const MAX_QUEUED: usize = 64;

/// A directory for another worker.
#[derive(Debug)]
pub(super) struct QueuedDirectory {
    /// The path of its parent, from the root of the walk.
    pub above: Vec<Box<CStr>>,
    pub name: Box<CStr>,
    left: DelegatedCount,
}

/// The number of directories that were passed from one directory and are not complete yet.
#[derive(Debug, Clone, Default)]
pub(super) struct DelegatedCount(Arc<AtomicUsize>);

/// The shared queue of all workers.
#[derive(Debug)]
pub(super) struct Pool {
    workers: usize,
    /// The number of queued directories: read without the lock at each found directory.
    waiting: AtomicUsize,
    ended: AtomicBool,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    queue: VecDeque<QueuedDirectory>,
    idle: usize,
}

/// Ends a walk on drop: at its end, or if a worker panics.
#[derive(Debug)]
pub(super) struct EndOnDrop<'a> {
    pool: &'a Pool,
    always: bool,
}

impl QueuedDirectory {
    pub fn new(above: Vec<Box<CStr>>, name: Box<CStr>, left: &DelegatedCount) -> Self {
        left.0.fetch_add(1, Ordering::Relaxed);
        Self {
            above,
            name,
            left: left.clone(),
        }
    }
}

impl DelegatedCount {
    /// Whether any directory is not complete. The caller sees all work done before a directory was
    /// completed.
    pub fn some(&self) -> bool {
        self.0.load(Ordering::Acquire) > 0
    }
}

impl Pool {
    pub fn new(workers: usize) -> Self {
        Self {
            workers,
            waiting: AtomicUsize::new(0),
            ended: AtomicBool::new(false),
            state: Mutex::default(),
            changed: Condvar::new(),
        }
    }

    /// Ends the walk on drop, also if the worker panics.
    pub fn ender(&self, always: bool) -> EndOnDrop<'_> {
        EndOnDrop { pool: self, always }
    }

    /// Whether a directory found at that depth should be offered instead of walked.
    #[inline]
    pub fn needs_work(&self, depth: usize) -> bool {
        let most = MAX_QUEUED >> (2 * depth).min(16);
        self.waiting.load(Ordering::Relaxed) < most.max(self.workers)
    }

    #[inline]
    pub fn ended(&self) -> bool {
        self.ended.load(Ordering::Relaxed)
    }

    pub fn give(&self, queued: QueuedDirectory) {
        let mut state = self.lock();
        state.queue.push_back(queued);
        self.waiting.store(state.queue.len(), Ordering::Relaxed);
        if state.idle > 0 {
            self.changed.notify_one();
        }
    }

    /// Waits for the directory nearest to the root; none once the walk has ended, or the awaited
    /// directories are complete.
    pub fn take(&self, awaited: Option<&DelegatedCount>) -> Option<QueuedDirectory> {
        let mut state = self.lock();
        loop {
            if self.ended() || awaited.is_some_and(|left| !left.some()) {
                return None;
            }
            let depths = state.queue.iter().map(|queued| queued.above.len());
            let nearest = depths.enumerate().min_by_key(|(_, depth)| *depth);
            if let Some((at, _)) = nearest {
                let queued = state.queue.remove(at);
                self.waiting.store(state.queue.len(), Ordering::Relaxed);
                return queued;
            }
            state.idle += 1;
            state = self
                .changed
                .wait(state)
                .unwrap_or_else(PoisonError::into_inner);
            state.idle -= 1;
        }
    }

    /// Records that a queued directory is complete.
    pub fn left(&self, queued: &QueuedDirectory) {
        let state = self.lock();
        let before = queued.left.0.fetch_sub(1, Ordering::Release);
        if before == 1 && state.idle > 0 {
            self.changed.notify_all();
        }
    }

    pub fn end(&self) {
        let _state = self.lock();
        self.ended.store(true, Ordering::Relaxed);
        self.changed.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for EndOnDrop<'_> {
    fn drop(&mut self) {
        if self.always || std::thread::panicking() {
            self.pool.end();
        }
    }
}
