//! Power cuts during the recovery of a state: while the checker of a boot repairs it, while the
//! kernel recovers it, and while the repair program works on a state that needs it. After each, the
//! next recovery must keep the same promises, and the next repair must succeed.

use super::program::{Found, Wrong, contents, ended, illegal};
use super::{ExploreError, Explorer};
use fsdyno_crash::signature::normalised;
use fsdyno_crash::{
    CrashStates, Interruption, MostInterruptions, Progress, Trace, Tree, interruptions,
};
use fsdyno_lab::explorer::{Base, Contents, Recovered, RecoveryOptions};
use fsdyno_model::Violation;
use std::collections::BTreeSet;

/// The most states of power cuts during one recovery.
const MOST: MostInterruptions = MostInterruptions {
    checker: 8,
    kernel: 4,
};

/// What a power cut interrupts, after that of the state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Interrupted {
    /// The recovery by the kernel.
    Recovery,
    /// The checks before the mount.
    Checker,
    /// The repair program.
    Repair,
}

/// The files after an interrupted and repeated recovery, which are to be judged.
pub(super) struct NestedTree {
    what: Interrupted,
    tree: Tree,
}

impl Interrupted {
    fn words(self) -> &'static str {
        match self {
            Self::Recovery => "the recovery",
            Self::Checker => "the checker",
            Self::Repair => "the repair",
        }
    }

    /// A broken promise that is seen after this power cut.
    fn wrong(self, one: Wrong) -> Wrong {
        let what = self.words();
        Wrong {
            signature: format!("power cut during {what}: {}", one.signature),
            message: format!("after a power cut during {what}: {}", one.message),
            ..one
        }
    }
}

impl Explorer<'_> {
    /// What fails if the power is cut again during the recovery of `before`, beyond `known`. The
    /// recovered files are judged later ([`Found::judge_nested`]).
    pub(super) fn nested(
        &mut self,
        found: &mut Found<'_>,
        before: &Base,
        trace: &Trace,
        (tree, known): (&Tree, &[Wrong]),
    ) -> Result<Vec<Wrong>, ExploreError> {
        let mut all = Vec::new();
        for interruption in self.interruptions(before, trace)? {
            let what = if interruption.in_checker {
                found.counts.nested_checks += 1;
                Interrupted::Checker
            } else {
                found.counts.nested += 1;
                Interrupted::Recovery
            };
            let state = contents(before, &interruption.overlay);
            let recovered = self.guest.recover(state, RecoveryOptions::default())?;
            let (mut wrong, nested) = ended(&recovered, &found.names);
            if let Some(nested) = nested {
                wrong.extend(self.check(found, before, &recovered)?);
                if nested != *tree {
                    found.nested.push(NestedTree { what, tree: nested });
                }
            }
            all.extend(unknown(wrong, known).map(|one| what.wrong(one)));
        }
        Ok(all)
    }

    /// Repairs a state that cannot be mounted or in which the checker found errors, unless one of
    /// the same signature was. Returns what is wrong after the repair, or after a repair that a
    /// power cut interrupted and that was repeated.
    pub(super) fn repair(
        &mut self,
        found: &mut Found<'_>,
        state: &Base,
        signature: &str,
    ) -> Result<Vec<Wrong>, ExploreError> {
        let options = RecoveryOptions {
            repair: true,
            ..RecoveryOptions::default()
        };
        if !self.subject.repairs() || !found.repaired.insert(signature.to_owned()) {
            return Ok(Vec::new());
        }
        let recorded = RecoveryOptions {
            recorded: true,
            ..options.clone()
        };
        let repaired = self.guest.recover(Contents::of(state.clone()), recorded)?;
        let complete = self.after_repair(found, state, &repaired)?;
        let after = |one: Wrong| Wrong {
            signature: format!("after the repair: {}", one.signature),
            message: format!("after the repair: {}", one.message),
            ..one
        };
        let mut all: Vec<Wrong> = complete.iter().cloned().map(after).collect();
        let all_interruptions = self.interruptions(state, &repaired.trace)?;
        for interruption in all_interruptions
            .into_iter()
            .filter(|interruption| interruption.in_checker)
        {
            found.counts.nested_checks += 1;
            let contents = contents(state, &interruption.overlay);
            let repeated = self.guest.recover(contents, options.clone())?;
            let wrong = self.after_repair(found, state, &repeated)?;
            all.extend(unknown(wrong, &complete).map(|one| Interrupted::Repair.wrong(one)));
        }
        Ok(all)
    }

    /// What is wrong after a repair: it cannot be mounted, or the checker still finds errors.
    fn after_repair(
        &mut self,
        found: &Found<'_>,
        state: &Base,
        repaired: &Recovered,
    ) -> Result<Vec<Wrong>, ExploreError> {
        let (mut wrong, tree) = ended(repaired, &found.names);
        if tree.is_some() {
            wrong.extend(self.check(found, state, repaired)?);
        }
        Ok(wrong)
    }

    fn interruptions(
        &self,
        before: &Base,
        trace: &Trace,
    ) -> Result<Vec<Interruption>, ExploreError> {
        let read = |sector: u64, into: &mut [u8]| before.read(sector * 512, into);
        // A recording that is too large has no states.
        let Ok(states) = CrashStates::with_base(trace, read) else {
            return Ok(Vec::new());
        };
        interruptions(&states, trace, MOST, &*self.roles).map_err(illegal)
    }

    /// Runs the checker on a recovered state.
    pub(super) fn check(
        &mut self,
        found: &Found<'_>,
        base: &Base,
        recovered: &Recovered,
    ) -> Result<Option<Wrong>, ExploreError> {
        let (Some(checker), Ok(report)) = (&mut self.checker, &recovered.end) else {
            return Ok(None);
        };
        let Some(complaint) = checker.check(base, &recovered.changes)? else {
            return Ok(None);
        };
        // What nothing repairs is not promised to be in order.
        let violation = if self.subject.promises.consistent {
            Violation::Checker
        } else {
            Violation::Extra
        };
        let first = complaint.lines.first().map_or("", String::as_str).trim();
        Ok(Some(Wrong {
            violation,
            signature: format!("checker: {}", normalised(first, &found.names)),
            message: format!("the checker finds errors after the recovery: {first}"),
            kernel: report.kernel.clone(),
            checker: Some(complaint.to_string()),
        }))
    }
}

impl Found<'_> {
    /// Judges the files of interrupted recoveries of the last state: they keep the same promises.
    pub(super) fn judge_nested(&mut self, progress: Progress, known: &[Wrong]) -> Vec<Wrong> {
        let mut all = Vec::new();
        let mut seen = BTreeSet::new();
        for NestedTree { what, tree } in std::mem::take(&mut self.nested) {
            let broken = self
                .oracle
                .as_ref()
                .map(|oracle| oracle.judge(progress, &tree));
            let broken = broken.into_iter().flatten().map(Wrong::from).collect();
            for one in unknown(broken, known).map(|one| what.wrong(one)) {
                if seen.insert(one.signature.clone()) {
                    all.push(one);
                }
            }
        }
        all
    }
}

/// What is not known from the same state without another power cut.
fn unknown(wrong: Vec<Wrong>, known: &[Wrong]) -> impl Iterator<Item = Wrong> {
    let known: BTreeSet<&str> = known.iter().map(|one| one.signature.as_str()).collect();
    let wrong = wrong.into_iter();
    wrong.filter(move |one| !known.contains(one.signature.as_str()))
}
