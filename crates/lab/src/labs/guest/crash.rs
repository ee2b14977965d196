//! Crash tests: a guest that writes is killed at a random moment and loses all writes that have not
//! reached its disk. Another guest recovers the file system. With a model disk this happens in
//! virtual time (`power_cut`), and the disk also loses its volatile cache.

use super::session::{GuestSession, SessionError};
use super::{GuestLab, GuestLabError, LAST_LINES, paths_of};
use crate::messages::{Task, TimedWork};
use fsdyno_crash::TimedProgram;
use fsdyno_datasets::seed::Seed;
use fsdyno_files::kept::KeptDir;
use fsdyno_guests::time_travel;
use fsdyno_host::image::{Image, Scratch};
use fsdyno_host::journal::Journal;
use fsdyno_model::{
    Bytes, CacheLoss, CancelToken, Contender, GuestSize, LabChoice, ModelDisk, Nanos, PowerCut,
    Recovery, WorkLoss,
};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// How long a guest writes before the power cut: the minimum, and the longest addition. Journals
/// commit every five seconds or more often, so power cuts happen before and after the first commit.
const WRITING: (Duration, Duration) = (Duration::from_millis(200), Duration::from_secs(7));

/// The same of a timed program. Linux writes data after 30 s (`dirty_expire_centisecs`), and Btrfs
/// commits 30 s later: at the power cut, data of all ages exist.
const TIMED: (Duration, Duration) = (Duration::from_secs(75), Duration::from_secs(60));

/// The size of each disk: every file system can be made on it.
const DISK: Bytes = Bytes(1 << 30);

#[derive(Debug, Clone, Copy)]
pub struct CrashTest<'a> {
    /// The file system under test.
    pub contender: &'a Contender,
    /// The seed of the writes and of the moment of the power cut.
    pub seed: u64,
    /// The model disk under it; none if its disks keep all writes that they receive.
    pub disk: Option<&'a ModelDisk>,
    /// The operations, with a model disk; none for those of the seed.
    pub program: Option<&'a TimedProgram>,
}

impl CrashTest<'_> {
    /// How long the guest writes before the power cut.
    pub(super) fn writing(&self) -> Duration {
        let (least, longer) = match self.program {
            Some(_) => TIMED,
            None => WRITING,
        };
        let part = Seed::new(self.seed).part("moment");
        let part = part.below(u64::from(u32::MAX));
        least + longer.mul_f64(part as f64 / f64::from(u32::MAX))
    }
}

/// The result of the writes before a power cut.
pub(super) struct Written {
    pub guest: String,
    /// How many operations were acknowledged.
    pub acknowledged: u64,
    /// The times of the acknowledgements since the first, with a model disk.
    pub returned: Vec<Nanos>,
    /// The time until the power cut.
    pub after: Nanos,
    /// The data that its model disks lost.
    pub disk: Option<CacheLoss>,
}

impl GuestLab {
    /// A lab for crash tests; checks nothing yet.
    pub fn for_crash_tests(
        lab: &LabChoice,
        size: GuestSize,
        scratch: PathBuf,
        journal: Journal,
        stop: CancelToken,
    ) -> Result<Self, GuestLabError> {
        Self::empty(lab, size, scratch, journal, stop)
    }

    /// Checks that its guests can live in virtual time.
    pub fn check_virtual_time(&self) -> Result<(), GuestLabError> {
        Ok(time_travel::check(&self.machine)?)
    }

    /// The same lab with another program as the first process of its guests.
    #[must_use]
    pub fn with_program(mut self, program: &Path) -> Self {
        program.as_os_str().clone_into(&mut self.init[0]);
        self
    }

    /// The latest moment of a power cut during a timed program.
    pub const LATEST: Duration = TIMED.0.saturating_add(TIMED.1);

