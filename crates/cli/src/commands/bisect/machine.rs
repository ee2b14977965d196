//! Builds the kernel of a commit and measures it: one cell in a guest in virtual time, or blocks of
//! cells in guests of two kernels in real time.

use super::bench::Machine;
use super::kept::{Attempt, AttemptResult, Search};
use crate::commands::lab::BuildScreen;
use crate::commands::run::{Execution, fresh, resolve_here, user_code};
use crate::exit::{CliError, Code};
use crate::places::IN_MEMORY;
use fsdyno_guests::kernels::{GitError, Kernels, Repository, TreeOrder, TreeSource, build};
use fsdyno_model::figures::NANOSECONDS;
use fsdyno_model::{
    Better, CancelToken, ContenderKernel, DecidingFigure, FigureName, KernelChoice, LabChoice,
    Nanos, Outcome, PhasePlan, Plan, ResultSet, StopReason,
};
use fsdyno_report::comparison::user_code::UserCode;
use fsdyno_run::RunOptions;
use fsdyno_run::bisect::{Figures, is_paired};
use fsdyno_run::resolve::Counting;
use fsdyno_store::{Detail, Store};
use std::cell::OnceCell;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// The first digits of a commit, as in the tag of its run.
pub fn short(commit: &str) -> &str {
    commit.get(..12).unwrap_or(commit)
}

/// The model processor that counts nothing.
const FREE: &str = "free";

pub struct Here<'a> {
    pub repository: Repository,
    pub search: &'a Search,
    /// The directory of the search.
    pub folder: PathBuf,
    pub store: &'a Path,
    pub work_dir: Option<PathBuf>,
    pub jobs: u32,
    pub stop: &'a CancelToken,
    /// The time of the user code of the phase, after it was measured; none if all code is counted.
    pub user_code: OnceCell<Option<u64>>,
}

