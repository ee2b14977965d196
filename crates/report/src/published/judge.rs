//! Who of two is ahead today: by the verdicts of every report; and in virtual time, where a figure is
//! the same each time it is taken, by the figures themselves.

use super::Entry;
use crate::figures;
use fsdyno_stats::{Rule, Verdict, judge};

/// How figures of a run are judged.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Judge {
    /// The rule of the run: its margin, its interim analyses, and whether figures have no noise.
    pub rule: Rule,
}

impl Judge {
    /// What can be said of a contender against another (less is faster): of two that waited for no
    /// disk there is nothing to tell.
    pub fn between(self, these: &Entry, others: &Entry) -> Option<Verdict> {
        if these.idle && others.idle {
            return Some(Verdict::Indistinguishable);
        }
        judge(&these.figures, &others.figures, &self.rule)
    }

    /// Who leads by rank (the lowest first), and who cannot be told from the leader.
    pub fn leading(self, entries: &[Entry], ranks: &[f64]) -> Vec<bool> {
        figures::leading(ranks, |place, leader| {
            self.between(&entries[place], &entries[leader])
        })
    }
}
