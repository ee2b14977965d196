//! The hands of the host lab: each stage of a cell, done. All that is made here is a guard, given
//! back in the reverse order of its making, whatever happens.

use super::caches;
use super::doubts;
use super::fragments;
use super::states;
use crate::job::Job;
use crate::labs::Below;
use crate::labs::notes::{Notes, elapsed};
use crate::procedure::{Halt, Hands};
use fsdyno_host::arrays::Array;
use fsdyno_host::counters::{self, BlockCounters};
use fsdyno_host::guard::Released;
use fsdyno_host::image::{Image, Scratch};
use fsdyno_host::journal::Journal;
use fsdyno_host::loops::Loop;
use fsdyno_host::mounts::{self, Mounted};
use fsdyno_host::{cache, command, quiesce};
use fsdyno_load::datasets::DatasetError;
use fsdyno_load::ground::Ground;
use fsdyno_load::measure::{self, LoadError};
use fsdyno_load::trees;
use fsdyno_load::workloads::Needs;
use fsdyno_model::{
    CacheEvidence, CpuUse, Failure, FilesystemKind, PhasePlan, Sample, Stage, Step, Stop, Warning,
    WarningKind,
};
use fsdyno_recipes::{Check, layouts};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// How long counters must stand still after mkfs, filling and laying, and how long that is waited for.
pub(super) const SETTLED: (Duration, Duration) =
    (Duration::from_millis(300), Duration::from_secs(60));

/// A cell being carried out.
pub(super) struct Doing<'a, 'n> {
    pub(super) notes: &'a mut Notes<'n>,
    journal: &'a Journal,
    /// Tells the directories of this process apart.
    tag: String,
    pub(super) stop: &'a Stop,
    base: &'a Path,
    released: &'a [Released],
    /// What keeps data of the devices in memory below them.
    pub(super) below: Option<&'a mut dyn Below>,
    // Given back from top to bottom.
    pub(super) mounted: Option<Mounted>,
    tree: Option<Scratch>,
    array: Option<(Array, Vec<Step>)>,
    loops: Vec<Loop>,
    images: Vec<Image>,
    scratch: Vec<Scratch>,
    target: PathBuf,
    /// The steps that mount it, to mount it again.
    pub(super) mount_steps: Vec<Step>,
    /// The kernel names of the devices whose counters tell of this cell.
    pub(super) watched: Vec<String>,
    pub(super) ground: Ground,
    /// Whether fragments were counted after the phase before.
    pub(super) counted: bool,
}

