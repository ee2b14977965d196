//! The least that shows a finding: the fewest operations, then the fewest dropped writes.

use super::program::{Recorded, Wrong, contents, illegal, window_of};
use super::{Case, ExploreError, Explorer, kept};
use fsdyno_crash::signature;
use fsdyno_crash::{Program, Selection, StateId, minimise};
use fsdyno_model::{Finding, Minimal, StateClass, Violation};
use std::path::Path;

/// The most states of a window that are tried for a shorter program.
const STATES: u64 = 24;

/// The most windows that are tried for a shorter program: its last ones. A program of the generator
/// has fewer.
const WINDOWS: usize = 24;

/// The most programs that are performed to find the shortest.
const PERFORMED: u32 = 250;

/// What a shorter program must show too.
#[derive(Clone, Copy)]
struct Wanted<'a> {
    class: StateClass,
    promise: &'a str,
}

impl Wanted<'_> {
    fn is_broken_by(self, wrong: &Wrong) -> bool {
        promise(wrong.violation, &wrong.signature) == self.promise
    }
}

/// The broken promise of a signature. The operations that are part of a signature of the oracle are
/// not: most of them are not needed.
fn promise(violation: Violation, signature: &str) -> &str {
    match violation {
        Violation::Missing
        | Violation::Returned
        | Violation::Content
        | Violation::Foreign
        | Violation::Metadata
        | Violation::Atomic
        | Violation::Extra => fsdyno_crash::promise(signature),
        Violation::Mount
        | Violation::Kernel
        | Violation::Checker
        | Violation::Unstable
        | Violation::Unusable
        | Violation::Application => signature,
    }
}

impl Explorer<'_> {
    /// Minimises a finding of a case, and keeps the image and its script in `work_dir`. An
    /// application stays whole: only its writes are minimised.
    pub fn minimise(
        &mut self,
        case: &Case,
        finding: &Finding,
        work_dir: &Path,
    ) -> Result<Option<Minimal>, ExploreError> {
        let wanted = Wanted {
            class: finding.class,
            promise: promise(finding.violation, &finding.signature),
        };
        let (least, operations) = match case.program() {
            None => (case.clone(), 0),
            Some(program) => {
                let begun = self.begun(case, program, finding)?;
                let least = self.least(&begun, wanted)?;
                let operations = least.operations.len() as u64;
                (Case::Program(least), operations)
            }
        };
        let recorded = self.record(&least)?;
        let state = match case {
            Case::Program(_) | Case::Long(_) => self.first(&recorded, wanted)?,
            // The state is one of this recording.
            Case::Application(_) => state_of(finding),
        };
        let Some(state) = state else {
            return Ok(None);
        };
        let window = window_of(&recorded, state.window)?;
        let selection = window.minimise(&state, |selection| {
            // Each state has its own second mount and check.
            let mut found = self.search(&recorded)?;
            let wrong = self.state(&mut found, &window, selection, false)?;
            Ok::<_, ExploreError>(wrong.iter().any(|one| wanted.is_broken_by(one)))
        })?;
        let overlay = window.overlay(&selection).map_err(illegal)?;
        let image = contents(&recorded.performed.base, &overlay).snapshot();
        let requests = window.requests(&selection).map_err(illegal)?;
        let kept = kept::keep(
            work_dir,
            &self.subject.contender,
            self.guest.about(),
            (&least, finding),
            &image,
        )?;
        let signature = match &least {
            Case::Program(program) if wanted.promise != finding.signature => {
                signature::of_least(wanted.promise, program)
            }
            _ => finding.signature.clone(),
        };
        Ok(Some(Minimal {
            signature,
            program: least.to_string(),
            operations,
            state: StateId::new(selection).to_string(),
            requests,
            image: Some(kept.image),
            script: Some(kept.script),
        }))
    }

    /// The operations of a long program that had begun when the power was cut; all of another one.
    fn begun(
        &mut self,
        case: &Case,
        program: &Program,
        finding: &Finding,
    ) -> Result<Program, ExploreError> {
        let (Case::Long(_), Some(state)) = (case, state_of(finding)) else {
            return Ok(program.clone());
        };
        let recorded = self.record(case)?;
        let marks = window_of(&recorded, state.window)?.marks(&state);
        let marks = marks.map_err(illegal)?;
        let first = program.first();
        let begun = marks.began.last().map_or(0, |last| last + 1 - first);
        let begun = program.operations.iter().take(begun as usize);
        Ok(with_operations(
            program,
            &begun.cloned().collect::<Vec<_>>(),
        ))
    }

    /// The shortest program that shows a finding.
    fn least(&mut self, program: &Program, wanted: Wanted<'_>) -> Result<Program, ExploreError> {
        let mut left = PERFORMED;
        let operations = minimise(&program.operations, |some| {
            self.has(&with_operations(program, some), wanted, &mut left)
        })?;
        let least = with_operations(program, &operations);
        let setup = minimise(&least.setup, |some| {
            let shorter = Program {
                setup: some.to_vec(),
                operations: least.operations.clone(),
            };
            self.has(&shorter, wanted, &mut left)
        })?;
        Ok(Program { setup, ..least })
    }

    /// Whether a program shows the finding. One that cannot be performed shows nothing, nor does one
    /// that is not performed because none are `left`.
    fn has(
        &mut self,
        program: &Program,
        wanted: Wanted<'_>,
        left: &mut u32,
    ) -> Result<bool, ExploreError> {
        if program.check().is_err() || *left == 0 {
            return Ok(false);
        }
        *left -= 1;
        let case = Case::Program(program.clone());
        let recorded = match self.record(&case) {
            Err(ExploreError::State(_)) => return Ok(false),
            recorded => recorded?,
        };
        Ok(self.first(&recorded, wanted)?.is_some())
    }

    /// The first state that shows the finding.
    fn first(
        &mut self,
        recorded: &Recorded<'_>,
        wanted: Wanted<'_>,
    ) -> Result<Option<Selection>, ExploreError> {
        let mut found = self.search(recorded)?;
        // Most bugs show after the last durable moment.
        for window in recorded.states.windows().iter().rev().take(WINDOWS) {
            let window = window_of(recorded, window.number)?;
            for selection in window.select(wanted.class, STATES, 1, &*self.roles.clone()) {
                let wrong = self.state(&mut found, &window, &selection, false)?;
                if wrong.iter().any(|one| wanted.is_broken_by(one)) {
                    return Ok(Some(selection));
                }
            }
        }
        Ok(None)
    }
}

fn with_operations(program: &Program, operations: &[fsdyno_crash::Operation]) -> Program {
    Program {
        setup: program.setup.clone(),
        operations: operations.to_vec(),
    }
}

/// The first state that shows a finding: `NUMBER:STATE`.
fn state_of(finding: &Finding) -> Option<Selection> {
    let (_, state) = finding.state.split_once(':')?;
    let state: StateId = state.parse().ok()?;
    Some(state.first)
}
