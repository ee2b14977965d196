//! The devices of a run: what they need, which of them the device guard releases, and how they are
//! described in the provenance.

use super::{Assembly, AssemblyError};
use crate::preflight::scratch;
use fsdyno_host::guard::{self, Consent, Released};
use fsdyno_host::probe::probe;
use fsdyno_model::{Availability, Contender, DeviceChoice, Need, Plan};
use fsdyno_recipes as recipes;
use std::path::PathBuf;

/// Refuses a plan whose kind of device is not available here.
pub(super) fn require(plan: &Plan) -> Result<(), AssemblyError> {
    // Other labs create their own devices.
    let here = |contender: &Contender| contender.lab.is_host() && recipes::on_blocks(contender);
    if !plan.contenders.iter().any(here) {
        return Ok(());
    }
    let mut needs = vec![Need::Root];
    if matches!(plan.device, DeviceChoice::Loop { .. }) {
        needs.push(Need::LoopDevices);
    }
    if plan.disk_in_real_time().is_some() {
        needs.push(Need::KernelFilesystem("fuse".to_owned()));
    }
    if plan.labs().len() > 1 && probe(&Need::Root) != Availability::Available {
        // The cells of this machine are skipped; those of other labs run.
        return Ok(());
    }
    for need in needs {
        if let Some(why) = probe(&need).explained() {
            return Err(AssemblyError::Missing(why));
        }
    }
    Ok(())
}

impl Assembly<'_> {
    /// Lets the guard release the devices that the user named; none if images are created.
    pub(super) fn release(&self) -> Result<Vec<Released>, AssemblyError> {
        let usage = AssemblyError::Usage;
        if self.devices_are_remote()? {
            return Ok(Vec::new());
        }
        let DeviceChoice::Block { paths } = &self.plan.device else {
            if self.erase.is_empty() && self.erase_fstab.is_empty() {
                return Ok(Vec::new());
            }
            return Err(usage(
                "--erase and --erase-fstab need --on /dev/...: no device is named".into(),
            ));
        };
        let contenders = self.plan.contenders.iter();
        let most = contenders.map(|c| c.layout.devices).max().unwrap_or(1) as usize;
        if paths.len() < most {
            return Err(usage(format!(
                "a contender consists of {most} devices, but --on names {}; separate them by commas",
                paths.len()
            )));
        }
        let consents = Consent::parse_all(self.erase, self.erase_fstab).map_err(|identity| {
            usage(format!(
                "--erase-fstab {identity} names no device of --erase; give both the same identity"
            ))
        })?;
        let need = self.preflight.smallest_device(self.plan);
        Ok(guard::release(&paths[..most], &consents, need)?)
    }
}

/// The devices and directories that belong to the provenance, each with its role. Another machine
/// describes its own devices.
pub fn described_devices(plan: &Plan) -> Vec<(PathBuf, &'static str)> {
    let mut here = plan.contenders.iter().filter(|c| !c.lab.is_remote());
    let directories = here.clone().filter_map(|c| c.directory.clone());
    if here.next().is_none() {
        return Vec::new();
    }
    let mut named: Vec<_> = directories
        .map(|path| (path, "directory under test"))
        .collect();
    match &plan.device {
        DeviceChoice::Loop {
            directory,
            memory: false,
            ..
        } => named.push((directory.clone(), "image files")),
        DeviceChoice::Block { paths } => {
            named.extend(paths.iter().map(|path| (path.clone(), "device under test")));
        }
        DeviceChoice::Loop { .. } | DeviceChoice::None if named.is_empty() => {
            named.push((scratch(plan), "mount points"));
        }
        DeviceChoice::Loop { .. } | DeviceChoice::None => {}
    }
    named
}