    /// Runs one crash test. Keeps the images if recovery was not complete, or `always`.
    pub fn crash(
        &self,
        test: CrashTest<'_>,
        number: u32,
        kept_dir: &KeptDir<'_>,
        always: bool,
    ) -> Result<PowerCut, GuestLabError> {
        let scratch = Scratch::create(&self.unique_place("cut"), &self.journal)?;
        let (mut power_cut, images) = self.cut(test, number, scratch.path())?;
        if always || !power_cut.recovery.is_whole() {
            power_cut.images = keep_all(images, test.contender, test.seed, kept_dir)?;
        }
        Ok(power_cut)
    }

    /// Cuts the power during a timed program.
    pub fn crash_timed(&self, test: CrashTest<'_>, number: u32) -> Result<PowerCut, GuestLabError> {
        let scratch = Scratch::create(&self.unique_place("cut"), &self.journal)?;
        let (power_cut, _) = self.cut(test, number, scratch.path())?;
        Ok(power_cut)
    }

    /// Lets a guest write until the power cut, and another one recover the file system.
    fn cut(
        &self,
        test: CrashTest<'_>,
        number: u32,
        scratch: &Path,
    ) -> Result<(PowerCut, Vec<Image>), GuestLabError> {
        let CrashTest {
            contender, seed, ..
        } = test;
        let images = self.empty_disks(scratch, contender.layout.devices, DISK)?;
        let disks = paths_of(&images);
        let Written {
            guest,
            acknowledged,
            returned,
            after,
            disk,
        } = match test.disk {
            Some(model) => self.write_in_virtual_time(test, model, scratch, &disks)?,
            None => self.write_in_real_time(test, scratch, &disks)?,
        };
        let performed = test.program.map(|timed| TimedWork {
            timed: timed.clone(),
            returned,
            at: after,
        });
        let (recovery, work) = self.recover(test, (acknowledged, performed), &disks)?;
        let power_cut = PowerCut {
            contender: contender.label.clone(),
            number,
            seed,
            guest,
            after_ns: after,
            acknowledged,
            disk,
            recovery,
            work,
            images: Vec::new(),
        };
        Ok((power_cut, images))
    }

    /// Recovers kept images again, without changing them.
    pub fn again(
        &self,
        test: CrashTest<'_>,
        acknowledged: u64,
        images: &[PathBuf],
    ) -> Result<Recovery, GuestLabError> {
        Ok(self.recover(test, (acknowledged, None), images)?.0)
    }

    /// Starts a guest that writes, and kills it.
    fn write_in_real_time(
        &self,
        test: CrashTest<'_>,
        scratch: &Path,
        disks: &[PathBuf],
    ) -> Result<Written, GuestLabError> {
        let (guest, line) = self.start(scratch, disks)?;
        let mut session =
            GuestSession::new(guest, line, &self.stop).map_err(|e| session_failed(&e))?;
        let received = session.ready().and_then(|about| {
            session.send(&Task::Write {
                contender: Box::new(test.contender.clone()),
                seed: test.seed,
                program: None,
            })?;
            // The time before the first acknowledgement is that of mkfs and mount.
            let first = session.acknowledged()?;
            let began = Instant::now();
            let last = session.acknowledged_until(began + test.writing())?;
            Ok((about, last.unwrap_or(first), began.elapsed()))
        });
        match received {
            Err(error_of_guest) => Err(self.broken(session, &error_of_guest)),
            Ok((about, last, after)) => {
                // Acknowledgements from before the power cut may still be in the socket.
                let rest = session.power_cut();
                Ok(Written {
                    guest: about,
                    acknowledged: rest.unwrap_or(last),
                    returned: Vec::new(),
                    after: Nanos::from(after),
                    disk: None,
                })
            }
        }
    }

