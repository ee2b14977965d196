//! The two guests of a crash test: one writes until the power cut, the other recovers the file
//! system.

use super::{disks, release};
use crate::messages::{GuestMessage, TimedWork};
use fsdyno_crash::undone::undone;
use fsdyno_crash::{Broken, EntryKind, Oracle, Program, Progress, Promises, TimedProgram, Tree};
use fsdyno_host::arrays;
use fsdyno_host::command;
use fsdyno_host::daemons::Running;
use fsdyno_host::forget;
use fsdyno_host::journal::Journal;
use fsdyno_host::mounts::{self, Mounted};
use fsdyno_host::pools::HeldPool;
use fsdyno_load::crash;
use fsdyno_model::step::shell_line;
use fsdyno_model::{
    Bytes, CancelToken, Consistency, Contender, Daemon, Judgement, Loss, Nanos, Recovery, Step,
    Violation, WorkLoss,
};
use fsdyno_recipes::layouts::{self, Array};
use fsdyno_recipes::{Check, Filesystem};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::slice;
use std::thread;
use std::time::{Duration, Instant};

/// The maximum number of lost files of a timed program that are described.
const REPORTED: usize = 5;

/// The operation in flight, and one whose return was not reported.
const IN_FLIGHT: u32 = 2;

/// How long and how often it is examined whether an array has all disks again.
const REBUILD_TIMEOUT: Duration = Duration::from_secs(300);
const REBUILD_POLL: Duration = Duration::from_millis(5);

/// The name of the array of the disks.
const ARRAY: &str = "tested";

/// The file system under test, on the disks of this guest.
pub(super) struct TestedFilesystem<'a> {
    pub(super) contender: &'a Contender,
    pub(super) recipe: &'static dyn Filesystem,
    pub(super) disks: Vec<String>,
    /// The array of the disks that the file system is on, if it is not on the disks. It is started
    /// only while it is used: the contents of its disks are replaced meanwhile.
    array: Option<Array>,
    /// What the file system is on.
    devices: Vec<String>,
    pub(super) target: PathBuf,
    journal: Journal,
    /// The daemon of its programs, while it is mounted.
    _daemon: Option<Running>,
}

/// A mounted file system.
pub(super) struct MountedFilesystem {
    mount: Standing,
    array: Started,
}

/// What mounted it: the kernel or programs.
enum Standing {
    Mounted(Mounted),
    Pool(HeldPool),
}

/// An array that runs, if the file system is on one. It is stopped on drop.
struct Started(Option<arrays::Array>);

impl Started {
    fn stop(self) -> Result<(), String> {
        self.0
            .map_or(Ok(()), arrays::Array::stop)
            .map_err(|e| e.to_string())
    }
}

impl Standing {
    fn end(self) -> Result<(), String> {
        match self {
            Self::Mounted(mounted) => mounted.unmount().map_err(|e| e.to_string()),
            Self::Pool(pool) => pool.release().map(drop).map_err(|e| e.to_string()),
        }
    }
}

impl MountedFilesystem {
    pub(super) fn unmount(self) -> Result<(), String> {
        self.mount.end()?;
        self.array.stop()
    }
}

impl<'a> TestedFilesystem<'a> {
    pub(super) fn of(
        contender: &'a Contender,
        place: &Path,
        virtual_time: bool,
    ) -> Result<Self, String> {
        let recipe = fsdyno_recipes::find(&contender.filesystem)
            .ok_or_else(|| format!("no file system is called `{}`", contender.filesystem))?;
        let target = place.join("mnt");
        fs::create_dir_all(&target).map_err(|e| format!("mkdir {}: {e}", target.display()))?;
        let disks = disks(contender).into_iter();
        let disks: Vec<String> = disks.map(|disk| disk.display().to_string()).collect();
        let array = layouts::joined(contender, &disks, ARRAY);
        let journal = Journal::open(&place.join("journal")).map_err(|e| e.to_string())?;
        let mut daemon = recipe.daemon();
        if virtual_time {
            daemon = daemon.map(Daemon::for_virtual_time);
        }
        let daemon = daemon.map(|daemon| Running::ensure(&daemon, &journal, &CancelToken::new()));
        let daemon = daemon.transpose().map_err(|e| e.to_string())?;
        Ok(Self {
            contender,
            recipe,
            devices: match &array {
                Some(array) => vec![array.device.clone()],
                None => disks.clone(),
            },
            disks,
            array,
            target,
            journal,
            _daemon: daemon,
        })
    }

