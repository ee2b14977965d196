//! Builds the kernel of a commit and measures one cell in a guest of it, in virtual time.

use super::bench::Machine;
use super::kept::{Attempt, AttemptResult, CellSettings};
use crate::catalogue::catalogue_here;
use crate::commands::lab::BuildScreen;
use crate::commands::run::{Execution, fresh, plan_error};
use crate::exit::{CliError, Code};
use fsdyno_guests::kernels::{GitError, Kernels, Repository, TreeOrder, TreeSource, build};
use fsdyno_model::{CancelToken, KernelChoice, LabChoice, Nanos, Outcome, Plan, ResultSet};
use fsdyno_run::RunOptions;
use fsdyno_run::bisect::{Figures, Metric};
use fsdyno_run::resolve::Counting;
use fsdyno_run::resolve::resolve;
use fsdyno_store::Store;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// The model processor that counts nothing.
const FREE: &str = "free";

/// This machine.
pub struct Here<'a> {
    pub repository: Repository,
    pub cell: &'a CellSettings,
    pub metric: Metric,
    pub store: &'a Path,
    pub work_dir: Option<PathBuf>,
    pub jobs: u32,
    pub stop: &'a CancelToken,
}

impl Here<'_> {
    /// The plan of a cell in a guest of this kernel.
    pub fn plan(&self, kernel: &Path, traces: Option<&Path>) -> Result<Plan, CliError> {
        let cell = self.cell;
        let memory = cell.guest_memory.as_ref().map(|size| size.parse());
        let options = RunOptions {
            name: Some("bisect".to_owned()),
            contenders: vec![cell.fs.as_str().into()],
            phases: cell.phases.clone(),
            dataset: Some(cell.dataset.clone()),
            scale: Some(cell.scale),
            set: cell.set.clone(),
            device: cell.device.clone(),
            work_dir: self.work_dir.clone(),
            seed: cell.seed,
            lab: Some(LabChoice::Uml),
            disk: Some(cell.disk.clone()),
            disk_trace: traces.map(Path::to_owned),
            cpu: cell.cpu.clone(),
            guest_memory: memory.transpose().map_err(CliError::usage)?,
            guest_kernel: Some(KernelChoice::File(kernel.to_owned())),
            repeats: Some(1),
            check: Some(false),
            // retired word kept: the setting `fragments` measures fragmentation.
            fragments: (self.metric == Metric::Extents).then_some(Counting::All),
            ..RunOptions::default()
        };
        let plan = resolve(&options, &catalogue_here()).map_err(plan_error)?;
        let [_] = plan.contenders.as_slice() else {
            return Err(CliError::usage(format!(
                "--fs {}: a search has one contender. Name one.",
                cell.fs
            )));
        };
        if let Some(skipped) = plan.skipped.first() {
            return Err(CliError::usage(format!(
                "--fs {}: it skips {}: {}",
                cell.fs, skipped.phase, skipped.reason
            )));
        }
        let mut phases = plan.workloads.iter().flat_map(|workload| &workload.phases);
        if !phases.any(|phase| phase.label == cell.phase || phase.kind == cell.phase) {
            return Err(CliError::usage(format!(
                "--phase {}: it is none of the phases {}",
                cell.phase,
                cell.phases.join(", ")
            )));
        }
        Ok(plan)
    }

    /// Whether the kernel must count its work.
    fn must_count(&self) -> bool {
        self.metric == Metric::Blocks || self.cell.cpu.as_deref() != Some(Path::new(FREE))
    }

    /// Builds the kernel of a commit; the inner error is that of the commit.
    fn kernel(&self, commit: &str) -> Result<Result<(PathBuf, Option<Nanos>), String>, CliError> {
        let kernels = Kernels::of_trees().map_err(CliError::usage)?;
        let order = TreeOrder {
            jobs: self.jobs,
            must_count: self.must_count(),
        };
        let source = TreeSource::Revision(&self.repository, commit);
        let began = Instant::now();
        let mut screen = BuildScreen::new();
        let made = build(&kernels, source, order, self.stop, &mut |progress| {
            screen.show(progress);
        });
        screen.end();
        match made {
            Ok(made) => {
                let elapsed = (!made.was_there).then(|| Nanos::from(began.elapsed()));
                Ok(Ok((made.kernel.program, elapsed)))
            }
            Err(error) if error.is_of_sources() => Ok(Err(error.to_string())),
            Err(_) if self.stop.requested() => Err(CliError::new(Code::Interrupted, "interrupted")),
            Err(error) => Err(CliError::failure(error)),
        }
    }

    /// Runs the cell and returns its results from the store.
    fn run(&self, kernel: &Path, traces: Option<&Path>) -> Result<ResultSet, CliError> {
        let ended = fresh(
            self.plan(kernel, traces)?,
            &Execution::silent(),
            self.store,
            self.stop,
        )?;
        match ended.run {
            Some(run) if ended.complete => {
                Ok(Store::open_existing_read_only(self.store)?.load(&run)?)
            }
            _ => Err(CliError::new(Code::Interrupted, "interrupted")),
        }
    }

    /// The result of a cell.
    fn result(&self, set: &ResultSet, kernel: PathBuf) -> Result<AttemptResult, CliError> {
        let cells = set.cells.iter();
        let unmeasured = cells.clone().find_map(|record| match &record.outcome {
            Outcome::Measured => None,
            Outcome::Skipped { reason, remedy, .. } => Some(Err(CliError::new(
                Code::Missing,
                format!("{reason}; {remedy}"),
            ))),
            Outcome::Failed(failure) => Some(Ok(format!(
                "the cell failed at {}: {}",
                failure.stage, failure.message
            ))),
        });
        if let Some(why) = unmeasured {
            return Ok(AttemptResult::Skipped { why: why? });
        }
        let mut samples = cells.flat_map(|record| &record.samples);
        let phase = &self.cell.phase;
        let sample = samples.find(|sample| sample.label == *phase || sample.kind == *phase);
        let figures = sample.map(Figures::of_sample).unwrap_or_default();
        if figures.of(self.metric).is_none() {
            return Err(CliError::failure(format!(
                "{phase} of {} has no figure {}: {}",
                self.cell.fs,
                self.metric.name(),
                match self.metric {
                    Metric::Blocks =>
                        "the kernel counts blocks only with a model processor; leave out \
                                       --cpu free",
                    _ => "it was not measured",
                }
            )));
        }
        Ok(AttemptResult::Measured {
            run: set.run.id.clone(),
            kernel,
            digest: set.digest().unwrap_or_default(),
            figures,
        })
    }
}

