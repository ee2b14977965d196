//! Who of two is ahead today: by the verdicts of every report; and in virtual time, where a figure is
//! the same each time it is taken, by the figures themselves.

use super::Entry;
use crate::figures::{self, Blocked};
use fsdyno_stats::{MARGIN, Summary, Verdict};

/// How figures of a run are judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Judge {
    /// Whether chance has no part in a figure.
    pub exact: bool,
}

impl Judge {
    /// What can be said of these figures against others (less is faster).
    fn verdict(self, these: &[Blocked], others: &[Blocked]) -> Option<Verdict> {
        let told = figures::verdict(these, others);
        if told.is_some() || !self.exact {
            return told;
        }
        let median = |figures: &[Blocked]| {
            let values: Vec<f64> = figures.iter().map(|(_, figure)| *figure).collect();
            Summary::of(&values).map(|summary| summary.median)
        };
        let (these, others) = (median(these)?, median(others)?);
        Some(if these < others / (1.0 + MARGIN) {
            Verdict::Faster
        } else if others < these / (1.0 + MARGIN) {
            Verdict::Slower
        } else {
            Verdict::Indistinguishable
        })
    }

    /// The same of two contenders: of two that waited for no disk there is nothing to tell.
    pub fn between(self, these: &Entry, others: &Entry) -> Option<Verdict> {
        if these.idle && others.idle {
            return Some(Verdict::Indistinguishable);
        }
        self.verdict(&these.figures, &others.figures)
    }

    /// Who leads by rank (the lowest first), and who cannot be told from the leader.
    pub fn leading(self, entries: &[Entry], ranks: &[f64]) -> Vec<bool> {
        figures::leading(ranks, |place, leader| {
            self.between(&entries[place], &entries[leader])
        })
    }
}
