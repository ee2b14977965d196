//! The progress of an exploration in one line.

use super::answer::counted;
use crate::terms::grouped;
use fsdyno_model::{ExploredProgram, Finding, Nanos, Signatures};
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
    violations: BTreeSet<(String, String)>,
    signatures: Signatures,
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

    /// Adds a program that was explored; returns its findings that no former program has shown.
    pub fn add<'a>(&mut self, program: &'a ExploredProgram) -> Vec<&'a Finding> {
        let mut known = self.findings();
        self.done += 1;
        self.states = self.states.saturating_add(program.states.distinct);
        self.signatures.add(program);
        let violations = program.findings.iter();
        let violations = violations.filter(|one| one.score().fails());
        let mut new = Vec::new();
        for finding in violations {
            let (contender, signature) = (&program.contender, &finding.signature);
            self.violations
                .insert((contender.clone(), signature.clone()));
            let joined = self.signatures.of(contender, signature);
            if known.insert((contender.clone(), joined.to_owned())) {
                new.push(finding);
            }
        }
        new
    }

    /// The findings by contender and signature of the least program.
    fn findings(&self) -> BTreeSet<(String, String)> {
        let all = self.violations.iter();
        let joined = all.map(|(contender, signature)| {
            let signature = self.signatures.of(contender, signature);
            (contender.clone(), signature.to_owned())
        });
        joined.collect()
    }

    /// `412 of 2,700 programs, 212,000 states (1,900/s), 3 findings, 12:30 of 30:00`; `elapsed` is
    /// the real time of this session.
    pub fn line(&self, elapsed: Nanos, budget: Option<Nanos>) -> String {
        // In the first moment, a rate has no meaning.
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
            counted(self.findings().len() as u64, "finding"),
            elapsed.clock(),
            budget.unwrap_or_default()
        )
    }
}
