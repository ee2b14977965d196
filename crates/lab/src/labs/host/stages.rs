//! The stages of a cell, as the host lab performs them.

use super::executor::{HostExecutor, SETTLE_AFTER_MAKE};
use super::{caches, fragmentation, sampling, states, verified};
use crate::job::Job;
use crate::procedure::{CellEnd, CellExecutor};
use fsdyno_datasets::DatasetError;
use fsdyno_datasets::work_dir::WorkDir;
use fsdyno_host::image::Scratch;
use fsdyno_host::mounts;
use fsdyno_load::kinds::Needs;
use fsdyno_load::measure;
use fsdyno_model::{CacheEvidence, Daemon, PhasePlan, Stage, Step, Warning, WarningKind};
use fsdyno_observe::counters;
use fsdyno_recipes::Check;
use std::path::PathBuf;
use std::time::Instant;

impl CellExecutor for HostExecutor<'_, '_> {
    fn enter(&mut self, stage: Stage) {
        self.notes.enter(stage);
    }

    fn devices(&mut self, job: &Job<'_>) -> Result<Vec<String>, CellEnd> {
        self.provide(job)
    }

    fn target(&self) -> PathBuf {
        self.target.clone()
    }

    fn daemon(&mut self, daemon: &Daemon) -> Result<(), CellEnd> {
        if !self.virtual_time {
            return self.start_daemon(daemon);
        }
        // The plan of a guest has no model disk.
        self.start_daemon(&daemon.clone().for_virtual_time())?;
        if self
            .daemon
            .as_ref()
            .is_some_and(|(running, _)| running.is_ours())
        {
            self.notes.warn(Warning::new(
                WarningKind::NotCounted,
                format!(
                    "the program {} serves the file system: virtual time counts its system calls, \
                     but not its own processor time, so the figures are too small",
                    daemon.argv.first().map_or("", String::as_str)
                ),
                "compare it with file systems of the kernel in real time",
            ));
        }
        Ok(())
    }

    fn make(&mut self, step: &Step) -> Result<(), CellEnd> {
        self.carry_out(step)
    }

    fn mount(&mut self, steps: &[Step]) -> Result<(), CellEnd> {
        self.mount_steps = steps.to_vec();
        self.mount_again()
    }

    fn describe(&mut self, source: &str, step: &Step) -> Result<(), CellEnd> {
        let finished = self.program(&step.argv(), &[0])?;
        self.notes.effective(source, finished.stdout);
        Ok(())
    }

    fn free_space(&mut self, source: &str, step: &Step) -> Result<(), CellEnd> {
        fragmentation::free_space(self, source, step)
    }

    fn state(&mut self, job: &Job<'_>) -> Result<(), CellEnd> {
        states::set_up(self, job)
    }

    fn set_up_dataset(&mut self, job: &Job<'_>) -> Result<(), CellEnd> {
        let root = job.work_dir_root(self.base, &self.tag);
        self.work_dir = WorkDir::new(&root);
        self.work_dir.stores = job.recipe.capabilities();
        self.work_dir.seed = job.dataset_seed();
        let step = Step::MakeDirectory { path: root.clone() };
        if let Some(directory) = &job.contender.directory {
            self.watched = counters::block_names_under(directory);
            let tree = self
                .notes
                .perform(&step, || Scratch::inside(&root, self.journal))?;
            self.tree = Some(tree);
        } else {
            // A file system that fsdyno made is discarded with its files.
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
            self.work_dir.trees.push(root.join("null"));
            return Ok(());
        }
        for form in &job.prepared.forms {
            let dataset = job.dataset();
            let written = dataset.and_then(|d| d.create(&mut self.work_dir, *form, self.stop));
            let warnings = written.map_err(|error| match error {
                DatasetError::Stopped => CellEnd::Stopped,
                other => self.notes.halt(other.to_string(), other.errno()),
            })?;
            for warning in warnings {
                self.notes.warn(warning);
            }
        }
        self.sync()?;
        self.settle(SETTLE_AFTER_MAKE)
    }

    fn ready(&mut self, phase: &PhasePlan) -> Result<(), CellEnd> {
        self.admit_user(phase)?;
        self.add_entropy(phase)?;
        let confined = self.confined(phase);
        let confined = confined.as_ref();
        let done = measure::prepare(phase, &self.work_dir, confined, self.stop);
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
    ) -> Result<CacheEvidence, CellEnd> {
        caches::set_up(self, job, phase, needs)
    }

    fn phase(
        &mut self,
        job: &Job<'_>,
        number: u32,
        evidence: CacheEvidence,
    ) -> Result<(), CellEnd> {
        // In real time nature varies the moment.
        if let Some(wait) = job.wait_before(number).filter(|_| self.virtual_time) {
            std::thread::sleep(wait);
        }
        sampling::measure(self, job, number, evidence)
    }

    fn wait_for_block(&mut self, stage: u32) {
        if let Some(turn) = self.turn {
            let began = Instant::now();
            turn.wait(stage);
            self.notes.exclude(began.elapsed());
        }
    }

    fn verify(&mut self, job: &Job<'_>, phase: &PhasePlan, needs: Needs) -> Result<(), CellEnd> {
        verified::compare(self, job, phase, needs)
    }

    fn unmount(&mut self) -> Result<(), CellEnd> {
        self.unmount_now()
    }

    fn check(&mut self, check: &Check) -> Result<(), CellEnd> {
        self.check_device(&check.step, check.clean)
    }

    fn release(&mut self) -> Result<(), CellEnd> {
        self.release_all()
    }
}
