//! The least that shows a finding: the fewest operations, then the fewest dropped writes.

use super::found::{
    Depth, Found, Interrupted, Recorded, Wrong, contents, divided, illegal, window_of,
};
use super::{Case, ExploreError, Explorer, kept};
use fsdyno_crash::signature;
use fsdyno_crash::{Program, Selection, StateId, minimise};
use fsdyno_files::kept::KeptDir;
use fsdyno_model::{Finding, Minimal, StateClass, Violation};

/// The maximum number of states of a window that are tried for a shorter program.
const STATES: u64 = 24;

/// The maximum number of windows that are tried for a shorter program: its last ones. A program of
/// the generator has fewer.
const WINDOWS: usize = 24;

/// The maximum number of programs that are performed to find the shortest.
const PERFORMED: u32 = 250;

/// The finding that a shorter program must still show.
#[derive(Clone, Copy)]
struct TargetFinding<'a> {
    class: StateClass,
    promise: &'a str,
    /// How thoroughly its states are checked.
    depth: Depth,
}

impl TargetFinding<'_> {
    fn is_broken_by(self, wrong: &Wrong) -> bool {
        promise(wrong.violation, &wrong.signature) == self.promise
    }
}

/// The broken promise of a signature. The operations that are part of a signature of the oracle are
/// not: most of them are not needed.
fn promise(violation: Violation, signature: &str) -> &str {
    if is_of_files(violation) {
        fsdyno_crash::promise(signature)
    } else {
        signature
    }
}

/// How thoroughly the states of a shorter program are checked for the same finding.
fn depth(violation: Violation, signature: &str) -> Depth {
    if divided(signature).is_some() {
        Depth::Nested
    } else if violation == Violation::Mount || promise(violation, signature) != signature {
        Depth::Files
    } else {
        Depth::Used
    }
}

/// Whether the oracle finds it in the recovered files.
fn is_of_files(violation: Violation) -> bool {
    match violation {
        Violation::Missing
        | Violation::Returned
        | Violation::Content
        | Violation::Foreign
        | Violation::Metadata
        | Violation::Atomic
        | Violation::Extra => true,
        Violation::Mount
        | Violation::Kernel
        | Violation::Checker
        | Violation::Unstable
        | Violation::Unusable
        | Violation::Application => false,
    }
}

