//! What the explorations of crash states of a store found on a contender.

use crate::terms;
use fsdyno_model::{Contender, Exploration, Score, StateClass};
use std::collections::BTreeSet;

/// The results of crash tests of a contender.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Safety {
    /// No exploration has this file system.
    NotTested,
    /// The sums of the explorations.
    Tested {
        /// Whether the explorations have the same options, not only the same file system.
        same_options: bool,
        /// Distinct violations.
        violations: usize,
        /// The weakest class of states that shows one.
        weakest: Option<StateClass>,
        /// The strongest class that was checked.
        strongest: Option<StateClass>,
        /// Distinct states.
        states: u64,
    },
}

impl Safety {
    /// The results of a contender; if it was not tested, those of its file system with defaults.
    pub(super) fn of(contender: &Contender, explorations: &[Exploration]) -> Self {
        let same = |one: &Contender| one.mkfs == contender.mkfs && one.mount == contender.mount;
        let plain = |one: &Contender| one.mkfs.is_empty() && one.mount.is_empty();
        let tested = Self::among(contender, explorations, true, same);
        tested
            .or_else(|| Self::among(contender, explorations, false, plain))
            .unwrap_or(Self::NotTested)
    }

    fn among(
        contender: &Contender,
        explorations: &[Exploration],
        same_options: bool,
        is_it: impl Fn(&Contender) -> bool,
    ) -> Option<Self> {
        let (mut found, mut states) = (BTreeSet::new(), 0_u64);
        let (mut weakest, mut strongest) = (None, None);
        let mut explored = false;
        for exploration in explorations {
            let signatures = exploration.signatures();
            let contenders = exploration.info.contenders.iter();
            let labels: Vec<&str> = contenders
                .filter(|one| {
                    one.filesystem == contender.filesystem
                        && one.layout == contender.layout
                        && is_it(one)
                })
                .map(|one| one.label.as_str())
                .collect();
            let programs = exploration.programs.iter();
            let programs = programs.filter(|program| {
                program.failed.is_none() && labels.contains(&program.contender.as_str())
            });
            for program in programs {
                explored = true;
                states = states.saturating_add(program.states.distinct);
                strongest = strongest.max(program.states.classes.keys().copied().max());
                let findings = program.findings.iter();
                for finding in findings.filter(|one| one.score() == Score::Violation) {
                    let signature = signatures.of(&program.contender, &finding.signature);
                    found.insert(signature.to_owned());
                    let weaker = weakest.is_none_or(|class| finding.class < class);
                    weakest = if weaker { Some(finding.class) } else { weakest };
                }
            }
        }
        explored.then_some(Self::Tested {
            same_options,
            violations: found.len(),
            weakest,
            strongest,
            states,
        })
    }

    /// Why it does not meet a required class; `None` if no violation of it is known.
    pub(super) fn fails(&self, class: StateClass) -> Option<String> {
        let Self::Tested {
            weakest: Some(weakest),
            violations,
            ..
        } = self
        else {
            return None;
        };
        (*weakest <= class).then(|| {
            format!(
                "{} in crash states of class {weakest}",
                terms::count(*violations, "violation")
            )
        })
    }

    /// The results in a few words: `none up to C2`, `2 from C1 on`.
    pub fn brief(&self) -> String {
        let Self::Tested {
            same_options,
            violations,
            weakest,
            strongest,
            ..
        } = self
        else {
            return "not tested".to_owned();
        };
        let found = match (weakest, strongest) {
            (Some(class), _) => {
                format!("{} from {class} on", terms::count(*violations, "violation"))
            }
            (None, Some(class)) => format!("no violation up to {class}"),
            (None, None) => "no violation".to_owned(),
        };
        if *same_options {
            found
        } else {
            format!("{found} (defaults)")
        }
    }

    /// The results as text: `no violation in 1,200 crash states up to class C2`.
    pub fn describe(&self) -> String {
        let Self::Tested {
            same_options,
            violations,
            weakest,
            strongest,
            states,
        } = self
        else {
            return "not tested".to_owned();
        };
        let states = terms::grouped(*states);
        let found = match (weakest, strongest) {
            (Some(class), _) => format!(
                "{} in {states} crash states, from class {class} on",
                terms::count(*violations, "violation")
            ),
            (None, Some(class)) => {
                format!("no violation in {states} crash states up to class {class}")
            }
            (None, None) => format!("no violation in {states} crash states"),
        };
        if *same_options {
            found
        } else {
            format!("not tested with these options; its defaults have {found}")
        }
    }
}
