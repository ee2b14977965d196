//! Programs with a second power cut: after a power cut and the recovery, the rest of the program is
//! performed, and the power is cut again, in the recovery or in this rest. What had returned before
//! either power cut must be there.

use super::found::{Found, Interrupted, Judged, NestedResult, Wrong, contents, illegal};
use super::{ExploreError, Explorer};
use fsdyno_crash::{CrashStates, Oracle, Overlay, Progress, Selection, Tree, WindowStates};
use fsdyno_lab::GuestLabError;
use fsdyno_lab::explorer::{Base, RecoveryOptions};
use fsdyno_model::StateClass;
use std::collections::BTreeSet;

/// The maximum number of recovered trees on which a program is continued.
const MAX_CONTINUED: usize = 16;

/// The maximum number of states of a class and window after the second power cut.
const STATES: u64 = 24;

/// The rest of a program, on what the recovery of a state left.
pub(super) struct Rest {
    oracle: Oracle<'static>,
    /// The disk before the recovery.
    before: Base,
    states: CrashStates,
    /// The number of its first operation.
    first: u32,
}

impl Explorer<'_> {
    /// What is wrong after a second power cut, in the recovery of a state or in the rest of the
    /// program. Equal trees are continued once, and the first ones only.
    pub(super) fn continued(
        &mut self,
        found: &mut Found<'_>,
        overlay: &Overlay,
        (progress, tree): (Progress, usize),
    ) -> Result<Vec<Wrong>, ExploreError> {
        if found.continued.len() >= MAX_CONTINUED || !found.continued.insert(tree) {
            return Ok(Vec::new());
        }
        let tree = found.trees[tree].tree.clone();
        let Some(rest) = self.rest(found, overlay, (progress, &tree))? else {
            return Ok(Vec::new());
        };
        let mut wrong: Vec<Wrong> = Vec::new();
        let mut images = BTreeSet::new();
        for window in rest.states.windows() {
            let Some(window) = rest.states.window(window.number) else {
                continue;
            };
            for class in [StateClass::C0, StateClass::C1, StateClass::C2] {
                for second in window.select(class, STATES, 1, &*self.roles.clone()) {
                    let overlay = window.overlay(&second).map_err(illegal)?;
                    if !images.insert(overlay.key()) {
                        continue;
                    }
                    found.counts.nested += 1;
                    let (more, _) = self.after_rest(found, &rest, &window, &second)?;
                    let is_new =
                        |one: &Wrong| wrong.iter().all(|known| known.signature != one.signature);
                    let more: Vec<Wrong> = more.into_iter().filter(is_new).collect();
                    wrong.extend(more);
                }
            }
        }
        Ok(wrong)
    }

    /// Performs the rest of a program after the recovery of a state. None if the recovered files
    /// break a promise already.
    fn rest(
        &mut self,
        found: &Found<'_>,
        overlay: &Overlay,
        (progress, tree): (Progress, &Tree),
    ) -> Result<Option<Rest>, ExploreError> {
        let oracle = found.oracle.as_ref();
        let oracle = oracle.and_then(|oracle| oracle.continued(progress, tree));
        let Some(oracle) = oracle else {
            return Ok(None);
        };
        let Some((first, operations)) = oracle.after_cut() else {
            return Ok(None);
        };
        let before = contents(found.base(), overlay).snapshot();
        let performed = match self.guest.perform_rest(&before, (first, operations)) {
            Err(GuestLabError::Died { what }) => {
                let what = format!("the guest that continued it after a power cut {what}");
                return Err(ExploreError::State(what));
            }
            performed => performed?,
        };
        if let Some(failed) = performed.failed {
            return Err(illegal(format!("after a power cut, {failed}")));
        }
        let read = |sector: u64, into: &mut [u8]| before.read(sector * 512, into);
        let states = CrashStates::with_base(&performed.trace, read);
        let states = states.map_err(|error| ExploreError::Contradiction(error.to_string()))?;
        Ok(Some(Rest {
            oracle,
            before,
            states,
            first,
        }))
    }

    /// Recovers a state after the second power cut, and judges it.
    fn after_rest(
        &mut self,
        found: &Found<'_>,
        rest: &Rest,
        window: &WindowStates<'_>,
        second: &Selection,
    ) -> Result<(Vec<Wrong>, Option<Tree>), ExploreError> {
        let overlay = window.overlay(second).map_err(illegal)?;
        let state = contents(&rest.before, &overlay);
        let recovered = self.guest.recover(state, RecoveryOptions::default())?;
        let (mut wrong, tree) = self.ended_and_checked(found, &rest.before, &recovered)?;
        let marks = window.marks(second).map_err(illegal)?;
        // The marks of the checks before the mount have smaller numbers.
        let after = |set: &BTreeSet<u32>| {
            let last = set.range(rest.first..).next_back();
            last.map_or(rest.first, |last| last + 1)
        };
        let progress = Progress {
            began: after(&marks.began),
            returned: after(&marks.returned),
        };
        if let Some(tree) = &tree {
            let broken = rest.oracle.judge(progress, tree);
            wrong.extend(broken.into_iter().map(Wrong::from));
        }
        let after = NestedResult {
            interrupted: Some((Interrupted::Work, second.clone())),
            wrong: Vec::new(),
            tree: None,
        };
        Ok((
            wrong.into_iter().map(|one| after.wrong(one)).collect(),
            tree,
        ))
    }

    /// Continues the program on one state, cuts the power again, and judges this second state.
    /// Returns also its image.
    pub(super) fn continue_again(
        &mut self,
        found: &Found<'_>,
        (window, first): (&WindowStates<'_>, &Selection),
        second: &Selection,
    ) -> Result<(Judged, Base), ExploreError> {
        let overlay = window.overlay(first).map_err(illegal)?;
        let recovered = self
            .guest
            .recover(contents(found.base(), &overlay), RecoveryOptions::default())?;
        let tree = recovered.end.ok().and_then(|report| report.tree);
        let progress = found.progress(window, first)?;
        let rest = match &tree {
            Some(tree) => self.rest(found, &overlay, (progress, tree))?,
            None => None,
        };
        let rest = rest.ok_or_else(|| {
            illegal("the program cannot continue on the files that the first recovery left")
        })?;
        let window = rest.states.window_of(second).map_err(illegal)?;
        let (wrong, tree) = self.after_rest(found, &rest, &window, second)?;
        let overlay = window.overlay(second).map_err(illegal)?;
        let judged = Judged {
            wrong,
            tree,
            requests: window.requests(second).map_err(illegal)?,
        };
        Ok((judged, contents(&rest.before, &overlay).snapshot()))
    }
}