impl Explorer<'_> {
    /// Minimises a finding of a case, and keeps the image and its script. An application stays whole:
    /// only its writes are minimised.
    pub fn minimise(
        &mut self,
        case: &Case,
        finding: &Finding,
        kept_dir: &KeptDir<'_>,
    ) -> Result<Minimal, ExploreError> {
        let wanted = TargetFinding {
            class: finding.class,
            promise: promise(finding.violation, &finding.signature),
            depth: depth(finding.violation, &finding.signature),
        };
        if finding.signature.starts_with(Interrupted::Work.prefix()) {
            return self.keep_second(case, finding, kept_dir);
        }
        let (mut least, mut operations) = match case.program() {
            None => (case.clone(), 0),
            Some(program) => {
                let begun = self.begun_operations(case, program, finding)?;
                let least = self.least(&begun, wanted)?;
                let operations = least.operations.len() as u64;
                (Case::Program(least), operations)
            }
        };
        let of_least = match &least {
            Case::Program(_) => {
                let recorded = self.record(&least)?;
                self.first(&recorded, wanted)?
            }
            // The state is one of this recording.
            Case::Long(_) | Case::Application(_) => None,
        };
        let state = if let Some(state) = of_least {
            state
        } else {
            // No program shows it in the states that are tried. Then the whole one does, in the
            // state of the finding.
            least = case.clone();
            operations = case.program().map_or(0, |one| one.operations.len() as u64);
            state_of(finding)?.first
        };
        let recorded = self.record(&least)?;
        let window = window_of(&recorded, state.window)?;
        let selection = window.minimise(&state, |selection| {
            // Each state has its own second mount and check.
            let mut found = Found::new(&recorded, self.subject.promises)?;
            let wrong = self.state(&mut found, &window, selection, wanted.depth)?;
            Ok::<_, ExploreError>(wrong.iter().any(|one| wanted.is_broken_by(one)))
        })?;
        let overlay = window.overlay(&selection).map_err(illegal)?;
        let mut image = contents(&recorded.performed.base, &overlay).snapshot();
        let mut requests = window.requests(&selection).map_err(illegal)?;
        let mut later = None;
        if wanted.depth == Depth::Nested {
            let is_wanted = |one: &Wrong| wanted.is_broken_by(one);
            later = self.least_later(&recorded, (&window, &selection), is_wanted)?;
        }
        let mut state = StateId::new(selection);
        if let Some(later) = later {
            image = later.image;
            requests.extend(later.requests);
            if let Some(second) = later.second {
                state = state.then(second);
            }
        }
        let kept = kept::keep(
            kept_dir,
            &self.subject.contender,
            self.guest.about(),
            (&least, finding),
            &image,
        )?;
        let (prefix, rest) = divided(wanted.promise).unwrap_or(("", wanted.promise));
        let signature = match &least {
            Case::Program(program) if wanted.promise != finding.signature => {
                format!("{prefix}{}", signature::of_least(rest, program))
            }
            _ => finding.signature.clone(),
        };
        Ok(Minimal {
            signature,
            program: least.to_string(),
            operations,
            state: state.to_string(),
            requests,
            image: kept.as_ref().map(|kept| kept.image.clone()),
            script: kept.map(|kept| kept.script),
        })
    }

    /// Keeps the image after a second power cut. Its program stays whole.
    fn keep_second(
        &mut self,
        case: &Case,
        finding: &Finding,
        kept_dir: &KeptDir<'_>,
    ) -> Result<Minimal, ExploreError> {
        let state = state_of(finding)?;
        let [second] = &state.nested[..] else {
            return Err(illegal("its state has no second power cut"));
        };
        let recorded = self.record(case)?;
        let found = Found::new(&recorded, self.subject.promises)?;
        let window = window_of(&recorded, state.first.window)?;
        let mut requests = window.requests(&state.first).map_err(illegal)?;
        let (judged, image) = self.continue_again(&found, (&window, &state.first), second)?;
        requests.extend(judged.requests);
        let guest = self.guest.about();
        let contender = &self.subject.contender;
        let kept = kept::keep(kept_dir, contender, guest, (case, finding), &image)?;
        let operations = case.program().map_or(0, |one| one.operations.len() as u64);
        Ok(Minimal {
            signature: finding.signature.clone(),
            program: case.to_string(),
            operations,
            state: state.to_string(),
            requests,
            image: kept.as_ref().map(|kept| kept.image.clone()),
            script: kept.map(|kept| kept.script),
        })
    }

    /// The operations of a long program that had begun when the power was cut; all of another one.
    fn begun_operations(
        &mut self,
        case: &Case,
        program: &Program,
        finding: &Finding,
    ) -> Result<Program, ExploreError> {
        let Case::Long(_) = case else {
            return Ok(program.before_cut());
        };
        let state = state_of(finding)?.first;
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
    fn least(
        &mut self,
        program: &Program,
        wanted: TargetFinding<'_>,
    ) -> Result<Program, ExploreError> {
        let mut left = PERFORMED;
        let operations = minimise(&program.operations, |some| {
            self.has(&with_operations(program, some), wanted, &mut left)
        })?;
        let mut least = with_operations(program, &operations);
        let needed = least.with_needed_setup();
        if self.has(&needed, wanted, &mut left)? {
            least = needed;
        }
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
        wanted: TargetFinding<'_>,
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
        wanted: TargetFinding<'_>,
    ) -> Result<Option<Selection>, ExploreError> {
        let mut found = Found::new(recorded, self.subject.promises)?;
        // Most bugs show after the last durable moment.
        for window in recorded.states.windows().iter().rev().take(WINDOWS) {
            let window = window_of(recorded, window.number)?;
            for selection in window.select(wanted.class, STATES, 1, &*self.roles.clone()) {
                let wrong = self.state(&mut found, &window, &selection, wanted.depth)?;
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
fn state_of(finding: &Finding) -> Result<StateId, ExploreError> {
    let (_, state) = finding
        .state
        .split_once(':')
        .unwrap_or(("", &finding.state));
    state.parse().map_err(illegal)
}
