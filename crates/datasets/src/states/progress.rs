//! How far a state has come about, reported while it does: bytes written of those that will be.

use fsdyno_model::Bytes;

/// How far it has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// Bytes written so far.
    pub done: Bytes,
    /// Bytes that will have been written in the end, as far as can be reported; never below `done`.
    pub of: Bytes,
}

/// How often it is reported: once for each such part.
const PARTS: u64 = 500;
/// And no oftener than after so many bytes.
const LEAST: u64 = 1 << 20;

/// Counts what is written, and reports progress now and then.
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

    /// So much will be written from here on.
    pub fn expect(&mut self, bytes: u64) {
        self.of = self.done.saturating_add(bytes);
        self.report_progress();
    }

    /// So much was written.
    pub fn wrote(&mut self, bytes: u64) {
        self.done += bytes;
        if self.done >= self.next {
            self.report_progress();
        }
    }

    fn report_progress(&mut self) {
        self.next = self.done + (self.of / PARTS).max(LEAST);
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
        let mut heard = Vec::new();
        let mut hear = |progress: Progress| heard.push((progress.done.0, progress.of.0));
        let mut teller = ProgressReporter::new(&mut hear);
        teller.expect(5 << 20);
        for _ in 0..12 {
            teller.wrote(512 << 10);
        }
        let mib = |done: u64, of: u64| (done << 20, of << 20);
        let all = [(0, 5), (1, 5), (2, 5), (3, 5), (4, 5), (5, 5), (6, 6)];
        assert_eq!(heard, all.map(|(done, of)| mib(done, of)));
    }
}
