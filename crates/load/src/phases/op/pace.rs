//! The start times of operations: closed-loop, after the end of the previous operation, or
//! open-loop, on a fixed schedule. A latency counts from the scheduled start, so that one slow
//! operation adds to the latencies of all that wait for it (Tene, "How NOT to Measure Latency",
//! 2015).

use crate::clock;
use crate::phases::latency::Latencies;
use crate::phases::timeline::TimelineRecorder;
use fsdyno_files::uninterrupted;
use rustix::thread::{ClockId, Timespec, clock_nanosleep_absolute};

/// The margin for late wake-ups, ns: the rest of a wait polls the clock.
const LATE: u64 = 60_000;

/// The schedule of operations.
#[derive(Debug)]
pub(super) struct Pace {
    /// The interval between scheduled operations, nanoseconds; 0 if closed-loop.
    interval: u64,
    due: u64,
}

impl Pace {
    /// The share of one worker in a rate of operations per second.
    pub fn new(rate: Option<u64>, workers: usize) -> Self {
        let interval = rate.map_or(0, |rate| 1_000_000_000 * workers as u64 / rate);
        Self { interval, due: 0 }
    }

    /// Begins the schedule: the first operation is due now.
    pub fn begin(&mut self, timeline: &mut TimelineRecorder) {
        timeline.resume();
        self.due = timeline.latencies.began();
    }

    /// Excludes the time since the last operation from the next one.
    #[inline]
    pub fn resume(&mut self, timeline: &mut TimelineRecorder) {
        if self.interval == 0 {
            timeline.resume();
        }
    }

    /// Records that an operation ended with this number of bytes; returns at the start of the next.
    #[inline]
    pub fn next(&mut self, timeline: &mut TimelineRecorder, bytes: usize) {
        timeline.next(bytes as u64);
        if self.interval > 0 {
            self.wait(&mut timeline.latencies);
        }
    }

    fn wait(&mut self, latencies: &mut Latencies) {
        self.due += self.interval;
        let now = latencies.began();
        if self.due > now + LATE {
            let until = self.due - LATE;
            #[expect(
                clippy::cast_possible_wrap,
                reason = "the clock began with the machine"
            )]
            let until = Timespec {
                tv_sec: (until / 1_000_000_000) as i64,
                tv_nsec: (until % 1_000_000_000) as i64,
            };
            let _ = uninterrupted(|| clock_nanosleep_absolute(ClockId::Monotonic, &until));
        }
        while clock::now() < self.due {
            std::hint::spin_loop();
        }
        latencies.began_at(self.due);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_late_operation_counts_from_its_due_time() {
        let mut timeline = TimelineRecorder::new();
        timeline.begin();
        // Scheduled every 1 us; the first takes 5 ms, and all others wait for it.
        let mut pace = Pace::new(Some(1_000_000), 1);
        pace.begin(&mut timeline);
        std::thread::sleep(std::time::Duration::from_millis(5));
        for _ in 0..100 {
            pace.next(&mut timeline, 0);
        }
        let median = &timeline.latencies.figures()[0];
        assert!(median.value > 4_000_000.0, "{median:?}");
    }
}