impl<'a, 'n> Doing<'a, 'n> {
    pub(super) fn new(
        notes: &'a mut Notes<'n>,
        journal: &'a Journal,
        stop: &'a Stop,
        base: &'a Path,
        released: &'a [Released],
        below: Option<&'a mut (dyn Below + 'static)>,
    ) -> Self {
        Self {
            notes,
            journal,
            tag: tag(journal),
            stop,
            base,
            released,
            below: below.map(|below| below as &mut dyn Below),
            mounted: None,
            tree: None,
            array: None,
            loops: Vec::new(),
            images: Vec::new(),
            scratch: Vec::new(),
            target: PathBuf::new(),
            mount_steps: Vec::new(),
            watched: Vec::new(),
            ground: Ground::new(PathBuf::new()),
            counted: false,
        }
    }

    /// Gives everything back. What cannot be given back is a failure of the cell.
    pub(super) fn undo(mut self) -> Option<Failure> {
        self.give_back().err().and_then(|halt| match halt {
            Halt::Failed(failure) => Some(failure),
            Halt::Stopped => None,
        })
    }

    fn give_back(&mut self) -> Result<(), Halt> {
        if let Some(tree) = self.tree.take() {
            self.remove(tree);
        }
        self.unmount_now()?;
        self.part()?;
        for device in std::mem::take(&mut self.loops) {
            let step = Step::DetachLoop {
                device: device.device().display().to_string(),
            };
            self.notes
                .by_call(&step, || device.detach())
                .map_err(|e| self.notes.halt(e.to_string(), None))?;
        }
        self.images.clear();
        // The mount point goes with the directory it lies in.
        let outermost = self.scratch.pop();
        self.scratch.clear();
        if let Some(outermost) = outermost {
            self.remove(outermost);
        }
        Ok(())
    }

    /// Removes a directory and notes it. What stays is in the journal, for `fsdyno clean`.
    fn remove(&mut self, directory: Scratch) {
        let path = directory.path().to_owned();
        let _ = self
            .notes
            .by_call(&Step::Remove { path: path.clone() }, || {
                drop(directory);
                match path.symlink_metadata() {
                    Ok(_) => Err("it could not be removed"),
                    Err(_) => Ok(()),
                }
            });
    }

    /// Makes one image file and attaches it.
    fn image(&mut self, job: &Job<'_>, scratch: &Path, number: u32) -> Result<String, Halt> {
        let path = scratch.join(format!("disk{number}.img"));
        let create = Step::CreateImage {
            path: path.clone(),
            size: job.image_bytes,
        };
        let image = self
            .notes
            .by_call(&create, || {
                Image::create(&path, job.image_bytes, self.journal)
            })
            .map_err(|e| self.notes.halt(e.to_string(), None))?;
        self.images.push(image);
        let attach = Step::AttachLoop {
            image: path.clone(),
            variable: format!("LOOP{number}"),
        };
        let device = self
            .notes
            .by_call(&attach, || Loop::attach(&path, self.journal))
            .map_err(|e| self.notes.halt(e.to_string(), None))?;
        if !device.direct_io() {
            self.notes.warn(Warning::new(
                WarningKind::Device,
                format!(
                    "the file system under {} has no direct I/O",
                    self.base.display()
                ),
                "its page cache hides the disk: choose another place with --work-dir",
            ));
        }
        self.watched.push(device.name().to_owned());
        let name = device.device().display().to_string();
        self.loops.push(device);
        Ok(name)
    }

    /// Joins the devices where their layout does that below the file system.
    fn join(&mut self, job: &Job<'_>, devices: Vec<String>) -> Result<Vec<String>, Halt> {
        let name = job.name(&self.tag);
        let Some(joined) = layouts::joined(&job.contender.layout, &devices, &name) else {
            return Ok(devices);
        };
        let array = Array::declare(Path::new(&joined.device), self.journal)
            .map_err(|e| self.notes.halt(e.to_string(), None))?;
        self.array = Some((array, joined.part));
        for step in &joined.join {
            self.program(&step.argv(), &[0])?;
        }
        Ok(vec![joined.device])
    }

    /// Parts what was joined.
    fn part(&mut self) -> Result<(), Halt> {
        let Some((array, steps)) = self.array.take() else {
            return Ok(());
        };
        let mut array = Some(array);
        for step in &steps {
            if let (Step::StopArray { .. }, Some(array)) = (step, array.take()) {
                self.notes
                    .by_call(step, || array.stop())
                    .map_err(|e| self.notes.halt(e.to_string(), None))?;
            } else {
                self.program(&step.argv(), &[0])?;
            }
        }
        Ok(())
    }

    /// Runs a program; a status outside `good` is a failure.
    fn program(&mut self, argv: &[String], good: &[i32]) -> Result<command::Finished, Halt> {
        let finished = command::run(argv, self.stop).map_err(|error| self.notes.not_run(&error))?;
        self.notes.program(argv, &finished);
        if finished.status.is_some_and(|status| good.contains(&status)) {
            return Ok(finished);
        }
        Err(self.notes.halt(finished.failure(argv), None))
    }

    /// Mounts by the steps kept.
    pub(super) fn mount_again(&mut self) -> Result<(), Halt> {
        for step in self.mount_steps.clone() {
            if let Step::Mount {
                fstype,
                source,
                target,
                options,
            } = &step
            {
                let mounted = self
                    .notes
                    .by_call(&step, || {
                        mounts::mount(fstype, source, target, options, self.journal)
                    })
                    .map_err(|e| self.notes.halt(e.to_string(), e.errno()))?;
                self.mounted = Some(mounted);
            } else {
                self.program(&step.argv(), &[0])?;
            }
        }
        Ok(())
    }

    /// Unmounts what is mounted.
    pub(super) fn unmount_now(&mut self) -> Result<(), Halt> {
        let Some(mounted) = self.mounted.take() else {
            return Ok(());
        };
        let step = Step::Unmount {
            target: mounted.target().to_owned(),
        };
        self.notes
            .by_call(&step, || mounted.unmount())
            .map_err(|e| self.notes.halt(e.to_string(), e.errno()))
    }

    /// Writes back what is dirty of the file system under test.
    pub(super) fn sync(&mut self) -> Result<(), Halt> {
        let root = self.ground.root.clone();
        let step = Step::SyncFilesystem { path: root.clone() };
        self.notes
            .by_call(&step, || cache::sync_filesystem(&root))
            .map_err(|e| {
                self.notes
                    .halt(format!("syncfs {}: {e}", root.display()), e.raw_os_error())
            })
    }

    /// Waits until the devices stand still; says so where they do not.
    pub(super) fn settle(&mut self, window: Duration, bound: Duration) -> Result<(), Halt> {
        if self.watched.is_empty() {
            return Ok(());
        }
        let quiet = quiesce::wait(&self.watched, window, bound, self.stop).map_err(|e| {
            let devices = self.watched.join(", ");
            self.notes
                .halt(format!("counters of {devices}: {e}"), e.raw_os_error())
        })?;
        if self.stop.requested() {
            return Err(Halt::Stopped);
        }
        if !quiet.quiet {
            self.notes.warn(Warning::new(
                WarningKind::NotQuiet,
                format!(
                    "{} still had requests {} after the phase before",
                    self.watched.join(", "),
                    quiet.waited
                ),
                "deferred work (lazy initialisation, discard) or somebody else is inside the \
                 figures; use an idle device",
            ));
        }
        Ok(())
    }

    pub(super) fn load_failed(&mut self, error: &LoadError) -> Halt {
        if let LoadError::Tool { command, .. } = error {
            self.notes.tool(command);
        }
        match error {
            LoadError::Stopped => Halt::Stopped,
            other => self.notes.halt(other.to_string(), other.errno()),
        }
    }

    /// The counters that stand around a phase.
    fn counters(&self) -> Result<(Option<BlockCounters>, counters::MachineCpu), Halt> {
        let failed = |e: std::io::Error| {
            self.notes
                .halt(format!("cannot read the counters: {e}"), e.raw_os_error())
        };
        let block = if self.watched.is_empty() {
            None
        } else {
            Some(counters::block(&self.watched).map_err(failed)?)
        };
        Ok((block, counters::machine_cpu().map_err(failed)?))
    }
}

