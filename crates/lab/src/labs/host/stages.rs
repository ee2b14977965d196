//! The stages of a cell, as the host lab performs them.

use super::beside::Beside;
use super::executor::{HostExecutor, SETTLE_AFTER_MAKE};
use super::machine::Held;
use super::rounds::Rounds;
use super::{caches, fragmentation, rounds, sampling, script, states, verified};
use crate::job::Job;
use crate::procedure::{CellEnd, CellExecutor, Place};
use fsdyno_datasets::DatasetError;
use fsdyno_datasets::work_dir::WorkDir;
use fsdyno_host::cache;
use fsdyno_host::daemons::Running;
use fsdyno_host::image::Scratch;
use fsdyno_host::mounts;
use fsdyno_load::kinds::Needs;
use fsdyno_load::measure;
use fsdyno_model::{
    CacheEvidence, CacheState, Daemon, PhasePlan, SkippedPhase, Stage, Step, Warning, WarningKind,
};
use fsdyno_observe::counters;
use fsdyno_recipes::Check;
use fsdyno_recipes::layouts::Array;
use std::path::PathBuf;
use std::time::Instant;

impl CellExecutor for HostExecutor<'_, '_> {
    fn enter(&mut self, stage: Stage) {
        if let Stage::Phase(label) = &stage {
            self.prints(|| format!("# phase {label}"));
        }
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
        let running = self.daemon.as_ref().and_then(|held| held.resource.as_ref());
        if running.is_some_and(Running::is_ours) {
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

    fn array(&self) -> Option<&Array> {
        self.array.as_ref().map(|(_, array)| array)
    }

    fn beside(&mut self, steps: Vec<Step>) {
        let line = || {
            let lines: Vec<String> = steps.iter().map(Step::shell).collect();
            format!("{{ {}; }} &", lines.join(" && "))
        };
        if !self.prints(line) {
            self.beside = Some(Beside::new(steps, self.stop.clone()));
        }
    }

    fn end_beside(&mut self) -> Result<(), CellEnd> {
        let Some(beside) = self.beside.take() else {
            self.prints(|| "wait".to_owned());
            return Ok(());
        };
        for (argv, finished) in beside.end() {
            let finished = finished.map_err(|error| self.notes.not_run(&error))?;
            self.ended(&argv, finished, &[0])?;
        }
        Ok(())
    }

    fn state(&mut self, job: &Job<'_>) -> Result<(), CellEnd> {
        states::set_up(self, job)
    }

    fn set_up_dataset(&mut self, job: &Job<'_>) -> Result<(), CellEnd> {
        let root = job.work_dir_root(self.base, &self.machine.tag());
        self.work_dir = WorkDir::new(&root);
        self.work_dir.stores = job.recipe.capabilities();
        self.work_dir.seed = job.dataset_seed();
        let step = Step::MakeDirectory { path: root.clone() };
        if let Some(directory) = &job.contender.directory {
            let tree = self.perform(&step, |journal| Scratch::inside(&root, journal))?;
            if tree.is_some() {
                self.watched = counters::block_names_under(directory);
            }
            self.tree = Some(Held::directory(tree, &root));
        } else {
            // A file system that fsdyno made is discarded with its files.
            self.by_call(&step, |_| std::fs::create_dir(&root))
                .map_err(|e| {
                    self.notes
                        .halt(format!("mkdir {}: {e}", root.display()), e.raw_os_error())
                })?;
        }
        if !self.is_script() {
            let info = mounts::mountinfo(&root);
            let info = info.map_err(|e| self.notes.halt(e.to_string(), None))?;
            self.notes.effective("mountinfo", info.to_string());
        }
        if !job.touches_files() {
            self.work_dir.trees.push(root.join("null"));
            return Ok(());
        }
        for form in &job.prepared.forms {
            if self.prints_dataset(job, *form) {
                continue;
            }
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
        if self.is_script() {
            self.print_preparation(phase);
            return Ok(());
        }
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
        if std::mem::take(&mut self.undo_round) {
            self.undo_round(job, phase, needs)?;
        }
        caches::set_up(self, job, phase, needs)
    }

    fn phase(
        &mut self,
        job: &Job<'_>,
        number: u32,
        evidence: CacheEvidence,
    ) -> Result<(), CellEnd> {
        if self.is_script() {
            return self.print_phase(job, &job.workload.phases[number as usize]);
        }
        self.settled()?;
        // In real time nature varies the moment.
        if let Some(wait) = job.wait_before(number).filter(|_| self.virtual_time) {
            std::thread::sleep(wait);
        }
        sampling::measure(self, job, number, evidence)
    }

    fn wait_for_block(&mut self, place: Place) {
        self.place = place;
        if let Some(turn) = self.turn {
            let began = Instant::now();
            turn.wait(place);
            self.notes.exclude(began.elapsed());
        }
    }

    fn repeatable_together(&mut self, job: &Job<'_>, first: u32) -> u32 {
        if self.turn.is_none() {
            return 0;
        }
        // They read, and determine what is in memory.
        let phases = job.workload.phases.iter().skip(first as usize);
        let reads = |phase: &&PhasePlan| {
            phase.cache != CacheState::AsIs && sampling::reads_a_tree(job, phase)
        };
        let count = phases.take_while(reads).count();
        self.rounds = (count > 0).then(Rounds::default);
        u32::try_from(count).unwrap_or(u32::MAX)
    }

    fn begins_round(&mut self, next: Place) -> bool {
        let (Some(turn), Some(rounds)) = (self.turn, &self.rounds) else {
            return false;
        };
        let first = Place { round: 0, ..next };
        if next.round == 1 {
            turn.end_pass(first, 0, rounds.took());
        }
        // All cells decide alike, by the time of the fastest.
        self.wait_for_block(next);
        self.undo_round = rounds::another_follows(next.round, turn.shortest(first, 0));
        if !self.undo_round {
            self.end_rounds();
        }
        self.undo_round
    }

    fn skip(&mut self, skipped: &SkippedPhase) {
        let SkippedPhase { phase, reason, .. } = skipped;
        self.prints(|| format!("# phase {phase} is skipped: {reason}"));
    }

    fn verify(&mut self, job: &Job<'_>, phase: &PhasePlan, needs: Needs) -> Result<(), CellEnd> {
        if self.prints(|| script::COMPARED.to_owned()) {
            return Ok(());
        }
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

impl HostExecutor<'_, '_> {
    /// Undoes what the round before changed: access times, which the kernel writes only once after a file
    /// was written; and what is in memory, if the first phase is warm.
    fn undo_round(
        &mut self,
        job: &Job<'_>,
        phase: &PhasePlan,
        needs: Needs,
    ) -> Result<(), CellEnd> {
        if let Some(tree) = self.work_dir.input(needs) {
            cache::forget_access_times(&tree, self.stop)
                .map_err(|error| caches::not_counted(self, &error))?;
        }
        if phase.cache == CacheState::Warm {
            let cold = PhasePlan {
                cache: CacheState::Cold,
                ..phase.clone()
            };
            caches::set_up(self, job, &cold, needs)?;
        }
        Ok(())
    }
}
