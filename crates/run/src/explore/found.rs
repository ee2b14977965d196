//! The results of a program: its recording, the recovered states, and what is wrong with each.

use super::{Case, ExploreError};
use fsdyno_crash::signature::{names, normalised};
use fsdyno_crash::{
    Broken, CrashStates, Equivalence, ImageKey, Oracle, Overlay, Progress, Promises, Selection,
    StateId, Tree, WindowStates,
};
use fsdyno_lab::explorer::{Base, Contents, Performed, Recovered, SectorSet};
use fsdyno_model::{Finding, Score, StateClass, StateCounts, Violation};
use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

/// A broken promise of one state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wrong {
    /// The kind of promise.
    pub violation: Violation,
    /// Equal for violations of one cause.
    pub signature: String,
    pub message: String,
    pub kernel: Vec<String>,
    pub checker: Option<String>,
    /// The second power cut after which it is seen, if it needs one.
    pub(super) interrupted: Option<(Interrupted, Selection)>,
}

/// A state that was recovered again.
#[derive(Debug, Clone)]
pub struct Judged {
    /// The broken promises.
    pub wrong: Vec<Wrong>,
    /// The recovered files; none if it cannot be mounted.
    pub tree: Option<Tree>,
    /// The requests since the last durable moment, which prove the state legal.
    pub requests: Vec<String>,
}

/// How a state was recovered. Equal states share it.
pub(super) struct Outcome {
    /// What is wrong in any case.
    pub wrong: Vec<Wrong>,
    /// The recovered files, by their number.
    pub tree: Option<usize>,
}

/// A recovered tree, with what a second mount and the checker found in the first state with it.
pub(super) struct KnownTree {
    pub tree: Tree,
    pub wrong: Vec<Wrong>,
}

/// How thoroughly a state is checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Depth {
    /// It is mounted, and its files are judged.
    Files,
    /// It is also mounted a second time, its files are deleted, and the checker runs.
    Used,
    /// The power is also cut during its recovery and its repair.
    Nested,
}

/// The recording of a program, ready for states.
pub(super) struct Recorded<'p> {
    pub case: &'p Case,
    pub performed: Performed,
    pub states: CrashStates,
}

/// The results of a program so far.
pub(super) struct Found<'p> {
    pub recorded: &'p Recorded<'p>,
    /// None for an application.
    pub oracle: Option<Oracle<'p>>,
    /// The oracle of states with an unreadable sector.
    pub unreadable: Option<Oracle<'p>>,
    pub logged: Arc<SectorSet>,
    pub equivalence: Equivalence,
    pub outcomes: Vec<Outcome>,
    pub trees: Vec<KnownTree>,
    pub numbers: HashMap<Tree, usize>,
    pub images: HashMap<ImageKey, usize>,
    pub judged: HashMap<(Progress, usize, bool), Vec<Wrong>>,
    pub counts: StateCounts,
    pub findings: BTreeMap<String, Finding>,
    /// The image of the last state, and whether a sector of it cannot be read.
    pub image: (ImageKey, bool),
    /// The images that show each finding, with the weakest class.
    shown: HashMap<(String, (ImageKey, bool)), StateClass>,
    /// The names of files, which are no part of signatures.
    pub names: BTreeSet<String>,
    /// The results of interrupted recoveries and of repairs of the last state.
    pub later: Vec<NestedResult>,
    /// The signatures of states that were repaired.
    pub repaired: BTreeSet<String>,
    /// The trees on which the program was continued.
    pub continued: BTreeSet<usize>,
}

/// The program that a second power cut interrupts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Interrupted {
    Recovery,
    /// The checks before the mount.
    Checker,
    Repair,
    /// The recovery, or the operations after it, of a program that continues after a power cut.
    Work,
}

/// The result for the last state after a power cut during its recovery, or after its repair.
pub(super) struct NestedResult {
    /// The program that the second power cut interrupted; none without a second power cut.
    pub interrupted: Option<(Interrupted, Selection)>,
    /// What is wrong in any case.
    pub wrong: Vec<Wrong>,
    /// The files, which are to be judged; none of a repair, and none if they are known.
    pub tree: Option<Tree>,
}

/// The signatures of what is found after a complete repair begin with this.
const REPAIRED: &str = "after the repair: ";

impl Interrupted {
    const ALL: [Self; 4] = [Self::Recovery, Self::Checker, Self::Repair, Self::Work];