/// The name of the journal without its ending: unique on this machine.
fn tag(journal: &Journal) -> String {
    journal
        .path()
        .file_stem()
        .map(|stem| stem.to_string_lossy().into_owned())
        .unwrap_or_default()
}

impl Hands for Doing<'_, '_> {
    fn enter(&mut self, stage: Stage) {
        self.notes.enter(stage);
    }

    fn devices(&mut self, job: &Job<'_>) -> Result<Vec<String>, Halt> {
        if job.recipe.kind() == FilesystemKind::Directory {
            return Ok(Vec::new());
        }
        let tag = &self.tag;
        let path = job.scratch(self.base, tag);
        self.target = job.target(self.base, tag);
        // The mount point is given back before the directory it lies in.
        for directory in [&path, &self.target] {
            let step = Step::MakeDirectory {
                path: directory.clone(),
            };
            let scratch = self
                .notes
                .by_call(&step, || Scratch::create(directory, self.journal))
                .map_err(|e| self.notes.halt(e.to_string(), None))?;
            self.scratch.insert(0, scratch);
        }
        if job.recipe.kind() == FilesystemKind::Memory {
            return Ok(Vec::new());
        }
        let count = job.contender.layout.devices;
        if self.released.is_empty() {
            let devices = (0..count).map(|number| self.image(job, &path, number));
            let devices = devices.collect::<Result<Vec<_>, _>>()?;
            return self.join(job, devices);
        }
        let mut devices = Vec::new();
        for released in self.released.iter().take(count as usize) {
            // Between two cells somebody may have taken the device into use.
            released
                .recheck()
                .map_err(|refusal| self.notes.halt(refusal.to_string(), None))?;
            self.watched.push(released.portrait().identity.name.clone());
            devices.push(released.device().display().to_string());
        }
        self.join(job, devices)
    }

