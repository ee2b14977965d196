//! The executor of the host lab: the resources of a cell. Each is a guard; the guards are released in
//! the reverse order of their creation.

use super::beside::Beside;
use super::machine::{Held, Machine};
use super::probes::Probes;
use super::rounds::Rounds;
use super::together::turns::Turn;
use crate::disks::DiskFile;
use crate::labs::LowerLayer;
use crate::notes::Notes;
use crate::procedure::{CellEnd, Place};
use fsdyno_datasets::work_dir::WorkDir;
use fsdyno_files::programs;
use fsdyno_host::arrays::Array;
use fsdyno_host::busy::{self, BUSY_BOUND, USUAL_WAIT};
use fsdyno_host::confinement::{Confinement, OldEntries};
use fsdyno_host::daemons::Running;
use fsdyno_host::image::{Image, Scratch};
use fsdyno_host::loops::Loop;
use fsdyno_host::mounts::{self, Mounted};
use fsdyno_host::pools::HeldPool;
use fsdyno_host::{cache, command, entropy, formatting};
use fsdyno_load::measure::{Confined, LoadError};
use fsdyno_load::programs as load_programs;
use fsdyno_model::step::shell_line;
use fsdyno_model::{
    CancelToken, Failure, Mark, ModelDisk, Nanos, PhasePlan, Step, Warning, WarningKind,
};
use fsdyno_observe::kernel_samples::KernelSampler;
use fsdyno_observe::quiesce::{self, Since, Windows};
use fsdyno_observe::tracing::Tracing;
use fsdyno_recipes::layouts;
use std::fs::Permissions;
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// The idle windows after mkfs, filling and the dataset.
pub(super) const SETTLE_AFTER_MAKE: Windows = Windows {
    undisturbed: UNDISTURBED,
    whole: Duration::from_millis(300),
    bound: Duration::from_secs(60),
};

/// The idle windows before a phase.
const SETTLE_BEFORE_PHASE: Windows = Windows {
    undisturbed: UNDISTURBED,
    whole: Duration::from_millis(100),
    bound: Duration::from_secs(20),
};

/// The idle window of devices without a request after `syncfs` or a mount, which wait for their own
/// requests. Deferred work that follows at once is seen, and then ends before the measurement.
const UNDISTURBED: Duration = Duration::from_millis(20);

/// A cell that is being executed.
pub(super) struct HostExecutor<'a, 'n> {
    pub(super) notes: &'a mut Notes<'n>,
    pub(super) machine: Machine<'a>,
    pub(super) stop: &'a CancelToken,
    pub(super) base: &'a Path,
    /// The layer below the devices that caches their data.
    pub(super) below: Option<&'a mut dyn LowerLayer>,
    /// Receives the marks of phases.
    pub(super) marks: &'a mut dyn FnMut(Mark),
    // Released from top to bottom.
    pub(super) mounted: Option<Held<Mounted>>,
    pub(super) pool: Option<Held<HeldPool>>,
    pub(super) daemon: Option<Held<Running>>,
    pub(super) tree: Option<Held<Scratch>>,
    pub(super) array: Option<(Option<Array>, layouts::Array)>,
    /// Steps that run beside a phase.
    pub(super) beside: Option<Beside>,
    pub(super) loops: Vec<Held<Loop>>,
    /// Model disks that are files, under loop devices.
    pub(super) disks: Vec<Held<DiskFile>>,
    /// Their profile and faults.
    model: Option<&'a ModelDisk>,
    pub(super) images: Vec<Image>,
    /// The memory that holds the images.
    pub(super) memory: Option<Held<Mounted>>,
    pub(super) scratch: Vec<Held<Scratch>>,
    pub(super) target: PathBuf,
    /// The steps that mount the file system, for later mounts.
    pub(super) mount_steps: Vec<Step>,
    /// The step that must follow `syncfs`.
    pub(super) durable: Option<Step>,
    /// The tracing of the devices, after a phase has requested it; or why it is not possible.
    pub(super) tracing: Option<Result<Tracing, String>>,
    /// The kernel names of the devices whose counters are read.
    pub(super) watched: Vec<String>,
    pub(super) work_dir: WorkDir,
    /// Whether reading the clock adds to the measured time.
    pub(super) virtual_time: bool,
    /// The probes of the machine's speed before each phase, if they are taken.
    pub(super) probes: Option<&'a Mutex<Probes>>,
    /// Counts the work of the kernel, and charges it.
    pub(super) counter: Option<&'a mut fsdyno_observe::kernel_work::WorkCounter>,
    /// Samples the kernel in this phase.
    pub(super) sampler: Option<KernelSampler>,
    /// Whether extents were counted after the previous phase.
    pub(super) counted: bool,
    /// Its turn, if it runs together with other cells; and how far it is.
    pub(super) turn: Option<&'a Turn>,
    pub(super) place: Place,
    /// Since when its devices may be idle, if others have the turn before its phase begins.
    pub(super) idle: Option<Since>,
    /// The phases that are repeated together now; and whether what a round changed must be undone.
    pub(super) rounds: Option<Rounds>,
    pub(super) undo_round: bool,
}

