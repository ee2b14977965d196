//! Power cuts during the recovery of a state: while the checker of a boot repairs it, while the
//! kernel recovers it, and while the repair program works on a state that needs it. After each, the
//! next recovery must keep the same promises, and the next repair must succeed.

use super::found::{
    Depth, Found, Interrupted, Judged, NestedResult, Recorded, Wrong, contents, ended, illegal,
};
use super::{ExploreError, Explorer};
use fsdyno_crash::interrupted::{end_of_checker, has_write_before};
use fsdyno_crash::signature::normalised;
use fsdyno_crash::{
    CrashStates, Interruption, InterruptionLimits, Overlay, Progress, Selection, Trace, Tree,
    WindowStates, interruptions,
};
use fsdyno_lab::explorer::{Base, Contents, Recovered, RecoveryOptions};
use fsdyno_model::Violation;
use std::collections::BTreeSet;

/// The maximum number of states of power cuts during one recovery.
const MAX_INTERRUPTIONS: InterruptionLimits = InterruptionLimits {
    checker: 8,
    kernel: 4,
};

/// A recovery or a repair of a state, and the states that a power cut during it can leave.
struct Recovery {
    repairs: bool,
    /// The disk before it.
    before: Base,
    states: CrashStates,
}

/// The least that shows what is wrong after a second power cut, or after a repair.
pub(super) struct MinimalNested {
    /// The second power cut during a recovery; none of a repair, which does not begin with the state.
    pub second: Option<Selection>,
    /// The disk that the last recovery or repair begins with.
    pub image: Base,
    /// The requests of the interrupted recovery.
    pub requests: Vec<String>,
}

