//! The devices of a run: what must be there, and what the guard releases.

use crate::args::Erase;
use crate::exit::{CliError, Code};
use crate::output;
use crate::places;
use fsdyno_host::guard::{self, Released};
use fsdyno_host::probe::probe;
use fsdyno_lab::preflight::DEFAULT_SCRATCH;
use fsdyno_model::{Availability, Bytes, Contender, DeviceChoice, Need, Plan};
use fsdyno_recipes as recipes;
use std::path::PathBuf;

/// Refuses a plan whose kind of device is not to be had here.
pub fn require(plan: &Plan) -> Result<(), CliError> {
    // Other labs make their own, and what lies on none needs none.
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
        // The cells of this machine are skipped for it, and those of other labs run.
        return Ok(());
    }
    for need in needs {
        if let Availability::Missing { reason, remedy } = probe(&need) {
            return Err(CliError::new(Code::Missing, format!("{reason}; {remedy}")));
        }
    }
    Ok(())
}

/// Has the guard release the devices that the user named; none where images are made.
pub fn release(plan: &Plan, erase: &Erase, need: Bytes) -> Result<Vec<Released>, CliError> {
    if super::remote::devices(plan, &erase.erase)? {
        return Ok(Vec::new());
    }
    let DeviceChoice::Block { paths } = &plan.device else {
        if erase.erase.is_empty() && erase.erase_fstab.is_empty() {
            return Ok(Vec::new());
        }
        return Err(CliError::usage(
            "--erase and --erase-fstab need --on /dev/...: no device is named",
        ));
    };
    let most = plan
        .contenders
        .iter()
        .map(|c| c.layout.devices)
        .max()
        .unwrap_or(1) as usize;
    if paths.len() < most {
        return Err(CliError::usage(format!(
            "a contender is made of {most} devices, but --on names {}; separate them by commas",
            paths.len()
        )));
    }
    let released = guard::release(&paths[..most], &erase.consents()?, need)
        .map_err(|refusal| CliError::new(Code::Refused, refusal))?;
    for device in &released {
        save_signatures(device)?;
    }
    Ok(released)
}

/// Keeps a copy of what identifies the contents of a device or file, before it is overwritten.
pub fn save_signatures(released: &Released) -> Result<(), CliError> {
    let kept = released
        .save_signatures(&places::signatures()?)
        .map_err(CliError::failure)?;
    output::note(format_args!(
        "fsdyno: {} will be overwritten; a copy of its signatures is in {}",
        released.device().display(),
        kept.display()
    ));
    Ok(())
}

/// The devices and directories that belong to the provenance, each with its role.
///
/// What lies on another machine is told of there.
pub fn to_name(plan: &Plan) -> Vec<(PathBuf, &'static str)> {
    let mut here = plan.contenders.iter().filter(|c| !c.lab.is_elsewhere());
    let directories = here.clone().filter_map(|c| c.directory.clone());
    if here.next().is_none() {
        return Vec::new();
    }
    let mut named: Vec<_> = directories
        .map(|path| (path, "directory under test"))
        .collect();
    match &plan.device {
        DeviceChoice::Loop { directory, .. } => named.push((directory.clone(), "image files")),
        DeviceChoice::Block { paths } => {
            named.extend(paths.iter().map(|path| (path.clone(), "device under test")));
        }
        DeviceChoice::None if named.is_empty() => {
            let place = plan.work_dir.clone();
            let place = place.unwrap_or_else(|| DEFAULT_SCRATCH.into());
            named.push((place, "mount points"));
        }
        DeviceChoice::None => {}
    }
    named
}