    /// The signatures of what is found after this power cut begin with it.
    pub fn prefix(self) -> &'static str {
        match self {
            Self::Recovery => "power cut during the recovery: ",
            Self::Checker => "power cut during the checker: ",
            Self::Repair => "power cut during the repair: ",
            Self::Work => "second power cut: ",
        }
    }
}

/// Divides a signature: what happened after the power cut of the state, and the broken promise.
pub(super) fn divided(signature: &str) -> Option<(&str, &str)> {
    let mut prefixes = Interrupted::ALL.map(Interrupted::prefix).into_iter();
    let prefix = prefixes.find(|prefix| signature.starts_with(prefix));
    let prefix = prefix.or_else(|| signature.starts_with(REPAIRED).then_some(REPAIRED))?;
    Some(signature.split_at(prefix.len()))
}

impl NestedResult {
    /// A broken promise that is seen then.
    pub fn wrong(&self, one: Wrong) -> Wrong {
        let prefix = self
            .interrupted
            .as_ref()
            .map_or(REPAIRED, |(what, _)| what.prefix());
        let after = match self.interrupted {
            Some(_) => "after a ",
            None => "",
        };
        Wrong {
            signature: format!("{prefix}{}", one.signature),
            message: format!("{after}{prefix}{}", one.message),
            interrupted: self.interrupted.clone(),
            ..one
        }
    }
}

impl<'p> Found<'p> {
    /// Nothing is found yet.
    pub fn new(recorded: &'p Recorded<'p>, promises: Promises) -> Result<Self, ExploreError> {
        let oracle = |promises| {
            let program = recorded.case.program();
            let oracle = program.map(|program| Oracle::new(program, promises));
            oracle.transpose().map_err(illegal)
        };
        let varying = recorded.states.varying();
        Ok(Self {
            recorded,
            oracle: oracle(promises)?,
            unreadable: oracle(Promises {
                unreadable: true,
                ..promises
            })?,
            logged: Arc::new(varying.iter().copied().collect()),
            equivalence: Equivalence::new(varying),
            outcomes: Vec::new(),
            trees: Vec::new(),
            numbers: HashMap::new(),
            images: HashMap::new(),
            judged: HashMap::new(),
            counts: StateCounts::default(),
            findings: BTreeMap::new(),
            image: (ImageKey::default(), false),
            shown: HashMap::new(),
            names: recorded.case.program().map(names).unwrap_or_default(),
            later: Vec::new(),
            repaired: BTreeSet::new(),
            continued: BTreeSet::new(),
        })
    }
}

impl Found<'_> {
    /// The disk when the recording began.
    pub fn base(&self) -> &Base {
        &self.recorded.performed.base
    }

    /// The progress of the program at the power cut of a state.
    pub fn progress(
        &self,
        window: &WindowStates<'_>,
        selection: &Selection,
    ) -> Result<Progress, ExploreError> {
        let marks = window.marks(selection).map_err(illegal)?;
        let case = self.recorded.case;
        Ok(progress(case, &marks.began, &marks.returned))
    }

    /// What is wrong with an outcome after this progress.
    pub fn judge(&mut self, outcome: usize, progress: Progress, class: StateClass) -> Vec<Wrong> {
        let known = &self.outcomes[outcome];
        let unreadable = class == StateClass::C4;
        // No file system can be mounted if its superblock is unreadable.
        let mut all: Vec<Wrong> = known
            .wrong
            .iter()
            .filter(|one| !unreadable || one.violation == Violation::Kernel)
            .cloned()
            .collect();
        if let Some(tree) = known.tree {
            let judged = self.judged.entry((progress, tree, unreadable));
            let judged = judged.or_insert_with(|| {
                let oracle = if unreadable {
                    &self.unreadable
                } else {
                    &self.oracle
                };
                let tree = &self.trees[tree].tree;
                let broken = oracle.as_ref().map(|oracle| oracle.judge(progress, tree));
                broken.into_iter().flatten().map(Wrong::from).collect()
            });
            all.extend(judged.iter().cloned());
        }
        all
    }

    /// Adds a finding of the last state. An image counts once, also in several classes and windows.
    pub fn add(&mut self, wrong: Wrong, number: u32, state: &StateId) {
        let class = state.first.class;
        let shown = self.shown.entry((wrong.signature.clone(), self.image));
        let is_new = matches!(shown, Entry::Vacant(_));
        let weakest = shown.or_insert(class);
        *weakest = class.min(*weakest);
        let state = match wrong.interrupted {
            // A repair does not begin with the state, but with what its recovery left.
            None | Some((Interrupted::Repair, _)) => format!("{number}:{state}"),
            Some((_, second)) => format!("{number}:{}", state.then(second)),
        };
        let finding = self.findings.entry(wrong.signature.clone());
        let finding = finding.or_insert_with(|| Finding {
            signature: wrong.signature,
            violation: wrong.violation,
            class,
            message: wrong.message,
            state: state.clone(),
            count: 0,
            minimal: None,
            kernel: wrong.kernel,
            checker: wrong.checker,
        });
        finding.count += u64::from(is_new);
        if class < finding.class {
            finding.class = class;
            finding.state = state;
        }
    }

    pub fn results(mut self) -> (StateCounts, Vec<Finding>) {
        let signatures = self.findings.values();
        let scores: HashMap<&str, Score> = signatures
            .map(|one| (one.signature.as_str(), one.score()))
            .collect();
        let mut states: HashMap<(Score, (ImageKey, bool)), StateClass> = HashMap::new();
        for ((signature, image), class) in &self.shown {
            let weakest = states.entry((scores[signature.as_str()], *image));
            let weakest = weakest.or_insert(*class);
            *weakest = (*class).min(*weakest);
        }
        for ((score, _), class) in states {
            let counts = self.counts.classes.entry(class).or_default();
            *counts.found.entry(score).or_default() += 1;
        }
        (self.counts, self.findings.into_values().collect())
    }
}

