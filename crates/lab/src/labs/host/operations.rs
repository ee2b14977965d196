//! The operations of the host lab that change something: the [machine](super::machine) of the cell
//! performs or prints each.

use super::executor::HostExecutor;
use super::machine::{Held, Machine};
use crate::procedure::CellEnd;
use fsdyno_host::command::{self, Finished};
use fsdyno_host::journal::Journal;
use fsdyno_model::step::shell_line;
use fsdyno_model::{Nanos, Step};
use std::fmt::Display;

impl HostExecutor<'_, '_> {
    pub(super) fn is_script(&self) -> bool {
        matches!(self.machine, Machine::Script { .. })
    }

    /// Adds a line to a script. Returns whether this is one.
    pub(super) fn prints(&mut self, line: impl FnOnce() -> String) -> bool {
        let Machine::Script { lines, .. } = &mut self.machine else {
            return false;
        };
        lines.push(line());
        true
    }

    /// Performs a step by system call and records it. A step that is printed has no result.
    pub(super) fn by_call<T, E: Display>(
        &mut self,
        step: &Step,
        act: impl FnOnce(&Journal) -> Result<T, E>,
    ) -> Result<Option<T>, E> {
        let Some(journal) = self.machine.journal() else {
            self.prints(|| step.shell());
            return Ok(None);
        };
        self.notes.by_call(step, || act(journal)).map(Some)
    }

    /// As [`Self::by_call`]; an error fails the stage.
    pub(super) fn perform<T, E: Display>(
        &mut self,
        step: &Step,
        act: impl FnOnce(&Journal) -> Result<T, E>,
    ) -> Result<Option<T>, CellEnd> {
        let done = self.by_call(step, act);
        done.map_err(|error| self.notes.halt(error.to_string(), None))
    }

    /// Releases a resource by system call, and records it.
    pub(super) fn release_by_call<T, R, E: Display>(
        &mut self,
        held: Held<T>,
        act: impl FnOnce(T) -> Result<R, E>,
    ) -> Result<Option<R>, E> {
        let Held { resource, release } = held;
        let done = self.by_call(&release, |_| resource.map(act).transpose());
        done.map(Option::flatten)
    }

    /// As [`Self::release_by_call`]; an error fails the stage.
    pub(super) fn release_resource<T, R, E: Display>(
        &mut self,
        held: Held<T>,
        act: impl FnOnce(T) -> Result<R, E>,
    ) -> Result<Option<R>, CellEnd> {
        let done = self.release_by_call(held, act);
        done.map_err(|error| self.notes.halt(error.to_string(), None))
    }

    /// Writes down what a program is about to make; nothing for a script.
    pub(super) fn declare<T, E: Display>(
        &mut self,
        act: impl FnOnce(&Journal) -> Result<T, E>,
    ) -> Result<Option<T>, CellEnd> {
        let declared = self.machine.journal().map(act).transpose();
        declared.map_err(|error| self.notes.halt(error.to_string(), None))
    }

    /// Runs a program; a status outside `good` is a failure. One that is printed succeeds silently.
    pub(super) fn program(&mut self, argv: &[String], good: &[i32]) -> Result<Finished, CellEnd> {
        if self.prints(|| shell_line(argv)) {
            return Ok(Finished {
                status: Some(0),
                signal: None,
                elapsed: Nanos(0),
                stdout: String::new(),
                stderr: String::new(),
            });
        }
        let finished = command::run(argv, self.stop).map_err(|error| self.notes.not_run(&error))?;
        self.ended(argv, finished, good)
    }
}
