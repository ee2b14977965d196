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
            let (rounds, others): (Vec<_>, _) = rest.into_iter().partition(is_of);
            rest = others;
            let label = rounds[0].label.clone();
            let median = median(rounds, &label, true, times, notes);
            notes.sample(median);
        }
    }
}

fn times(sample: &mut Sample) -> [&mut Nanos; 3] {
    let cpu = &mut sample.cpu;
    [&mut sample.return_ns, &mut cpu.user_ns, &mut cpu.system_ns]
}

/// Whether another round follows these, of which the first took the fastest contender this time: 0 if it
/// had nothing to do.
pub(super) fn another_follows(rounds: u32, first: Nanos) -> bool {
    rounds < ROUNDS && first > Nanos(0) && first < SHORT
}

/// Of what was measured several times, the one with the median time to return, the first of its times. In
/// turn it gets the mean times of all: all contenders are slow while the machine is, so means can be
/// compared, and medians could be of different passes. Notes the time of the others.
pub(super) fn median<T>(
    mut all: Vec<T>,
    label: &str,
    in_turn: bool,
    times: impl Fn(&mut T) -> [&mut Nanos; 3],
    notes: &mut Notes<'_>,
) -> T {
    let each: Vec<[u64; 3]> = all
        .iter_mut()
        .map(|one| times(one).map(|time| time.0))
        .collect();
    let sum = |time: usize| each.iter().map(|times| times[time]).sum::<u64>();
    let mut order: Vec<usize> = (0..all.len()).collect();
    order.sort_by_key(|at| each[*at][0]);
    let mut median = all.swap_remove(order[(order.len() - 1) / 2]);
    if in_turn {
        for (number, time) in times(&mut median).into_iter().enumerate() {
            *time = Nanos(sum(number) / each.len() as u64);
        }
    }
    if each.len() > 1 {
        let others = sum(0) - times(&mut median)[0].0;
        notes.effective(Effective::PASSES, format!("{others} {label}"));
    }
    median
}
