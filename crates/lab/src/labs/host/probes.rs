//! The probes of the machine's speed before each phase. A phase without a probe is measured like any
//! other.

use crate::job::Job;
use fsdyno_host::direct_io::DirectFile;
use fsdyno_host::guard::Released;
use fsdyno_host::image::Scratch;
use fsdyno_host::journal::Journal;
use fsdyno_host::space;
use fsdyno_model::{
    CacheEvidence, CacheState, CancelToken, DeviceChoice, FilesystemKind, Nanos, Plan, Probe,
};
use fsdyno_observe::probe;
use std::path::Path;

/// Size of the file that is read where the contenders are image files.
const FILE_BYTES: u64 = 64 << 20;

/// Without this many times the size free, there is no such file: the images need the space.
const FREE: u64 = 16;

/// The longest random read of a flash disk, with its share of the noise. A disk that rotates waits
/// for half a turn, 4 ms at 7200 turns a minute.
const FLASH: Nanos = Nanos(2_000_000);

/// The files and devices that the probes of a run read.
pub(super) struct Probes {
    /// A file next to the image files.
    next_to_images: Option<DirectFile>,
    random: u64,
    stop: CancelToken,
}

impl Probes {
    /// Writes the file to read, if the run has image files on a disk.
    pub(super) fn new(plan: &Plan, base: &Path, journal: &Journal, stop: &CancelToken) -> Self {
        let on_disk = matches!(plan.device, DeviceChoice::Loop { memory: false, .. });
        let wanted = on_disk && plan.disk.is_none();
        Self {
            next_to_images: wanted.then(|| file(base, journal, stop)).flatten(),
            random: 0,
            stop: stop.clone(),
        }
    }

    /// Takes the probes of a phase. None if its cache state was not set: work that the previous
    /// phase left to the kernel may still be in progress, and would be counted as the machine's.
    pub(super) fn take(
        &mut self,
        job: &Job<'_>,
        released: &[Released],
        evidence: &CacheEvidence,
    ) -> Option<Probe> {
        if evidence.requested == CacheState::AsIs || !job.touches_files() {
            return None;
        }
        Some(Probe {
            system_ns: probe::system().ok()?,
            device_ns: self.device(job, released),
        })
    }

    /// Whether the device seeks, as far as is known: a slice on it would begin with a seek. Kernels of
    /// virtual machines take most disks for rotating ones, so a read tells.
    pub fn seeks(&mut self, job: &Job<'_>, released: &[Released]) -> bool {
        let in_memory = matches!(job.plan.device, DeviceChoice::Loop { memory: true, .. });
        let mut read = || self.device(job, released);
        !in_memory && read().is_none_or(|time| time > FLASH)
    }

    /// The speed of the device below the file system. None for a directory, memory or a model disk.
    fn device(&mut self, job: &Job<'_>, released: &[Released]) -> Option<Nanos> {
        if job.recipe.kind() != FilesystemKind::Block || job.plan.disk.is_some() {
            return None;
        }
        if released.is_empty() {
            let file = self.next_to_images.as_mut()?;
            return probe::device(std::slice::from_mut(file), &mut self.random).ok()?;
        }
        let devices = released.iter().take(job.contender.layout.devices as usize);
        let opened = devices.map(|one| DirectFile::open_read_only(one.device(), &self.stop));
        let mut opened: Vec<DirectFile> = opened.collect::<Result<_, _>>().ok()?;
        probe::device(&mut opened, &mut self.random).ok()?
    }
}

/// Writes a file next to the image files. It has no name: it is gone however this process ends.
fn file(base: &Path, journal: &Journal, stop: &CancelToken) -> Option<DirectFile> {
    if space::free(base).ok()?.0 / FREE < FILE_BYTES {
        return None;
    }
    // The directory is in the journal until then.
    let place = base.join(format!("fsdyno-{}-probe", journal.name()));
    let place = Scratch::create(&place, journal).ok()?;
    DirectFile::create_scratch(&place.path().join("file"), FILE_BYTES, stop).ok()
}