    fn target(&self) -> PathBuf {
        self.target.clone()
    }

    fn make(&mut self, step: &Step) -> Result<(), Halt> {
        self.program(&step.argv(), &[0]).map(|_| ())
    }

    fn mount(&mut self, steps: &[Step]) -> Result<(), Halt> {
        self.mount_steps = steps.to_vec();
        self.mount_again()
    }

    fn describe(&mut self, source: &str, step: &Step) -> Result<(), Halt> {
        let finished = self.program(&step.argv(), &[0])?;
        self.notes.effective(source, finished.stdout);
        Ok(())
    }

    fn free_space(&mut self, source: &str, step: &Step) -> Result<(), Halt> {
        fragments::free_space(self, source, step)
    }

    fn state(&mut self, job: &Job<'_>) -> Result<(), Halt> {
        states::bring_about(self, job)
    }

    fn lay(&mut self, job: &Job<'_>) -> Result<(), Halt> {
        let root = job.ground_root(self.base, &self.tag);
        self.ground = Ground::new(&root);
        let step = Step::MakeDirectory { path: root.clone() };
        if let Some(directory) = &job.contender.directory {
            self.watched = counters::block_names_under(directory);
            let tree = self
                .notes
                .by_call(&step, || Scratch::inside(&root, self.journal))
                .map_err(|e| self.notes.halt(e.to_string(), None))?;
            self.tree = Some(tree);
        } else {
            // On a file system of our own: it goes with it.
            self.notes
                .by_call(&step, || std::fs::create_dir(&root))
                .map_err(|e| {
                    self.notes
                        .halt(format!("mkdir {}: {e}", root.display()), e.raw_os_error())
                })?;
        }
        let info = mounts::mountinfo(&root).map_err(|e| self.notes.halt(e.to_string(), None))?;
        self.notes.effective("mountinfo", info.to_string());
        if !job.touches_files() {
            self.ground.trees.push(root.join("null"));
            return Ok(());
        }
        for form in &job.prepared.forms {
            let laid = job.prepared.dataset.lay(&mut self.ground, *form, self.stop);
            let warnings = laid.map_err(|error| match error {
                DatasetError::Stopped => Halt::Stopped,
                other => self.notes.halt(other.to_string(), other.errno()),
            })?;
            for warning in warnings {
                self.notes.warn(warning);
            }
        }
        self.sync()?;
        self.settle(SETTLED.0, SETTLED.1)
    }

    fn ready(&mut self, phase: &PhasePlan) -> Result<(), Halt> {
        let done = measure::prepare(phase, &self.ground, self.stop);
        for tool in done.map_err(|error| self.load_failed(&error))? {
            self.notes.tool(&tool);
        }
        Ok(())
    }

    fn cache(
        &mut self,
        job: &Job<'_>,
        phase: &PhasePlan,
        needs: Needs,
    ) -> Result<CacheEvidence, Halt> {
        caches::bring_about(self, job, phase.cache, needs)
    }

