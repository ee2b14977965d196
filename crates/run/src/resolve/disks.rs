//! The model disk of all contenders: its profile, its faults, and its time.

use super::config_error::ConfigError;
use fsdyno_model::{Contender, DeviceChoice, DiskTime, LabChoice, ModelCpu, ModelDisk};
use std::path::{Path, PathBuf};

/// The name of a processor on which computing takes no time.
const FREE: &str = "free";

/// The model disk of that name; a path is relative to `base`.
pub fn model_disk(name: &Path, base: &Path) -> Result<ModelDisk, ConfigError> {
    fsdyno_lab::model_disk(&name_or_file(name, base))
        .map_err(|error| ConfigError::wrong(error, "name another profile, or correct its file"))
}

/// The model processor of that name, in virtual time; a path is relative to `base`. None if
/// computing is free.
pub fn model_cpu(
    name: Option<&Path>,
    base: &Path,
    disk: Option<&ModelDisk>,
) -> Result<Option<ModelCpu>, ConfigError> {
    let is_virtual = disk.is_some_and(|disk| disk.time == DiskTime::Virtual);
    match name {
        Some(name) if name == Path::new(FREE) => Ok(None),
        Some(_) if !is_virtual => Err(ConfigError::wrong(
            "a model processor is one of virtual time",
            "name a disk in virtual time (--disk nvme --lab uml), or leave out the processor",
        )),
        None if !is_virtual => Ok(None),
        name => {
            let name = name.unwrap_or(Path::new(fsdyno_lab::DEFAULT_CPU));
            fsdyno_lab::model_cpu(&name_or_file(name, base))
                .map(Some)
                .map_err(|error| ConfigError::wrong(error, "fsdyno cpu list shows all profiles"))
        }
    }
}

/// A name of a profile, or a file relative to `base`. Names of built-in profiles contain no dot.
fn name_or_file(name: &Path, base: &Path) -> PathBuf {
    if name.components().count() > 1 || name.extension().is_some() {
        base.join(name)
    } else {
        name.to_owned()
    }
}

/// Reads the faults from a file; the path is relative to `base`.
pub fn faults(file: &Path, base: &Path) -> Result<String, ConfigError> {
    fsdyno_lab::disk_faults(&base.join(file)).map_err(|error| {
        ConfigError::wrong(
            error,
            "docs/model-disks.md of fsdyno shows a file of faults whole",
        )
    })
}

/// Adds the faults to the disk.
pub fn with_faults(
    disk: Option<ModelDisk>,
    faults: Option<String>,
) -> Result<Option<ModelDisk>, ConfigError> {
    match (disk, faults) {
        (disk, None) => Ok(disk),
        (Some(disk), faults) => Ok(Some(ModelDisk { faults, ..disk })),
        (None, Some(_)) => Err(ConfigError::wrong(
            "only a model disk can have injected faults",
            "name one with --disk (fsdyno disk list), or leave out the faults",
        )),
    }
}

/// Sets the time of the disk: the requested one, or virtual time if all contenders run in guests
/// that support it. An error has the name of its setting.
///
/// A plan has one time, because figures in real and virtual time are not compared.
pub fn in_time(
    disk: Option<ModelDisk>,
    requested: Option<DiskTime>,
    contenders: &[Contender],
) -> Result<Option<ModelDisk>, (&'static str, ConfigError)> {
    let wrong = |argument, what: String, way: &str| Err((argument, ConfigError::wrong(what, way)));
    let Some(disk) = disk else {
        return match requested {
            None => Ok(None),
            Some(time) => wrong(
                "time",
                format!("{time} time is one of model disks"),
                "name one with --disk (fsdyno disk list), or leave out the time",
            ),
        };
    };
    if let Some(far) = contenders.iter().find(|one| one.lab.is_remote()) {
        let what = format!(
            "a model disk is one of this machine, and `{}` is not",
            far.label
        );
        return wrong("disk", what, "leave out the lab, or the disk");
    }
    if let Some(directory) = contenders.iter().find(|one| one.directory.is_some()) {
        let what = format!(
            "`{}` is a directory, which cannot be on a model disk",
            directory.label
        );
        return wrong(
            "disk",
            what,
            "name file systems with --fs, or leave out the disk",
        );
    }
    let still = contenders.iter().find(|one| one.lab != LabChoice::Uml);
    let time = match (requested, still) {
        (Some(DiskTime::Virtual), Some(still)) => {
            let what = format!(
                "only guests of User-mode Linux live in virtual time, and `{}` runs in the lab `{}`",
                still.label, still.lab
            );
            return wrong("time", what, "take --time real, or --lab uml");
        }
        (Some(time), _) => time,
        (None, None) => DiskTime::Virtual,
        (None, Some(_)) => DiskTime::Real,
    };
    Ok(Some(ModelDisk { time, ..disk }))
}

/// Refuses a model disk on devices of the user: its content is in files of fsdyno.
pub fn on_files(disk: Option<&ModelDisk>, device: &DeviceChoice) -> Result<(), ConfigError> {
    match (disk, device) {
        (Some(_), DeviceChoice::Block { .. }) => Err(ConfigError::wrong(
            "a model disk is in a file of fsdyno, but a device is named",
            "give its size with --on loop:SIZE, or leave out the disk",
        )),
        (Some(_), DeviceChoice::Loop { memory: true, .. }) => Err(ConfigError::wrong(
            "a model disk has the speed of its profile, also if its content is in memory",
            "write loop:SIZE, or leave out the disk",
        )),
        _ => Ok(()),
    }
}
