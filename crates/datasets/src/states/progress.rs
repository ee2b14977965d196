//! The progress of setting up a state: the bytes written, and all bytes to be written.

use fsdyno_model::Bytes;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// Bytes written so far.
    pub done: Bytes,
    /// All bytes to be written, as far as known; never below `done`.
    pub of: Bytes,
}

/// The progress is reported once for each of this number of parts.
const PARTS: u64 = 500;
/// The minimum number of bytes between two reports.
const MIN_STEP: u64 = 1 << 20;

/// Counts written bytes, and reports the progress.
pub(super) struct ProgressReporter<'a> {
    report: &'a mut dyn FnMut(Progress),
    done: u64,
    of: u64,
    next: u64,
}

impl<'a> ProgressReporter<'a> {
    pub fn new(report: &'a mut dyn FnMut(Progress)) -> Self {
        Self {
            report,
            done: 0,
            of: 0,
            next: 0,
        }
    }

    /// This many bytes will be written from now on.
    pub fn expect(&mut self, bytes: u64) {
        self.of = self.done.saturating_add(bytes);
        self.report_progress();
    }

    /// This many bytes were written.
    pub fn wrote(&mut self, bytes: u64) {
        self.done += bytes;
        if self.done >= self.next {
            self.report_progress();
        }
    }

    fn report_progress(&mut self) {
        self.next = self.done + (self.of / PARTS).max(MIN_STEP);
        (self.report)(Progress {
            done: Bytes(self.done),
            of: Bytes(self.of.max(self.done)),
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn progress_is_reported_now_and_then_and_never_beyond_its_end() {
        let mut received = Vec::new();
        let mut on_event = |progress: Progress| received.push((progress.done.0, progress.of.0));
        let mut reporter = ProgressReporter::new(&mut on_event);
        reporter.expect(5 << 20);
        for _ in 0..12 {
            reporter.wrote(512 << 10);
        }
        let mib = |done: u64, of: u64| (done << 20, of << 20);
        let all = [(0, 5), (1, 5), (2, 5), (3, 5), (4, 5), (5, 5), (6, 6)];
        assert_eq!(received, all.map(|(done, of)| mib(done, of)));
    }
}