impl Machine for Here<'_> {
    fn candidates(&mut self, bad: &str, good: &[String]) -> Result<Vec<String>, CliError> {
        self.repository.candidates(bad, good).map_err(git_error)
    }

    fn measure(&mut self, commit: &str, traces: Option<&Path>) -> Result<Attempt, CliError> {
        let (kernel, built_ns) = match self.kernel(commit)? {
            Ok(built) => built,
            Err(why) => {
                return Ok(Attempt {
                    commit: commit.to_owned(),
                    result: AttemptResult::Skipped { why },
                    built_ns: None,
                    measured_ns: None,
                });
            }
        };
        let began = Instant::now();
        let set = self.run(&kernel, traces)?;
        Ok(Attempt {
            commit: commit.to_owned(),
            result: self.result(&set, kernel)?,
            built_ns,
            measured_ns: Some(began.elapsed().into()),
        })
    }

    fn name(&self, commit: &str) -> String {
        self.repository.about(commit).map_or_else(
            |_| commit.to_owned(),
            |about| format!("{} {}", about.short, about.subject),
        )
    }
}

pub fn git_error(error: GitError) -> CliError {
    match error {
        GitError::NoRevision { .. } => CliError::usage(error),
        GitError::Run(_) => CliError::new(Code::Missing, error),
        error => CliError::failure(error),
    }
}
