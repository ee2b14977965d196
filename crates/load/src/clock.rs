//! Measures wall time by `CLOCK_MONOTONIC` and processor time by `getrusage(2)`. While a thread
//! pauses, because others have the turn, its clocks stand still.

use fsdyno_model::units::Nanos;
use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering};

/// A moment after which workers begin no further operation, so that a phase ends early. It may be
/// set when the phase begins.
#[derive(Debug)]
pub struct Deadline(AtomicU64);

impl Default for Deadline {
    fn default() -> Self {
        Self(AtomicU64::new(u64::MAX))
    }
}

impl Deadline {
    /// Sets the moment, nanoseconds of `CLOCK_MONOTONIC`.
    pub fn set(&self, moment: u64) {
        self.0.store(moment, Ordering::Relaxed);
    }

    /// Whether it is over. The clock is read only if the moment is set.
    #[inline]
    pub(crate) fn passed(&self) -> bool {
        let moment = self.0.load(Ordering::Relaxed);
        moment != u64::MAX && now() >= moment
    }
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Stopwatch {
    wall: u64,
    user: u64,
    system: u64,
}

/// Time used since a stopwatch was started.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Used {
    pub wall: Nanos,
    pub user: Nanos,
    pub system: Nanos,
}

impl Stopwatch {
    /// Starts the stopwatch: reads processor time first, so that the clock starts last.
    pub fn start() -> Self {
        let (user, system) = processor();
        Self {
            user,
            system,
            wall: now(),
        }
    }

    /// Reads all three times: the clock first, so that it stops first.
    pub fn read(&self) -> Used {
        let wall = self.wall();
        let (user, system) = processor();
        Used {
            wall,
            user: Nanos(user.saturating_sub(self.user)),
            system: Nanos(system.saturating_sub(self.system)),
        }
    }

    /// Spins for this many thousandths of the time since `from`, a time since the start.
    pub fn lengthen(&self, from: Nanos, permille: u32) {
        if permille == 0 {
            return;
        }
        let so_far = self.wall().0;
        let more = so_far.saturating_sub(from.0) / 1000 * u64::from(permille);
        while self.wall().0 < so_far + more {
            std::hint::spin_loop();
        }
    }

    /// Wall time since the start.
    pub fn wall(&self) -> Nanos {
        Nanos(now() - self.wall)
    }
}

thread_local! {
    /// The times of all pauses of this thread, nanoseconds: wall time, user and system time.
    static PAUSED_WALL: Cell<u64> = const { Cell::new(0) };
    static PAUSED_PROCESSOR: Cell<(u64, u64)> = const { Cell::new((0, 0)) };
}

/// A pause of this thread. Until it ends, the clocks of this thread stand still.
pub(crate) struct Pause {
    wall: u64,
    user: u64,
    system: u64,
}

impl Pause {
    /// Begins a pause: reads the clock first, so that it stops first.
    pub fn begin() -> Self {
        let wall = monotonic();
        let (user, system) = all_processor();
        Self { wall, user, system }
    }

    /// The time of the clock of this thread during the pause.
    pub fn now(&self) -> u64 {
        self.wall - PAUSED_WALL.get()
    }

    /// Ends the pause: reads the clock last, so that it starts last.
    pub fn end(self) {
        let (user, system) = all_processor();
        let (before_user, before_system) = PAUSED_PROCESSOR.get();
        PAUSED_PROCESSOR.set((
            before_user + (user.saturating_sub(self.user)),
            before_system + (system.saturating_sub(self.system)),
        ));
        PAUSED_WALL.set(PAUSED_WALL.get() + (monotonic() - self.wall));
    }
}

/// Forgets the pauses of this thread: its clocks are those of all threads again.
pub(crate) fn forget_pauses() {
    PAUSED_WALL.set(0);
    PAUSED_PROCESSOR.set((0, 0));
}

/// The clock of this thread: the monotonic clock without the pauses of the thread, nanoseconds.
#[inline]
pub(crate) fn now() -> u64 {
    monotonic() - PAUSED_WALL.get()
}

/// The monotonic clock, in nanoseconds.
///
/// The C library reads it, with and without the vDSO. Tools that count instructions remove the
/// vDSO.
#[inline]
fn monotonic() -> u64 {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: the pointer is to a live local variable; this clock always exists.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut time) };
    time.tv_sec.cast_unsigned() * 1_000_000_000 + time.tv_nsec.cast_unsigned()
}

/// User and system time of this process so far, including all its threads, without the pauses of
/// this thread.
fn processor() -> (u64, u64) {
    let ((user, system), (paused_user, paused_system)) = (all_processor(), PAUSED_PROCESSOR.get());
    (
        user.saturating_sub(paused_user),
        system.saturating_sub(paused_system),
    )
}

/// User and system time of this process so far, including all its threads.
fn all_processor() -> (u64, u64) {
    let usage = usage();
    (timeval(usage.ru_utime).0, timeval(usage.ru_stime).0)
}

/// The resources that this process has used so far, including all its threads.
pub(crate) fn usage() -> libc::rusage {
    // SAFETY: `rusage` contains only numbers, and all zeros are a valid value.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: the pointer is to a live local variable; RUSAGE_SELF is always valid.
    unsafe { libc::getrusage(libc::RUSAGE_SELF, &raw mut usage) };
    usage
}

pub(crate) fn timeval(time: libc::timeval) -> Nanos {
    let part = |number: i64| u64::try_from(number).unwrap_or(0);
    Nanos(part(time.tv_sec) * 1_000_000_000 + part(time.tv_usec) * 1000)
}
