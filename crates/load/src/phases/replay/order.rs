//! The order of a replay: the operations of other workers that an operation waits for.
//!
//! Ordering is by resource, as in ROOT (Weiss et al., "ROOT: Replaying Multithreaded Traces with
//! Resource-Oriented Ordering", SOSP 2013; ARTC, FAST 2013). A resource is a file, a name, a
//! descriptor or a thread. An operation waits for another of the same resource if that had ended in
//! the recording before it began, and one of the two changes the resource. Operations that
//! overlapped in the recording are not ordered. All waits point to operations that began earlier,
//! so that a replay cannot come to a deadlock.

use fsdyno_datasets::recorded::Access;
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, DefaultHasher, Hash};

/// A map whose layout is the same in each run, as virtual time requires.
type Map<K, V> = HashMap<K, V, BuildHasherDefault<DefaultHasher>>;

/// The worker of an operation, and its time in the recording.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Span {
    pub worker: u32,
    pub start: u64,
    pub end: u64,
}

/// A wait of an operation: it begins when this worker has completed this number of operations.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Wait {
    pub worker: u32,
    pub completed: u32,
}

/// Finds the order of operations, which are added by the time of their start.
#[derive(Debug)]
pub(crate) struct Order<R> {
    resources: Map<R, ResourceHistory>,
    /// The number of operations of each worker.
    counts: Vec<u32>,
    /// For each pair of workers, the number of operations of the second that the first has waited
    /// for.
    waited: Map<(u32, u32), u32>,
    /// The operations that the one being added waits for.
    found: Vec<Wait>,
    /// The number of added operations.
    added: u32,
}

/// The operations of a resource that later ones may have to wait for.
#[derive(Debug, Default)]
struct ResourceHistory {
    changes: Vec<Known>,
    uses: Map<u32, Vec<Known>>,
}

/// An operation that was added: its time, its number among all, and among those of its worker, from 1.
#[derive(Debug, Clone, Copy)]
struct Known {
    number: u32,
    worker: u32,
    completed: u32,
    start: u64,
    end: u64,
}

impl<R: Copy + Eq + Hash> Order<R> {
    /// An order without operations.
    pub fn new() -> Self {
        Self {
            resources: Map::default(),
            counts: Vec::new(),
            waited: Map::default(),
            found: Vec::new(),
            added: 0,
        }
    }

    /// Adds an operation with the resources that it accesses, and with its waits in any case.
    /// Returns its waits: at most one operation of each other worker, and none that an earlier
    /// operation of its own worker has waited for.
    pub fn add(&mut self, span: Span, accesses: &[(R, Access)], also: &[Wait]) -> &[Wait] {
        let place = span.worker as usize;
        if self.counts.len() <= place {
            self.counts.resize(place + 1, 0);
        }
        self.counts[place] += 1;
        self.added += 1;
        let known = Known {
            number: self.added,
            worker: span.worker,
            completed: self.counts[place],
            start: span.start,
            end: span.end.max(span.start),
        };
        self.found.clear();
        let others = also.iter().filter(|wait| wait.worker != span.worker);
        self.found.extend(others);
        for (resource, access) in accesses {
            let history = self.resources.entry(*resource).or_default();
            history.before(&known, *access, &mut self.found);
        }
        // After all waits are known: an operation that accesses a resource twice does not wait for
        // itself.
        for (resource, access) in accesses {
            let history = self.resources.entry(*resource).or_default();
            history.insert(known, *access);
        }
        self.found
            .sort_unstable_by_key(|wait| (wait.worker, u32::MAX - wait.completed));
        self.found.dedup_by_key(|wait| wait.worker);
        let waited = &mut self.waited;
        self.found.retain(|wait| {
            let most = waited.entry((span.worker, wait.worker)).or_default();
            let is_new = wait.completed > *most;
            *most = (*most).max(wait.completed);
            is_new
        });
        &self.found
    }

    /// The number of operations of each worker.
    pub fn counts(&self) -> &[u32] {
        &self.counts
    }
}

impl ResourceHistory {
    /// Collects the operations of other workers that had ended before this one began, without those
    /// that another of them waits for.
    fn before(&mut self, this: &Known, access: Access, found: &mut Vec<Wait>) {
        let ended = |one: &&Known| one.end <= this.start;
        let completed = self.changes.iter().filter(ended);
        if let Some(last) = completed.max_by_key(|one| (one.start, one.number)).copied() {
            // A wait for that change implies a wait for all operations that had ended when it began
            // and were added before it. Later operations begin no earlier, so the same holds for
            // them.
            let stays = |one: &Known| one.end > last.start || one.number >= last.number;
            self.changes.retain(stays);
            for of_worker in self.uses.values_mut() {
                of_worker.retain(stays);
            }
            self.uses.retain(|_, of_worker| !of_worker.is_empty());
        }
        let changes = self.changes.iter();
        let uses = self.uses.values().flatten();
        let uses = uses.filter(|_| access == Access::Change);
        found.extend(
            changes
                .chain(uses)
                .filter(ended)
                .filter(|one| one.worker != this.worker)
                .map(|one| Wait {
                    worker: one.worker,
                    completed: one.completed,
                }),
        );
    }

