//! The host lab: a cell runs on the kernel of this machine.

mod beside;
mod caches;
mod devices;
mod executor;
mod fragmentation;
mod in_turn;
mod machine;
mod operations;
mod probes;
mod programs;
mod rounds;
mod sampling;
mod script;
mod stages;
mod states;
mod together;
mod trial;
mod verified;
mod warnings;

use crate::disks;
use crate::job::Job;
use crate::labs::limit::run_cell;
use crate::labs::{Lab, LowerLayer, Surveyed};
use crate::missing::Missing;
use crate::preflight::Preflight;
use crate::procedure::{self, CellEnd};
use executor::HostExecutor;
use fsdyno_host::guard::Released;
use fsdyno_host::journal::Journal;
use fsdyno_host::space;
use fsdyno_model::{
    Bytes, CacheState, CancelToken, Cell, CellRecord, DeviceChoice, Effective, Event, Failure,
    Mark, Outcome, Plan, Warning, WarningKind,
};
use fsdyno_observe::kernel_work::WorkCounter;
use machine::Machine;
use probes::Probes;
pub(crate) use script::script;
use std::fmt::Write;
use std::path::PathBuf;
use std::sync::Mutex;
use together::turns::Turn;

/// Runs cells on this machine.
pub struct HostLab {
    preflight: Preflight,
    journal: Journal,
    stop: CancelToken,
    scratch: PathBuf,
    /// Block devices that the guard has released; empty if images are created.
    released: Vec<Released>,
    missing: Missing,
    below: Option<Box<dyn LowerLayer + Send>>,
    marks: Box<dyn FnMut(Mark) + Send>,
    virtual_time: bool,
    probes: Option<Mutex<Probes>>,
    /// For each workload, why its contenders do not run together, if they do not. Empty before the
    /// first cell, and in guests.
    apart: Vec<Option<String>>,
    /// Counts the work of the kernel, if it can.
    counter: Option<WorkCounter>,
}

impl HostLab {
    /// A lab for one plan. Probes the requirements of each contender.
    pub fn new(
        plan: &Plan,
        preflight: Preflight,
        journal: Journal,
        released: Vec<Released>,
        stop: CancelToken,
    ) -> Self {
        let scratch = preflight.scratch.clone();
        Self {
            preflight,
            journal,
            stop,
            scratch,
            released,
            missing: Missing::here(plan),
            below: None,
            marks: Box::new(|_| ()),
            virtual_time: false,
            probes: None,
            apart: Vec::new(),
            counter: None,
        }
    }

    /// Sets the layer below the devices that also caches their data.
    #[must_use]
    pub fn above(mut self, below: Box<dyn LowerLayer + Send>) -> Self {
        self.below = Some(below);
        self
    }

    /// Virtual time advances only from one event to the next, at each reading of the clock, and by
    /// the charge of this counter.
    #[must_use]
    pub fn in_virtual_time(mut self, counter: Option<WorkCounter>) -> Self {
        self.virtual_time = true;
        self.counter = counter;
        self
    }

    /// Sets the receiver of marks of phases: the recorders of model disks. The receiver's time
    /// counts towards the time to durable.
    #[must_use]
    pub fn marking(mut self, marks: impl FnMut(Mark) + Send + 'static) -> Self {
        self.marks = Box::new(marks);
        self
    }
}

/// Explains the I/O error of a sparse image file on a full disk.
pub(super) fn hint(failure: &mut Failure, plan: &Plan) {
    /// Less than a file system reserves for its own growth.
    const FULL: Bytes = Bytes(8 << 20);
    let DeviceChoice::Loop {
        directory,
        memory: false,
        ..
    } = &plan.device
    else {
        return;
    };
    if let Ok(free) = space::free(directory)
        && free < FULL
    {
        let place = directory.display();
        let _ = write!(
            failure.message,
            "; {place}, the directory of the image files, is full ({free} free). Choose another \
            with --work-dir"
        );
    }
}

impl Surveyed for HostLab {
    fn missing(&self) -> &Missing {
        &self.missing
    }