    pub(super) fn make(&self) -> Result<(), String> {
        let started = self.start(|array| &array.join)?;
        let steps = self
            .recipe
            .make_for(self.contender, &self.devices, &self.target);
        self.carry_out(&steps)?.map_or(Ok(()), Standing::end)?;
        started.stop()
    }

    pub(super) fn mount(&self, contender: &Contender) -> Result<MountedFilesystem, String> {
        let steps = self.recipe.mount(contender, &self.devices, &self.target);
        self.mount_by(&steps)
    }

    /// Mounts it without the disk of this number, which failed.
    pub(super) fn mount_without(&self, disk: usize) -> Result<MountedFilesystem, String> {
        let mut devices = self.devices.clone();
        // The recipe leaves out the last one.
        devices[disk..].rotate_left(1);
        let steps = self
            .recipe
            .mount_degraded(self.contender, &devices, &self.target);
        self.mount_by(&steps.ok_or("its recipe cannot mount it without a disk")?)
    }

    fn mount_by(&self, steps: &[Step]) -> Result<MountedFilesystem, String> {
        let array = self.started()?;
        let mount = self.carry_out(steps)?;
        let mount = mount.ok_or("its recipe mounts nothing")?;
        Ok(MountedFilesystem { mount, array })
    }

    /// Starts the array of the disks.
    fn started(&self) -> Result<Started, String> {
        self.start(|array| slice::from_ref(&array.start))
    }

    /// Makes or starts the array of the disks by these steps.
    fn start<'s>(&'s self, steps: impl Fn(&'s Array) -> &'s [Step]) -> Result<Started, String> {
        let Some(array) = &self.array else {
            return Ok(Started(None));
        };
        let held = arrays::Array::declare(Path::new(&array.device), &self.journal);
        let held = held.map_err(|e| e.to_string())?;
        for step in steps(array) {
            program(step, &[0])?;
        }
        Ok(Started(Some(held)))
    }

    /// Performs steps of the recipe; returns the mount that they made.
    fn carry_out(&self, steps: &[Step]) -> Result<Option<Standing>, String> {
        let mut standing = None;
        for step in steps {
            match step {
                Step::Mount {
                    fstype,
                    source,
                    target,
                    options,
                } => {
                    let mounted = mounts::mount(fstype, source, target, options, &self.journal);
                    standing = Some(Standing::Mounted(mounted.map_err(|e| e.to_string())?));
                }
                Step::TakePool { pool, .. } => {
                    let held = HeldPool::declare(pool, &self.journal).map_err(|e| e.to_string())?;
                    program(step, &[0])?;
                    standing = Some(Standing::Pool(held));
                }
                Step::ReleasePool { .. } => {
                    standing.take().map_or(Ok(()), Standing::end)?;
                }
                other => drop(program(other, &[0])?),
            }
        }
        Ok(standing)
    }

    /// Makes the driver forget the devices, whose contents are replaced next.
    pub(super) fn forget(&self) -> Result<(), String> {
        // An array is gone when it is stopped.
        let devices = if self.array.is_none() {
            &self.devices[..]
        } else {
            &[]
        };
        for device in devices {
            if let Some(forget) = self.recipe.forget(device) {
                forget::forget(forget.control, forget.request, &forget.argument)
                    .map_err(|error| format!("forget {device}: {error}"))?;
            }
        }
        Ok(())
    }

    /// The root of the written files.
    pub(super) fn root(&self) -> PathBuf {
        self.target.join("ground")
    }

