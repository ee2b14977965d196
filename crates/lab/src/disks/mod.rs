//! Model disks as labs make them: a profile and faults, named by the user and taken whole into the
//! plan; and the disks of a cell, made of these. Guests reach them by sockets; on the host each is a
//! file, which a process of its own serves.

mod file;
mod fuse_server;

pub(crate) use file::DiskFile;
pub use fuse_server::{FuseServerError, serve_by_fuse};

use crate::labs::notes::Notes;
use crate::labs::recorded;
use fsdyno_disk::profiles::Timing;
use fsdyno_disk::transports::vhost_user::Served;
use fsdyno_disk::{Disk, FaultPlan, Faults, Profile, Recorder, SparseFile};
use fsdyno_model::{Bytes, DiskFigures, DiskTime, ModelDisk, Sample, Step, Warning, WarningKind};
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// The model disk of a profile: its name, or a file. An error is told in words.
pub fn model_disk(name: &Path) -> Result<ModelDisk, String> {
    let profile = Profile::named(name).map_err(|error| error.to_string())?;
    Ok(ModelDisk {
        profile: profile.name,
        text: profile.text,
        faults: None,
        time: DiskTime::default(),
    })
}

/// The faults of a file, whole, where they can be had. An error is told in words.
pub fn disk_faults(path: &Path) -> Result<String, String> {
    let text = fsdyno_files::input::read_text(path)
        .map_err(|error| format!("cannot read the faults of {}: {error}", path.display()))?;
    match FaultPlan::parse(&text) {
        Ok(_) => Ok(text),
        Err(error) => Err(format!("{}: {error}", path.display())),
    }
}

/// What a disk did for each phase, by the place of the phase in its workload.
pub(crate) type Phases = Vec<(u32, DiskFigures)>;

/// What a disk was asked for, and what it recorded.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct ServedDiskReport {
    /// In all.
    pub(crate) served: Served,
    /// What it did for each phase.
    pub(crate) phases: Phases,
    /// Why its record is not whole.
    pub(crate) doubt: Option<Warning>,
}

impl ServedDiskReport {
    /// Of a disk that is served no longer.
    pub(crate) fn of(served: Served, number: usize, disk: &mut Disk) -> Self {
        let number = u32::try_from(number).unwrap_or(u32::MAX);
        let recorder = disk.take_recorder();
        Self {
            served,
            phases: recorder
                .iter()
                .flat_map(|recorder| recorded::phases(recorder, number))
                .collect(),
            doubt: recorder.and_then(|recorder| recorded::doubt(number as usize, &recorder)),
        }
    }

    /// Notes what several disks recorded: of the phases of these samples, and what is missing.
    pub(crate) fn note(all: &[Self], samples: &mut [Sample], warn: &mut dyn FnMut(Warning)) {
        let phases: Vec<&Phases> = all.iter().map(|one| &one.phases).collect();
        recorded::lay(samples, &phases);
        all.iter()
            .filter_map(|one| one.doubt.clone())
            .for_each(warn);
    }

    /// What they were asked for together.
    pub(crate) fn total(all: &[Self]) -> Served {
        let mut served = Served::default();
        for one in all {
            served += one.served;
        }
        served
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

    /// Whether they rotate.
    pub(crate) fn rotates(&self) -> bool {
        matches!(self.profile.timing, Timing::Hdd(_))
    }

    /// One of them, the first is 0, recorded, with its contents in this file, which is made where
    /// there is none: this large. An error is told in words.
    pub(crate) fn make(
        &self,
        image: &Path,
        (number, size): (usize, Bytes),
        recorder: Recorder,
    ) -> Result<Disk, String> {
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
        let mut disk = Disk::new(&self.profile, Some(size), Box::new(contents), faults);
        disk.record(recorder);
        Ok(disk)
    }
}

/// The disk of that number as a file of this machine: where, and the step that makes it so.
pub(crate) fn step(
    model: &ModelDisk,
    scratch: &Path,
    number: usize,
    size: Bytes,
) -> (PathBuf, Step) {
    let file = scratch.join(format!("disk{number}"));
    let step = Step::ServeDisk {
        profile: model.profile.clone(),
        file: file.clone(),
        size,
    };
    (file, step)
}

/// The disk in a few words.
pub(crate) fn describe_disk(model: &ModelDisk) -> String {
    let faults = if model.faults.is_some() {
        ", with the faults of the plan"
    } else {
        ""
    };
    format!("{} (model{faults})", model.profile)
}

/// What disks served against the clock were asked for, for the record.
pub(crate) fn in_real_time(model: &ModelDisk, served: Served) -> String {
    format!(
        "{}, real time: in all {}",
        describe_disk(model),
        figures(served)
    )
}

/// What was asked, in words.
pub(crate) fn figures(served: Served) -> String {
    let Served {
        reads,
        writes,
        flushes,
        errors,
        ..
    } = served;
    let failed = match errors {
        0 => String::new(),
        errors => format!(", {errors} of them failed as the faults say"),
    };
    format!("{reads} reads, {writes} writes, {flushes} flushes{failed}")
}

/// What a failure on such disks may come of: none where they did nothing but what they were asked.
pub(crate) fn remark(served: Served) -> Option<String> {
    (served.errors > 0).then(|| {
        format!(
            "; its model disks failed {} requests, as their faults say",
            served.errors
        )
    })
}

/// Says of a cell that its disks were told to have faults, where they were.
pub(crate) fn warn_of_faults(notes: &mut Notes<'_>, model: Option<&ModelDisk>) {
    if model.is_some_and(|model| model.faults.is_some()) {
        notes.warn(Warning::new(
            WarningKind::Device,
            "the model disk was told to have faults",
            "choose nothing by these figures: run without --disk-faults for that",
        ));
    }
}
