//! Assembles the labs of a plan: checks what is missing, lets the device guard release the devices,
//! opens the clean-up journal and starts each lab. Nothing is formatted here.

mod devices;
mod remote;

use crate::Labs;
use crate::labs::guest::{GuestLab, GuestLabError, PendingKernels, PendingLab, record_place};
use crate::labs::host::HostLab;
use crate::labs::repeats::Repeats;
use crate::labs::ssh::SshLabError;
use crate::missing::MissingRequirement;
use crate::preflight::{Preflight, PreflightError};
use crate::state_dir::StateDir;
pub use devices::described_devices;
use fsdyno_host::clean_up::CleanUp;
use fsdyno_host::guard::{Refusal, SaveError};
use fsdyno_host::image::Scratch;
use fsdyno_host::journal::{JournalError, Undo};
use fsdyno_model::{CancelToken, CellRecord, LabChoice, Outcome, Plan};
use fsdyno_observe::kernel_samples;

/// The inputs from which the labs of a plan are assembled.
pub struct Assembly<'a> {
    pub plan: &'a Plan,
    /// The checks that the plan passed.
    pub preflight: Preflight,
    /// The state directory of the user.
    pub state: &'a StateDir,
    /// Identities and signatures of devices that may be erased (`--erase`).
    pub erase: &'a [String],
    /// Identities among them that may be erased although fstab or crypttab names them.
    pub erase_fstab: &'a [String],
    /// The kernels of contenders that are built while cells run.
    pub pending: &'a PendingKernels,
    /// The recorded cells of a run that is resumed.
    pub recorded: Option<&'a [CellRecord]>,
    /// Cancels the assembly and the labs.
    pub stop: &'a CancelToken,
    /// Receives notes for the user.
    pub note: &'a mut dyn FnMut(&str),
}

