//! Phases that read are repeated together, in rounds: a cold start reads the files into other pages of
//! memory, whose place decides what a processor's caches hold. So a round varies as much as a whole
//! block, and costs less.

use crate::notes::Notes;
use fsdyno_model::{Effective, Nanos, Sample};

/// The number of rounds of phases that are short.
const ROUNDS: u32 = 3;

/// A round is short if the fastest contender works less than this.
const SHORT: Nanos = Nanos(150_000_000);

/// The samples of phases that are repeated together, in the order of their measurement.
#[derive(Debug, Default)]
pub(super) struct Rounds(Vec<Sample>);

impl Rounds {
    pub fn keep(&mut self, sample: Sample) {
        self.0.push(sample);
    }

    /// The working time so far.
    pub fn took(&self) -> Nanos {
        Nanos(self.0.iter().map(|sample| sample.return_ns.0).sum())
    }

    /// Records the samples: of each phase the one with the median time, with the mean times of all
    /// rounds.
    pub fn end(self, notes: &mut Notes<'_>) {
        let mut rest = self.0;
        while let Some(phase) = rest.first().map(|sample| sample.phase) {
            let is_of = |sample: &Sample| sample.phase == phase;
            let (mut rounds, others): (Vec<_>, _) = rest.into_iter().partition(is_of);
            rest = others;
            rounds.sort_by_key(|sample| sample.return_ns);
            let of_all = |of: fn(&Sample) -> Nanos| mean(rounds.iter().map(of));
            let times = [
                of_all(|sample| sample.return_ns),
                of_all(|sample| sample.cpu.user_ns),
                of_all(|sample| sample.cpu.system_ns),
            ];
            let total: u64 = rounds.iter().map(|sample| sample.return_ns.0).sum();
            let count = rounds.len();
            let mut median = rounds.swap_remove((count - 1) / 2);
            let cpu = &mut median.cpu;
            [median.return_ns, cpu.user_ns, cpu.system_ns] = times;
            if count > 1 {
                let line = format!("{} {}", total - median.return_ns.0, median.label);
                notes.effective(Effective::PASSES, line);
            }
            notes.sample(median);
        }
    }
}

/// Whether another round follows these, of which the first took the fastest contender this time: 0 if it
/// had nothing to do.
pub(super) fn another_follows(rounds: u32, first: Nanos) -> bool {
    rounds < ROUNDS && first > Nanos(0) && first < SHORT
}

/// The mean of times. In turn, all contenders are slow while the machine is: their means can be compared,
/// and medians could be of different passes.
pub(super) fn mean(times: impl ExactSizeIterator<Item = Nanos>) -> Nanos {
    let count = times.len().max(1) as u64;
    Nanos(times.map(|time| time.0).sum::<u64>() / count)
}