impl<'a, 'n> HostExecutor<'a, 'n> {
    pub(super) fn new(
        notes: &'a mut Notes<'n>,
        machine: Machine<'a>,
        stop: &'a CancelToken,
        base: &'a Path,
        model: Option<&'a ModelDisk>,
        below: Option<&'a mut (dyn LowerLayer + Send + 'static)>,
        marks: &'a mut dyn FnMut(Mark),
    ) -> Self {
        Self {
            notes,
            machine,
            stop,
            base,
            below: below.map(|below| below as &mut dyn LowerLayer),
            marks,
            mounted: None,
            pool: None,
            daemon: None,
            tree: None,
            array: None,
            beside: None,
            loops: Vec::new(),
            disks: Vec::new(),
            model,
            images: Vec::new(),
            memory: None,
            scratch: Vec::new(),
            target: PathBuf::new(),
            mount_steps: Vec::new(),
            durable: None,
            tracing: None,
            watched: Vec::new(),
            work_dir: WorkDir::new(PathBuf::new()),
            virtual_time: false,
            probes: None,
            sampler: None,
            counter: None,
            counted: false,
            turn: None,
            place: Place::default(),
            idle: None,
            rounds: None,
            undo_round: false,
        }
    }

    /// Releases everything. A resource that cannot be released fails the cell.
    pub(super) fn undo(mut self) -> Option<Failure> {
        self.end_rounds();
        self.release_all().err().and_then(|halt| match halt {
            CellEnd::Failed(failure) => Some(failure),
            CellEnd::Stopped => None,
        })
    }

    /// Records the samples of rounds, also of those that ended early.
    pub(super) fn end_rounds(&mut self) {
        if let Some(rounds) = self.rounds.take() {
            rounds.end(self.notes);
        }
    }

    pub(super) fn release_all(&mut self) -> Result<(), CellEnd> {
        self.tracing = None;
        if let Some(beside) = self.beside.take() {
            beside.end();
        }
        if let Some(tree) = self.tree.take() {
            self.remove(tree);
        }
        self.unmount_now()?;
        self.end_daemon()?;
        self.stop_array()?;
        for device in std::mem::take(&mut self.loops) {
            let step = device.release.clone();
            let waited = self.release_resource(device, Loop::detach)?;
            self.warn_of_wait(&step, waited);
        }
        self.images.clear();
        self.end_disks(self.model)?;
        let memory = self.memory.take();
        self.unmount(memory)?;
        // The mount point is removed with the directory that contains it.
        let outermost = self.scratch.pop();
        self.scratch.clear();
        if let Some(outermost) = outermost {
            self.remove(outermost);
        }
        Ok(())
    }

    /// Removes a directory and notes it. A directory that cannot be removed stays in the journal,
    /// for `fsdyno clean`.
    fn remove(&mut self, directory: Held<Scratch>) {
        let _ = self.release_by_call(directory, |directory| {
            let path = directory.path().to_owned();
            drop(directory);
            match path.symlink_metadata() {
                Ok(_) => Err("it could not be removed"),
                Err(_) => Ok(()),
            }
        });
    }

    /// Records a program that has ended; a status outside `good` is a failure.
    pub(super) fn ended(
        &mut self,
        argv: &[String],
        finished: command::Finished,
        good: &[i32],
    ) -> Result<command::Finished, CellEnd> {
        self.notes.program(argv, &finished);
        if finished.status.is_some_and(|status| good.contains(&status)) {
            return Ok(finished);
        }
        Err(self.notes.halt(finished.failure(argv), None))
    }

    /// Mounts with the stored steps.
    pub(super) fn mount_again(&mut self) -> Result<(), CellEnd> {
        for step in self.mount_steps.clone() {
            if let Step::Mount { .. } = &step {
                self.mounted = self.mount(&step)?;
            } else {
                self.carry_out(&step)?;
            }
        }
        Ok(())
    }

    /// Mounts a file system by system call.
    pub(super) fn mount(&mut self, step: &Step) -> Result<Option<Held<Mounted>>, CellEnd> {
        let Step::Mount {
            fstype,
            source,
            target,
            options,
        } = step
        else {
            return Ok(None);
        };
        let resource = self
            .by_call(step, |journal| {
                mounts::mount(fstype, source, target, options, journal)
            })
            .map_err(|e| self.notes.halt(e.to_string(), e.errno()))?;
        let target = resource.as_ref().map_or(target.as_path(), Mounted::target);
        let release = Step::Unmount {
            target: target.to_owned(),
        };
        Ok(Some(Held { resource, release }))
    }

    fn unmount(&mut self, mounted: Option<Held<Mounted>>) -> Result<(), CellEnd> {
        let Some(mounted) = mounted else {
            return Ok(());
        };
        let step = mounted.release.clone();
        let waited = self
            .release_by_call(mounted, Mounted::unmount_timed)
            .map_err(|e| self.notes.halt(e.to_string(), e.errno()))?;
        self.warn_of_wait(&step, waited);
        Ok(())
    }

    /// Runs the checker once nothing else uses the device: some, as `xfs_repair -n`, read a file
    /// system that is still mounted in another namespace, and find damage that is none.
    pub(super) fn check_device(&mut self, step: &Step, clean: &[i32]) -> Result<(), CellEnd> {
        if self.prints(|| step.shell()) {
            return Ok(());
        }
        let argv = step.argv();
        let began = Instant::now();
        let mut refused = false;
        let alone = self.virtual_time;
        let mut words = argv.iter().map(Path::new);
        let device = words.find(|word| !alone && busy::is_busy(word));
        while let Some(device) = device.filter(|device| busy::is_busy(device)) {
            if began.elapsed() >= BUSY_BOUND {
                let message = busy::still_used(device);
                return Err(self
                    .notes
                    .halt(message, Some(rustix::io::Errno::BUSY.raw_os_error())));
            }
            refused = true;
            std::thread::sleep(Duration::from_millis(200));
        }
        // The guard has the device open, so its pages outlive the last unmount. Those that a program read
        // while it was mounted may be older than what the file system wrote.
        for device in argv.iter().filter(|word| word.starts_with('/')) {
            formatting::forget_cache_of(Path::new(device)).map_err(|e| {
                self.notes.halt(
                    format!("cannot drop the cache of {device}: {e}"),
                    e.raw_os_error(),
                )
            })?;
        }
        loop {
            match self.program(&argv, clean) {
                Err(CellEnd::Failed(failure))
                    if began.elapsed() < BUSY_BOUND && busy::is_reason(&argv, &failure.message) =>
                {
                    refused = true;
                    std::thread::sleep(Duration::from_millis(200));
                }
                result => {
                    if refused && result.is_ok() {
                        self.warn_of_wait(step, Some(began.elapsed().max(USUAL_WAIT)));
                    }
                    return result.map(drop);
                }
            }
        }
    }

    /// Warns if a step had to wait for a device that something else used.
    fn warn_of_wait(&mut self, step: &Step, waited: Option<Duration>) {
        let Some(waited) = waited.filter(|waited| *waited >= USUAL_WAIT && !self.virtual_time)
        else {
            return;
        };
        let (act, waited) = (shell_line(&step.argv()), Nanos::from(waited));
        self.notes.warn(Warning::new(
            WarningKind::BackgroundLoad,
            format!("`{act}` waited {waited} for a device that was still in use (EBUSY)"),
            "another program used the device, or holds a copy of the mount; end it, or measure again",
        ));
    }

    /// Unmounts the file system under test, by system call or by programs.
    pub(super) fn unmount_now(&mut self) -> Result<(), CellEnd> {
        self.release_pool()?;
        let mounted = self.mounted.take();
        self.unmount(mounted)
    }

    /// Writes back the dirty data of the file system under test.
    pub(super) fn sync(&mut self) -> Result<(), CellEnd> {
        let root = self.work_dir.root.clone();
        let step = Step::SyncFilesystem { path: root.clone() };
        self.by_call(&step, |_| cache::sync_filesystem(&root))
            .map_err(|e| {
                self.notes
                    .halt(format!("syncfs {}: {e}", root.display()), e.raw_os_error())
            })?;
        self.make_durable().map(drop)
    }

    /// Waits until the devices are idle; warns if they are not.
    pub(super) fn settle(&mut self, mut windows: Windows) -> Result<(), CellEnd> {
        if self.watched.is_empty() {
            return Ok(());
        }
        // Virtual time passes at no cost, and other files of a directory's file system may be dirty.
        if self.virtual_time || self.tree.is_some() {
            windows.undisturbed = windows.whole;
        }
        let quiet = quiesce::wait(&self.watched, windows, self.stop);
        let quiet = quiet.map_err(|e| self.no_counters(&e))?;
        if self.stop.requested() {
            return Err(CellEnd::Stopped);
        }
        if !quiet.quiet {
            self.notes.warn(Warning::new(
                WarningKind::NotQuiet,
                format!(
                    "{} still had requests {} after the phase before",
                    self.watched.join(", "),
                    quiet.waited
                ),
                "the figures include deferred work (lazy initialisation, discard) or other \
                programs; use an idle device",
            ));
        }
        Ok(())
    }

    /// Waits until the devices are idle before a phase. If others have the turn meanwhile, the wait
    /// begins now, and [`Self::settled`] ends it.
    pub(super) fn settle_before_phase(&mut self) -> Result<(), CellEnd> {
        if self.turn.is_none() {
            return self.settle(SETTLE_BEFORE_PHASE);
        }
        let idle = Since::now(&self.watched).map_err(|e| self.no_counters(&e))?;
        self.idle = Some(idle);
        Ok(())
    }

    /// Waits for what is left of the idle window before a phase.
    pub(super) fn settled(&mut self) -> Result<(), CellEnd> {
        let Some(idle) = self.idle.take() else {
            return Ok(());
        };
        let left = idle.remaining(&self.watched, SETTLE_BEFORE_PHASE);
        let left = left.map_err(|e| self.no_counters(&e))?;
        left.map_or(Ok(()), |windows| self.settle(windows))
    }

    fn no_counters(&self, error: &io::Error) -> CellEnd {
        let devices = self.watched.join(", ");
        let message = format!("counters of {devices}: {error}");
        self.notes.halt(message, error.raw_os_error())
    }

    /// Confines the program of a phase to the contender, in namespaces of this phase: a later unmount
    /// finds no copy of the mount. In a guest the root file system is read-only, and its disks are
    /// those of the cell: there it only gives an application its directory of temporary files.
    pub(super) fn confined(&mut self, phase: &PhasePlan) -> Option<Confined> {
        let in_guest = programs::is_in_guest();
        if !load_programs::is_confined(phase)
            || in_guest && !load_programs::app::is_one(&phase.kind)
        {
            return None;
        }
        let old = if in_guest {
            OldEntries::None
        } else {
            OldEntries::All
        };
        // A program that writes memory instead of the contender would be compared.
        let temporary = load_programs::has_temporary_files(phase).then_some(old);
        match Confinement::new(&self.work_dir.root, temporary) {
            Ok(confinement) => Some(Confined::by(move || confinement.enter())),
            Err(_) if in_guest => None,
            Err(why) => {
                self.notes.warn(Warning::new(
                    WarningKind::NotConfined,
                    format!(
                        "{} can write outside of the contender: it cannot be confined ({why})",
                        phase.label
                    ),
                    "run fsdyno as root, allow user namespaces, or trust its files and jobs",
                ));
                None
            }
        }
    }

    /// Gives the work directory to the user that runs the program of a phase. The directories of
    /// fsdyno above it can be passed, and not listed.
    pub(super) fn admit_user(&mut self, phase: &PhasePlan) -> Result<(), CellEnd> {
        let user = load_programs::user(phase).map_err(|error| self.load_failed(&error))?;
        let Some(user) = user else { return Ok(()) };
        let admit = || {
            let directories = self.scratch.iter().chain(&self.tree);
            for directory in directories.filter_map(|held| held.resource.as_ref()) {
                std::fs::set_permissions(directory.path(), Permissions::from_mode(0o711))?;
            }
            let root = &self.work_dir.root;
            std::os::unix::fs::chown(root, Some(user.uid), Some(user.gid))
        };
        admit().map_err(|error: std::io::Error| {
            let root = self.work_dir.root.display();
            let message = format!("cannot give {root} to the user of {}: {error}", phase.label);
            self.notes.halt(message, error.raw_os_error())
        })
    }

    /// Gives entropy to the kernel of a guest in virtual time, for an application.
    pub(super) fn add_entropy(&mut self, phase: &PhasePlan) -> Result<(), CellEnd> {
        let is_needed = self.virtual_time && load_programs::app::is_one(&phase.kind);
        if !is_needed || !programs::is_in_guest() {
            return Ok(());
        }
        entropy::add_constant_entropy().map_err(|error| {
            let message = format!("cannot add entropy to the kernel of the guest: {error}");
            self.notes.halt(message, error.raw_os_error())
        })
    }

    pub(super) fn load_failed(&mut self, error: &LoadError) -> CellEnd {
        if let LoadError::Tool { command, .. } = error {
            self.notes.tool(command);
        }
        match error {
            LoadError::Stopped => CellEnd::Stopped,
            other => self.notes.halt(other.to_string(), other.errno()),
        }
    }
}