    /// Probes of the machine's speed are taken before each phase. Gigabytes of other programs in the
    /// page cache take seconds to drop, and the first cell does not wait for them; without root,
    /// cold phases state the reason.
    fn begin(&mut self, plan: &Plan) {
        let probes = Probes::new(plan, &self.scratch, &self.journal, &self.stop);
        self.probes = Some(Mutex::new(probes));
        let why_not = |at| together::why_not(plan, &self.preflight, &self.released, at);
        self.apart = (0..plan.workloads.len()).map(why_not).collect();
        let mut phases = plan.workloads.iter().flat_map(|workload| &workload.phases);
        if phases.any(|phase| phase.cache == CacheState::Cold) {
            let _ = fsdyno_host::cache::drop_caches();
        }
    }
}

/// The warning that nothing frees the space of a file system.
fn without(cleaner: &str) -> Warning {
    Warning::new(
        WarningKind::NoCleaner,
        format!(
            "{cleaner} does not run: the figures lack its work, which frees deleted and \
             overwritten space"
        ),
        "measure it mounted by mount(8), as a directory (dir:PATH), over longer work",
    )
}

impl Lab for HostLab {
    fn run_cell(
        &mut self,
        plan: &Plan,
        cell: Cell,
        emit: &mut dyn FnMut(Event),
    ) -> Option<CellRecord> {
        let stop = self.stop.clone();
        run_cell(plan, cell, emit, &self.missing.clone(), &stop, |notes| {
            disks::warn_of_faults(notes, plan.disk.as_ref());
            let job = Job::new(plan, &self.preflight, cell);
            if let Some(cleaner) = job.recipe.capabilities().cleaner {
                notes.warn(without(cleaner));
            }
            let machine = Machine::Here {
                journal: &self.journal,
                released: &self.released,
            };
            let mut executor = HostExecutor::new(
                notes,
                machine,
                &self.stop,
                &self.scratch,
                plan.disk_in_real_time(),
                self.below.as_deref_mut(),
                &mut *self.marks,
            );
            if let Some(Some(why)) = self.apart.get(cell.workload as usize) {
                let text = format!("one contender after another: {why}");
                executor.notes.effective(Effective::ORDER, text);
            }
            executor.virtual_time = self.virtual_time;
            executor.probes = self.probes.as_ref();
            executor.counter = self.counter.as_mut();
            execute(executor, &job)
        })
    }

    fn runs_together(&self, workload: u32) -> bool {
        self.apart.get(workload as usize) == Some(&None)
    }

    fn run_together(
        &mut self,
        plan: &Plan,
        cells: &[Cell],
        emit: &mut dyn FnMut(Event),
    ) -> Vec<Option<CellRecord>> {
        let Self {
            preflight,
            journal,
            stop,
            scratch,
            missing,
            probes,
            ..
        } = self;
        let run = |cell: Cell, turn: &Turn, emit: &mut dyn FnMut(Event)| {
            run_cell(plan, cell, emit, missing, stop, |notes| {
                let marks = &mut |_| ();
                let machine = Machine::Here {
                    journal,
                    released: &[],
                };
                let mut executor =
                    HostExecutor::new(notes, machine, stop, scratch, None, None, marks);
                let text = together::TOGETHER.to_owned();
                executor.notes.effective(Effective::ORDER, text);
                executor.probes = probes.as_ref();
                executor.turn = Some(turn);
                execute(executor, &Job::new(plan, preflight, cell))
            })
        };
        together::run(plan, cells, emit, &run)
    }
}

/// Runs the stages of a cell, and releases its resources.
fn execute(mut executor: HostExecutor<'_, '_>, job: &Job<'_>) -> Result<Outcome, CellEnd> {
    let mut result = procedure::run(&mut executor, job);
    if let Err(CellEnd::Failed(failure)) = &mut result {
        hint(failure, job.plan);
        executor.append_server_error(failure);
    }
    // Before the record ends, so that a resource that cannot be removed fails this cell.
    let remaining = executor.undo();
    result.map(|()| remaining.map_or(Outcome::Measured, Outcome::Failed))
}
