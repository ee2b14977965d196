//! Model disks as labs make them: a profile and faults, named by the user and taken whole into the
//! plan; and the disks of a cell, made of these.

use crate::labs::notes::Notes;
use fsdyno_disk::{Disk, FaultPlan, Faults, Profile, SparseFile};
use fsdyno_model::{Bytes, ModelDisk, Warning, WarningKind};
use std::fs::File;
use std::io::ErrorKind;
use std::path::Path;

/// The model disk of a profile: its name, or a file. An error is told in words.
pub fn model_disk(name: &Path) -> Result<ModelDisk, String> {
    let profile = Profile::named(name).map_err(|error| error.to_string())?;
    Ok(ModelDisk {
        profile: profile.name,
        text: profile.text,
        faults: None,
    })
}

/// The faults of a file, whole, where they can be had. An error is told in words.
pub fn disk_faults(path: &Path) -> Result<String, String> {
    let text = std::fs::read_to_string(path)
        .map_err(|error| format!("cannot read the faults of {}: {error}", path.display()))?;
    match FaultPlan::parse(&text) {
        Ok(_) => Ok(text),
        Err(error) => Err(format!("{}: {error}", path.display())),
    }
}

/// What the disks of a plan are made of.
pub(crate) struct Making {
    profile: Profile,
    faults: Option<FaultPlan>,
}

impl Making {
    /// Of the disk of a plan. An error is told in words.
    pub(crate) fn of(model: &ModelDisk) -> Result<Self, String> {
        let profile = Profile::parse(&model.profile, &model.text).map_err(|e| e.to_string())?;
        let faults = model.faults.as_deref().map(FaultPlan::parse).transpose();
        let faults = faults.map_err(|error| error.to_string())?;
        Ok(Self { profile, faults })
    }

    /// Whether they know discards.
    pub(crate) fn discards(&self) -> bool {
        self.profile.timing.discards()
    }

    /// One of them, the first is 0, with its contents in this file, which is made where there is
    /// none: this large. An error is told in words.
    pub(crate) fn make(&self, image: &Path, number: usize, size: Bytes) -> Result<Disk, String> {
        let contents = match File::options().read(true).write(true).open(image) {
            Ok(file) => Ok(SparseFile::over(file)),
            Err(error) if error.kind() == ErrorKind::NotFound => SparseFile::create(image, size.0),
            Err(error) => Err(error),
        };
        let contents =
            contents.map_err(|error| format!("cannot make {}: {error}", image.display()))?;
        let faults = match &self.faults {
            Some(plan) => Faults::new(plan.of_disk(number)),
            None => Faults::none(),
        };
        Ok(Disk::new(
            &self.profile,
            Some(size),
            Box::new(contents),
            faults,
        ))
    }
}

/// The disk in a few words.
pub(crate) fn in_words(model: &ModelDisk) -> String {
    let faults = if model.faults.is_some() {
        ", with the faults of the plan"
    } else {
        ""
    };
    format!("{} (model{faults})", model.profile)
}

/// Says of a cell that its disks were told to have faults, where they were.
pub(crate) fn doubt(notes: &mut Notes<'_>, model: Option<&ModelDisk>) {
    if model.is_some_and(|model| model.faults.is_some()) {
        notes.warn(Warning::new(
            WarningKind::Device,
            "the model disk was told to have faults",
            "choose nothing by these figures: run without --disk-faults for that",
        ));
    }
}
