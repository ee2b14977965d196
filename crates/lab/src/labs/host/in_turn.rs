//! A phase of a cell that works in slices, in turn with the other cells of its block.

use super::executor::HostExecutor;
use super::together::turns::Turn;
use crate::job::Job;
use crate::procedure::Place;
use fsdyno_load::measure;
use fsdyno_load::slices;
use fsdyno_model::{CacheState, Nanos, Observed};
use fsdyno_observe::counters::{MachineCpu, machine_cpu};
use std::cell::Cell;
use std::rc::Rc;
use std::time::{Duration, Instant};

/// The least slice. A processor fills its caches again in about 1 ms; the noise of
/// shared machines changes within tens of milliseconds.
const LEAST: Nanos = Nanos(10_000_000);

/// The turns of a phase.
pub(super) struct PhaseTurns {
    turn: Turn,
    place: Place,
}

/// What passed while others had the turn.
#[derive(Debug, Clone, Copy)]
pub(super) struct Waited {
    pub time: Duration,
    pub machine: MachineCpu,
}

impl PhaseTurns {
    /// None if the cell runs alone, or the phase does not work in slices.
    pub fn of(executor: &HostExecutor<'_, '_>, job: &Job<'_>, number: u32) -> Option<Self> {
        let phase = &job.workload.phases[number as usize];
        let turn = executor.turn?;
        let quick = || match phase.cache {
            CacheState::Cold => !turn.seeks(|| seeks(executor, job)),
            CacheState::Warm | CacheState::AsIs => true,
        };
        let in_slices = measure::works_in_slices(phase, &job.plan.engine) && quick();
        in_slices.then(|| Self {
            turn: turn.clone(),
            place: executor.place,
        })
    }

    /// Waits until all cells are ready for the next pass. Returns the number of units of its first
    /// slice.
    pub fn begin_pass(&self, executor: &mut HostExecutor<'_, '_>, passes: usize) -> u64 {
        self.turn.devices(&executor.watched);
        let began = Instant::now();
        let units = self.turn.begin_pass(self.place, pass(passes) + 1);
        executor.notes.exclude(began.elapsed());
        units
    }

    /// Notes the time of a pass.
    pub fn end_pass(&self, passes: usize, took: Nanos) {
        self.turn.end_pass(self.place, pass(passes), took);
    }

    /// The sum of the shortest times of the passes of all cells.
    pub fn shortest(&self, passes: usize) -> Nanos {
        self.turn.shortest(self.place, pass(passes))
    }

    /// Does the work in slices. Returns also what passed meanwhile.
    pub fn in_slices<T>(&self, first: u64, work: impl FnOnce() -> T) -> (T, Waited) {
        let none = Nanos(0);
        let waited = Rc::new(Cell::new(Waited {
            time: Duration::ZERO,
            machine: MachineCpu {
                busy_ns: none,
                steal_ns: none,
                switches: 0,
            },
        }));
        let (sum, turn) = (Rc::clone(&waited), self.turn.clone());
        let wait = move |ended| {
            let (began, before) = (Instant::now(), machine_cpu());
            let units = turn.next_slice(ended, LEAST);
            let mut passed = sum.get();
            if let (Ok(before), Ok(after)) = (before, machine_cpu()) {
                let between = after.since(&before);
                passed.machine.busy_ns.0 += between.busy_ns.0;
                passed.machine.steal_ns.0 += between.steal_ns.0;
                passed.machine.switches += between.switches;
            }
            passed.time += began.elapsed();
            sum.set(passed);
            units
        };
        let result = slices::in_slices(first, wait, work);
        (result, waited.get())
    }
}

fn pass(passes: usize) -> u32 {
    u32::try_from(passes).unwrap_or(u32::MAX)
}

fn seeks(executor: &HostExecutor<'_, '_>, job: &Job<'_>) -> bool {
    // A probe that panicked has ended its cell.
    let probes = executor.probes.and_then(|probes| probes.lock().ok());
    probes.is_none_or(|mut probes| probes.seeks(job, executor.machine.released()))
}

/// Removes what cannot be told apart from the work of other contenders.
pub(super) fn restrict(observed: &mut Observed) {
    observed.kernel_threads_ns = None;
    if let Some(io) = &mut observed.other_io {
        io.below_bytes = None;
    }
    observed
        .unobserved
        .push("kernel threads: contenders were measured in turn".to_owned());
}
