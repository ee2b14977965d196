//! The dry run: prints the procedure of a cell as shell lines, and performs nothing.
//!
//! Work of fsdyno itself (writing a dataset, running a phase) is printed as its commands `make` and
//! `phase`, so that the script can be run.

use crate::disks;
use crate::job::Job;
use crate::labs::guest::memory_for;
use crate::labs::host::fragmentation;
use crate::preflight::Preflight;
use crate::procedure::{self, CellEnd, CellExecutor};
use fsdyno_datasets::Form;
use fsdyno_datasets::work_dir::SOURCE;
use fsdyno_guests::PLACE;
use fsdyno_load::kinds::{self, Needs};
use fsdyno_load::phases::work;
use fsdyno_load::programs;
use fsdyno_model::step::shell_line;
use fsdyno_model::{
    CacheEvidence, CacheState, Cell, Daemon, DeviceChoice, FilesystemKind, LabChoice, PhasePlan,
    Plan, SkippedPhase, Stage, Step,
};
use fsdyno_recipes::Check;
use fsdyno_recipes::layouts::{self, Array};
use std::path::{Path, PathBuf};

/// The tag in names of a dry run, in place of the process number of a run.
const TAG: &str = "dry";

/// An operation that a script cannot express as a command.
const EVICTED: &str =
    "# here fsdyno evicts the data of the files from memory (fadvise) and counts it";

/// All commands of a cell, in order, one per line. Comments name the stages.
pub fn lines(plan: &Plan, preflight: &Preflight, cell: Cell) -> Vec<String> {
    let job = Job::new(plan, preflight, cell);
    if job.contender.lab.is_remote() {
        return crate::labs::ssh::script(plan, preflight, cell);
    }
    let in_guest = !job.contender.lab.is_host();
    let base = if in_guest {
        Path::new(PLACE)
    } else {
        &preflight.scratch
    };
    let mut dry_run = DryRun {
        lines: vec![job.title()],
        steps: Vec::new(),
        durable: job.recipe.make_durable(&job.target(base, TAG)),
        undo: Vec::new(),
        array: None,
        root: job.work_dir_root(base, TAG),
        target: job.target(base, TAG),
        scratch: job.scratch(base, TAG),
        trees: Vec::new(),
        made: 0,
    };
    if in_guest {
        let size = plan.guest.clone().unwrap_or_default();
        dry_run.lines.push(format!(
            "# in a guest ({}) with {} and the kernel {}, whose disks are image files of {}",
            job.contender.lab,
            memory_for(plan, job.contender),
            job.contender
                .kernel
                .as_ref()
                .map_or(size.kernel(), |kernel| &kernel.program),
            job.image_bytes
        ));
    }
    // A dry run cannot fail.
    let _ = procedure::run(&mut dry_run, &job);
    dry_run.lines
}

struct DryRun {
    lines: Vec<String>,
    steps: Vec<Step>,
    /// The step that must follow a `sync`.
    durable: Option<Step>,
    /// The steps that release the devices.
    undo: Vec<Step>,
    array: Option<Array>,
    root: PathBuf,
    target: PathBuf,
    scratch: PathBuf,
    /// The trees that would exist, the newest last, and the number of trees made.
    trees: Vec<PathBuf>,
    made: u32,
}

impl DryRun {
    /// The lines of a phase that runs a program: the preparation, and the program itself.
    fn program(&self, phase: &PhasePlan) -> Option<(Vec<String>, String)> {
        let tree = self.trees.last().map(PathBuf::as_path);
        // The preflight refuses phases that cannot be printed.
        programs::lines(phase, &self.root, tree).ok().flatten()
    }

    fn print(&mut self, step: &Step) {
        self.lines.push(step.shell());
    }

    fn own(&mut self, words: &[&str]) {
        let argv: Vec<String> = ["fsdyno"]
            .iter()
            .chain(words)
            .map(|w| (*w).to_owned())
            .collect();
        self.lines.push(shell_line(&argv));
    }

    /// A command that may write. It needs no consent on a file system that the script made.
    fn own_writing(&mut self, job: &Job<'_>, mut words: Vec<&str>) {
        if job.contender.directory.is_none() {
            words.push("--yes");
        }
        self.own(&words);
    }