impl From<Broken> for Wrong {
    fn from(broken: Broken) -> Self {
        Self {
            violation: broken.violation,
            signature: broken.signature,
            message: broken.message,
            kernel: Vec::new(),
            checker: None,
            interrupted: None,
        }
    }
}

/// What is wrong with a recovery in any case, and the recovered files.
pub(super) fn ended(recovered: &Recovered, names: &BTreeSet<String>) -> (Vec<Wrong>, Option<Tree>) {
    let wrong = |violation, what: &str, text: &str, kernel: &[String]| Wrong {
        violation,
        signature: format!("{what}: {}", normalised(text, names)),
        message: match violation {
            Violation::Mount => format!("it cannot be mounted: {text}"),
            _ if what == "unmount" => format!("it cannot be unmounted: {text}"),
            _ => format!("the kernel crashed or hung: {text}"),
        },
        kernel: kernel.to_vec(),
        checker: None,
        interrupted: None,
    };
    match &recovered.end {
        Err(death) => {
            let one = wrong(Violation::Kernel, "kernel", &death.what, &death.console);
            (vec![one], None)
        }
        Ok(report) => {
            let mut all = Vec::new();
            if let Some(refused) = &report.refused {
                all.push(wrong(Violation::Mount, "mount", refused, &report.kernel));
            }
            if let Some(stuck) = &report.stuck {
                all.push(wrong(Violation::Kernel, "unmount", stuck, &report.kernel));
            }
            (all, report.tree.clone())
        }
    }
}

/// A base with the content of a state.
pub(super) fn contents(base: &Base, overlay: &Overlay) -> Contents {
    let mut contents = Contents::of(base.clone());
    for (sector, bytes) in overlay.iter() {
        contents.put(sector, bytes);
    }
    contents.lose(overlay.unreadable());
    contents
}

/// A window of the recording by its number.
pub(super) fn window_of<'r>(
    recorded: &'r Recorded<'_>,
    number: u32,
) -> Result<WindowStates<'r>, ExploreError> {
    let window = recorded.states.window(number);
    window.ok_or_else(|| ExploreError::State(format!("the recording has no window {number}")))
}

/// An error about a state or a program that cannot be explored.
pub(super) fn illegal(error: impl std::fmt::Display) -> ExploreError {
    ExploreError::State(error.to_string())
}

fn progress(case: &Case, began: &BTreeSet<u32>, returned: &BTreeSet<u32>) -> Progress {
    let after = |set: &BTreeSet<u32>| set.last().map_or(case.first(), |last| last + 1);
    Progress {
        began: after(began),
        returned: after(returned),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signature_after_a_second_power_cut_is_divided_from_the_broken_promise() {
        for (signature, expected) in [
            (
                "power cut during the checker: checker: N errors",
                Some(("power cut during the checker: ", "checker: N errors")),
            ),
            (
                "after the repair: mount: refused",
                Some(("after the repair: ", "mount: refused")),
            ),
            ("missing: file after fsync", None),
        ] {
            assert_eq!(divided(signature), expected);
        }
    }
}
