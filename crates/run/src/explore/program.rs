//! The exploration of one program, or of a part of an application.

use super::found::{
    Depth, Found, Judged, KnownTree, Outcome, Recorded, Wrong, contents, ended, illegal, window_of,
};
use super::{Application, Case, ExploreError, Explorer, Long, untouched};
use fsdyno_crash::signature::normalised;
use fsdyno_crash::{CrashStates, Overlay, Progress, Selection, StateId, TraceEvent, WindowStates};
use fsdyno_lab::GuestLabError;
use fsdyno_lab::explorer::{ApplicationCheck, RecoveryOptions};
use fsdyno_model::{
    ClassCount, ExploredProgram, Finding, Nanos, ProgramCost, Search, StateClass, StateCounts,
    Violation,
};
use std::sync::Arc;

impl Explorer<'_> {
    /// Explores a program. A program that the file system does not support has failed, with the
    /// reason.
    pub fn explore(
        &mut self,
        number: u32,
        case: &Case,
        search: &Search,
    ) -> Result<ExploredProgram, ExploreError> {
        let mut explored = ExploredProgram {
            contender: self.subject.contender.label.clone(),
            number,
            program: case.to_string(),
            kinds: case.kinds(),
            ..ExploredProgram::default()
        };
        match self.record(case) {
            Ok(recorded) => {
                explored.cost = cost(&recorded);
                let (counts, findings) = self.states(&recorded, search, number)?;
                explored.states = counts;
                explored.findings = findings;
            }
            Err(ExploreError::State(reason)) => explored.failed = Some(reason),
            Err(error) => return Err(error),
        }
        self.guest.about().clone_into(&mut explored.guest);
        Ok(explored)
    }

    /// Performs a case. One that cannot be performed is an [`ExploreError::State`].
    pub(super) fn record<'p>(&mut self, case: &'p Case) -> Result<Recorded<'p>, ExploreError> {
        let base = &self.prepared.base;
        let performed = match case {
            Case::Program(program) | Case::Long(Long { program, .. }) => {
                let checked = program.check();
                checked.map_err(|error| ExploreError::State(error.to_string()))?;
                match program.cut() {
                    None => self.guest.perform(base, program),
                    Some(_) => self.guest.perform(base, &program.before_cut()),
                }
            }
            Case::Application(application) => {
                self.guest.execute(base, application.commands(), false)
            }
        };
        let performed = match performed {
            Err(GuestLabError::Died { what }) => {
                return Err(ExploreError::State(format!(
                    "the guest that performed it {what}"
                )));
            }
            performed => performed?,
        };
        if let Some(failed) = &performed.failed {
            let program = case.program();
            let operation = program.and_then(|program| program.operation(failed.operation));
            let operation = operation.map_or_else(String::new, |one| format!(" (`{one}`)"));
            return Err(ExploreError::State(format!(
                "operation {}{operation} failed: {}",
                failed.operation, failed.errno
            )));
        }
        let read = |sector: u64, into: &mut [u8]| performed.base.read(sector * 512, into);
        let states = CrashStates::with_base(&performed.trace, read);
        let states = states.map_err(|error| ExploreError::Contradiction(error.to_string()))?;
        Ok(Recorded {
            case,
            performed,
            states,
        })
    }

    fn states(
        &mut self,
        recorded: &Recorded<'_>,
        search: &Search,
        number: u32,
    ) -> Result<(StateCounts, Vec<Finding>), ExploreError> {
        let mut found = Found::new(recorded, self.subject.promises)?;
        // The second power cut of a program may be in the recovery too.
        let depth = if search.nested && recorded.case.cut().is_none() {
            Depth::Nested
        } else {
            Depth::Used
        };
        let all = recorded.states.windows();
        let (places, skipped) = recorded.case.windows(all.len());
        found.counts.skipped_windows = skipped;
        for place in places {
            found.counts.windows += 1;
            let window = window_of(recorded, all[place].number)?;
            for class in StateClass::ALL {
                if class > search.class {
                    break;
                }
                let legal = window.count(class);
                let total = found.counts.classes.entry(class).or_insert(ClassCount {
                    legal: Some(0),
                    ..ClassCount::default()
                });
                total.legal = total
                    .legal
                    .zip(legal)
                    .and_then(|(all, more)| all.checked_add(more));
                let seed = search.seed ^ u64::from(number);
                for selection in window.select(class, search.states, seed, &*self.roles.clone()) {
                    let wrong = self.state(&mut found, &window, &selection, depth)?;
                    let total = found.counts.classes.entry(class).or_default();
                    total.checked += 1;
                    let id = StateId::new(selection);
                    for wrong in wrong {
                        found.add(wrong, number, &id);
                    }
                }
            }
        }
        Ok(found.results())
    }

    /// The broken promises of a state.
    pub(super) fn state(
        &mut self,
        found: &mut Found<'_>,
        window: &WindowStates<'_>,
        selection: &Selection,
        depth: Depth,
    ) -> Result<Vec<Wrong>, ExploreError> {
        let overlay = window.overlay(selection).map_err(illegal)?;
        found.image = (overlay.key(), overlay.unreadable().is_some());
        let outcome = self.outcome(found, selection, &overlay, depth)?;
        let progress = found.progress(window, selection)?;
        if let Case::Application(application) = found.recorded.case {
            self.check_application(found, application, (outcome, progress), &overlay)?;
        }
        let mut wrong = found.judge(outcome, progress, selection.class);
        wrong.extend(found.judge_later(progress, &wrong));
        if depth != Depth::Files
            && wrong.is_empty()
            && overlay.unreadable().is_none()
            && found.recorded.case.cut().is_some()
            && let Some(tree) = found.outcomes[outcome].tree
        {
            wrong = self.continued(found, &overlay, (progress, tree))?;
        }
        Ok(wrong)
    }

    /// Runs the check of an application, unless equal files were checked after equal progress.
    fn check_application(
        &mut self,
        found: &mut Found<'_>,
        application: &Application,
        (outcome, progress): (usize, Progress),
        overlay: &Overlay,
    ) -> Result<(), ExploreError> {
        let Some(tree) = found.outcomes[outcome].tree else {
            return Ok(());
        };
        let unreadable = overlay.unreadable().is_some();
        let key = (progress, tree, unreadable);
        if found.judged.contains_key(&key) {
            return Ok(());
        }
        let lines = &found.recorded.performed.lines;
        let acknowledged = lines.len().min(progress.returned as usize);
        let options = RecoveryOptions {
            check: Some(ApplicationCheck {
                command: application.check.clone(),
                acknowledged: lines[..acknowledged].to_vec(),
            }),
            ..RecoveryOptions::default()
        };
        let contents = contents(&found.recorded.performed.base, overlay);
        let recovered = self.guest.recover(contents, options)?;
        let (mut wrong, _) = ended(&recovered, &found.names);
        if let Ok(report) = &recovered.end
            && let Some(text) = &report.application
        {
            let after = untouched::after_lines(&lines[..acknowledged]);
            wrong.push(Wrong {
                violation: Violation::Application,
                signature: format!("check: {}", normalised(text, &found.names)),
                message: format!("the check of {} fails {after}: {text}", application.name()),
                kernel: report.kernel.clone(),
                checker: None,
                interrupted: None,
            });
        }
        found.judged.insert(key, wrong);
        Ok(())
    }

    /// The number of the outcome of a state: a known one, or that of its recovery.
    fn outcome(
        &mut self,
        found: &mut Found<'_>,
        selection: &Selection,
        overlay: &Overlay,
        depth: Depth,
    ) -> Result<usize, ExploreError> {
        // An unreadable sector is no part of the content.
        let comparable = overlay.unreadable().is_none();
        let key = overlay.key();
        if let Some(known) = found.images.get(&key).filter(|_| comparable) {
            return Ok(*known);
        }
        found.counts.distinct += 1;
        if let Some(known) = found.equivalence.lookup(overlay).filter(|_| comparable) {
            found.counts.equivalent += 1;
            found.images.insert(key, known);
            return Ok(known);
        }
        let base = &found.recorded.performed.base;
        let mut contents = contents(base, overlay);
        contents.log_only(Arc::clone(&found.logged));
        let recovered = self.guest.recover(contents, RecoveryOptions::default())?;
        found.counts.recovered += 1;
        let (mut wrong, tree) = ended(&recovered, &found.names);
        if depth == Depth::Nested
            && comparable
            && let Ok(report) = &recovered.end
            && report.refused.is_some()
            && let Some(refused) = wrong.first()
        {
            let (signature, state) = (refused.signature.clone(), base.with(&recovered.changes));
            self.repair(found, &state, &signature)?;
        }
        let mut number = None;
        if let Some(tree) = tree {
            let known = found.numbers.get(&tree).copied();
            let known = if let Some(known) = known {
                known
            } else {
                let more = match depth {
                    Depth::Files => Vec::new(),
                    depth => self.thorough(found, overlay, depth == Depth::Nested)?,
                };
                found.counts.trees += 1;
                found.numbers.insert(tree.clone(), found.trees.len());
                found.trees.push(KnownTree { tree, wrong: more });
                found.trees.len() - 1
            };
            wrong.extend(found.trees[known].wrong.iter().cloned());
            number = Some(known);
        }
        let next = found.outcomes.len();
        found.outcomes.push(Outcome {
            wrong,
            tree: number,
        });
        if comparable {
            // A guest that died may not have read everything that decided its end.
            if recovered.end.is_ok() {
                let inserted = found.equivalence.insert(&recovered.reads, overlay, next);
                inserted.map_err(|error| {
                    ExploreError::Contradiction(format!("state {selection}: {error}"))
                })?;
            }
            found.images.insert(key, next);
        }
        Ok(next)
    }

    /// Mounts a state a second time, deletes its files, runs the checker, and cuts the power during
    /// its recovery.
    fn thorough(
        &mut self,
        found: &mut Found<'_>,
        overlay: &Overlay,
        nested: bool,
    ) -> Result<Vec<Wrong>, ExploreError> {
        let base = &found.recorded.performed.base;
        let contents = contents(base, overlay);
        let before = contents.snapshot();
        let options = RecoveryOptions {
            thorough: true,
            recorded: nested && overlay.unreadable().is_none(),
            ..RecoveryOptions::default()
        };
        let recorded = options.recorded;
        let recovered = self.guest.recover(contents, options)?;
        let (mut wrong, tree) = ended(&recovered, &found.names);
        // A file system that no program repairs does not promise to be consistent.
        let consistent = self.subject.promises.consistent;
        let promised = |violation| {
            if consistent {
                violation
            } else {
                Violation::Extra
            }
        };
        if let Ok(report) = &recovered.end {
            let texts = [
                (
                    Violation::Unstable,
                    "second mount",
                    "after a second mount",
                    &report.unstable,
                ),
                (
                    Violation::Unusable,
                    "deletion",
                    "files cannot be deleted or created",
                    &report.unusable,
                ),
            ];
            for (violation, what, title, text) in texts {
                if let Some(text) = text {
                    wrong.push(Wrong {
                        violation: promised(violation),
                        signature: format!("{what}: {}", normalised(text, &found.names)),
                        message: format!("{title}: {text}"),
                        kernel: report.kernel.clone(),
                        checker: None,
                        interrupted: None,
                    });
                }
            }
        }
        // A checker is not to judge a disk with an unreadable sector.
        if overlay.unreadable().is_none()
            && let Some(tree) = &tree
        {
            let errors = self.check(found, base, &recovered)?;
            wrong.extend(errors.clone());
            if recorded {
                self.nested(found, &before, &recovered.trace, tree)?;
            }
            if let Some(errors) = errors.filter(|_| nested) {
                let state = base.with(&recovered.changes);
                self.repair(found, &state, &errors.signature)?;
            }
        }
        Ok(wrong)
    }

    /// Recovers one state of a program again, and interrupts its recovery if its name has a second power cut.
    pub fn again(&mut self, case: &Case, state: &StateId) -> Result<Judged, ExploreError> {
        let recorded = self.record(case)?;
        let mut found = Found::new(&recorded, self.subject.promises)?;
        let window = window_of(&recorded, state.first.window)?;
        if let ([second], Some(_)) = (&state.nested[..], case.cut()) {
            return Ok(self
                .continue_again(&found, (&window, &state.first), second)?
                .0);
        }
        let mut wrong = self.state(&mut found, &window, &state.first, Depth::Nested)?;
        let mut requests = window.requests(&state.first).map_err(illegal)?;
        let mut tree = found.trees.pop().map(|known| known.tree);
        match &state.nested[..] {
            [] => {}
            [second] => {
                let first = (&window, &state.first);
                let again = self.recover_again(&mut found, first, second, &wrong)?;
                wrong.retain(|one| one.interrupted.is_none());
                wrong.extend(again.wrong);
                requests.extend(again.requests);
                tree = again.tree;
            }
            _ => {
                let what = "one recovery of a state can be interrupted, not several";
                return Err(ExploreError::State(what.to_owned()));
            }
        }
        Ok(Judged {
            wrong,
            tree,
            requests,
        })
    }
}

/// The cost of the promises of a program, until its last operation has returned.
fn cost(recorded: &Recorded<'_>) -> ProgramCost {
    let events = &recorded.performed.trace.events;
    let last = events
        .iter()
        .rposition(|event| matches!(event, TraceEvent::Returned { .. }));
    let mut cost = ProgramCost {
        took_ns: Nanos(recorded.performed.elapsed.0),
        ..ProgramCost::default()
    };
    for event in &events[..last.map_or(0, |last| last + 1)] {
        match event {
            TraceEvent::Write { data, fua, .. } => {
                cost.bytes_written += data.sectors() * 512;
                cost.flushes += u64::from(*fua);
            }
            TraceEvent::Flush { .. } => cost.flushes += 1,
            TraceEvent::Returned { .. } => cost.operations += 1,
            TraceEvent::Completed { .. } | TraceEvent::Began { .. } => {}
        }
    }
    cost.bytes_requested = recorded.case.bytes_requested();
    cost
}