    /// Judges a file system in the state after the power cut, if its design requires the checker
    /// and the kernel can mount it without.
    fn judge_before_check(
        &self,
        (seed, acknowledged): (u64, u64),
    ) -> Result<Option<Judgement>, String> {
        if self.recipe.check_at_boot(&self.devices).is_none() {
            return Ok(None);
        }
        let mut contender = self.contender.clone();
        // A file system that is not checked yet must not be written to.
        contender.mount.push("ro".to_owned());
        let Ok(mounted) = self.mount(&contender) else {
            return Ok(None);
        };
        let judgement = crash::judge(&self.root(), seed, acknowledged);
        mounted.unmount()?;
        Ok(Some(judgement))
    }

    /// The checks of a boot before the mount.
    fn checks_at_boot(&self) -> impl Iterator<Item = Check> {
        let replay = self.recipe.replay(&self.devices);
        let check = self.recipe.check_at_boot(&self.devices);
        replay.into_iter().chain(check)
    }

    pub(super) fn has_checks_at_boot(&self) -> bool {
        self.checks_at_boot().next().is_some()
    }

    /// Runs the checks of a boot before the mount; returns the last one that corrected anything.
    pub(super) fn boot(&self) -> Result<Option<String>, String> {
        if !self.has_checks_at_boot() {
            return Ok(None);
        }
        self.while_started(|| corrected_by(self.checks_at_boot()))?
    }

    /// Does this on the unmounted file system.
    fn while_started<T>(&self, work: impl FnOnce() -> T) -> Result<T, String> {
        let started = self.started()?;
        let done = work();
        started.stop()?;
        Ok(done)
    }

    /// Runs the repair program; returns it if it corrected anything.
    pub(super) fn repair(&self) -> Result<Option<String>, String> {
        self.while_started(|| corrected_by(self.recipe.repair(&self.devices)))?
    }

    /// Runs the checker of the unmounted file system. None if it has none; the error is the complaint.
    pub(super) fn check(&self) -> Option<Result<(), String>> {
        let check = self
            .recipe
            .check_for(self.contender, &self.devices, &self.target)?;
        let checked = self.while_started(|| program(&check.step, check.clean).map(drop));
        Some(checked.and_then(|checked| checked))
    }

    /// Reads and repairs all blocks of the mounted file system and of its array, if it can; returns the
    /// complaint.
    pub(super) fn scrub(&self) -> Option<String> {
        if let Some(array) = self
            .array
            .as_ref()
            .filter(|_| layouts::may_scrub(self.contender))
        {
            let scrubbed = array
                .scrub
                .iter()
                .try_for_each(|step| program(step, &[0]).map(drop));
            let different =
                scrubbed.and_then(|()| arrays::different_sectors(Path::new(&array.device)));
            match different {
                Ok(0) => {}
                Ok(sectors) => return Some(format!("{sectors} sectors of the copies differ")),
                Err(why) => return Some(why),
            }
        }
        let scrub = self.recipe.scrub(&self.target)?;
        program(&scrub.step, scrub.clean).err()
    }

    /// Restores the data of the disk of this number in the mounted file system: by a rebuild if the array or
    /// the mount left it out, else by a scrub that repairs. The error is the reason why that failed.
    pub(super) fn rebuild(&self, disk: usize, left_out: bool) -> Result<(), String> {
        let unknown = || "its recipe knows no such step".to_owned();
        let Some(array) = &self.array else {
            let (step, clean): (_, &[i32]) = if left_out {
                let step = self.recipe.rebuild(&self.devices, disk, &self.target);
                (step.ok_or_else(unknown)?, &[0])
            } else {
                let scrub = self.recipe.scrub(&self.target).ok_or_else(unknown)?;
                (scrub.step, scrub.clean)
            };
            return program(&step, clean).map(drop);
        };
        let device = Path::new(&array.device);
        if arrays::missing_devices(device)? == 0 {
            return carry_out_until_idle(&array.resync);
        }
        let mut disks = self.disks.clone();
        // The last one is replaced.
        disks[disk..].rotate_left(1);
        let rotated = layouts::joined(self.contender, &disks, ARRAY).ok_or_else(unknown)?;
        carry_out_until_idle(&rotated.rebuild)?;
        let began = Instant::now();
        while arrays::missing_devices(device)? > 0 {
            if began.elapsed() > REBUILD_TIMEOUT {
                return Err(format!("{} is still without a disk", array.device));
            }
            thread::sleep(REBUILD_POLL);
        }
        Ok(())
    }

