//! Puts faults of disks under file systems, and finds out who notices them.
//!
//! A guest makes the file system and fills it with a tree whose content names its place. Each fault
//! concerns one sector of a known role that the healthy file system reads. A guest then mounts it, reads
//! every file, and makes a new one; the host compares the files with the tree. If no file and no system
//! call shows the fault, the checker and the scrub of the recipe also run.
//!
//! [`activities`] has the work during which the power is cut.

pub mod activities;
mod compare;
mod fault;
mod medium;
mod timed;
mod tree;

use compare::Comparison;
use fault::FaultyDisk;
use fsdyno_crash::Tree;
use fsdyno_crash::signature::normalised;
use fsdyno_datasets::seed::Seed;
use fsdyno_lab::explorer::{
    AfterRecovery, Contents, Examined, ExplorerGuest, GuestFailure, RecoveryOptions,
    RecoveryReport, SectorSet, Trial, disk_size,
};
use fsdyno_lab::{GuestLab, GuestLabError};
use fsdyno_model::{
    BlockRole, Contender, DiskFault, FaultOutcome, FaultTest, InjectedFault, ModelDisk,
};
use fsdyno_recipes::{Roles, layouts};
use medium::{Medium, Place};
use std::collections::{BTreeMap, BTreeSet};
use timed::Timed;

/// The message of the kernel that counts earlier messages of one place.
const SUPPRESSED: &str = "callbacks suppressed";

/// The errno of a file system that is read-only.
const READ_ONLY: &str = "EROFS";

/// The reason why a contender cannot be tested.
#[derive(Debug, thiserror::Error)]
pub enum LoseError {
    /// The guest cannot be used, or the user cancelled.
    #[error(transparent)]
    Guest(#[from] GuestLabError),
    /// It does not work on disks without faults.
    #[error("{contender} without a fault: {what}")]
    Healthy { contender: String, what: String },
}

/// Tests a contender: for each role of its blocks and each of these faults, at most this number of places. An
/// error that ends the tests leaves those before.
pub fn test(
    lab: &GuestLab,
    contender: &Contender,
    model: &ModelDisk,
    (seed, draws): (u64, u32),
    kinds: &[DiskFault],
) -> Result<(FaultTest, Option<LoseError>), LoseError> {
    let mut tester = FaultTester::new(lab, contender, model)?;
    let mut faults = Vec::new();
    let ended = tester.judge_all((seed, draws), kinds, &mut faults);
    match ended {
        Err(error) if faults.is_empty() => Err(error),
        ended => Ok((tester.report(contender, faults), ended.err())),
    }
}

/// The outcome, whether wrong data are found by a checker, and the first evidence.
type Judged = (FaultOutcome, bool, Option<String>);

fn injected(
    (fault, role): (DiskFault, Option<BlockRole>),
    (faulty, sector): (&FaultyDisk, u64),
    (outcome, found, detail): Judged,
) -> InjectedFault {
    InjectedFault {
        fault,
        role,
        disk: u32::try_from(faulty.disk).unwrap_or(u32::MAX),
        sector,
        outcome,
        found,
        detail,
        slow: None,
        rebuilt_ns: None,
    }
}

/// Injects faults into the disks of a file system, and judges what follows.
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
struct FaultTester<'a> {
    guest: ExplorerGuest<'a>,
    /// Its disks, as the unmount left them.
    media: Vec<Medium>,
    /// The sectors of each role that are read.
    places: BTreeMap<BlockRole, Vec<Place>>,
    tree: Tree,
    /// The sectors of each disk that are written without a fault.
    written: Vec<SectorSet>,
    /// The requests of each disk without a fault.
    requests: Vec<u64>,
    /// The messages of the kernel without a fault, without their numbers.
    usual: BTreeSet<String>,
    /// Whether the checker and the scrub find nothing without a fault.
    audits: bool,
    repairs: bool,
    /// Whether the recipe can mount it without a disk.
    degrades: bool,
    /// Whether the recipe, or that of its array, can restore a disk.
    rebuilds: bool,
    /// Its work if requests take time, with the work of each disk. It is done when it is needed.
    timed: Option<Timed>,
    /// Its files after they were used, if that is known.
    used: Option<Tree>,
}

