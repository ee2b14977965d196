//! The order of cells that run together: one thread for each, of which one has the turn.
//!
//! The turn goes to the cell that is least far, in random order where several are. So a block goes
//! phase by phase through its contenders, and slice by slice through phases that work in slices, without
//! a plan of who waits for whom.

use super::length::SliceLength;
use crate::procedure::Place;
use fsdyno_load::slices::Slice;
use fsdyno_model::Nanos;
use fsdyno_model::random::Random;
use std::collections::BTreeMap;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// How far a cell is: its place; the pass of a phase that works in slices, from 1; and its slice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
struct Progress {
    place: Place,
    pass: u32,
    slice: u32,
}

/// The state of one cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Member {
    Works(Progress),
    Waits(Progress),
    Ended,
}

#[derive(Debug)]
struct State {
    members: Vec<Member>,
    random: Random,
    /// The slices of the phase in progress, with the place for which their length is known.
    length: SliceLength,
    known: Progress,
    /// The shortest time of a cell for each pass that ended, or for each round: there the phase is 0.
    shortest: BTreeMap<(Place, u32), Nanos>,
    /// The devices of all cells.
    devices: Vec<String>,
    /// Whether they seek, once a cell asked.
    seeks: Option<bool>,
}

/// The cells that take turns.
#[derive(Debug)]
pub(crate) struct Turns {
    state: Mutex<State>,
    /// For each cell, that it has the turn.
    given: Vec<Condvar>,
}

impl Turns {
    /// This number of cells, at their beginning. The seed orders those that are equally far.
    pub fn new(count: usize, seed: u64) -> Arc<Self> {
        Arc::new(Self {
            state: Mutex::new(State {
                members: vec![Member::Waits(Progress::default()); count],
                random: Random::new(seed),
                length: SliceLength::default(),
                known: Progress::default(),
                shortest: BTreeMap::new(),
                devices: Vec::new(),
                seeks: None,
            }),
            given: (0..count).map(|_| Condvar::new()).collect(),
        })
    }

    /// Gives the first turn, when all threads exist.
    pub fn begin(&self) {
        self.give(&mut self.state());
    }

    /// Waits for the first turn of a cell.
    pub fn join(self: &Arc<Self>, number: usize) -> Membership {
        drop(self.wait(self.state(), number));
        Membership(Turn {
            turns: Arc::clone(self),
            number,
        })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Nothing panics while the state is changed.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Gives the turn to a cell that waits and is least far.
    fn give(&self, state: &mut State) {
        let waiting = |member: &Member| match member {
            Member::Waits(progress) => Some(*progress),
            Member::Works(_) | Member::Ended => None,
        };
        let Some(least) = state.members.iter().filter_map(waiting).min() else {
            return;
        };
        let those = (0..state.members.len()).filter(|n| state.members[*n] == Member::Waits(least));
        let those: Vec<usize> = those.collect();
        let next = those[state.random.index(those.len())];
        state.members[next] = Member::Works(least);
        self.given[next].notify_one();
    }

    fn wait<'a>(&self, mut state: MutexGuard<'a, State>, number: usize) -> MutexGuard<'a, State> {
        while !matches!(state.members[number], Member::Works(_)) {
            let waited = self.given[number].wait(state);
            state = waited.unwrap_or_else(PoisonError::into_inner);
        }
        state
    }
}

/// A cell among those that run together. Its end gives the turn to another, also after a panic.
#[derive(Debug)]
pub(crate) struct Membership(Turn);

impl Membership {
    pub fn turn(&self) -> &Turn {
        &self.0
    }
}

impl Drop for Membership {
    fn drop(&mut self) {
        let mut state = self.0.turns.state();
        state.members[self.0.number] = Member::Ended;
        self.0.turns.give(&mut state);
    }
}

/// The turn of a cell.
#[derive(Debug, Clone)]
pub(crate) struct Turn {
    turns: Arc<Turns>,
    number: usize,
}

impl Turn {
    /// Waits until no other cell is less far than this place.
    pub fn wait(&self, place: Place) {
        let (pass, slice) = (0, 0);
        drop(self.wait_for(Progress { place, pass, slice }));
    }

    /// Waits until all cells are ready for this pass of the phase at this place. Returns the number of
    /// units of its first slice.
    pub fn begin_pass(&self, place: Place, pass: u32) -> u64 {
        let slice = 0;
        let mut shared = self.wait_for(Progress { place, pass, slice });
        if shared.known.place.phase != place.phase {
            shared.length = SliceLength::default();
        }
        units(&mut shared, Progress { place, pass, slice })
    }

    /// Ends a slice, and waits for the next one of the same pass. Returns its number of units, which
    /// take the fastest cell at least this time.
    pub fn next_slice(&self, ended: Slice, least: Nanos) -> u64 {
        let mut state = self.turns.state();
        let Member::Works(at) = state.members[self.number] else {
            return u64::MAX;
        };
        state.length.note(ended, least);
        drop(state);
        let next = Progress {
            slice: at.slice + 1,
            ..at
        };
        units(&mut self.wait_for(next), next)
    }

    /// Notes the time of a pass of this cell.
    pub fn end_pass(&self, place: Place, pass: u32, took: Nanos) {
        let mut shared = self.turns.state();
        let shortest = shared.shortest.entry((place, pass)).or_insert(took);
        *shortest = (*shortest).min(took);
    }

    /// The sum of the shortest times of these passes. It is final when the next pass begins: all cells
    /// decide alike by it.
    pub fn shortest(&self, place: Place, passes: u32) -> Nanos {
        let shared = self.turns.state();
        let passes = shared.shortest.range((place, 0)..=(place, passes));
        Nanos(passes.map(|(_, time)| time.0).sum())
    }

