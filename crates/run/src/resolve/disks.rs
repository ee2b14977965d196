//! The model disk under all contenders: its profile, and the faults it is told to have.

use super::complaint::Complaint;
use fsdyno_model::ModelDisk;
use std::path::Path;

/// The model disk of that name; a path is seen from `base`.
pub fn model_disk(name: &Path, base: &Path) -> Result<ModelDisk, Complaint> {
    // No profile that comes along has a dot in its name.
    let is_file = name.components().count() > 1 || name.extension().is_some();
    let name = if is_file {
        base.join(name)
    } else {
        name.to_owned()
    };
    fsdyno_lab::model_disk(&name)
        .map_err(|error| Complaint::wrong(error, "fsdyno disk list tells what there is"))
}

/// The faults of that file, seen from `base`, where they can be had.
pub fn faults(file: &Path, base: &Path) -> Result<String, Complaint> {
    fsdyno_lab::disk_faults(&base.join(file)).map_err(|error| {
        Complaint::wrong(
            error,
            "docs/disks.md of fsdyno shows a file of faults whole",
        )
    })
}

/// The disk with these faults, where there are any.
pub fn with_faults(
    disk: Option<ModelDisk>,
    faults: Option<String>,
) -> Result<Option<ModelDisk>, Complaint> {
    match (disk, faults) {
        (disk, None) => Ok(disk),
        (Some(disk), faults) => Ok(Some(ModelDisk { faults, ..disk })),
        (None, Some(_)) => Err(Complaint::wrong(
            "only a model disk can be told to have faults",
            "name one with --disk (fsdyno disk list), or leave out the faults",
        )),
    }
}