    fn phase(&mut self, job: &Job<'_>, number: u32, evidence: CacheEvidence) -> Result<(), Halt> {
        let phase = &job.workload.phases[number as usize];
        let space = |root: &Path| counters::space_used(root).unwrap_or_default();
        let space_before = space(&self.ground.root);
        let (block_before, cpu_before) = self.counters()?;
        let facts = job.prepared.dataset.facts();
        let request = measure::Request {
            phase,
            engine: &job.plan.engine,
            copy_method: job.plan.copy_method,
            ground: &mut self.ground,
            facts: Some((facts.files, facts.directories, facts.bytes.0)),
            stop: self.stop,
        };
        let measured = measure::run(request).map_err(|error| self.load_failed(&error))?;
        let (_, cpu_after) = self.counters()?;
        if measured.durable_ns.is_none() && job.touches_files() {
            // A phase that only reads may still write time stamps: they count as its traffic,
            // while its time ended with the reading.
            self.sync()?;
        }
        let (block_after, _) = self.counters()?;
        for tool in &measured.commands {
            self.notes.tool(tool);
        }
        let machine = cpu_after.since(&cpu_before);
        let device = block_after
            .zip(block_before)
            .map(|(after, before)| after.since(&before));
        let mut sample = Sample {
            phase: number,
            label: phase.label.clone(),
            kind: phase.kind.clone(),
            engine: measured.engine.to_owned(),
            method: measured.method,
            cache: evidence,
            return_ns: measured.return_ns,
            durable_ns: measured.durable_ns,
            tally: measured.tally,
            cpu: CpuUse {
                user_ns: measured.user_ns,
                system_ns: measured.system_ns,
                machine_busy_ns: machine.busy_ns,
                steal_ns: machine.steal_ns,
            },
            device,
            space_before,
            space_after: space(&self.ground.root),
            fragmentation: None,
            figures: measured.figures,
            warnings: measured.warnings,
        };
        sample.fragmentation = fragments::after(self, job, phase)?;
        let doubts = doubts::about(&sample, job);
        sample.warnings.extend(doubts);
        self.notes.sample(sample);
        Ok(())
    }

    fn verify(&mut self, job: &Job<'_>, needs: Needs) -> Result<(), Halt> {
        let start = Instant::now();
        let newest = self.ground.newest().cloned().unwrap_or_default();
        let (original, result) = if needs == Needs::Archive {
            let archive = self.ground.archive.clone().unwrap_or_default();
            let result = trees::compare_archive(&archive, &newest, self.stop);
            (archive, result)
        } else {
            let count = self.ground.trees.len();
            let original = self.ground.trees[count.saturating_sub(2)].clone();
            let result = trees::compare(&original, &newest, self.stop);
            (original, result)
        };
        let comparison = match result {
            Err(_) if self.stop.requested() => return Err(Halt::Stopped),
            Err(error) => return Err(self.notes.halt(error.to_string(), None)),
            Ok(comparison) => comparison,
        };
        if comparison.total > 0 {
            let message = format!(
                "{} is not what {} is: {} differences, the first: {}",
                newest.display(),
                original.display(),
                comparison.total,
                comparison
                    .differences
                    .first()
                    .map(ToString::to_string)
                    .unwrap_or_default(),
            );
            return Err(self.notes.halt(message, None));
        }
        let text = format!(
            "{} in {}: {} files, {} directories, {} equal, compared in {}",
            job.contender.label,
            newest.display(),
            comparison.files,
            comparison.directories,
            comparison.bytes,
            elapsed(start),
        );
        self.notes.effective("tree comparison", text);
        Ok(())
    }

    fn unmount(&mut self) -> Result<(), Halt> {
        self.unmount_now()
    }

    fn check(&mut self, check: &Check) -> Result<(), Halt> {
        self.program(&check.step.argv(), check.clean).map(|_| ())
    }

    fn release(&mut self) -> Result<(), Halt> {
        self.give_back()
    }
}
