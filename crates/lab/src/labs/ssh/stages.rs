//! The stages of a cell, as the lab of another machine performs them.

use super::executor::{SshExecutor, column, release_line, word};
use super::{dataset, devices, phases};
use crate::job::Job;
use crate::procedure::{CellEnd, CellExecutor};
use fsdyno_datasets::work_dir::WorkDir;
use fsdyno_host::ssh::How;
use fsdyno_load::kinds::Needs;
use fsdyno_load::programs;
use fsdyno_model::{
    CacheEvidence, CacheState, Daemon, FilesystemKind, PhasePlan, Stage, Step, Warning, WarningKind,
};
use fsdyno_recipes::Check;
use fsdyno_recipes::layouts::Array;
use std::path::PathBuf;

impl CellExecutor for SshExecutor<'_, '_> {
    fn enter(&mut self, stage: Stage) {
        self.notes.enter(stage);
    }

    fn devices(&mut self, job: &Job<'_>) -> Result<Vec<String>, CellEnd> {
        devices::provide(self, job)
    }

    fn target(&self) -> PathBuf {
        self.target.clone()
    }

    fn daemon(&mut self, daemon: &Daemon) -> Result<(), CellEnd> {
        let start = Step::StartDaemon {
            daemon: daemon.clone(),
        };
        if let Some(stop) = start.undone_by() {
            self.remote.undo(&format!("{} || R=1", stop.shell()));
        }
        self.script(How::Here, &start.shell()).map(|_| ())
    }

    fn make(&mut self, step: &Step) -> Result<(), CellEnd> {
        if let Some(Step::ReleasePool { pool }) = step.undone_by() {
            self.remote.undo(&format!("{} || R=1", release_line(&pool)));
        }
        let line = self.line(step);
        self.script(How::Job, &line).map(|_| ())
    }

    fn mount(&mut self, steps: &[Step]) -> Result<(), CellEnd> {
        self.mount_steps = steps.to_vec();
        if steps.is_empty() {
            return Ok(());
        }
        let pool = steps.iter().any(|s| matches!(s, Step::TakePool { .. }));
        // The pool is released by the line from its creation.
        if !pool {
            let target = word(&self.target);
            self.remote.undo(&format!(
                "[ -z \"$MOUNTED\" ] || unmount {target} || R=1; MOUNTED="
            ));
        }
        self.mount_again()
    }

    fn describe(&mut self, source: &str, step: &Step) -> Result<(), CellEnd> {
        // The steps for a directory need programs of Linux; `df` and `mount` are POSIX.
        if self.target.as_os_str().is_empty() {
            return Ok(());
        }
        let line = self.line(step);
        let output = self.run_remote(How::Job, &line)?;
        self.note(&line, &output);
        if output.status != 0 {
            return Err(self.failed(&line, &output));
        }
        self.notes.effective(source, output.stdout);
        Ok(())
    }

    fn free_space(&mut self, _source: &str, _step: &Step) -> Result<(), CellEnd> {
        // Only used for counted extents, which the preflight refuses here.
        Ok(())
    }

    fn array(&self) -> Option<&Array> {
        None
    }

    fn beside(&mut self, _steps: Vec<Step>) {
        // The preflight refuses a state other than fresh.
    }

    fn end_beside(&mut self) -> Result<(), CellEnd> {
        Ok(())
    }

    fn state(&mut self, _job: &Job<'_>) -> Result<(), CellEnd> {
        // The preflight refuses a state other than fresh.
        Ok(())
    }

    fn set_up_dataset(&mut self, job: &Job<'_>) -> Result<(), CellEnd> {
        let base = PathBuf::from(&self.directory);
        let root = job.work_dir_root(&base, &self.tag());
        self.work_dir = WorkDir::new(&root);
        let quoted = word(&root);
        if job.contender.directory.is_some() {
            self.remote.undo(&format!("rm -rf {quoted} || R=1"));
        }
        self.script(How::Here, &format!("mkdir {quoted}"))?;
        let reported = self.run_remote(How::Here, &format!("df -kP {quoted}; mount"))?;
        self.notes.effective("df, mount", reported.stdout.clone());
        let free = column(&reported.stdout, 3);
        if free.is_some_and(|free| free < job.prepared.peak) {
            let message = format!(
                "workload {} takes up to {}, but {} has only {}; {}, or another directory",
                job.workload.name,
                job.prepared.peak,
                root.display(),
                free.unwrap_or_default(),
                job.workload.dataset.smaller()
            );
            return Err(self.notes.halt(message, None));
        }
        dataset::set_up(self, job)?;
        // Device counters are not read there. The pause gives a file system time for deferred work
        // after its mount.
        self.script(How::Job, "sync; sleep 1; sync").map(|_| ())
    }

    fn ready(&mut self, phase: &PhasePlan) -> Result<(), CellEnd> {
        let newest = self.work_dir.newest().map(PathBuf::as_path);
        let lines = programs::lines(phase, &self.work_dir.root, newest);
        let lines = lines.map_err(|error| self.notes.halt(error.to_string(), None))?;
        for line in lines.map(|(before, _)| before).unwrap_or_default() {
            self.script(How::Job, &line)?;
        }
        Ok(())
    }

    fn cache(
        &mut self,
        job: &Job<'_>,
        phase: &PhasePlan,
        needs: Needs,
    ) -> Result<CacheEvidence, CellEnd> {
        let mut evidence = CacheEvidence {
            requested: phase.cache,
            ..CacheEvidence::default()
        };
        match (phase.cache, job.recipe.kind()) {
            (CacheState::AsIs, _) => {
                "none: as the phase before left them".clone_into(&mut evidence.method);
            }
            (CacheState::Warm, _) => self.warm(needs, &mut evidence)?,
            (CacheState::Cold, FilesystemKind::Memory) => {
                "none".clone_into(&mut evidence.method);
                evidence.reason = Some("its files live in memory: nothing can be cold".to_owned());
            }
            (CacheState::Cold, _) => self.cold(job, &mut evidence)?,
        }
        if phase.cache == CacheState::Cold {
            let warning = evidence.reason.clone().unwrap_or_default();
            self.notes.warn(Warning::new(
                WarningKind::CacheUnproven,
                format!("a cold start could not be proven: {warning}"),
                "do not read these figures as proven cold",
            ));
        }
        Ok(evidence)
    }

    fn phase(
        &mut self,
        job: &Job<'_>,
        number: u32,
        evidence: CacheEvidence,
    ) -> Result<(), CellEnd> {
        phases::measure(self, job, number, evidence)
    }

    fn verify(&mut self, job: &Job<'_>, _: &PhasePlan, needs: Needs) -> Result<(), CellEnd> {
        dataset::verify(self, job, needs)
    }

    fn unmount(&mut self) -> Result<(), CellEnd> {
        self.unmount_now()
    }

    fn check(&mut self, check: &Check) -> Result<(), CellEnd> {
        let line = self.line(&check.step);
        let output = self.run_remote(How::Job, &line)?;
        self.note(&line, &output);
        if check.clean.contains(&output.status) {
            return Ok(());
        }
        Err(self.failed(&line, &output))
    }

    fn release(&mut self) -> Result<(), CellEnd> {
        let output = self.remote.undo_all();
        let output = output.map_err(|error| self.connection_lost(&error))?;
        self.note("undo_cell", &output);
        if output.status == 0 {
            return Ok(());
        }
        Err(self.failed("undo_cell", &output))
    }
}
