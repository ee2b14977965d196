//! Labs on other machines: a resumed run continues on the same machine, and a device there is erased
//! only where the user named it.

use super::{Assembly, AssemblyError};
use crate::labs::ssh::{Remote, SshLab};
use fsdyno_host::journal::Journal;
use fsdyno_model::{DeviceChoice, Effective, LabChoice};
use std::path::PathBuf;

impl Assembly<'_> {
    /// The lab on another system; for a resumed run, the system that measured its cells.
    pub(super) fn remote(
        &mut self,
        choice: &LabChoice,
        journal: Journal,
    ) -> Result<SshLab, AssemblyError> {
        let (preflight, stop) = (self.preflight.clone(), self.stop.clone());
        let remote = match choice {
            LabChoice::Ssh(destination) => Remote::Machine(destination),
            _ => Remote::Guest,
        };
        let lab = SshLab::new(self.plan, &remote, preflight, (journal, stop), self.note)?;
        let build = SshLab::build_of(lab.about());
        let marker = format!(", on {choice}:");
        let effective = self
            .recorded
            .into_iter()
            .flatten()
            .flat_map(|r| &r.effective);
        let recorded = effective
            .filter(|one| one.source == Effective::GUEST && one.text.contains(&marker))
            .map(|one| SshLab::build_of(&one.text));
        match recorded.into_iter().find(|recorded| *recorded != build) {
            None => Ok(lab),
            Some(recorded) => Err(AssemblyError::Usage(format!(
                "cannot resume on {choice}: the run began when it was {recorded}; it is \
                 {build}. Their figures cannot be compared within one run. Start a new run"
            ))),
        }
    }

    /// Whether the devices of the plan are those of another machine. The device guard of this machine
    /// cannot check them, so each must be named in `--erase`.
    pub(super) fn devices_are_remote(&self) -> Result<bool, AssemblyError> {
        let DeviceChoice::Block { paths } = &self.plan.device else {
            return Ok(false);
        };
        let contenders = &self.plan.contenders;
        let remote = contenders.iter().filter(|c| c.lab.is_remote()).count();
        if remote == 0 {
            return Ok(false);
        }
        if remote < contenders.len() {
            return Err(AssemblyError::Usage(
                "--on names devices of one machine, but the contenders are on several. Use a \
                 separate run for each machine"
                    .to_owned(),
            ));
        }
        let named = |path: &PathBuf| self.erase.iter().any(|text| path.as_os_str() == &text[..]);
        match paths.iter().find(|path| !named(path)) {
            None => Ok(true),
            Some(path) => Err(AssemblyError::NotErasable {
                device: path.display().to_string(),
            }),
        }
    }
}