impl Here<'_> {
    fn metric(&self) -> &FigureName {
        &self.search.metric
    }

    /// The plan of a cell in a guest of this kernel.
    pub fn plan(&self, kernel: &Path, traces: Option<&Path>) -> Result<Plan, CliError> {
        let (cell, metric) = (&self.search.cell, self.metric());
        let memory = cell.guest_memory.as_ref().map(|size| size.parse());
        let in_memory = || is_paired(metric).then(|| IN_MEMORY.into());
        let options = RunOptions {
            name: Some("bisect".to_owned()),
            contenders: vec![cell.fs.as_str().into()],
            phases: cell.phases.clone(),
            work: cell.work.iter().map(|one| one.path(&self.folder)).collect(),
            app: cell.app.iter().cloned().collect(),
            dataset: cell.dataset.clone(),
            scale: Some(cell.scale),
            set: cell.set.clone(),
            device: cell.device.clone(),
            work_dir: self.work_dir.clone().or_else(in_memory),
            seed: cell.seed,
            lab: Some(LabChoice::Uml),
            disk: cell.disk.clone(),
            disk_trace: traces.map(Path::to_owned),
            cpu: cell.cpu.clone(),
            guest_memory: memory.transpose().map_err(CliError::usage)?,
            guest_kernel: Some(KernelChoice::File(kernel.to_owned())),
            repeats: (!is_paired(metric)).then_some(1),
            max_repeats: self.search.max_repeats,
            margin: is_paired(metric).then_some(self.search.threshold - 1.0),
            check: Some(false),
            fragments: (*metric == FigureName::EXTENTS).then_some(Counting::All),
            ..RunOptions::default()
        };
        let plan = resolve_here(&options)?;
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
        if let ([_, _, ..], Some(app)) = (plan.workloads.as_slice(), &cell.app) {
            let message = format!("--app {app}: a search has one application. Name one.");
            return Err(CliError::usage(message));
        }
        let phases = plan.workloads.iter().flat_map(|workload| &workload.phases);
        let Some(phase) = phases.clone().find(|phase| self.is_phase(phase)) else {
            let all: Vec<&str> = phases.map(|phase| phase.label.as_str()).collect();
            return Err(CliError::usage(format!(
                "--phase {}: it is none of the phases {}",
                cell.phase,
                all.join(", ")
            )));
        };
        let decides = is_paired(metric).then(|| DecidingFigure {
            phase: phase.label.clone(),
            figure: metric.clone(),
        });
        Ok(Plan { decides, ..plan })
    }

    /// Whether it is the phase whose figure changed.
    fn is_phase(&self, phase: &PhasePlan) -> bool {
        let name = &self.search.cell.phase;
        phase.label == *name || phase.kind == *name
    }

    /// The time of the user code of the phase, which is the same with each kernel: measured once, after a
    /// run of the good commit.
    fn user_code(&self, run: &ResultSet) -> Result<Option<u64>, CliError> {
        if !self.metric().is_time() {
            return Ok(None);
        }
        if let Some(known) = self.user_code.get() {
            return Ok(*known);
        }
        let store = Store::open(self.store)?;
        let ended = user_code::measure(&run.run, &Execution::silent(), &store, self.stop)?;
        if ended == StopReason::Interrupted {
            return Err(CliError::interrupted());
        }
        let set = store.load_with_variants(Detail::Figures, &run.run.id)?;
        let phases = &set.run.plan.workloads[0].phases;
        let place = phases.iter().position(|phase| self.is_phase(phase));
        let code = place.and_then(|phase| UserCode::of(&set, 0, phase));
        let code = code.and_then(|code| code.cost(self.metric(), NANOSECONDS, Better::Lower));
        let code = code.map(|ns| Nanos::from_seconds(ns / 1e9).0);
        Ok(*self.user_code.get_or_init(|| code))
    }

    /// Whether kernels count their work: in virtual time, with a model processor.
    pub fn counts(&self) -> bool {
        let is_charged = self.search.cell.cpu.as_deref() != Some(Path::new(FREE));
        is_charged && !is_paired(self.metric())
    }

    /// Whether the kernel must count its work.
    fn must_count(&self) -> bool {
        *self.metric() == FigureName::BLOCKS || self.counts()
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
            Err(_) if self.stop.requested() => Err(CliError::interrupted()),
            Err(error) => Err(CliError::failure(error)),
        }
    }

    /// The plan of a kernel, or of the comparison with that of the good commit; the inner error is
    /// that of the good commit.
    fn plan_of(
        &self,
        commit: &str,
        kernel: &Path,
        traces: Option<&Path>,
    ) -> Result<Result<Plan, String>, CliError> {
        let plan = self.plan(kernel, traces)?;
        if !is_paired(self.metric()) {
            return Ok(Ok(plan));
        }
        let good = &self.search.good;
        let reference = if commit == good {
            kernel.to_owned()
        } else {
            match self.kernel(good)? {
                Ok((program, _)) => program,
                Err(why) => return Ok(Err(format!("the good commit: {why}"))),
            }
        };
        let of = |name: String, commit: &str, program: &Path| ContenderKernel {
            name,
            program: KernelChoice::File(program.to_owned()),
            source: Some(format!("git:{}#{commit}", self.search.repo.display())),
        };
        let again = if commit == good { "-again" } else { "" };
        let kernels = [
            of(short(good).to_owned(), good, &reference),
            of(format!("{}{again}", short(commit)), commit, kernel),
        ];
        Ok(Ok(plan.on_kernels(&kernels)))
    }

    /// Runs a plan, marks the run with its commit, and returns its results from the store.
    fn run(&self, plan: Plan, commit: &str) -> Result<ResultSet, CliError> {
        let ended = fresh(plan, &Execution::silent(), self.store, self.stop)?;
        match ended.run {
            Some(run) if ended.complete => {
                let mut store = Store::open(self.store)?;
                store.tag(&run, &format!("commit-{}", short(commit)), true)?;
                Ok(store.load(&run)?)
            }
            _ => Err(CliError::interrupted()),
        }
    }

    fn result(
        &self,
        set: &ResultSet,
        kernel: PathBuf,
        is_good: bool,
    ) -> Result<AttemptResult, CliError> {
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
        let (cell, metric) = (&self.search.cell, self.metric());
        let phase = &cell.phase;
        let figures = if is_paired(metric) {
            Figures::of_pairs(set)
        } else {
            let sample = samples.find(|sample| sample.label == *phase || sample.kind == *phase);
            sample.map(Figures::of_sample)
        };
        let mut figures = figures.unwrap_or_default();
        if is_good {
            figures.user_code = self.user_code(set)?;
        }
        if figures.of(metric).is_none() {
            return Err(CliError::failure(format!(
                "{phase} of {} has no figure {}: {}",
                cell.fs,
                metric,
                if *metric == FigureName::BLOCKS {
                    "the kernel counts blocks only with a model processor; leave out --cpu free"
                } else {
                    "it was not measured"
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
        let skipped = |why| Attempt {
            commit: commit.to_owned(),
            result: AttemptResult::Skipped { why },
            built_ns: None,
            measured_ns: None,
        };
        let (kernel, built_ns) = match self.kernel(commit)? {
            Ok(built) => built,
            Err(why) => return Ok(skipped(why)),
        };
        let plan = match self.plan_of(commit, &kernel, traces)? {
            Ok(plan) => plan,
            Err(why) => return Ok(skipped(why)),
        };
        let began = Instant::now();
        let set = self.run(plan, commit)?;
        Ok(Attempt {
            commit: commit.to_owned(),
            result: self.result(&set, kernel, commit == self.search.good)?,
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
    CliError::new(Code::of_git(&error, Code::Failure), error)
}
