//! What is offered among the workers of a walk, and who waits for what. What is done with it is the
//! affair of the walk.

use std::collections::VecDeque;
use std::ffi::CStr;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// So many directories just below the root wait at most; of those deeper a quarter as many each level,
/// for what is deeper is smaller, and to take it over costs as much.
const MOST: usize = 64;

/// A directory to be walked by somebody else.
#[derive(Debug)]
pub(super) struct Errand {
    /// The way to the directory above it, from the root of the walk.
    pub above: Vec<Box<CStr>>,
    pub name: Box<CStr>,
    left: Left,
}

/// What was passed from one directory and is not left yet.
#[derive(Debug, Clone, Default)]
pub(super) struct Left(Arc<AtomicUsize>);

/// What waits, shared by all workers.
#[derive(Debug)]
pub(super) struct Pool {
    workers: usize,
    /// How many errands wait: looked at without the lock at each directory that is met.
    waiting: AtomicUsize,
    ended: AtomicBool,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    errands: VecDeque<Errand>,
    asleep: usize,
}

/// Ends a walk when it goes: at its end, or where a worker panics.
#[derive(Debug)]
pub(super) struct Ender<'a> {
    pool: &'a Pool,
    always: bool,
}

impl Errand {
    pub fn new(above: Vec<Box<CStr>>, name: Box<CStr>, left: &Left) -> Self {
        left.0.fetch_add(1, Ordering::Relaxed);
        Self {
            above,
            name,
            left: left.clone(),
        }
    }
}

impl Left {
    /// Whether anything is. What was done before it was left is seen by who asks.
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

    /// Ends the walk when it is dropped: always, or where the worker panics.
    pub fn ender(&self, always: bool) -> Ender<'_> {
        Ender { pool: self, always }
    }

    /// Whether a directory met in one at that depth is better offered than walked.
    #[inline]
    pub fn wants(&self, depth: usize) -> bool {
        let most = MOST >> (2 * depth).min(16);
        self.waiting.load(Ordering::Relaxed) < most.max(self.workers)
    }

    /// Whether nothing is to be done any more.
    #[inline]
    pub fn ended(&self) -> bool {
        self.ended.load(Ordering::Relaxed)
    }

    /// Offers an errand.
    pub fn give(&self, errand: Errand) {
        let mut state = self.lock();
        state.errands.push_back(errand);
        self.waiting.store(state.errands.len(), Ordering::Relaxed);
        if state.asleep > 0 {
            self.changed.notify_one();
        }
    }

    /// The errand nearest to the root, waited for; none once the walk has ended, or what is awaited
    /// has been left.
    pub fn take(&self, awaited: Option<&Left>) -> Option<Errand> {
        let mut state = self.lock();
        loop {
            if self.ended() || awaited.is_some_and(|left| !left.some()) {
                return None;
            }
            let depths = state.errands.iter().map(|errand| errand.above.len());
            let nearest = depths.enumerate().min_by_key(|(_, depth)| *depth);
            if let Some((at, _)) = nearest {
                let errand = state.errands.remove(at);
                self.waiting.store(state.errands.len(), Ordering::Relaxed);
                return errand;
            }
            state.asleep += 1;
            state = self
                .changed
                .wait(state)
                .unwrap_or_else(PoisonError::into_inner);
            state.asleep -= 1;
        }
    }

    /// An errand was done.
    pub fn left(&self, errand: &Errand) {
        let state = self.lock();
        let before = errand.left.0.fetch_sub(1, Ordering::Release);
        if before == 1 && state.asleep > 0 {
            self.changed.notify_all();
        }
    }

    /// Nothing is to be done any more.
    pub fn end(&self) {
        let _state = self.lock();
        self.ended.store(true, Ordering::Relaxed);
        self.changed.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Ender<'_> {
    fn drop(&mut self) {
        if self.always || std::thread::panicking() {
            self.pool.end();
        }
    }
}