    fn insert(&mut self, this: Known, access: Access) {
        if access == Access::Change {
            self.changes.push(this);
            return;
        }
        let of_worker = self.uses.entry(this.worker).or_default();
        // A worker performs its operations in order: a wait for a later one of them includes those
        // before it.
        if let Some(last) = of_worker.iter().rposition(|one| one.end <= this.start) {
            of_worker.drain(..last);
        }
        of_worker.push(this);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    type Accesses = Vec<(u64, Access)>;

    /// Whether the second operation must wait for the first, by the definition.
    fn conflict(one: &(Span, Accesses), two: &(Span, Accesses)) -> bool {
        let ended = one.0.end <= two.0.start;
        let shared = one.1.iter().any(|(resource, access)| {
            two.1.iter().any(|(other, of_other)| {
                resource == other && (*access, *of_other) != (Access::Use, Access::Use)
            })
        });
        ended && shared
    }

    fn span(worker: u32, start: u64, end: u64) -> Span {
        Span { worker, start, end }
    }

    #[test]
    fn a_use_waits_for_the_creation_and_a_removal_for_all_uses() {
        let mut order = Order::new();
        let name = 7;
        assert!(
            order
                .add(span(0, 0, 10), &[(name, Access::Change)], &[])
                .is_empty()
        );
        let wait = |worker, completed| Wait { worker, completed };
        assert_eq!(
            order.add(span(1, 10, 20), &[(name, Access::Use)], &[]),
            [wait(0, 1)]
        );
        // It overlaps with the other use, and waits only for the creation.
        assert_eq!(
            order.add(span(2, 12, 15), &[(name, Access::Use)], &[]),
            [wait(0, 1)]
        );
        // A second use of the same worker waits no more.
        assert!(
            order
                .add(span(2, 15, 16), &[(name, Access::Use)], &[])
                .is_empty()
        );
        assert_eq!(
            order.add(span(3, 18, 30), &[(name, Access::Change)], &[]),
            [wait(0, 1), wait(2, 2)],
            "the first worker was in flight"
        );
        assert_eq!(
            order.add(span(0, 40, 50), &[(name, Access::Use)], &[]),
            [wait(3, 1)]
        );
    }

    #[test]
    fn operations_without_a_common_resource_are_not_ordered() {
        let mut order = Order::new();
        for worker in 0..10 {
            let start = u64::from(worker) * 10;
            let accesses = [(u64::from(worker), Access::Change), (99, Access::Use)];
            assert!(
                order
                    .add(span(worker, start, start + 5), &accesses, &[])
                    .is_empty()
            );
        }
    }

    fn recordings() -> impl Strategy<Value = Vec<(Span, Accesses)>> {
        let access = (0_u64..4, any::<bool>()).prop_map(|(resource, change)| {
            let access = if change { Access::Change } else { Access::Use };
            (resource, access)
        });
        let operation = (
            0_u32..5,
            0_u64..6,
            0_u64..12,
            prop::collection::vec(access, 1..4),
        );
        prop::collection::vec(operation, 1..60).prop_map(|all| {
            let mut now = 0;
            let each = all.into_iter().map(|(worker, step, length, accesses)| {
                now += step;
                (span(worker, now, now + length), accesses)
            });
            each.collect()
        })
    }

    proptest! {
        #[test]
        fn the_order_is_that_of_the_recording_by_resource_and_nothing_more(all in recordings()) {
            let mut order = Order::new();
            let waits: Vec<Vec<Wait>> =
                all.iter().map(|(span, accesses)| order.add(*span, accesses, &[]).to_vec()).collect();
            // The operations of each worker, by their place.
            let place = |of: Wait| {
                let mut those = (0..all.len()).filter(|at| all[*at].0.worker == of.worker);
                those.nth(of.completed as usize - 1).unwrap()
            };
            // The operations that precede each operation: by its worker, by its waits, and by the
            // waits of those.
            let mut after: Vec<Vec<bool>> = Vec::new();
            for at in 0..all.len() {
                let mut reached = vec![false; all.len()];
                let same = |before: &usize| all[*before].0.worker == all[at].0.worker;
                let direct: Vec<usize> = (0..at).filter(same).chain(waits[at].iter().map(|w| place(*w))).collect();
                for before in direct {
                    prop_assert!(before < at, "a wait for a later operation");
                    reached[before] = true;
                    for (all, one) in reached.iter_mut().zip(&after[before]) {
                        *all |= one;
                    }
                }
                after.push(reached);
            }
            for at in 0..all.len() {
                for before in 0..at {
                    if conflict(&all[before], &all[at]) {
                        prop_assert!(after[at][before], "{before} must end before {at} begins");
                    }
                }
                for wait in &waits[at] {
                    let before = place(*wait);
                    prop_assert!(conflict(&all[before], &all[at]), "{at} waits for {before} without a reason");
                }
            }
        }
    }
}
