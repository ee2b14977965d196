//! Model disks: the profile and faults that the user names, whose complete text the plan stores,
//! and the disks that a cell creates from them. Guests access them by sockets. On the host each
//! disk is a file that a separate process serves.

mod file;
mod fuse_server;
pub(crate) mod recording;

pub(crate) use file::DiskFile;
pub use file::FileDisk;
pub use fuse_server::{FuseServerError, serve_by_fuse};

use crate::notes::Notes;
use crate::recorded;
use fsdyno_datasets::seed::Seed;
use fsdyno_disk::profiles::Timing;
use fsdyno_disk::transports::vhost_user::Served;
use fsdyno_disk::{Disk, FaultPlan, Faults, Profile, Recorder, SparseFile, Store};
use fsdyno_guests::DiskKind;
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

/// The figures of a disk for each phase, by the index of the phase in its workload.
pub(crate) type Phases = Vec<(u32, DiskFigures)>;

/// The requests to a disk, and its figures for each phase.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct ServedDiskReport {
    /// All requests.
    pub(crate) served: Served,
    pub(crate) phases: Phases,
    /// The reason why its block trace is incomplete.
    pub(crate) warning: Option<Warning>,
    /// Whether it has a volatile cache that a power cut empties.
    pub(crate) volatile: bool,
}

impl ServedDiskReport {
    /// The report of a disk that is no longer served.
    pub(crate) fn of(served: Served, number: usize, disk: &mut Disk) -> Self {
        let number = u32::try_from(number).unwrap_or(u32::MAX);
        let recorder = disk.take_recorder();
        Self {
            served,
            volatile: !disk.keeps_writes(),
            phases: recorder
                .iter()
                .flat_map(|recorder| recorded::phases(recorder, number))
                .collect(),
            warning: recorder
                .and_then(|recorder| recorded::trace_warning(number as usize, &recorder)),
        }
    }

    /// Adds the figures of several disks to these samples.
    pub(crate) fn add_to(all: &[Self], samples: &mut [Sample]) {
        let phases: Vec<&Phases> = all.iter().map(|one| &one.phases).collect();
        recorded::assign(samples, &phases, all.iter().any(|one| one.volatile));
    }

    /// Warns of incomplete traces.
    pub(crate) fn warn(all: &[Self], notes: &mut Notes<'_>) {
        let warnings = all.iter().filter_map(|one| one.warning.clone());
        warnings.for_each(|warning| notes.warn(warning));
    }

    pub(crate) fn total(all: &[Self]) -> Served {
        let mut served = Served::default();
        for one in all {
            served += one.served;
        }
        served
    }
}

/// Creates the disks of a plan.
pub(crate) struct DiskBuilder {
    profile: Profile,
    faults: Option<FaultPlan>,
    /// The random number of the places of its disks; none at the start of each device.
    placement: Option<u64>,
    /// Whether its file has a write from its submission on.
    at_submission: bool,
}

impl DiskBuilder {
    /// The same builder of disks whose files have each write from its submission on. Their times are the
    /// same.
    pub(crate) fn with_contents_at_submission(self) -> Self {
        Self {
            at_submission: true,
            ..self
        }
    }

    /// The same builder of disks at random places.
    pub(crate) fn placed(self, placement: Option<u64>) -> Self {
        Self { placement, ..self }
    }

    /// Whether a completed write survives a power cut without a flush.
    pub(crate) fn keeps_writes(&self) -> bool {
        let faults = self.faults.as_ref();
        !self.profile.is_volatile()
            || self.profile.cache_survives
            || faults.is_some_and(|one| one.power_cut.cache_survives)
    }

    /// A builder for the disk of a plan. The error is a message.
    pub(crate) fn of(model: &ModelDisk) -> Result<Self, String> {
        let profile = Profile::parse(&model.profile, &model.text).map_err(|e| e.to_string())?;
        let faults = model.faults.as_deref().map(FaultPlan::parse).transpose();
        let faults = faults.map_err(|error| error.to_string())?;
        Ok(Self {
            profile,
            faults,
            placement: None,
            at_submission: false,
        })
    }

    /// Whether they support discard.
    pub(crate) fn discards(&self) -> bool {
        self.profile.timing.discards()
    }

    /// What a guest's kernel has to be told of them.
    pub(crate) fn kind(&self) -> DiskKind {
        /// The commands that a disk of one queue can hold: SATA numbers them with five bits.
        const ONE_QUEUE: u32 = 32;
        match self.profile.timing {
            Timing::Hdd(_) => DiskKind::Rotating,
            _ if self.profile.queue_depth <= ONE_QUEUE => DiskKind::Solid,
            _ => DiskKind::Queues,
        }
    }

    /// Creates the disk of this index (from 0), with its recorder. This file holds its contents; it
    /// is created with that size if it is missing. The error is a message.
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
        let mut disk = self.over(Box::new(contents), (number, size));
        disk.record(recorder);
        Ok(disk)
    }

    /// Creates the disk of this index, of that size, with these contents.
    pub(crate) fn over(&self, contents: Box<dyn Store>, (number, size): (usize, Bytes)) -> Disk {
        let faults = match &self.faults {
            Some(plan) => Faults::new(plan.of_disk(number)),
            None => Faults::none(),
        };
        let disk = Disk::new(&self.profile, Some(size), contents, faults);
        let disk = if self.at_submission {
            disk.with_contents_at_submission()
        } else {
            disk
        };
        match self.placement {
            Some(random) => disk.placed(Seed::new(random).at(number as u64).value()),
            None => disk,
        }
    }
}

/// The path of the disk with that index as a file of this machine, and the step that serves it.
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

/// A short description of the disk.
pub(crate) fn describe_disk(model: &ModelDisk) -> String {
    let faults = if model.faults.is_some() {
        ", with the faults of the plan"
    } else {
        ""
    };
    format!("{} (model{faults})", model.profile)
}

/// The requests to disks in real time, as text for the record.
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

/// A remark that injected faults may explain a failure; none without faults.
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
