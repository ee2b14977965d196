//! The least that shows a finding: the fewest operations, then the fewest dropped writes.

use super::program::{Recorded, contents, role, window_of};
use super::{ExploreError, Explorer, kept};
use fsdyno_crash::{Program, StateId, minimise};
use fsdyno_model::{Finding, Minimal, StateClass};
use std::path::Path;

/// The most states of a window that are tried for a shorter program.
const STATES: u64 = 24;

impl Explorer<'_> {
    /// Minimises a finding of a program, and keeps the image and its script in `work_dir`.
    pub fn minimise(
        &mut self,
        program: &Program,
        finding: &Finding,
        work_dir: &Path,
    ) -> Result<Option<Minimal>, ExploreError> {
        let (class, signature) = (finding.class, finding.signature.as_str());
        let operations = minimise(&program.operations, |some| {
            let shorter = with_operations(program, some);
            Ok::<_, ExploreError>(self.first(&shorter, class, signature)?.is_some())
        })?;
        let least = with_operations(program, &operations);
        let setup = minimise(&least.setup, |some| {
            let shorter = Program {
                setup: some.to_vec(),
                operations: least.operations.clone(),
            };
            Ok::<_, ExploreError>(self.first(&shorter, class, signature)?.is_some())
        })?;
        let least = Program { setup, ..least };
        let Some(state) = self.first(&least, class, signature)? else {
            return Ok(None);
        };
        let recorded = self.record(&least)?;
        let window = window_of(&recorded, state.first.window)?;
        let selection = window.minimise(&state.first, |selection| {
            self.shows(&recorded, &window, selection, signature)
        })?;
        let illegal = |error: fsdyno_crash::IllegalState| ExploreError::State(error.to_string());
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
        Ok(Some(Minimal {
            program: least.to_string(),
            operations: least.operations.len() as u64,
            state: StateId::new(selection).to_string(),
            requests,
            image: Some(kept.image),
            script: Some(kept.script),
        }))
    }

    /// The first state of a program that shows the finding. A program that cannot be performed
    /// shows nothing.
    fn first(
        &mut self,
        program: &Program,
        class: StateClass,
        signature: &str,
    ) -> Result<Option<StateId>, ExploreError> {
        let recorded = match self.record(program) {
            Ok(recorded) => recorded,
            Err(ExploreError::State(_)) => return Ok(None),
            Err(error) => return Err(error),
        };
        self.first_of(&recorded, class, signature)
    }

    fn first_of(
        &mut self,
        recorded: &Recorded<'_>,
        class: StateClass,
        signature: &str,
    ) -> Result<Option<StateId>, ExploreError> {
        // Most bugs show after the last durable moment.
        let mut windows: Vec<u32> = recorded
            .states
            .windows()
            .iter()
            .map(|one| one.number)
            .collect();
        windows.reverse();
        for number in windows {
            let window = window_of(recorded, number)?;
            for selection in window.select(class, STATES, 1, &role) {
                if self.shows(recorded, &window, &selection, signature)? {
                    return Ok(Some(StateId::new(selection)));
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