impl<'a> FaultTester<'a> {
    fn new(lab: &'a GuestLab, contender: &Contender, model: &ModelDisk) -> Result<Self, LoseError> {
        let refused = |what: String| LoseError::Healthy {
            contender: contender.label.clone(),
            what,
        };
        let mut guest = ExplorerGuest::start(lab, contender, model, disk_size(contender))?;
        let filled = guest.fill(&tree::program())?;
        if let Some(failed) = filled.failed {
            return Err(refused(format!("{failed:?}")));
        }
        let media: Vec<Medium> = filled.disks.iter().map(Medium::new).collect();
        let healthy: Vec<Contents> = media.iter().map(Medium::contents).collect();
        let used = guest.examine(healthy.clone(), options(Trial::Use))?;
        let (report, disks) = working(used).map_err(refused)?;
        let tree = report.tree.unwrap_or_default();
        if let Some(what) = tree::unlike_program(&tree) {
            return Err(refused(what));
        }
        let audited = guest.examine(healthy, options(Trial::Audit))?;
        let (audit, _) = working(audited).map_err(refused)?;
        let usual = report.kernel.iter().chain(&audit.kernel);
        let recipe = fsdyno_recipes::find(&contender.filesystem);
        let roles = |medium: &Medium| -> Option<Roles> {
            let mut read = |at: u64, into: &mut [u8]| medium.healthy.read(at, into);
            layouts::roles(contender, &mut read)
        };
        // Each disk may carry the structures that name the roles, or only the first one.
        let of_first = media.first().and_then(roles);
        let mut places: BTreeMap<BlockRole, Vec<Place>> = BTreeMap::new();
        for ((disk, medium), after) in media.iter().enumerate().zip(&disks) {
            let roles = roles(medium).or_else(|| of_first.clone());
            for sector in &after.reads {
                if let Some(role) = medium.role(*sector, roles.as_ref()) {
                    let place = Place {
                        disk,
                        sector: *sector,
                    };
                    places.entry(role).or_default().push(place);
                }
            }
        }
        let device = [String::from("device")];
        Ok(Self {
            guest,
            media,
            places,
            tree,
            requests: disks.iter().map(|disk| disk.requests).collect(),
            written: disks.into_iter().map(|disk| disk.written).collect(),
            usual: usual.map(|line| without_numbers(line)).collect(),
            audits: audit.audit.is_none(),
            degrades: layouts::below(contender).is_none() && layouts::may_degrade(contender),
            rebuilds: layouts::may_degrade(contender) && layouts::may_scrub(contender),
            timed: None,
            used: None,
            repairs: recipe.is_some_and(|recipe| recipe.repair(&device).is_some()),
        })
    }

