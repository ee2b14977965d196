//! The progress of an exploration in one line.

use super::answer::counted;
use crate::terms::grouped;
use fsdyno_model::{ExploredProgram, Nanos, Score};
use std::collections::BTreeSet;

/// The progress of an exploration.
#[derive(Debug, Clone, Default)]
pub struct Progress {
    /// Units that are recorded, those of former sessions included.
    done: u64,
    /// Units to record.
    planned: u64,
    /// States that this session checked.
    states: u64,
    /// Violations by contender and signature.
    findings: BTreeSet<(String, String)>,
}

impl Progress {
    /// An exploration of this many units, some of which were recorded by former sessions.
    pub fn new<'a>(planned: u64, recorded: impl IntoIterator<Item = &'a ExploredProgram>) -> Self {
        let mut progress = Self {
            planned,
            ..Self::default()
        };
        for program in recorded {
            progress.add(program);
        }
        progress.states = 0;
        progress
    }

    /// Adds a program that was explored.
    pub fn add(&mut self, program: &ExploredProgram) {
        self.done += 1;
        self.states = self.states.saturating_add(program.states.distinct);
        let violations = program.findings.iter();
        let violations = violations.filter(|one| one.score() == Score::Violation);
        self.findings
            .extend(violations.map(|one| (program.contender.clone(), one.signature.clone())));
    }

    /// `412 of 2,700 programs, 212,000 states (1,900/s), 3 findings, 12:30 of 30:00`; `elapsed` is
    /// the real time of this session.
    pub fn line(&self, elapsed: Nanos, budget: Option<Nanos>) -> String {
        // A rate of the first moment means nothing.
        let rate = (elapsed.0 >= 1_000_000_000).then(|| {
            let rate = u128::from(self.states) * 1_000_000_000 / u128::from(elapsed.0);
            format!(" ({}/s)", grouped(u64::try_from(rate).unwrap_or(u64::MAX)))
        });
        let budget = budget.map(|budget| format!(" of {}", budget.clock()));
        format!(
            "{} of {}, {}{}, {}, {}{}",
            grouped(self.done),
            counted(self.planned, "program"),
            counted(self.states, "state"),
            rate.unwrap_or_default(),
            counted(self.findings.len() as u64, "finding"),
            elapsed.clock(),
            budget.unwrap_or_default()
        )
    }
}
