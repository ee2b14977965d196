//! The clock: wall time by `CLOCK_MONOTONIC`, processor time by `getrusage(2)`.

use fsdyno_model::units::Nanos;

/// A running stopwatch.
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
    /// Starts: processor time first, so that the clock starts last.
    pub fn start() -> Self {
        let (user, system) = processor();
        Self {
            user,
            system,
            wall: now(),
        }
    }

    /// Reads all three: the clock first, so that it stops first.
    pub fn read(&self) -> Used {
        let wall = self.wall();
        let (user, system) = processor();
        Used {
            wall,
            user: Nanos(user.saturating_sub(self.user)),
            system: Nanos(system.saturating_sub(self.system)),
        }
    }

    /// Spins for so many thousandths of the time since `from`, a time since the start.
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

/// The monotonic clock, in nanoseconds.
///
/// The C library reads it: that works with and without the vDSO, which tools that count instructions
/// remove.
#[inline]
pub(crate) fn now() -> u64 {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: the place to be written to is ours and live; this clock cannot be refused.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut time) };
    time.tv_sec.cast_unsigned() * 1_000_000_000 + time.tv_nsec.cast_unsigned()
}

/// User and system time of this process so far, all its threads included.
fn processor() -> (u64, u64) {
    // SAFETY: `rusage` is plain numbers: all zeros are a value of it.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: the place to be written to is ours and live; RUSAGE_SELF cannot be refused.
    unsafe { libc::getrusage(libc::RUSAGE_SELF, &raw mut usage) };
    let part = |number: i64| u64::try_from(number).unwrap_or(0);
    let nanos = |time: libc::timeval| part(time.tv_sec) * 1_000_000_000 + part(time.tv_usec) * 1000;
    (nanos(usage.ru_utime), nanos(usage.ru_stime))
}