    /// Mounts the file system after a crash; repairs it if it cannot be mounted as it is.
    fn mount_after_crash(&self, recovery: &mut Recovery) -> Result<MountedFilesystem, String> {
        let mounted = self.boot().and_then(|corrected_by| {
            recovery.corrected_by = corrected_by;
            self.mount(self.contender)
        });
        let refused = match mounted {
            Ok(mounted) => return Ok(mounted),
            Err(refused) => refused,
        };
        recovery.refused = Some(refused.clone());
        if self.recipe.repair(&self.devices).is_none() {
            return Err(format!("{refused}; nothing repairs it as a routine"));
        }
        self.repair()?;
        self.mount(self.contender)
    }
}

/// Runs steps that manage an array. The last one waits, and has the status 1 if nothing is left to wait for
/// (mdadm(8)).
fn carry_out_until_idle(steps: &[Step]) -> Result<(), String> {
    let Some((wait, steps)) = steps.split_last() else {
        return Ok(());
    };
    let mut steps = steps.iter();
    steps.try_for_each(|step| program(step, &[0]).map(drop))?;
    program(wait, &[0, 1]).map(drop)
}

/// Runs checks; returns the last one that corrected anything (fsck(8): a status other than 0).
fn corrected_by(checks: impl IntoIterator<Item = Check>) -> Result<Option<String>, String> {
    let mut corrected_by = None;
    for Check { step, clean } in checks {
        if program(&step, clean)? != 0 {
            corrected_by = Some(shell_line(&step.argv()));
        }
    }
    Ok(corrected_by)
}

/// Runs a program; returns its status. A status outside `good` is an error with the program's
/// output.
fn program(step: &Step, good: &[i32]) -> Result<i32, String> {
    let argv = step.argv();
    let finished = command::run(&argv, &CancelToken::new()).map_err(|e| e.to_string())?;
    match finished.status {
        Some(status) if good.contains(&status) => Ok(status),
        _ => Err(finished.failure(&argv)),
    }
}

/// Makes the file system and writes until the power cut; returns why it ended earlier.
pub(super) fn write(
    contender: &Contender,
    (seed, program): (u64, Option<&TimedProgram>),
    place: &Path,
    virtual_time: bool,
    acknowledged: &dyn Fn(u64) -> io::Result<()>,
) -> String {
    let begun = || -> Result<(TestedFilesystem<'_>, MountedFilesystem, PathBuf), String> {
        let tested = TestedFilesystem::of(contender, place, virtual_time)?;
        let _released = release(&disks(contender), Bytes(0))?;
        tested.make()?;
        let mounted = tested.mount(contender)?;
        let root = tested.root();
        fs::create_dir(&root).map_err(|e| format!("mkdir {}: {e}", root.display()))?;
        Ok((tested, mounted, root))
    };
    match begun() {
        Err(reason) => reason,
        Ok((_tested, _mounted, root)) => {
            let mut acknowledged = |operations| acknowledged(operations);
            let why = match program {
                None => crash::write(&root, seed, &mut acknowledged).err(),
                Some(program) => match crash::perform_timed(&root, program, &mut acknowledged) {
                    Ok(Some(failed)) => return format!("writing ended: {failed}"),
                    ended => ended.err(),
                },
            };
            let why = why.map(|error| error.to_string());
            format!("writing ended: {}", why.unwrap_or_default())
        }
    }
}

/// Recovers the file system and judges it; returns the message for the host. This number of
/// operations of the seed was acknowledged, unless others were performed.
pub(super) fn recover_and_report(
    contender: &Contender,
    judged: ((u64, u64), Option<&TimedWork>),
    place: &Path,
    virtual_time: bool,
) -> GuestMessage {
    match recover(contender, judged, place, virtual_time) {
        Ok((recovery, work)) => GuestMessage::Recovered {
            recovery: Box::new(recovery),
            work,
        },
        Err(reason) => GuestMessage::Refused { reason },
    }
}

