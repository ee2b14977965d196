//! The script of a dry run: the work of fsdyno itself as its commands `make`, `age` and `phase`.
//! Everything else is printed by the [machine](super::machine) of the cell.

use super::executor::HostExecutor;
use super::fragmentation;
use super::machine::Machine;
use crate::job::Job;
use crate::notes::Notes;
use crate::procedure::{self, CellEnd};
use fsdyno_datasets::Form;
use fsdyno_datasets::work_dir::SOURCE;
use fsdyno_guests::PLACE;
use fsdyno_load::kinds::{self, Needs};
use fsdyno_load::phases::work;
use fsdyno_load::programs;
use fsdyno_model::step::{OURSELVES, shell_line};
use fsdyno_model::{CancelToken, DeviceChoice, LabChoice, PhasePlan};
use std::path::{Path, PathBuf};

/// Operations that a script cannot express as commands.
pub(super) const EVICTED: &str =
    "# here fsdyno evicts the data of the files from memory (fadvise) and counts it";

pub(super) const COMPARED: &str = "# here the tree is compared with what it was made from";

/// All commands of a cell on this machine or in a guest, in order, after these lines.
pub(crate) fn script(job: &Job<'_>, scratch: &Path, lines: Vec<String>) -> Vec<String> {
    let (base, model) = if job.contender.lab.is_host() {
        (scratch, job.plan.disk_in_real_time())
    } else {
        (Path::new(PLACE), None)
    };
    let machine = Machine::Script {
        lines,
        devices: devices(job),
    };
    let (ignore, marks) = (&mut |_| (), &mut |_| ());
    let mut notes = Notes::new(job.cell, ignore);
    let stop = CancelToken::new();
    let mut executor = HostExecutor::new(&mut notes, machine, &stop, base, model, None, marks);
    // What is only printed cannot fail.
    let _ = procedure::run(&mut executor, job);
    match executor.machine {
        Machine::Script { lines, .. } => lines,
        Machine::Here { .. } => Vec::new(),
    }
}

/// The names of the block devices that the user or a guest provides.
fn devices(job: &Job<'_>) -> Vec<String> {
    let lab = match &job.contender.lab {
        // Model disks are virtio disks in every guest.
        LabChoice::Uml if job.plan.disk.is_some() => &LabChoice::Qemu,
        lab => lab,
    };
    let count = job.contender.layout.devices as usize;
    let paths = match &job.plan.device {
        _ if !lab.is_host() => (0..count)
            .map(|number| fsdyno_guests::disk(lab, number))
            .collect(),
        DeviceChoice::Block { paths } => paths.clone(),
        _ => Vec::new(),
    };
    let names = paths.iter().map(|path| path.display().to_string());
    names.collect()
}

/// A command of fsdyno itself.
fn own_line(words: &[&str]) -> String {
    let words = std::iter::once(OURSELVES).chain(words.iter().copied());
    shell_line(&words.map(str::to_owned).collect::<Vec<_>>())
}

/// The same of a command that may write. It needs no consent on a file system that the script made.
fn own_writing_line(job: &Job<'_>, mut words: Vec<&str>) -> String {
    if job.contender.directory.is_none() {
        words.push("--yes");
    }
    own_line(&words)
}

/// The line that fills and ages a file system as its contender requires.
pub(super) fn state_line(job: &Job<'_>, target: &Path) -> String {
    let state = &job.contender.state;
    let fill = state
        .fill()
        .map_or_else(String::new, |fill| fill.to_string());
    let (target, age) = (target.display().to_string(), state.age.to_string());
    let seed = job.state_seed().to_string();
    let mut words = vec!["age", "--in", &target, "--fill", &fill];
    if state.age > 0 {
        words.extend(["--age", &age]);
    }
    words.extend(["--seed", &seed]);
    own_writing_line(job, words)
}