    /// The devices of a contender; prints the lines that create them if necessary.
    fn blocks(&mut self, job: &Job<'_>) -> Vec<String> {
        let count = job.contender.layout.devices;
        if !job.contender.lab.is_host() {
            let lab = &job.contender.lab;
            // Model disks are virtio disks in every guest.
            let lab = if job.plan.disk.is_some() {
                &LabChoice::Qemu
            } else {
                lab
            };
            let disks = (0..count as usize).map(|number| fsdyno_guests::disk(lab, number));
            return disks.map(|path| path.display().to_string()).collect();
        }
        if let DeviceChoice::Block { paths } = &job.plan.device {
            let paths = paths.iter().take(count as usize);
            return paths.map(|path| path.display().to_string()).collect();
        }
        let mut devices = Vec::new();
        let memory = job.memory(&self.scratch);
        let mut images = self.scratch.clone();
        if let Some(step @ Step::Mount { target, .. }) = &memory {
            images.clone_from(target);
            self.print(&Step::MakeDirectory {
                path: images.clone(),
            });
            self.print(step);
        }
        for number in 0..count {
            let image = images.join(format!("disk{number}.img"));
            let variable = format!("LOOP{number}");
            let (image, made) = match job.plan.disk_in_real_time() {
                Some(model) => disks::step(model, &self.scratch, number as usize, job.image_bytes),
                None => (
                    image.clone(),
                    Step::CreateImage {
                        path: image,
                        size: job.image_bytes,
                    },
                ),
            };
            self.print(&made);
            self.print(&Step::AttachLoop {
                image,
                variable: variable.clone(),
            });
            devices.push(format!("${variable}"));
        }
        self.undo = devices
            .iter()
            .map(|d| Step::DetachLoop { device: d.clone() })
            .chain(memory.and_then(|step| step.undone_by()))
            .collect();
        devices
    }

    /// Counts extents after a phase, if requested.
    fn count_extents(&mut self, job: &Job<'_>, phase: &PhasePlan) {
        if job.counts_extents(phase) {
            self.print(&fragmentation::step(&self.root, job.plan.extent_floor));
        }
    }

    fn sync(&mut self) {
        let path = self.root.clone();
        self.print(&Step::SyncFilesystem { path });
        self.make_durable();
    }

    fn make_durable(&mut self) {
        if let Some(step) = self.durable.clone() {
            self.print(&step);
        }
    }

    fn mount_again(&mut self) {
        for step in self.steps.clone() {
            self.print(&step);
        }
    }

    fn unmount_now(&mut self) {
        for step in self.steps.clone().iter().filter_map(Step::undone_by) {
            self.print(&step);
        }
    }
}

impl CellExecutor for DryRun {
    fn enter(&mut self, stage: Stage) {
        if let Stage::Phase(label) = stage {
            self.lines.push(format!("# phase {label}"));
        }
    }

    fn devices(&mut self, job: &Job<'_>) -> Result<Vec<String>, CellEnd> {
        let kind = job.recipe.kind();
        if kind == FilesystemKind::Directory {
            return Ok(Vec::new());
        }
        for path in [self.scratch.clone(), self.target.clone()] {
            self.print(&Step::MakeDirectory { path });
        }
        if kind != FilesystemKind::Block {
            return Ok(Vec::new());
        }
        let devices = self.blocks(job);
        let Some(joined) = layouts::joined(job.contender, &devices, &job.name(TAG)) else {
            return Ok(devices);
        };
        for step in &joined.join {
            self.print(step);
        }
        self.undo.splice(0..0, joined.part.clone());
        let device = joined.device.clone();
        self.array = Some(joined);
        Ok(vec![device])
    }

    fn target(&self) -> PathBuf {
        self.target.clone()
    }

    fn daemon(&mut self, daemon: &Daemon) -> Result<(), CellEnd> {
        let start = Step::StartDaemon {
            daemon: daemon.clone(),
        };
        self.print(&start);
        self.undo.splice(0..0, start.undone_by());
        Ok(())
    }

    fn make(&mut self, step: &Step) -> Result<(), CellEnd> {
        self.print(step);
        Ok(())
    }

    fn mount(&mut self, steps: &[Step]) -> Result<(), CellEnd> {
        self.steps = steps.to_vec();
        self.mount_again();
        Ok(())
    }

    fn describe(&mut self, _: &str, step: &Step) -> Result<(), CellEnd> {
        self.print(step);
        Ok(())
    }

    fn free_space(&mut self, _source: &str, step: &Step) -> Result<(), CellEnd> {
        self.print(step);
        Ok(())
    }

    fn array(&self) -> Option<&Array> {
        self.array.as_ref()
    }

    fn beside(&mut self, steps: Vec<Step>) {
        let lines: Vec<String> = steps.iter().map(Step::shell).collect();
        self.lines.push(format!("{{ {}; }} &", lines.join(" && ")));
    }

    fn end_beside(&mut self) -> Result<(), CellEnd> {
        self.lines.push("wait".to_owned());
        Ok(())
    }

    fn state(&mut self, job: &Job<'_>) -> Result<(), CellEnd> {
        let state = &job.contender.state;
        if let Some(fill) = state.fill()
            && job.touches_files()
        {
            let target = self.target.display().to_string();
            let (fill, age) = (fill.to_string(), state.age.to_string());
            let seed = job.state_seed().to_string();
            let mut words = vec!["age", "--in", &target, "--fill", &fill];
            if state.age > 0 {
                words.extend(["--age", &age]);
            }
            words.extend(["--seed", &seed]);
            self.own_writing(job, words);
        }
        Ok(())
    }

