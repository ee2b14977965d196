//! Model disks: a profile and faults that the user names, stored complete in the plan, and the
//! disks of a cell that are created from them. Guests access them by sockets; on the host each is a
//! file that a separate process serves.

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

/// The model disk of a profile: its name, or a file. The error is a message.
pub fn model_disk(name: &Path) -> Result<ModelDisk, String> {
    let profile = Profile::named(name).map_err(|error| error.to_string())?;
    Ok(ModelDisk {
        profile: profile.name,
        text: profile.text,
        faults: None,
        time: DiskTime::default(),
    })
}

/// The text of a fault plan that parses. The error is a message.
pub fn disk_faults(path: &Path) -> Result<String, String> {
    let text = fsdyno_files::input::read_text(path)
        .map_err(|error| format!("cannot read the faults of {}: {error}", path.display()))?;
    match FaultPlan::parse(&text) {
        Ok(_) => Ok(text),
        Err(error) => Err(format!("{}: {error}", path.display())),
    }
}

/// What a disk did in each phase, by the index of the phase in its workload.
pub(crate) type Phases = Vec<(u32, DiskFigures)>;

/// The requests to a disk, and what it recorded.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct ServedDiskReport {
    /// In all.
    pub(crate) served: Served,
    /// What it did for each phase.
    pub(crate) phases: Phases,
    /// Why its block trace is incomplete.
    pub(crate) warning: Option<Warning>,
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
            warning: recorder
                .and_then(|recorder| recorded::trace_warning(number as usize, &recorder)),
        }
    }

    /// Adds the figures of several disks to these samples, and warns of incomplete traces.
    pub(crate) fn note(all: &[Self], samples: &mut [Sample], warn: &mut dyn FnMut(Warning)) {
        let phases: Vec<&Phases> = all.iter().map(|one| &one.phases).collect();
        recorded::lay(samples, &phases);
        all.iter()
            .filter_map(|one| one.warning.clone())
            .for_each(warn);
    }

    /// The sum of their requests.
    pub(crate) fn total(all: &[Self]) -> Served {
        let mut served = Served::default();
        for one in all {
            served += one.served;
        }
        served
    }
}

/// What the disks of a plan are made of.
pub(crate) struct DiskBuilder {
    profile: Profile,
    faults: Option<FaultPlan>,
}

impl DiskBuilder {
    /// From the disk of a plan. The error is a message.
    pub(crate) fn of(model: &ModelDisk) -> Result<Self, String> {
        let profile = Profile::parse(&model.profile, &model.text).map_err(|e| e.to_string())?;
        let faults = model.faults.as_deref().map(FaultPlan::parse).transpose();
        let faults = faults.map_err(|error| error.to_string())?;
        Ok(Self { profile, faults })
    }

    /// Whether they support discard.
    pub(crate) fn discards(&self) -> bool {
        self.profile.timing.discards()
    }

    /// Whether they rotate.
    pub(crate) fn rotates(&self) -> bool {
        matches!(self.profile.timing, Timing::Hdd(_))
    }

    /// The disk of this number, from 0, with its recorder. Its contents are in this file, which is
    /// created with that size if it is missing. The error is a message.
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

/// The disk of that number as a file of this machine: its path, and the step that serves it.
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

/// The requests to disks in real time, for the record.
pub(crate) fn in_real_time(model: &ModelDisk, served: Served) -> String {
    format!(
        "{}, real time: in all {}",
        describe_disk(model),
        figures(served)
    )
}

/// The requests, as text.
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
        errors => format!(", of which {errors} failed by injected faults"),
    };
    format!("{reads} reads, {writes} writes, {flushes} flushes{failed}")
}

/// Whether injected faults may explain a failure; none where there were none.
pub(crate) fn remark(served: Served) -> Option<String> {
    (served.errors > 0).then(|| {
        format!(
            "; its model disks failed {} requests by injected faults",
            served.errors
        )
    })
}

/// Warns that the disks of a cell have injected faults.
pub(crate) fn warn_of_faults(notes: &mut Notes<'_>, model: Option<&ModelDisk>) {
    if model.is_some_and(|model| model.faults.is_some()) {
        notes.warn(Warning::new(
            WarningKind::Device,
            "the model disk had injected faults",
            "choose nothing by these figures: run without --disk-faults for that",
        ));
    }
}
