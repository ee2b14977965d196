//! Faults whose outcome takes time: a slow disk, and the rebuild of a disk that returns with old contents.

use super::compare::Comparison;
use super::fault::FaultyDisk;
use super::{FaultTester, Judged, LoseError, options, working};
use fsdyno_lab::explorer::{AfterRecovery, Contents, Examined, RecoveryOptions, Trial};
use fsdyno_model::{DiskFault, DiskWork, FaultOutcome, Nanos, SlowWork};

/// How many times as long work takes at least, so that it counts as slower.
const SLOWER: f64 = 1.1;

/// Work whose requests took time.
#[derive(Debug, Clone)]
pub(super) struct Timed {
    reading: Nanos,
    writing: Nanos,
    /// The read requests to each disk.
    reads: Vec<u64>,
}

impl Timed {
    fn new(took: Option<(Nanos, Nanos)>, disks: &[AfterRecovery]) -> Self {
        let (reading, writing) = took.unwrap_or_default();
        Self {
            reading,
            writing,
            reads: disks.iter().map(|disk| disk.read_requests).collect(),
        }
    }

    fn with_disk(&self, disk: usize) -> DiskWork {
        DiskWork {
            reading_ns: self.reading,
            writing_ns: self.writing,
            reads: self.reads.get(disk).copied().unwrap_or_default(),
            reads_of_all: self.reads.iter().sum(),
        }
    }
}

impl FaultTester<'_> {
    /// Whether a fault of a whole disk can be tested.
    pub(super) fn has(&self, fault: DiskFault) -> bool {
        match fault {
            DiskFault::SlowDisk => true,
            DiskFault::RebuiltDisk => self.rebuilds,
            _ => self.media.len() > 1,
        }
    }

    /// Lets a guest use disks of which one is slow.
    pub(super) fn slow(
        &mut self,
        faulty: &FaultyDisk,
    ) -> Result<(Judged, Option<SlowWork>), LoseError> {
        let without = self.without_fault()?.with_disk(faulty.disk);
        let Examined { end, disks } = self
            .guest
            .examine(self.contents(faulty), options(Trial::Timed))?;
        let (report, message) = match self.right(end) {
            Ok(right) => right,
            Err(judged) => return Ok((judged, None)),
        };
        let with = Timed::new(report.took, &disks).with_disk(faulty.disk);
        let slow = SlowWork { with, without };
        let (reading, writing) = slow.ratios();
        let outcome = match &message {
            Some(_) => FaultOutcome::SlowLogged,
            None if reading.max(writing) < SLOWER => FaultOutcome::NoEffect,
            None => FaultOutcome::Slow,
        };
        Ok(((outcome, false, message), Some(slow)))
    }

    /// The same work on disks without a fault. Its messages of the kernel are usual.
    fn without_fault(&mut self) -> Result<Timed, LoseError> {
        if let Some(timed) = &self.timed {
            return Ok(timed.clone());
        }
        let healthy = self.media.iter().map(|medium| medium.contents()).collect();
        let examined = self.guest.examine(healthy, options(Trial::Timed))?;
        let (report, disks) = working(examined).map_err(|what| self.unhealthy(what))?;
        self.note_usual(&report.kernel);
        let timed = Timed::new(report.took, &disks);
        Ok(self.timed.insert(timed).clone())
    }

    /// Lets a guest restore a disk that has old contents, and then use what another disk does not have.
    pub(super) fn rebuilt(
        &mut self,
        faulty: &FaultyDisk,
    ) -> Result<(Judged, Option<Nanos>), LoseError> {
        let mut trial = options(Trial::Rebuild(faulty.disk));
        let mut examined = self.guest.examine(self.contents(faulty), trial.clone())?;
        let refused = (examined.end.as_ref()).is_ok_and(|report| report.tree.is_none());
        if refused && self.degrades {
            trial.without = Some(faulty.disk);
            examined = self.guest.examine(self.contents(faulty), trial)?;
        }
        let Examined { end, disks } = examined;
        let rebuilt = end.as_ref().ok().and_then(|report| report.rebuilt.clone());
        let took = rebuilt.as_ref().map(|(took, _)| *took);
        let message = match self.right(end) {
            Ok((_, message)) => message,
            Err(judged) => return Ok((judged, took)),
        };
        if let Some((_, Some(failed))) = rebuilt {
            return Ok(((FaultOutcome::Unprotected, false, Some(failed)), took));
        }
        let judged = match self.lacks(faulty, &disks)? {
            Some(lacks) => (FaultOutcome::Unprotected, false, Some(lacks)),
            None => (FaultOutcome::Rebuilt, false, message),
        };
        Ok((judged, took))
    }

    /// What is wrong, or cannot be read, if another disk is dead after the rebuild.
    fn lacks(
        &mut self,
        faulty: &FaultyDisk,
        disks: &[AfterRecovery],
    ) -> Result<Option<String>, LoseError> {
        let other = (faulty.disk + 1) % self.media.len();
        let now = disks.iter().enumerate().map(|(disk, after)| {
            let base = if disk == faulty.disk {
                faulty.base()
            } else {
                &self.media[disk].healthy
            };
            let mut contents = Contents::of(base.with(&after.changes));
            if disk == other {
                contents.die_after(0);
            }
            contents
        });
        let now: Vec<Contents> = now.collect();
        let mut trial = options(Trial::Use);
        let mut examined = self.guest.examine(now.clone(), trial.clone())?;
        let refused = (examined.end.as_ref()).is_ok_and(|report| report.tree.is_none());
        if refused && self.degrades {
            trial = RecoveryOptions {
                without: Some(other),
                ..trial
            };
            examined = self.guest.examine(now, trial)?;
        }
        let why = match examined.end {
            Err(failure) => Some(failure.what),
            Ok(report) => match &report.tree {
                None => report.stuck.or(report.refused),
                Some(tree) => {
                    let found = Comparison::of(&self.tree, tree);
                    found.wrong.or(found.error).or(report.stuck)
                }
            },
        };
        Ok(why.map(|why| format!("without disk {other}: {why}")))
    }
}