    fn set_up_dataset(&mut self, job: &Job<'_>) -> Result<(), CellEnd> {
        self.print(&Step::MakeDirectory {
            path: self.root.clone(),
        });
        if !job.touches_files() {
            return Ok(());
        }
        let root = self.root.display().to_string();
        let (dataset, seed, scale) = (
            job.workload.dataset.to_string(),
            job.dataset_seed().to_string(),
            job.plan.scale.to_string(),
        );
        for form in &job.prepared.forms {
            let mut words = vec!["make", &dataset, "--in", &root, "--seed", &seed];
            words.extend(["--scale", &scale]);
            if *form == Form::Archive {
                words.push("--archive");
            }
            self.own_writing(job, words);
            if *form == Form::Tree {
                self.trees.push(self.root.join(SOURCE));
            }
        }
        self.sync();
        Ok(())
    }

    fn ready(&mut self, phase: &PhasePlan) -> Result<(), CellEnd> {
        if let Some((before, _)) = self.program(phase) {
            self.lines.extend(before);
        }
        Ok(())
    }

    fn cache(
        &mut self,
        job: &Job<'_>,
        phase: &PhasePlan,
        needs: Needs,
    ) -> Result<CacheEvidence, CellEnd> {
        if !job.touches_files() {
            return Ok(CacheEvidence::default());
        }
        match (phase.cache, job.recipe.kind()) {
            (CacheState::AsIs, _) | (CacheState::Cold, FilesystemKind::Memory) => {}
            (CacheState::Warm, _) if needs != Needs::Tree => {
                self.sync();
                let root = self.root.display().to_string();
                let words = [
                    "find", &root, "-xdev", "-type", "f", "-exec", "cat", "{}", "+",
                ];
                let line = shell_line(&words.map(str::to_owned));
                self.lines.push(format!("{line} > /dev/null"));
            }
            (CacheState::Warm, _) => {
                self.sync();
                let root = self.root.display().to_string();
                self.own(&["phase", "read", "--in", &root]);
            }
            (CacheState::Cold, FilesystemKind::Block) => {
                self.sync();
                self.lines.push(EVICTED.to_owned());
                self.unmount_now();
                self.print(&Step::DropCaches);
                self.mount_again();
            }
            (CacheState::Cold, FilesystemKind::Directory) => {
                self.sync();
                self.lines.push(EVICTED.to_owned());
                self.print(&Step::DropCaches);
            }
        }
        Ok(CacheEvidence::default())
    }

    fn phase(&mut self, job: &Job<'_>, number: u32, _: CacheEvidence) -> Result<(), CellEnd> {
        let phase = &job.workload.phases[number as usize];
        let root = self.root.display().to_string();
        if let Some((_, line)) = self.program(phase) {
            self.lines.push(line);
            self.sync();
            self.count_extents(job, phase);
            return Ok(());
        }
        if let Some(kind) = kinds::find(&phase.kind) {
            if kind.makes_tree {
                self.made += 1;
                self.trees
                    .push(self.root.join(format!("{}-{}", kind.name, self.made)));
            }
            if kind.removes_tree {
                self.trees.pop();
            }
        }
        let mut words = vec![
            "phase",
            &phase.kind,
            "--in",
            &root,
            "--engine",
            &job.plan.engine,
        ];
        words.extend(["--copy-method", job.plan.copy_method.name()]);
        if let Some(pattern) = &phase.pattern {
            words.extend(["--pattern", pattern]);
        }
        let given = phase.parameters.iter();
        let mut given: Vec<String> = given
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        if work::is_one(&phase.kind) && !phase.parameters.contains_key(work::SEED) {
            given.push(format!("{}={}", work::SEED, job.dataset_seed()));
        }
        for one in &given {
            words.extend(["--set", one]);
        }
        self.own_writing(job, words);
        if job.touches_files() {
            // A phase that writes creates its own files.
            if kinds::find(&phase.kind).is_some_and(|kind| kind.writes) {
                self.make_durable();
            } else {
                self.sync();
            }
        }
        self.count_extents(job, phase);
        Ok(())
    }

    fn skip(&mut self, skipped: &SkippedPhase) {
        let SkippedPhase { phase, reason, .. } = skipped;
        self.lines
            .push(format!("# phase {phase} is skipped: {reason}"));
    }

    fn verify(&mut self, _: &Job<'_>, _: &PhasePlan, _: Needs) -> Result<(), CellEnd> {
        self.lines
            .push("# here the tree is compared with what it was made from".to_owned());
        Ok(())
    }

    fn unmount(&mut self) -> Result<(), CellEnd> {
        self.unmount_now();
        Ok(())
    }

    fn check(&mut self, check: &Check) -> Result<(), CellEnd> {
        self.print(&check.step);
        Ok(())
    }

    fn release(&mut self) -> Result<(), CellEnd> {
        for step in std::mem::take(&mut self.undo) {
            self.print(&step);
        }
        // Only a tree in a directory of the user is removed separately.
        let leftovers = if self.steps.is_empty() {
            &self.root
        } else {
            &self.scratch
        };
        self.print(&Step::Remove {
            path: leftovers.clone(),
        });
        Ok(())
    }
}