/// The reason why the labs of a plan cannot be assembled.
#[derive(Debug, thiserror::Error)]
pub enum AssemblyError {
    /// The plan or the options contradict each other or this machine.
    #[error("{0}")]
    Usage(String),
    #[error("{0}")]
    Missing(String),
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// A device of another machine is not named in `--erase`.
    #[error(
        "{device} is a device of another machine, where the device guard cannot check it. Its \
         contents would be lost. To erase it: --erase {device}"
    )]
    NotErasable { device: String },
    /// No contender can be made, mounted, unmounted and checked.
    #[error("no contender can be made and mounted here; nothing was measured:\n  {0}")]
    NoUsable(String),
    #[error("interrupted; nothing was measured")]
    Stopped,
    /// The signatures of a device cannot be copied.
    #[error(transparent)]
    Signatures(#[from] SaveError),
    /// The clean-up journal cannot be opened or read.
    #[error(transparent)]
    Journal(#[from] JournalError),
    #[error(transparent)]
    Guest(#[from] GuestLabError),
    /// Another machine cannot be used.
    #[error(transparent)]
    Ssh(#[from] SshLabError),
}

impl From<PreflightError> for AssemblyError {
    fn from(error: PreflightError) -> Self {
        Self::Usage(error.to_string())
    }
}

impl Assembly<'_> {
    /// Checks everything that must hold before a cell runs, and starts the labs. Another measurement
    /// may run meanwhile: [`Labs::begin`] does what would disturb it.
    pub fn assemble(mut self) -> Result<Labs, AssemblyError> {
        let (plan, preflight) = (self.plan, &self.preflight.clone());
        devices::require(plan)?;
        preflight.check_places(plan)?;
        if plan.profile {
            kernel_samples::check_allowed().map_err(AssemblyError::Missing)?;
        }
        if let Some(remark) = preflight.images.remark(plan) {
            (self.note)(&remark);
        }
        if let Some(record) = &plan.disk_trace {
            record_place(record, self.recorded.is_none()).map_err(AssemblyError::Usage)?;
        }
        let released = self.release()?;
        for device in &released {
            (self.note)(&self.state.save_signatures(device)?);
        }
        if self.has_remains() {
            (self.note)("an earlier run left something behind; see: fsdyno clean --dry-run");
        }
        let journal = self.state.open_journal()?;
        let mut labs = Labs::default();
        if Repeats::are_exact(plan) {
            let traces = if plan.disk_trace.is_some() {
                None
            } else {
                let name = format!("fsdyno-{}-repeats", journal.name());
                let traces = Scratch::create(&preflight.scratch.join(name), &journal);
                Some(traces.map_err(GuestLabError::from)?)
            };
            labs.compare_repeats(Repeats::new(traces, self.recorded.unwrap_or_default()));
        }
        for (choice, kernel) in plan.labs_and_kernels() {
            let (journal, stop) = (journal.clone(), self.stop.clone());
            match choice {
                LabChoice::Uml | LabChoice::Qemu => {
                    let not_built = kernel.filter(|one| self.pending.contains(&one.name));
                    if let Some(kernel) = not_built {
                        let pending = PendingLab {
                            lab: choice.clone(),
                            kernel: kernel.clone(),
                            scratch: preflight.scratch.clone(),
                            images: preflight.images.clone(),
                            journal,
                            stop,
                            pending: self.pending.clone(),
                            started: None,
                        };
                        labs.add(choice, Some(kernel), pending);
                        continue;
                    }
                    let lab = GuestLab::new((choice, kernel), plan, preflight, journal, stop)?;
                    if let Some(remark) = lab.remark() {
                        (self.note)(&remark);
                    }
                    labs.add(choice, kernel, lab);
                }
                LabChoice::Ssh(_) | LabChoice::Vm => {
                    labs.add(choice, None, self.remote(choice, journal)?);
                }
                LabChoice::Host => {}
            }
        }
        let mut refused = Vec::new();
        if plan.uses(&LabChoice::Host) {
            let checked = preflight.clone();
            let lab = HostLab::new(plan, checked, journal, released, self.stop.clone());
            refused = lab.refused_contenders(plan);
            labs.add(&LabChoice::Host, None, lab);
        }
        check_that_a_cell_can_run(&labs, plan)?;
        labs.refuse(&refused);
        self.report_refused(&refused)?;
        Ok(labs)
    }

    /// Names each contender that cannot be made and mounted. An error if none is left.
    fn report_refused(&mut self, refused: &[CellRecord]) -> Result<(), AssemblyError> {
        if self.stop.requested() {
            return Err(AssemblyError::Stopped);
        }
        let lines: Vec<String> = refused
            .iter()
            .filter_map(|record| {
                let contender = &self.plan.contenders[record.cell.contender as usize];
                let Outcome::Failed(failure) = &record.outcome else {
                    return None;
                };
                let (stage, message) = (&failure.stage, &failure.message);
                Some(format!("{}: {stage}: {message}", contender.label))
            })
            .collect();
        if lines.len() == self.plan.contenders.len() {
            return Err(AssemblyError::NoUsable(lines.join("\n  ")));
        }
        for line in lines {
            (self.note)(&format!(
                "{line}; its cells fail, and the other contenders run"
            ));
        }
        Ok(())
    }

    /// Whether a dead process left something behind. A journal that cannot be read is reported by
    /// `fsdyno clean`.
    fn has_remains(&self) -> bool {
        let remains = |one: &CleanUp| matches!(one.result, Undo::Would | Undo::Failed(_));
        self.state
            .clean_up(true)
            .is_ok_and(|found| !found.refused.is_empty() || found.things.iter().any(remains))
    }
}

/// Refuses a run in which every cell would be skipped.
fn check_that_a_cell_can_run(labs: &Labs, plan: &Plan) -> Result<(), AssemblyError> {
    let missing = labs.missing(plan);
    let labels = plan.contenders.iter().map(|contender| &*contender.label);
    if let Some(lines) = all_missing(labels, &missing.contenders) {
        return Err(AssemblyError::Missing(format!(
            "no contender can run here:\n{lines}\n\
             without root and mkfs, directories can be compared: --on dir:PATH"
        )));
    }
    let names = plan.workloads.iter().map(|workload| &*workload.name);
    match all_missing(names, &missing.workloads) {
        Some(lines) => Err(AssemblyError::Missing(format!(
            "no workload can run here:\n{lines}"
        ))),
        None => Ok(()),
    }
}

/// A message with one line for each name; none if something is available.
fn all_missing<'a>(
    names: impl Iterator<Item = &'a str>,
    lacks: &[MissingRequirement],
) -> Option<String> {
    let line = |(name, requirement): (&str, &MissingRequirement)| {
        let why = requirement.as_ref()?.1.explained()?;
        Some(format!("  {name}: {why}"))
    };
    let lines: Option<Vec<String>> = names.zip(lacks).map(line).collect();
    lines
        .filter(|lines| !lines.is_empty())
        .map(|lines| lines.join("\n"))
}