    /// Judges all faults in turn.
    fn judge_all(
        &mut self,
        (seed, draws): (u64, u32),
        chosen: &[DiskFault],
        faults: &mut Vec<InjectedFault>,
    ) -> Result<(), LoseError> {
        let kinds = |of: &'static [DiskFault]| {
            let kinds = of.iter().copied();
            kinds.filter(|one| chosen.contains(one))
        };
        for (role, places) in self.places.clone() {
            for fault in kinds(&DiskFault::OF_SECTORS) {
                let seed = Seed::new(seed).part(role.name()).part(fault.name());
                for (place, faulty) in fault::draw(&self.media, &places, fault, (seed, draws)) {
                    let judged = self.judge(&faulty)?;
                    faults.push(injected(
                        (fault, Some(role)),
                        (&faulty, place.sector),
                        judged,
                    ));
                }
            }
        }
        for fault in kinds(&DiskFault::OF_DISKS) {
            if !self.has(fault) {
                continue;
            }
            let name = match fault {
                // The same moments.
                DiskFault::ReturnedDisk => DiskFault::DyingDisk.name(),
                _ => fault.name(),
            };
            let seed = Seed::new(seed).part(name);
            let of_disks = (&*self.media, &*self.requests);
            for (moment, faulty) in fault::draw_disks(of_disks, fault, (seed, draws)) {
                let (judged, slow, rebuilt_ns) = match fault {
                    DiskFault::SlowDisk => {
                        let (judged, slow) = self.slow(&faulty)?;
                        (judged, slow, None)
                    }
                    DiskFault::ReturnedDisk => {
                        let (judged, rebuilt_ns) = self.returned(&faulty)?;
                        (judged, None, rebuilt_ns)
                    }
                    _ => (self.judge(&faulty)?, None, None),
                };
                faults.push(InjectedFault {
                    slow,
                    rebuilt_ns,
                    ..injected((fault, None), (&faulty, moment), judged)
                });
            }
        }
        Ok(())
    }

    fn unhealthy(&self, what: String) -> LoseError {
        LoseError::Healthy {
            contender: self.guest.contender().label.clone(),
            what,
        }
    }

    fn note_usual(&mut self, messages: &[String]) {
        let messages = messages.iter().map(|line| without_numbers(line));
        self.usual.extend(messages);
    }

    fn report(&self, contender: &Contender, faults: Vec<InjectedFault>) -> FaultTest {
        FaultTest {
            contender: contender.label.clone(),
            guest: self.guest.about().to_owned(),
            faults,
            full: Vec::new(),
        }
    }

    /// The contents of all disks, one of them faulty.
    fn contents(&self, faulty: &FaultyDisk) -> Vec<Contents> {
        let media = self.media.iter().enumerate();
        let contents = media.map(|(disk, medium)| {
            if disk == faulty.disk {
                faulty.contents()
            } else {
                medium.contents()
            }
        });
        contents.collect()
    }

    /// Lets a guest use a faulty disk.
    fn judge(&mut self, faulty: &FaultyDisk) -> Result<Judged, LoseError> {
        let examined = self
            .guest
            .examine(self.contents(faulty), options(Trial::Use))?;
        let (report, message) = match self.right(examined.end) {
            Ok(right) => right,
            Err((FaultOutcome::Unmountable, _, refused)) => return self.refused(faulty, refused),
            Err((FaultOutcome::WrongData, _, wrong)) => {
                let found = self
                    .audit(faulty)?
                    .is_some_and(|(complaint, _)| complaint.is_some());
                return Ok((FaultOutcome::WrongData, found, wrong));
            }
            Err(judged) => return Ok(judged),
        };
        if faulty.is_gone() {
            return Ok((FaultOutcome::Degraded, false, message));
        }
        if report.corrected_by.is_some() {
            return Ok((FaultOutcome::Repaired, false, report.corrected_by));
        }
        if self.is_healed(faulty, &examined.disks) {
            return Ok((FaultOutcome::Healed, false, message));
        }
        let audited = if faulty.fails_once() {
            None
        } else {
            self.audit(faulty)?
        };
        Ok(match (audited, message) {
            (Some((_, true)), message) => (FaultOutcome::HealedByScrub, false, message),
            (_, Some(message)) => (FaultOutcome::Warning, false, Some(message)),
            (Some((Some(complaint), false)), None) => {
                (FaultOutcome::FoundByCheck, false, Some(complaint))
            }
            _ => (FaultOutcome::NoEffect, false, None),
        })
    }

    /// The report if everything is right, with the first unusual message of the kernel; else the worst.
    fn right(
        &self,
        end: Result<Box<RecoveryReport>, GuestFailure>,
    ) -> Result<(RecoveryReport, Option<String>), Judged> {
        self.right_as(&self.tree, end)
    }

    /// The same, if these files are right.
    fn right_as(
        &self,
        known: &Tree,
        end: Result<Box<RecoveryReport>, GuestFailure>,
    ) -> Result<(RecoveryReport, Option<String>), Judged> {
        let report = end.map_err(|failure| {
            let outcome = if failure.hangs() {
                FaultOutcome::Hang
            } else {
                FaultOutcome::Crash
            };
            (outcome, false, Some(failure.what))
        })?;
        if report.stuck.is_some() {
            return Err((FaultOutcome::Hang, false, report.stuck));
        }
        let Some(tree) = &report.tree else {
            return Err((FaultOutcome::Unmountable, false, report.refused));
        };
        let found = Comparison::of(known, tree);
        let message = self.unusual(&report.kernel);
        let failed = &report.no_new_file;
        let is_silent = message.is_none() && failed.is_none() && report.corrected_by.is_none();
        let error = match (found.wrong, found.error) {
            (Some(wrong), None) if is_silent => {
                return Err((FaultOutcome::WrongData, false, Some(wrong)));
            }
            (Some(wrong), _) => return Err((FaultOutcome::WrongDataLogged, false, Some(wrong))),
            (None, error) => error,
        };
        let evidence = error.or_else(|| Some(format!("a new file: {}", failed.as_ref()?)));
        if failed.as_deref() == Some(READ_ONLY) {
            return Err((FaultOutcome::ReadOnly, false, message.or(evidence)));
        }
        match evidence {
            Some(evidence) => Err((FaultOutcome::Error, false, Some(evidence))),
            None => Ok((*report, message)),
        }
    }

    /// Does what a user can do with a file system that cannot be mounted: mounts it without the faulty
    /// disk, or else runs the repair program.
    fn refused(
        &mut self,
        faulty: &FaultyDisk,
        refused: Option<String>,
    ) -> Result<Judged, LoseError> {
        if self.degrades && !faulty.fails_once() {
            let judged = self.without(faulty, refused.clone())?;
            if judged.0 == FaultOutcome::MountedDegraded {
                return Ok(judged);
            }
        }
        if faulty.is_gone() {
            return Ok((FaultOutcome::Unmountable, false, refused));
        }
        self.repaired(faulty, refused)
    }

    fn without(
        &mut self,
        faulty: &FaultyDisk,
        refused: Option<String>,
    ) -> Result<Judged, LoseError> {
        let options = RecoveryOptions {
            without: Some(faulty.disk),
            ..options(Trial::Use)
        };
        let examined = self.guest.examine(self.contents(faulty), options)?;
        let Some((report, tree)) = examined.end.ok().and_then(|mut report| {
            let tree = report.tree.take()?;
            Some((report, tree))
        }) else {
            return Ok((FaultOutcome::Unmountable, false, refused));
        };
        let found = Comparison::of(&self.tree, &tree);
        let damage = found.wrong.or(found.error);
        Ok(match (damage, report.no_new_file) {
            (Some(damage), _) => (FaultOutcome::Damaged, false, Some(damage)),
            (None, Some(errno)) => (FaultOutcome::ReadOnly, false, Some(errno)),
            (None, None) => (FaultOutcome::MountedDegraded, false, refused),
        })
    }

    /// Runs the repair program of a file system that cannot be mounted.
    fn repaired(
        &mut self,
        faulty: &FaultyDisk,
        refused: Option<String>,
    ) -> Result<Judged, LoseError> {
        if faulty.fails_once() {
            return Ok((FaultOutcome::Error, false, refused));
        }
        if !self.repairs {
            return Ok((FaultOutcome::Unmountable, false, refused));
        }
        let options = RecoveryOptions {
            repair: true,
            ..options(Trial::Use)
        };
        let examined = self.guest.examine(self.contents(faulty), options)?;
        let Ok(report) = examined.end else {
            return Ok((FaultOutcome::Unmountable, false, refused));
        };
        let Some(tree) = report.tree else {
            return Ok((FaultOutcome::Unmountable, false, report.refused.or(refused)));
        };
        let found = Comparison::of(&self.tree, &tree);
        Ok(match found.wrong.or(found.error) {
            Some(damage) => (FaultOutcome::Damaged, false, Some(damage)),
            None => (FaultOutcome::Repaired, false, refused),
        })
    }

    /// The complaint of the checker or the scrub, and whether they restored the block; none if they
    /// cannot decide.
    fn audit(&mut self, faulty: &FaultyDisk) -> Result<Option<(Option<String>, bool)>, LoseError> {
        if !self.audits {
            return Ok(None);
        }
        let examined = self
            .guest
            .examine(self.contents(faulty), options(Trial::Audit))?;
        let healed = self.is_healed(faulty, &examined.disks);
        Ok(examined.end.ok().map(|report| (report.audit, healed)))
    }

    /// Whether the faulty sectors were restored. Those that are written without a fault too are not.
    fn is_healed(&self, faulty: &FaultyDisk, after: &[AfterRecovery]) -> bool {
        let (Some(after), Some(usual)) = (after.get(faulty.disk), self.written.get(faulty.disk))
        else {
            return false;
        };
        let medium = &self.media[faulty.disk];
        faulty.is_healed(&medium.healthy, after)
            && !faulty.sectors.iter().all(|sector| usual.contains(*sector))
    }

    /// The first message of the kernel that it does not print without a fault.
    fn unusual(&self, messages: &[String]) -> Option<String> {
        let mut messages = messages.iter();
        let unusual = |line: &&String| {
            !line.contains(SUPPRESSED) && !self.usual.contains(&without_numbers(line))
        };
        messages.find(unusual).cloned()
    }
}

fn options(trial: Trial) -> RecoveryOptions {
    RecoveryOptions {
        trial: Some(trial),
        ..RecoveryOptions::default()
    }
}

/// The report on disks without a fault.
fn working(examined: Examined) -> Result<(RecoveryReport, Vec<AfterRecovery>), String> {
    let report = *examined.end.map_err(|failure| failure.what)?;
    let failed = [&report.refused, &report.stuck, &report.no_new_file];
    if let Some(what) = failed.into_iter().flatten().next() {
        return Err(what.clone());
    }
    Ok((report, examined.disks))
}

fn without_numbers(line: &str) -> String {
    normalised(line, &BTreeSet::new())
}
