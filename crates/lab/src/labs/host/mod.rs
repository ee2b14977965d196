//! The host lab: a cell runs right here, on this kernel.

mod caches;
mod doing;
mod doubts;
pub(crate) mod fragments;
mod notes;
mod states;

use crate::job::Job;
use crate::labs::Lab;
use crate::preflight::Preflight;
use crate::procedure::{self, Halt};
use doing::Doing;
use fsdyno_host::counters::space_free;
use fsdyno_host::guard::Released;
use fsdyno_host::journal::Journal;
use fsdyno_host::probe::probe;
use fsdyno_load::tools;
use fsdyno_model::{
    Availability, Bytes, Cell, CellRecord, DeviceChoice, Event, Outcome, Plan, Requirement, Stop,
    Workload,
};
use notes::Notes;
use std::fmt::Write;
use std::path::PathBuf;

/// Runs cells on this machine.
pub struct HostLab {
    preflight: Preflight,
    journal: Journal,
    stop: Stop,
    scratch: PathBuf,
    /// Block devices that the guard has released; empty where images are made.
    released: Vec<Released>,
    /// What is missing for each contender, probed once.
    missing: Vec<Option<(Requirement, Availability)>>,
    /// The program that is missing for each workload, probed once.
    missing_programs: Vec<Option<(Requirement, Availability)>>,
}

impl HostLab {
    /// A lab for one plan. Probes what each contender needs.
    pub fn new(
        plan: &Plan,
        preflight: Preflight,
        journal: Journal,
        released: Vec<Released>,
        stop: Stop,
    ) -> Self {
        let missing = plan
            .contenders
            .iter()
            .zip(&preflight.recipes)
            .map(|(_, recipe)| first_missing(recipe.requirements()))
            .collect();
        let missing_programs = plan
            .workloads
            .iter()
            .map(|workload| first_missing(programs(workload)))
            .collect();
        let scratch = preflight.scratch.clone();
        Self {
            preflight,
            journal,
            stop,
            scratch,
            released,
            missing,
            missing_programs,
        }
    }

    /// What is missing for each contender, if anything.
    pub fn missing(&self) -> &[Option<(Requirement, Availability)>] {
        &self.missing
    }

    /// The program that is missing for each workload, if any.
    pub fn missing_programs(&self) -> &[Option<(Requirement, Availability)>] {
        &self.missing_programs
    }
}

/// The programs that the phases of a workload are.
fn programs(workload: &Workload) -> Vec<Requirement> {
    let kinds = workload.phases.iter();
    kinds
        .filter_map(|phase| tools::find(&phase.kind)?.requirement())
        .collect()
}

/// The first requirement that is not met here.
fn first_missing(requirements: Vec<Requirement>) -> Option<(Requirement, Availability)> {
    requirements
        .into_iter()
        .find_map(|requirement| match probe(&requirement.need) {
            Availability::Available => None,
            missing @ Availability::Missing { .. } => Some((requirement, missing)),
        })
}

/// What fails on an image file that cannot grow fails with an error of the device: say why.
fn hint(halt: Halt, plan: &Plan) -> Halt {
    /// Less than what a file system keeps back for its own growth.
    const FULL: Bytes = Bytes(8 << 20);
    let Halt::Failed(mut failure) = halt else {
        return halt;
    };
    let DeviceChoice::Loop { directory, .. } = &plan.device else {
        return Halt::Failed(failure);
    };
    if let Ok(free) = space_free(directory)
        && free < FULL
    {
        let place = directory.display();
        let _ = write!(
            failure.message,
            "; {place}, where the image files lie, is full ({free} free): choose another \
             directory with --work-dir"
        );
    }
    Halt::Failed(failure)
}

impl Lab for HostLab {
    fn run_cell(
        &mut self,
        plan: &Plan,
        cell: Cell,
        emit: &mut dyn FnMut(Event),
    ) -> Option<CellRecord> {
        let mut notes = Notes::new(cell, emit);
        let missing = &self.missing[cell.contender as usize];
        let program = &self.missing_programs[cell.workload as usize];
        if let Some((requirement, Availability::Missing { reason, remedy })) =
            missing.as_ref().or(program.as_ref())
        {
            return Some(notes.into_record(Outcome::Skipped {
                requirement: requirement.need.name(),
                reason: reason.clone(),
                remedy: remedy.clone(),
            }));
        }
        let job = Job::new(plan, &self.preflight, cell);
        let mut hands = Doing::new(
            &mut notes,
            &self.journal,
            &self.stop,
            &self.scratch,
            &self.released,
        );
        let result = procedure::run(&mut hands, &job).map_err(|halt| hint(halt, plan));
        // Undone now, so that what cannot be undone belongs to this cell.
        let leftover = hands.undo();
        let outcome = match (result, leftover) {
            // Whatever fails while the user wants to stop fails for that.
            (Err(_), _) if self.stop.requested() => return None,
            (Err(Halt::Stopped), _) => return None,
            (Err(Halt::Failed(failure)), _) | (Ok(()), Some(failure)) => Outcome::Failed(failure),
            (Ok(()), None) => Outcome::Measured,
        };
        Some(notes.into_record(outcome))
    }

    fn stop_requested(&self) -> bool {
        self.stop.requested()
    }
}