    /// Starts another guest that recovers the file system and judges it. Also returns the lost work.
    fn recover(
        &self,
        test: CrashTest<'_>,
        (acknowledged, performed): (u64, Option<TimedWork>),
        images: &[PathBuf],
    ) -> Result<(Recovery, Option<Vec<WorkLoss>>), GuestLabError> {
        let scratch = Scratch::create(&self.unique_place("again"), &self.journal)?;
        // Works on copies: the images keep the state of the power cut. User-mode Linux has
        // copy-on-write disks, but checkers that bypass the cache would read old data from them.
        let mut copies = Vec::new();
        for (number, image) in images.iter().enumerate() {
            let path = scratch.path().join(format!("copy{number}.img"));
            copies.push(Image::copy(image, &path, &self.journal)?);
        }
        let disks = paths_of(&copies);
        let task = Task::Recover {
            contender: Box::new(test.contender.clone()),
            seed: test.seed,
            acknowledged,
            performed: performed.map(Box::new),
        };
        if let Some(model) = test.disk {
            return self.recover_in_virtual_time(&task, model, scratch.path(), &disks);
        }
        let (guest, line) = self.start(scratch.path(), &disks)?;
        let mut session =
            GuestSession::new(guest, line, &self.stop).map_err(|e| session_failed(&e))?;
        let received = session.ready().and_then(|_| {
            session.send(&task)?;
            session.receive_recovery()
        });
        match received {
            Ok(recovery) => {
                session.leave(0);
                Ok((recovery, None))
            }
            // The kernel crashed on this file system, which is the result of the recovery.
            Err(SessionError::Broken(error)) => {
                let recovery = Recovery {
                    beyond_repair: Some(format!(
                        "the guest {}",
                        session.failure_message(&SessionError::Broken(error), LAST_LINES)
                    )),
                    ..Recovery::default()
                };
                Ok((recovery, None))
            }
            Err(error_of_guest) => Err(self.broken(session, &error_of_guest)),
        }
    }

    fn broken(&self, session: GuestSession<'_>, error_of_guest: &SessionError) -> GuestLabError {
        if self.stop.requested() {
            return GuestLabError::Stopped;
        }
        GuestLabError::Died {
            what: session.failure_message(error_of_guest, LAST_LINES),
        }
    }
}

fn session_failed(cause: &std::io::Error) -> GuestLabError {
    GuestLabError::Died {
        what: cause.to_string(),
    }
}

/// Keeps the images under names of contender and seed; none if the budget does not allow it.
fn keep_all(
    images: Vec<Image>,
    contender: &Contender,
    seed: u64,
    kept_dir: &KeptDir<'_>,
) -> Result<Vec<PathBuf>, GuestLabError> {
    let mut need = 0;
    for image in &images {
        need += image.occupied()?.0;
    }
    let what = format!("the image of a power cut of {}", contender.label);
    let Some(room) = kept_dir.room(Bytes(need), &what)? else {
        return Ok(Vec::new());
    };
    let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '-' };
    let label: String = contender.label.chars().map(plain).collect();
    let mut kept = Vec::new();
    for (number, image) in images.into_iter().enumerate() {
        let name = free_name(
            &room.path,
            &format!("fsdyno-crash-{label}-{seed}-disk{number}"),
        );
        image.keep(&name)?;
        kept.push(name);
    }
    Ok(kept)
}

/// An unused name for an image: an earlier series may have kept one of the same seed.
fn free_name(keep: &Path, stem: &str) -> PathBuf {
    let mut name = keep.join(format!("{stem}.img"));
    let mut number = 1;
    while name.symlink_metadata().is_ok() {
        number += 1;
        name = keep.join(format!("{stem}-{number}.img"));
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kept_image_is_never_overwritten() {
        let work_dir = tempfile::tempdir().unwrap();
        let mut names = Vec::new();
        for _ in 0..3 {
            let name = free_name(work_dir.path(), "cut");
            std::fs::write(&name, "").unwrap();
            names.push(name.file_name().unwrap().to_string_lossy().into_owned());
        }
        assert_eq!(names, ["cut.img", "cut-2.img", "cut-3.img"]);
    }
}