impl Explorer<'_> {
    /// Cuts the power again during the recovery of `before`. The recovered files are judged later
    /// ([`Found::judge_later`]).
    pub(super) fn nested(
        &mut self,
        found: &mut Found<'_>,
        before: &Base,
        trace: &Trace,
        tree: &Tree,
    ) -> Result<(), ExploreError> {
        let Some(recovery) = Recovery::of(before, trace, false) else {
            return Ok(());
        };
        for one in self.interruptions(&recovery, trace)? {
            let what = if one.in_checker {
                found.counts.nested_checks += 1;
                Interrupted::Checker
            } else {
                found.counts.nested += 1;
                Interrupted::Recovery
            };
            let (wrong, nested) = self.after(found, &recovery, &one.overlay)?;
            let nested = nested.filter(|nested| nested != tree);
            if !wrong.is_empty() || nested.is_some() {
                found.later.push(NestedResult {
                    interrupted: Some((what, one.selection)),
                    wrong,
                    tree: nested,
                });
            }
        }
        Ok(())
    }

    /// Repairs a state that cannot be mounted or in which the checker found errors, unless one of
    /// the same signature was. What is wrong after the repair, or after a repair that a power cut
    /// interrupted and that was repeated, is kept for [`Found::judge_later`].
    pub(super) fn repair(
        &mut self,
        found: &mut Found<'_>,
        state: &Base,
        signature: &str,
    ) -> Result<(), ExploreError> {
        if !self.subject.repairs() || !found.repaired.insert(signature.to_owned()) {
            return Ok(());
        }
        let recorded = RecoveryOptions {
            repair: true,
            recorded: true,
            ..RecoveryOptions::default()
        };
        let repaired = self.guest.recover(Contents::of(state.clone()), recorded)?;
        let (complete, _) = self.ended_and_checked(found, state, &repaired)?;
        let mut later = vec![NestedResult {
            interrupted: None,
            wrong: complete.clone(),
            tree: None,
        }];
        if let Some(recovery) = Recovery::of(state, &repaired.trace, true) {
            let all = self.interruptions(&recovery, &repaired.trace)?;
            for one in all.into_iter().filter(|one| one.in_checker) {
                found.counts.nested_checks += 1;
                let (wrong, _) = self.after(found, &recovery, &one.overlay)?;
                later.push(NestedResult {
                    interrupted: Some((Interrupted::Repair, one.selection)),
                    wrong: unknown(wrong, &complete).collect(),
                    tree: None,
                });
            }
        }
        found.later.extend(later);
        Ok(())
    }

    /// What is wrong after an interrupted recovery or repair was repeated, and the files.
    fn after(
        &mut self,
        found: &Found<'_>,
        recovery: &Recovery,
        overlay: &Overlay,
    ) -> Result<(Vec<Wrong>, Option<Tree>), ExploreError> {
        let options = RecoveryOptions {
            repair: recovery.repairs,
            ..RecoveryOptions::default()
        };
        let state = contents(&recovery.before, overlay);
        let recovered = self.guest.recover(state, options)?;
        self.ended_and_checked(found, &recovery.before, &recovered)
    }

    /// What is wrong with a recovery, the findings of the checker included, and the files.
    pub(super) fn ended_and_checked(
        &mut self,
        found: &Found<'_>,
        before: &Base,
        recovered: &Recovered,
    ) -> Result<(Vec<Wrong>, Option<Tree>), ExploreError> {
        let (mut wrong, tree) = ended(recovered, &found.names);
        if tree.is_some() {
            wrong.extend(self.check(found, before, recovered)?);
        }
        Ok((wrong, tree))
    }

    /// Recovers the state with a recording, or repairs what its recovery leaves.
    fn recovery(
        &mut self,
        found: &Found<'_>,
        (window, selection): (&WindowStates<'_>, &Selection),
        repairs: bool,
    ) -> Result<(Recovered, Base, Option<Recovery>), ExploreError> {
        let overlay = window.overlay(selection).map_err(illegal)?;
        let mut before = contents(found.base(), &overlay).snapshot();
        let mut options = RecoveryOptions {
            recorded: true,
            ..RecoveryOptions::default()
        };
        let mut recover = |before: &Base, options| {
            let recovered = self.guest.recover(Contents::of(before.clone()), options);
            recovered.map_err(ExploreError::from)
        };
        let mut recovered = recover(&before, options.clone())?;
        if repairs {
            before = before.with(&recovered.changes);
            options.repair = true;
            recovered = recover(&before, options)?;
        }
        let recovery = Recovery::of(&before, &recovered.trace, repairs);
        Ok((recovered, before, recovery))
    }

    /// Minimises the second power cut that breaks a promise after a state: of its dropped writes,
    /// the fewest. `is_wanted` is given what is wrong after each. None if no second power cut does.
    pub(super) fn least_later(
        &mut self,
        recorded: &Recorded<'_>,
        first: (&WindowStates<'_>, &Selection),
        is_wanted: impl Fn(&Wrong) -> bool,
    ) -> Result<Option<MinimalNested>, ExploreError> {
        let mut found = Found::new(recorded, self.subject.promises)?;
        let mut known = self.state(&mut found, first.0, first.1, Depth::Nested)?;
        let Some(wrong) = known.iter().find(|one| is_wanted(one)) else {
            return Ok(None);
        };
        let interrupted = wrong.interrupted.clone();
        let repairs = matches!(&interrupted, None | Some((Interrupted::Repair, _)));
        let (recovered, before, recovery) = self.recovery(&found, first, repairs)?;
        let Some((what, second)) = interrupted else {
            return Ok(Some(MinimalNested {
                second: None,
                image: before,
                requests: Vec::new(),
            }));
        };
        let Some(recovery) = recovery else {
            return Ok(None);
        };
        let (more, tree) = self.ended_and_checked(&found, &before, &recovered)?;
        if repairs {
            known.clear();
        }
        known.extend(more);
        let progress = found.progress(first.0, first.1)?;
        let window = recovery.states.window_of(&second).map_err(illegal)?;
        let least = window.minimise(&second, |second| {
            let overlay = window.overlay(second).map_err(illegal)?;
            let (wrong, nested) = self.after(&found, &recovery, &overlay)?;
            found.later.push(NestedResult {
                interrupted: Some((what, second.clone())),
                wrong: unknown(wrong, &known).collect(),
                tree: nested.filter(|nested| !repairs && Some(nested) != tree.as_ref()),
            });
            let wrong = found.judge_later(progress, &known);
            Ok::<_, ExploreError>(wrong.iter().any(&is_wanted))
        })?;
        let overlay = window.overlay(&least).map_err(illegal)?;
        Ok(Some(MinimalNested {
            image: contents(&before, &overlay).snapshot(),
            requests: window.requests(&least).map_err(illegal)?,
            second: (!repairs).then_some(least),
        }))
    }

    /// Interrupts the recovery of a state by this power cut, repeats it, and judges it. `known` is
    /// wrong without that.
    pub(super) fn recover_again(
        &mut self,
        found: &mut Found<'_>,
        first: (&WindowStates<'_>, &Selection),
        second: &Selection,
        known: &[Wrong],
    ) -> Result<Judged, ExploreError> {
        let (recovered, _, recovery) = self.recovery(found, first, false)?;
        let recovery = recovery.ok_or_else(|| illegal("the recording is too large"))?;
        let window = recovery.states.window_of(second).map_err(illegal)?;
        let checked = end_of_checker(&recovered.trace);
        let what = if has_write_before(&window, checked) {
            Interrupted::Checker
        } else {
            Interrupted::Recovery
        };
        let overlay = window.overlay(second).map_err(illegal)?;
        let (wrong, tree) = self.after(found, &recovery, &overlay)?;
        found.later.push(NestedResult {
            interrupted: Some((what, second.clone())),
            wrong,
            tree: tree.clone(),
        });
        let progress = found.progress(first.0, first.1)?;
        Ok(Judged {
            wrong: found.judge_later(progress, known),
            tree,
            requests: window.requests(second).map_err(illegal)?,
        })
    }

    fn interruptions(
        &self,
        recovery: &Recovery,
        trace: &Trace,
    ) -> Result<Vec<Interruption>, ExploreError> {
        interruptions(&recovery.states, trace, MAX_INTERRUPTIONS, &*self.roles).map_err(illegal)
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
        // A file system that no program repairs does not promise to be consistent.
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
            interrupted: None,
        }))
    }
}

