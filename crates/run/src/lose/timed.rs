//! Faults whose outcome takes time: a slow disk, and the rebuild of a disk that died and returns.

use super::fault::FaultyDisk;
use super::{FaultTester, Judged, LoseError, Medium, options, working};
use fsdyno_crash::Tree;
use fsdyno_lab::explorer::{AfterRecovery, Base, Contents, Examined, RecoveryOptions, Trial};
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
            DiskFault::ReturnedDisk => self.rebuilds,
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
        let healthy = self.media.iter().map(Medium::contents).collect();
        let examined = self.guest.examine(healthy, options(Trial::Timed))?;
        let (report, disks) = working(examined).map_err(|what| self.unhealthy(what))?;
        self.note_usual(&report.kernel);
        let timed = Timed::new(report.took, &disks);
        Ok(self.timed.insert(timed).clone())
    }

    /// Lets a guest use disks of which one dies, then restores that disk, and then reads what another disk
    /// does not have. Also returns how long the rebuild or the scrub took.
    pub(super) fn returned(
        &mut self,
        faulty: &FaultyDisk,
    ) -> Result<(Judged, Option<Nanos>), LoseError> {
        let known = self.after_use()?;
        let used = self.mounted((self.contents(faulty), faulty.disk), Trial::Use)?;
        let now = after(self.media.iter().map(|medium| &medium.healthy), &used.disks);
        if let Err(judged) = self.right(used.end) {
            return Ok((judged, None));
        }
        let contents = now.iter().cloned().map(Contents::of).collect();
        let trial = Trial::Rebuild(faulty.disk);
        let Examined { end, disks } = self.mounted((contents, faulty.disk), trial)?;
        let rebuilt = end.as_ref().ok().and_then(|report| report.rebuilt.clone());
        let took = rebuilt.as_ref().map(|(took, _)| *took);
        let message = match self.right_as(&known, end) {
            Ok((_, message)) => message,
            Err(judged) => return Ok((judged, took)),
        };
        if let Some((_, Some(failed))) = rebuilt {
            return Ok(((FaultOutcome::Unprotected, false, Some(failed)), took));
        }
        let other = (faulty.disk + 1) % self.media.len();
        let now = after(now.iter(), &disks);
        let mut contents: Vec<Contents> = now.into_iter().map(Contents::of).collect();
        contents[other].die_after(0);
        let without = self.mounted((contents, other), Trial::Use)?;
        let judged = match self.right_as(&known, without.end) {
            Ok(_) => (FaultOutcome::Rebuilt, false, message),
            Err((_, _, why)) => {
                let why = why.unwrap_or_default();
                let why = format!("then without disk {other}: {why}");
                (FaultOutcome::Unprotected, false, Some(why))
            }
        };
        Ok((judged, took))
    }

    /// Examines these disks; without one of them if the mount is refused and the recipe can do that.
    fn mounted(
        &mut self,
        (contents, lost): (Vec<Contents>, usize),
        trial: Trial,
    ) -> Result<Examined, LoseError> {
        let examined = self.guest.examine(contents.clone(), options(trial))?;
        let is_refused = (examined.end.as_ref()).is_ok_and(|report| report.tree.is_none());
        if !is_refused || !self.degrades {
            return Ok(examined);
        }
        let options = RecoveryOptions {
            without: Some(lost),
            ..options(trial)
        };
        Ok(self.guest.examine(contents, options)?)
    }

    /// The files after a guest used disks without a fault.
    fn after_use(&mut self) -> Result<Tree, LoseError> {
        if let Some(tree) = &self.used {
            return Ok(tree.clone());
        }
        let mut now: Vec<Base> = { self.media.iter() }
            .map(|medium| medium.healthy.clone())
            .collect();
        let mut files = Tree::default();
        for _ in 0..2 {
            let contents = now.iter().cloned().map(Contents::of).collect();
            let examined = self.guest.examine(contents, options(Trial::Use))?;
            let (report, disks) = working(examined).map_err(|what| self.unhealthy(what))?;
            now = after(now.iter(), &disks);
            files = report.tree.unwrap_or_default();
        }
        Ok(self.used.insert(files).clone())
    }
}

/// The contents of disks after these changes.
fn after<'b>(before: impl Iterator<Item = &'b Base>, disks: &[AfterRecovery]) -> Vec<Base> {
    let both = before.zip(disks);
    both.map(|(base, after)| base.with(&after.changes))
        .collect()
}
