//! Finds states that need no recovery of their own, because their recovery would read the same as
//! an earlier one.
//!
//! Recovery is deterministic: with the same contents at every read so far, the next read is the
//! same. So the recoveries of a program form a tree. A node is a sector, its branches are contents.
//! A state whose contents lead to the end of a known recovery has the outcome of that recovery.

use crate::overlay::Overlay;
use std::collections::{BTreeMap, BTreeSet};

/// The recoveries of the states of one trace by what they read.
#[derive(Debug, Clone, Default)]
pub struct Equivalence {
    /// The sectors in which the states differ.
    varying: BTreeSet<u64>,
    /// The nodes; the first is the root. Empty before the first recovery.
    nodes: Vec<Node>,
}

#[derive(Debug, Clone)]
enum Node {
    /// The next sector that is read, and the node for each of its contents.
    Read {
        sector: u64,
        next: BTreeMap<u128, usize>,
    },
    /// The recovery ended.
    End { outcome: usize },
}

/// A recovery that did not read what an earlier one with the same contents read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "recovery is not deterministic: with equal contents so far, one recovery {} and another {} \
     (read {number})",
    step(*.former),
    step(*.now)
)]
pub struct NotDeterministic {
    /// The number of reads with equal contents.
    pub number: usize,
    /// The next sector that the former recovery read; none if it ended.
    pub former: Option<u64>,
    /// The next sector that this one read; none if it ended.
    pub now: Option<u64>,
}

fn step(sector: Option<u64>) -> String {
    sector.map_or("ended".to_owned(), |sector| format!("read sector {sector}"))
}

impl Equivalence {
    /// No recoveries yet. `varying` are the sectors in which states differ; reads of others do not
    /// count.
    pub fn new(varying: BTreeSet<u64>) -> Self {
        Self {
            varying,
            nodes: Vec::new(),
        }
    }

    /// The outcome of a recovery from this state, if it is known.
    pub fn lookup(&self, overlay: &Overlay) -> Option<usize> {
        let mut node = self.nodes.first()?;
        loop {
            match node {
                Node::End { outcome } => return Some(*outcome),
                Node::Read { sector, next } => {
                    node = &self.nodes[*next.get(&overlay.content(*sector))?];
                }
            }
        }
    }

    /// Adds a recovery from this state. `reads` are the sectors that it read, in order, before it
    /// wrote to them. Returns the known outcome if an earlier recovery read the same, otherwise
    /// `outcome`.
    pub fn insert(
        &mut self,
        reads: &[u64],
        overlay: &Overlay,
        outcome: usize,
    ) -> Result<usize, NotDeterministic> {
        let mut seen = BTreeSet::new();
        let first = |sector: &u64| self.varying.contains(sector) && seen.insert(*sector);
        let reads: Vec<u64> = reads.iter().copied().filter(first).collect();
        let mut at = 0;
        for (number, now) in reads.iter().copied().enumerate() {
            if at == self.nodes.len() {
                self.nodes.push(Node::Read {
                    sector: now,
                    next: BTreeMap::new(),
                });
            }
            let new = self.nodes.len();
            let former = match &mut self.nodes[at] {
                Node::Read { sector, next } if *sector == now => {
                    at = *next.entry(overlay.content(now)).or_insert(new);
                    continue;
                }
                Node::Read { sector, .. } => Some(*sector),
                Node::End { .. } => None,
            };
            return Err(NotDeterministic {
                number,
                former,
                now: Some(now),
            });
        }
        match self.nodes.get(at) {
            None => {
                self.nodes.push(Node::End { outcome });
                Ok(outcome)
            }
            Some(Node::End { outcome }) => Ok(*outcome),
            Some(Node::Read { sector, .. }) => Err(NotDeterministic {
                number: reads.len(),
                former: Some(*sector),
                now: None,
            }),
        }
    }

    /// The number of known recoveries that differ in what they read.
    pub fn len(&self) -> usize {
        let ends = self.nodes.iter();
        ends.filter(|node| matches!(node, Node::End { .. })).count()
    }

    /// Whether no recovery is known.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{CrashStates, Data, Role, Trace, TraceEvent};
    use fsdyno_model::exploration::StateClass;

    /// A recovery of a journal: reads the commit sector; if it is there, the two blocks.
    fn reads(overlay: &Overlay) -> Vec<u64> {
        match overlay.get(8) {
            Some(_) => vec![100, 8, 0, 100, 1, 8],
            None => vec![100, 8],
        }
    }

    fn overlays() -> (CrashStates, Vec<Overlay>) {
        let write = |order, sector| TraceEvent::Write {
            order,
            sector,
            data: Data::Bytes(vec![7; 512].into()),
            fua: false,
        };
        let events = vec![write(0, 0), write(1, 1), write(2, 8), write(3, 9)];
        let states = CrashStates::new(&Trace { events }).unwrap();
        let window = states.window(0).unwrap();
        let all = window.select(StateClass::C2, 100, 1, &|_, _| Role::Unknown);
        let overlays = all.iter().map(|one| window.overlay(one).unwrap()).collect();
        (states, overlays)
    }

    #[test]
    fn states_that_differ_in_what_is_read_are_not_merged_and_others_are() {
        let (states, overlays) = overlays();
        let mut known = Equivalence::new(states.varying());
        let mut recovered = Vec::new();
        for overlay in &overlays {
            let held: Vec<bool> = [0, 1, 8].map(|at| overlay.get(at).is_some()).to_vec();
            if let Some(outcome) = known.lookup(overlay) {
                let former: &Vec<bool> = &recovered[outcome];
                // Without the commit the blocks are not read.
                assert!(*former == held || !held[2] && !former[2]);
            } else {
                let outcome = recovered.len();
                assert_eq!(known.insert(&reads(overlay), overlay, outcome), Ok(outcome));
                recovered.push(held);
            }
        }
        // Four contents of the two blocks with the commit, one outcome without it.
        assert_eq!((overlays.len(), recovered.len(), known.len()), (16, 5, 5));
        assert!(
            overlays
                .iter()
                .all(|overlay| known.lookup(overlay).is_some())
        );
    }

    #[test]
    fn a_recovery_that_reads_something_else_is_reported() {
        let (states, overlays) = overlays();
        let mut known = Equivalence::new(states.varying());
        known.insert(&[8, 0], &overlays[0], 0).unwrap();
        // Reads of sectors that do not vary, and second reads, do not count.
        assert_eq!(known.insert(&[100, 8, 8, 0], &overlays[0], 1), Ok(0));
        let error = |former, now, number| {
            Err(NotDeterministic {
                number,
                former,
                now,
            })
        };
        assert_eq!(known.insert(&[8], &overlays[0], 1), error(Some(0), None, 1));
        assert_eq!(
            known.insert(&[8, 1], &overlays[0], 1),
            error(Some(0), Some(1), 1)
        );
        assert_eq!(
            known.insert(&[8, 0, 1], &overlays[0], 1),
            error(None, Some(1), 2)
        );
    }
}