/// The line of the untimed pass over a tree, or over all files of the work directory.
pub(super) fn pass_line(root: &Path, needs: Needs) -> String {
    let root = root.display().to_string();
    if needs == Needs::Tree {
        return own_line(&["phase", "read", "--in", &root]);
    }
    let words = [
        "find", &root, "-xdev", "-type", "f", "-exec", "cat", "{}", "+",
    ];
    let line = shell_line(&words.map(str::to_owned));
    format!("{line} > /dev/null")
}

fn dataset_line(job: &Job<'_>, root: &Path, form: Form) -> String {
    let dataset = job.workload.dataset.to_string();
    let (root, seed) = (root.display().to_string(), job.dataset_seed().to_string());
    let scale = job.plan.scale.to_string();
    let mut words = vec!["make", &dataset, "--in", &root, "--seed", &seed];
    words.extend(["--scale", &scale]);
    if form == Form::Archive {
        words.push("--archive");
    }
    own_writing_line(job, words)
}

fn phase_line(job: &Job<'_>, phase: &PhasePlan, root: &Path) -> String {
    let (root, plan) = (root.display().to_string(), job.plan);
    let mut words = vec!["phase", &phase.kind, "--in", &root];
    words.extend(["--engine", &plan.engine]);
    words.extend(["--copy-method", plan.copy_method.name()]);
    if let Some(pattern) = &phase.pattern {
        words.extend(["--pattern", pattern]);
    }
    let set = phase.parameters.iter();
    let mut set: Vec<String> = set.map(|(name, value)| format!("{name}={value}")).collect();
    if work::is_one(&phase.kind) && !phase.parameters.contains_key(work::SEED) {
        set.push(format!("{}={}", work::SEED, job.dataset_seed()));
    }
    for setting in &set {
        words.extend(["--set", setting]);
    }
    own_writing_line(job, words)
}

impl HostExecutor<'_, '_> {
    /// Prints how a form of the dataset is written. Returns whether this is a script.
    pub(super) fn prints_dataset(&mut self, job: &Job<'_>, form: Form) -> bool {
        let root = self.work_dir.root.clone();
        let is_printed = self.prints(|| dataset_line(job, &root, form));
        if is_printed {
            match form {
                Form::Tree => self.work_dir.trees.push(root.join(SOURCE)),
                // Its name is known once it is written. A pass over all files reads it.
                Form::Archive => self.work_dir.archive = Some(root),
            }
        }
        is_printed
    }

    /// The lines of a phase that runs a program: the preparation, and the program itself.
    fn program_lines(&self, phase: &PhasePlan) -> Option<(Vec<String>, String)> {
        let (root, tree) = (&self.work_dir.root, self.work_dir.newest());
        let lines = programs::lines(phase, root, tree.map(PathBuf::as_path));
        // The preflight refuses phases that cannot be printed.
        lines.ok().flatten()
    }

    /// Prints the preparation of a phase. The command `phase` prepares its phase itself.
    pub(super) fn print_preparation(&mut self, phase: &PhasePlan) {
        if let Some((before, _)) = self.program_lines(phase) {
            for line in before {
                self.prints(|| line);
            }
        }
    }

    /// Prints a phase, and what makes its work durable.
    pub(super) fn print_phase(&mut self, job: &Job<'_>, phase: &PhasePlan) -> Result<(), CellEnd> {
        let kind = kinds::find(&phase.kind);
        let program = self.program_lines(phase);
        // The command `phase` waits for its own writes.
        let syncs = program.is_none() && kind.is_some_and(|kind| kind.writes);
        if let Some((_, line)) = program {
            self.prints(|| line);
        } else {
            if let Some(kind) = kind.filter(|kind| kind.makes_tree) {
                let tree = self.work_dir.next_tree(kind.name);
                self.work_dir.trees.push(tree);
            }
            if kind.is_some_and(|kind| kind.removes_tree) {
                self.work_dir.trees.pop();
            }
            let root = self.work_dir.root.clone();
            self.prints(|| phase_line(job, phase, &root));
        }
        if job.touches_files() {
            if syncs {
                self.make_durable()?;
            } else {
                self.sync()?;
            }
        }
        fragmentation::after(self, job, phase).map(drop)
    }
}