    /// Adds devices of this cell; returns those of all cells.
    pub fn devices(&self, own: &[String]) -> Vec<String> {
        let mut state = self.turns.state();
        for device in own {
            if !state.devices.contains(device) {
                state.devices.push(device.clone());
            }
        }
        state.devices.clone()
    }

    /// Whether the devices seek: all cells get the answer of the first that asks.
    pub fn seeks(&self, find: impl FnOnce() -> bool) -> bool {
        *self.turns.state().seeks.get_or_insert_with(find)
    }

    fn wait_for(&self, progress: Progress) -> MutexGuard<'_, State> {
        let mut state = self.turns.state();
        state.members[self.number] = Member::Waits(progress);
        self.turns.give(&mut state);
        self.turns.wait(state, self.number)
    }
}

/// The number of units of a slice: the first cell in it sets it for all.
fn units(state: &mut State, at: Progress) -> u64 {
    if state.known != at {
        state.known = at;
        state.length.choose();
    }
    state.length.units()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::thread;

    fn at(stage: u32) -> Place {
        Place {
            stage,
            round: 0,
            phase: stage,
            prepared: false,
        }
    }

    /// Runs cells through these stages; returns who was where, in order.
    fn run(
        count: usize,
        seed: u64,
        stages: impl Fn(usize) -> Vec<u32> + Sync,
    ) -> Vec<(u32, usize)> {
        let turns = Turns::new(count, seed);
        let order = Mutex::new(Vec::new());
        let busy = AtomicBool::new(false);
        thread::scope(|scope| {
            for number in 0..count {
                let (turns, order, busy, stages) = (&turns, &order, &busy, &stages);
                scope.spawn(move || {
                    let member = turns.join(number);
                    for stage in stages(number) {
                        member.turn().wait(at(stage));
                        assert!(!busy.swap(true, Ordering::SeqCst), "two have the turn");
                        thread::yield_now();
                        order.lock().unwrap().push((stage, number));
                        busy.store(false, Ordering::SeqCst);
                    }
                });
            }
            turns.begin();
        });
        order.into_inner().unwrap()
    }

    #[test]
    fn a_block_goes_stage_by_stage_through_its_cells() {
        let seen = run(3, 1, |_| (1..=50).collect());
        assert_eq!(seen.len(), 150);
        assert!(seen.is_sorted_by_key(|(stage, _)| *stage), "{seen:?}");
        let orders = seen.chunks(3).map(|stage| stage.iter().map(|of| of.1));
        let orders: BTreeSet<Vec<usize>> = orders.map(Iterator::collect).collect();
        assert_eq!(orders.len(), 6, "all orders of three occur: {orders:?}");
        assert_eq!(seen, run(3, 1, |_| (1..=50).collect()), "the same seed");
    }

    #[test]
    fn cells_that_skip_stages_or_end_early_hold_up_nobody() {
        let stages = |number| match number {
            0 => vec![1, 2, 3, 9],
            1 => vec![2, 9],
            _ => vec![1],
        };
        let seen = run(3, 5, stages);
        assert_eq!(seen.len(), 7);
        assert!(seen.is_sorted_by_key(|(stage, _)| *stage), "{seen:?}");
    }

    #[test]
    fn a_cell_that_panics_passes_the_turn_on() {
        let turns = Turns::new(2, 0);
        thread::scope(|scope| {
            let panics = scope.spawn(|| {
                let _turn = turns.join(0);
                panic!("expected by this test");
            });
            let other = scope.spawn(|| turns.join(1).turn().wait(at(4)));
            turns.begin();
            assert!(panics.join().is_err());
            assert!(other.join().is_ok());
        });
    }

    #[test]
    fn a_phase_in_slices_compares_the_same_files_in_each_slice_and_ends_together() {
        let least = Nanos(1000);
        let turns = Turns::new(3, 7);
        // The passes and slices of each cell, in the order of their turns.
        let seen = Mutex::new(Vec::new());
        thread::scope(|scope| {
            for number in 0..3 {
                let (turns, seen) = (&turns, &seen);
                scope.spawn(move || {
                    let member = turns.join(number);
                    let turn = member.turn();
                    turn.wait(at(1));
                    let mut pass = 1;
                    loop {
                        let mut units = turn.begin_pass(at(1), pass);
                        if turn.shortest(at(1), pass - 1) >= Nanos(60) {
                            break;
                        }
                        let mut left = 100;
                        for slice in 0.. {
                            units = units.min(left);
                            left -= units;
                            seen.lock().unwrap().push((pass, slice, units, number));
                            if left == 0 {
                                break;
                            }
                            let took = Nanos(units * (number as u64 + 1) * 20);
                            units = turn.next_slice(Slice { units, took }, least);
                        }
                        // The fastest cell decides: three passes of 20 ns.
                        turn.end_pass(at(1), pass, Nanos(20 * (number as u64 + 1)));
                        pass += 1;
                    }
                });
            }
            turns.begin();
        });
        let seen = seen.into_inner().unwrap();
        let mut orders = BTreeSet::new();
        for slice in seen.chunks(3) {
            let [one, ..] = slice else { panic!("no slice") };
            let same = |other: &(u32, u32, u64, usize)| {
                (other.0, other.1, other.2) == (one.0, one.1, one.2)
            };
            assert!(slice.iter().all(same), "{seen:?}");
            orders.insert(slice.iter().map(|of| of.3).collect::<Vec<_>>());
        }
        assert!(orders.len() > 2, "{orders:?}");
        for number in 0..3 {
            let of = seen.iter().filter(|slice| slice.3 == number);
            let units: u64 = of.clone().map(|slice| slice.2).sum();
            assert_eq!((units, of.map(|slice| slice.0).max()), (300, Some(3)));
        }
    }
}