impl Recovery {
    /// A recorded one. A recording that is too large has no states.
    fn of(before: &Base, trace: &Trace, repairs: bool) -> Option<Self> {
        let read = |sector: u64, into: &mut [u8]| before.read(sector * 512, into);
        Some(Self {
            repairs,
            before: before.clone(),
            states: CrashStates::with_base(trace, read).ok()?,
        })
    }
}

impl Found<'_> {
    /// Judges what came after the last state: its interrupted recoveries keep the same promises.
    pub(super) fn judge_later(&mut self, progress: Progress, known: &[Wrong]) -> Vec<Wrong> {
        let mut all = Vec::new();
        let mut seen = BTreeSet::new();
        for mut later in std::mem::take(&mut self.later) {
            let oracle = self.oracle.as_ref().zip(later.tree.take());
            let broken = oracle.map(|(oracle, tree)| oracle.judge(progress, &tree));
            let broken: Vec<_> = broken.into_iter().flatten().map(Wrong::from).collect();
            let mut wrong = std::mem::take(&mut later.wrong);
            wrong.extend(broken);
            let is_repair = matches!(later.interrupted, None | Some((Interrupted::Repair, _)));
            // After a repair, nothing of what was wrong before it is accepted.
            let known = if is_repair { &[] } else { known };
            for one in unknown(wrong, known).map(|one| later.wrong(one)) {
                if seen.insert(one.signature.clone()) {
                    all.push(one);
                }
            }
        }
        all
    }
}

/// The violations that the same state without a second power cut does not show.
fn unknown(wrong: Vec<Wrong>, known: &[Wrong]) -> impl Iterator<Item = Wrong> {
    let known: BTreeSet<String> = known.iter().map(|one| one.signature.clone()).collect();
    let wrong = wrong.into_iter();
    wrong.filter(move |one| !known.contains(&one.signature))
}