/// Recovers the file system of the contender and judges it. Also returns the lost work.
fn recover(
    contender: &Contender,
    (of_seed, performed): ((u64, u64), Option<&TimedWork>),
    place: &Path,
    virtual_time: bool,
) -> Result<(Recovery, Option<Vec<WorkLoss>>), String> {
    let tested = TestedFilesystem::of(contender, place, virtual_time)?;
    let before_check = match performed {
        None => tested.judge_before_check(of_seed)?,
        Some(_) => None,
    };
    let mut recovery = Recovery {
        before_check,
        ..Recovery::default()
    };
    let mut work = None;
    let began = Instant::now();
    let mounted = tested.mount_after_crash(&mut recovery);
    recovery.took_ns = Nanos::from(began.elapsed());
    match mounted {
        Err(reason) => recovery.beyond_repair = Some(reason),
        Ok(mounted) => {
            let root = tested.root();
            let (seed, acknowledged) = of_seed;
            let judgement = match performed {
                None => crash::judge(&root, seed, acknowledged),
                Some(performed) => {
                    let tree = crash::dump(&root, false);
                    let at = (&*performed.returned, performed.at);
                    work = Some(undone(&performed.timed, at, &tree));
                    judge(contender, &performed.timed.program, acknowledged, &tree)?
                }
            };
            recovery.judgement = Some(judgement);
            mounted.unmount()?;
        }
    }
    let checked = tested.check();
    recovery.clean = checked.as_ref().map(Result::is_ok);
    recovery.found = checked.and_then(Result::err);
    Ok((recovery, work))
}

/// The files of which something durable is lost.
fn judge(
    contender: &Contender,
    program: &Program,
    acknowledged: u64,
    tree: &Tree,
) -> Result<Judgement, String> {
    let all = Progress::complete(program).returned;
    let returned = u32::try_from(acknowledged).map_or(all, |returned| returned.min(all));
    let progress = Progress {
        began: (returned + IN_FLIGHT).min(all),
        returned,
    };
    let oracle = Oracle::new(program, promises_of(contender)).map_err(|e| e.to_string())?;
    let mut judgement = Judgement {
        files: tree.entries.len() as u64,
        ..Judgement::default()
    };
    let mut last = None;
    for broken in oracle.judge(progress, tree) {
        // A file counts once. Violations are in the order of their paths.
        if last.as_ref() == Some(&broken.path) {
            continue;
        }
        *judgement.lost.entry(loss(&broken, tree)).or_default() += 1;
        last = Some(broken.path);
        if judgement.messages.len() < REPORTED {
            judgement.messages.push(broken.message);
        }
    }
    Ok(judgement)
}

/// The kind of a loss.
fn loss(broken: &Broken, tree: &Tree) -> Loss {
    match tree.entries.get(&broken.path) {
        None => Loss::Missing,
        Some(entry) if entry.unreadable.is_some() => Loss::Unreadable,
        Some(_) if broken.violation == Violation::Returned => Loss::Returned,
        Some(entry) => match &entry.kind {
            EntryKind::File { size: 0, .. } => Loss::Empty,
            _ if broken.violation == Violation::Content => Loss::Stale,
            _ => Loss::Torn,
        },
    }
}

/// The promises of a file system for fsync and sync, without extra promises.
pub fn promises_of(contender: &Contender) -> Promises {
    let recipe = fsdyno_recipes::find(&contender.filesystem);
    let consistency = recipe.map(|recipe| recipe.facts().capabilities.consistency);
    let unjournaled = consistency == Some(Consistency::None);
    let device = [String::from("device")];
    let repaired = recipe.is_some_and(|recipe| recipe.check_at_boot(&device).is_some());
    let mut promises = match (unjournaled, repaired) {
        (false, _) => Promises::JOURNALED,
        (true, true) => Promises::UNJOURNALED,
        (true, false) => Promises::UNREPAIRED,
    };
    promises.stale_data |= recipe.is_some_and(|recipe| recipe.shows_stale_data(contender));
    promises
}
