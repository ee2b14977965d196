//! The runs of an advice: on a model disk in virtual time, or on image files in real time, within a
//! time budget.

use super::args::AdviseArgs;
use super::disk_file::DiskFile;
use super::question::{AdviceQuestion, RecordedAdvice, recorded, runs_of};
use super::{count, labels};
use crate::catalogue::unavailable;
use crate::commands::disk::{fit_to_reads, profile_text};
use crate::commands::measuring::LockArgs;
use crate::commands::run::{
    Ended, Execution, Variants, assembled, check_early, fresh, resolve_here, resume, user_code,
};
use crate::exit::{CliError, Code};
use crate::output;
use fsdyno_load::programs::app;
use fsdyno_model::{
    AdviceOf, CancelToken, Contender, LabChoice, Nanos, Plan, ResultSet, StopReason,
};
use fsdyno_report::advice::{DeviceFit, Recommendation, contending};
use fsdyno_run::RunOptions;
use fsdyno_store::Store;
use std::cell::RefCell;
use std::path::Path;
use std::time::{Duration, Instant};

const NAME: &str = "advise";

/// The model disk without `--disk`.
pub const DISK: &str = "sata-ssd";

/// The smallest size of generated datasets in virtual time.
pub const SCALE: f64 = 0.1;

/// The larger sizes of the work, as multiples of the smallest.
const SIZES: [u32; 2] = [4, 16];

/// A contender that is so many times slower than the fastest is not measured at larger sizes.
const MUCH_SLOWER: f64 = 3.0;

/// The number of blocks for which a stage has time: in real time those from which intervals follow, in
/// virtual time the fewest draws with a verdict.
const BLOCKS: u32 = 6;
const DRAWS: u32 = 3;

/// The share of the time of a cell that does not grow with its work, before a larger size shows it.
const FIXED: f64 = 0.5;

/// How much longer than estimated draws may take.
const ALLOWANCE: f64 = 1.5;

/// The share of the time for larger work that a size before the largest may use in any case.
const BEFORE_LARGEST: f64 = 0.3;

/// The share of the whole time that is kept for the variants of the model.
const VARIANTS: f64 = 0.25;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// All contenders with their defaults.
    Defaults,
    /// All contenders that are not much slower, with more work. The largest work decides.
    Sizes,
    /// Options of the best two with that work, each alone.
    Singles,
    /// Joins of the options that help.
    Joins,
    /// The choice and the runner-up in variants of the model.
    Variants,
    /// Image files in real time.
    Validation,
}

impl Stage {
    /// Its name in the plans of its runs. The runs of more work have their size.
    fn name(self) -> &'static str {
        match self {
            Self::Defaults => "defaults",
            Self::Sizes => "sizes",
            Self::Singles => "singles",
            Self::Joins => "joins",
            Self::Variants => "variants",
            Self::Validation => "validation",
        }
    }

    /// The share of the time that is left which the stage may use. The rest is for later stages.
    fn share(self, in_guest: bool, validates: bool) -> f64 {
        let rest = if validates { 0.6 } else { 1.0 };
        match self {
            // A stage ends when its comparisons are decided, at the latest after its share. In a guest, the
            // largest work decides.
            Self::Defaults if in_guest => 0.25 * rest,
            Self::Defaults => 0.4,
            Self::Sizes => 0.7 * rest,
            Self::Singles => 0.6 * rest,
            Self::Joins | Self::Variants => rest,
            Self::Validation => 1.0,
        }
    }
}

/// Fits a model disk to the reads of a device.
pub fn fitted(device: &Path, stop: &CancelToken) -> Result<(DeviceFit, DiskFile), CliError> {
    let best = fit_to_reads(device, &LockArgs::default(), stop)?;
    let note = DeviceFit {
        device: device.display().to_string(),
        model: best.profile.timing.name().to_owned(),
        error: best.error,
        figures: best.figures.len(),
    };
    output::note(format_args!(
        "fsdyno: {} is a disk of the model {}; error of {}: {:.1} %",
        note.device,
        note.model,
        count(note.figures, "figure"),
        100.0 * note.error
    ));
    let name = device.file_name().unwrap_or_default().to_string_lossy();
    let file = DiskFile::of(&format!("fit-of-{name}"), &profile_text(&best))?;
    Ok((note, file))
}

/// Measures the contenders of a question, and counts the time.
pub struct Measurer<'a> {
    pub question: &'a AdviceQuestion,
    /// The file of the model disk, if it was fitted or recorded.
    disk: Option<&'a Path>,
    recorded: &'a [ResultSet],
    /// The name of the advice, from its first run on.
    name: RefCell<Option<String>>,
    /// The time limit, and whether runs that an earlier limit ended continue.
    budget: Duration,
    extends: bool,
    store: &'a Path,
    stop: &'a CancelToken,
    began: Instant,
}

impl<'a> Measurer<'a> {
    /// Starts the time budget of a new advice.
    pub fn new(
        question: &'a AdviceQuestion,
        disk: Option<&'a DiskFile>,
        store: &'a Path,
        stop: &'a CancelToken,
    ) -> Self {
        Self {
            disk: disk.map(DiskFile::path).or(question.args.disk.as_deref()),
            budget: Duration::from_nanos(question.args.budget().0),
            question,
            recorded: &[],
            name: RefCell::new(None),
            extends: false,
            store,
            stop,
            began: Instant::now(),
        }
    }

    /// The same for an advice that is recorded in part, with another time limit if there is one.
    #[must_use]
    pub fn resuming(self, advice: &'a RecordedAdvice, budget: Option<Nanos>) -> Self {
        Self {
            disk: advice.disk.as_ref().map(DiskFile::path).or(self.disk),
            recorded: &advice.runs,
            name: RefCell::new(Some(advice.name.clone())),
            extends: budget.is_some(),
            budget: budget.map_or(self.budget, |time| Duration::from_nanos(time.0)),
            ..self
        }
    }

    /// The name of the advice; none before its first run.
    pub fn name(&self) -> Option<String> {
        self.name.borrow().clone()
    }

    fn args(&self) -> &AdviseArgs {
        &self.question.args
    }

    /// The text that names the place of the measurement.
    pub fn place(&self) -> &'static str {
        if self.question.in_guest {
            "on a model disk in virtual time"
        } else {
            "on image files in real time (a model disk needs: fsdyno lab setup)"
        }
    }

    fn limit(&self, stage: Stage) -> Duration {
        let whole = self.budget;
        let comes_later = !matches!(stage, Stage::Variants | Stage::Validation);
        let budget = if self.varies() && comes_later {
            whole.mul_f64(1.0 - VARIANTS)
        } else {
            whole
        };
        let left = budget.saturating_sub(self.began.elapsed());
        left.mul_f64(stage.share(self.question.in_guest, self.args().validate))
    }

    /// Measures the contenders of a run with more work too, as far as the time lasts. Returns all sizes,
    /// that of the run first, and the omitted sizes. A dataset of the user has one size.
    pub fn at_sizes(&self, first: ResultSet) -> Result<(Vec<SizedRun>, Vec<String>), CliError> {
        let plan = first.run.plan.clone();
        let is_app = self.args().application().is_some();
        let has_size = plan.workloads.iter().any(|workload| {
            let mut phases = workload.phases.iter();
            if is_app {
                phases.any(|phase| app::size(phase).is_some())
            } else {
                !workload.dataset.is_users()
            }
        });
        let contenders = contending(&first, MUCH_SLOWER);
        let (mut runs, mut omitted) = (
            vec![SizedRun {
                times: 1,
                set: first,
            }],
            Vec::new(),
        );
        if !self.question.in_guest || !has_size || contenders.len() < 2 {
            return Ok((runs, omitted));
        }
        let cells = contenders.len() * plan.workloads.len();
        for times in SIZES {
            let limit = self.limit(Stage::Sizes);
            let stage = format!("size {times}");
            let is_recorded = runs_of(self.recorded, &stage).next().is_some();
            let needed = seconds_of_a_cell(&runs, times) * cells as f64 * f64::from(DRAWS);
            if !is_recorded && limit.as_secs_f64() < needed {
                omitted.push(more_work(times));
                continue;
            }
            output::note(format_args!(
                "fsdyno: {} with {times} times the work",
                count(contenders.len(), "contender")
            ));
            let options = self.options(&contenders);
            // The data of an application have the size of its setting.
            let scale = (!is_app).then_some(plan.scale * f64::from(times));
            let scale = scale.or(options.scale);
            // The largest size decides; the others show whether the choice depends on the size.
            let limit = if SIZES.last() == Some(&times) {
                limit
            } else {
                let draws = Duration::from_secs_f64(needed * ALLOWANCE);
                limit.min(draws.max(limit.mul_f64(BEFORE_LARGEST)))
            };
            let options = limited(RunOptions { scale, ..options }, limit);
            let set = self.measure(options, &stage, times)?;
            let set = self.with_user_code(set)?;
            runs.push(SizedRun { times, set });
        }
        Ok((runs, omitted))
    }

    /// The number of contenders that a stage can measure within its limit, by the time of earlier
    /// runs.
    pub fn slots(&self, earlier: &[&ResultSet], stage: Stage) -> usize {
        if let Some(set) = runs_of(self.recorded, stage.name()).next() {
            return set.run.plan.contenders.len();
        }
        let limit = self.limit(stage);
        let each = seconds_of_cells(earlier.iter().copied());
        let fits = limit.as_secs_f64() / (each * f64::from(self.blocks_of_a_verdict())).max(1e-3);
        // Fractions of a contender do not count.
        (0..1000).take_while(|n| f64::from(*n + 1) <= fits).count()
    }

    /// Measures the contenders of the question with their defaults: until its share of the time has passed,
    /// or at least until verdicts are possible.
    pub fn defaults(&self) -> Result<ResultSet, CliError> {
        let contenders = &self.question.contenders;
        let stage = Stage::Defaults;
        let options = limited(self.options(contenders), self.limit(stage));
        let mut set = self.measure(options, stage.name(), 1)?;
        let blocks = self.blocks_of_a_verdict() as usize;
        let cells = contenders.len() * set.run.plan.workloads.len() * blocks;
        let missing = cells.saturating_sub(set.cells.len());
        let left = self.budget.saturating_sub(self.began.elapsed());
        let needed = seconds_of_cells([&set]) * missing as f64 * ALLOWANCE;
        let is_cut_short = set.run.stop == Some(StopReason::Budget);
        if is_cut_short && missing > 0 && needed < left.as_secs_f64() {
            let more = limited(RunOptions::default(), Duration::from_secs_f64(needed));
            let id = &set.run.id;
            let execution = Execution::silent();
            set = self.ended(resume(
                &execution,
                id,
                (&more, false),
                self.store,
                self.stop,
            )?)?;
        }
        self.with_user_code(set)
    }

    /// Measures contenders with the work of a run, and returns the run from the store.
    pub fn run(
        &self,
        contenders: &[Contender],
        stage: Stage,
        like: &SizedRun,
    ) -> Result<ResultSet, CliError> {
        let mut options = limited(self.options(contenders), self.limit(stage));
        if like.times > 1 && self.args().application().is_none() {
            options.scale = Some(like.set.run.plan.scale);
        }
        let set = self.measure(options, stage.name(), like.times)?;
        Ok(ResultSet {
            variants: like.set.variants.clone(),
            ..set
        })
    }

    /// The run with its user code, which virtual time does not count: measured on the host, unless it is
    /// recorded or there is none.
    fn with_user_code(&self, set: ResultSet) -> Result<ResultSet, CliError> {
        let store = Store::open(self.store)?;
        let ended = user_code::measure(&set.run, &Execution::silent(), &store, self.stop)?;
        if ended == StopReason::Interrupted {
            return Err(CliError::interrupted());
        }
        let measured = store.variants(&set.run.id)?.into_iter();
        let measured = measured.filter(|one| one.run.plan.measures_user_code());
        Ok(ResultSet {
            variants: measured.collect(),
            ..set
        })
    }

    /// The number of blocks for which a stage needs time.
    fn blocks_of_a_verdict(&self) -> u32 {
        if self.question.in_guest {
            DRAWS
        } else {
            BLOCKS
        }
    }

    /// The settings of a run of these contenders.
    fn options(&self, contenders: &[Contender]) -> RunOptions {
        options(self.args(), self.disk, contenders, self.question.in_guest)
    }

    /// Whether the choice is compared again in variants of the model.
    fn varies(&self) -> bool {
        self.question.in_guest && !self.args().no_robust
    }

    /// Compares the choice of an advice with its runner-up in variants of the run that decides, as far
    /// as the time lasts. Returns the variants.
    pub fn variants(
        &self,
        advice: &Recommendation,
        decides: &ResultSet,
    ) -> Result<Vec<ResultSet>, CliError> {
        let pair = advice.choice.as_ref().and_then(|choice| {
            // Without a verdict, there is none that could depend on the model.
            let other = choice.runner_up.as_ref().filter(|one| one.is_decided())?;
            let places = [choice.best, other.at];
            let pair = places.map(|at| advice.candidates[at].planned.clone());
            let is_measured = |one: &Contender| decides.run.plan.contenders.contains(one);
            pair.iter().all(is_measured).then_some(pair)
        });
        let Some(pair) = pair.filter(|_| self.varies() && !advice.one_draw) else {
            return Ok(Vec::new());
        };
        output::note(format_args!(
            "fsdyno: {} in variants of the model disk and processor (--no-robust)",
            labels(&pair)
        ));
        let variants = Variants {
            execution: Execution::silent(),
            store: self.store,
            until: Some(Instant::now() + self.limit(Stage::Variants)),
            stop: self.stop,
        };
        let run = &decides.run.id;
        if variants.measure(run, &pair)? == StopReason::Interrupted {
            return Err(CliError::interrupted());
        }
        let variants = Store::open_existing_read_only(self.store)?.variants(run)?;
        let of_model = |one: &ResultSet| !one.run.plan.measures_user_code();
        Ok(variants.into_iter().filter(of_model).collect())
    }

    /// Refuses what a later step would refuse, before a device is measured: the first run after a fit,
    /// and the validation after all runs.
    pub fn check(&self) -> Result<(), CliError> {
        let contenders = &self.question.contenders;
        if self.args().fit.is_some() {
            check_early(
                &resolve_here(&self.options(contenders))?,
                self.store,
                self.stop,
            )?;
        }
        if self.args().validate {
            let here = on_this_machine(contenders)?;
            let options = options(self.args(), None, &here, false);
            assembled(&resolve_here(&options)?, self.stop)?;
        }
        Ok(())
    }

    /// Measures the contenders of a run on image files in real time.
    pub fn validate(&self, predicted: &ResultSet) -> Result<ResultSet, CliError> {
        let here = on_this_machine(&predicted.run.plan.contenders)?;
        output::note(format_args!(
            "fsdyno: {} on image files in real time",
            count(here.len(), "contender")
        ));
        let is_recorded = self.args().workload_trace.is_some();
        let scale = (!is_recorded).then_some(predicted.run.plan.scale);
        let options = RunOptions {
            scale,
            ..options(self.args(), None, &here, false)
        };
        let stage = Stage::Validation;
        self.measure(limited(options, self.limit(stage)), stage.name(), 1)
    }

    /// Runs a stage with these settings, or continues its recorded run; returns the run from the
    /// store. The data of applications are so many times larger.
    fn measure(&self, options: RunOptions, stage: &str, times: u32) -> Result<ResultSet, CliError> {
        let options = RunOptions {
            name: Some(NAME.to_owned()),
            ..options
        };
        let mut plan = resolve_here(&options)?;
        let phases = plan.workloads.iter_mut().flat_map(|one| &mut one.phases);
        phases.for_each(|phase| app::enlarge(phase, times.into()));
        let execution = Execution::silent();
        let ended = if let Some(set) = recorded(self.recorded, stage, &plan) {
            let continues = match set.run.stop {
                Some(StopReason::Complete) => return Ok(set.clone()),
                Some(StopReason::Budget) if !self.extends => return Ok(set.clone()),
                // The new time limit. Otherwise the decisions are those of the recorded plan.
                Some(StopReason::Budget) => RunOptions {
                    budget: options.budget,
                    ..RunOptions::default()
                },
                Some(StopReason::Interrupted) | None => RunOptions::default(),
            };
            let continues = (&continues, false);
            resume(&execution, &set.run.id, continues, self.store, self.stop)?
        } else {
            let plan = Plan {
                advice: Some(self.advice_of(stage)?),
                ..plan
            };
            fresh(plan, &execution, self.store, self.stop)?
        };
        if let Some(run) = &ended.run {
            self.name.borrow_mut().get_or_insert_with(|| run.clone());
        }
        self.ended(ended)
    }

    /// The run that ended, from the store; an error if the user interrupted it.
    fn ended(&self, ended: Ended) -> Result<ResultSet, CliError> {
        match ended.run {
            Some(run) if ended.code != Code::Interrupted => {
                Ok(Store::open_existing_read_only(self.store)?.load(&run)?)
            }
            _ => Err(CliError::interrupted()),
        }
    }

    /// The advice in the plan of a run: with the question if it is the first one.
    fn advice_of(&self, stage: &str) -> Result<AdviceOf, CliError> {
        let first = self.name();
        let question = match first {
            None => Some(serde_json::to_string(self.question).map_err(CliError::failure)?),
            Some(_) => None,
        };
        Ok(AdviceOf {
            first,
            stage: stage.to_owned(),
            question,
        })
    }
}

/// The contenders that run on this machine without a guest: at least two.
fn on_this_machine(contenders: &[Contender]) -> Result<Vec<Contender>, CliError> {
    let contenders = contenders.iter().cloned();
    let (here, missing): (Vec<Contender>, Vec<Contender>) =
        contenders.partition(|contender| unavailable(contender, false).is_none());
    if here.len() < 2 {
        return Err(CliError::new(
            Code::Missing,
            format!(
                "--validate: fewer than two of the contenders work on this machine without a guest. \
                 See fsdyno doctor: {}",
                labels(&missing)
            ),
        ));
    }
    Ok(here)
}

/// A run of the contenders with their defaults.
pub struct SizedRun {
    /// The size of its work as a multiple of the smallest.
    pub times: u32,
    pub set: ResultSet,
}

impl SizedRun {
    /// Runs with less work, with its own work as a multiple of theirs.
    pub fn multiples<'a>(&self, smaller: &'a [Self]) -> Vec<(f64, &'a ResultSet)> {
        let times = f64::from(self.times);
        let smaller = smaller.iter();
        smaller
            .map(|one| (times / f64::from(one.times), &one.set))
            .collect()
    }
}

/// The size of work that was omitted, in words.
pub fn more_work(times: u32) -> String {
    format!("{times} times the work")
}

/// The estimated time of a cell with so many times the smallest work, seconds: on the line through the
/// last two sizes.
fn seconds_of_a_cell(runs: &[SizedRun], times: u32) -> f64 {
    let point = |run: &SizedRun| (f64::from(run.times), seconds_of_cells([&run.set]));
    let (last, slope) = match runs {
        [.., one, other] => {
            let ((size, seconds), last) = (point(one), point(other));
            (last, (last.1 - seconds) / (last.0 - size))
        }
        [one] => {
            let last = point(one);
            (last, (1.0 - FIXED) * last.1 / last.0)
        }
        [] => return 0.0,
    };
    last.1 + slope.max(0.0) * (f64::from(times) - last.0)
}

/// The mean time of a cell of some runs on this machine, seconds.
fn seconds_of_cells<'a>(sets: impl IntoIterator<Item = &'a ResultSet>) -> f64 {
    let (mut seconds, mut cells) = (0.0, 0);
    for set in sets {
        let ended = set.run.ended_unix_ns.unwrap_or(set.run.started_unix_ns);
        let whole = Nanos(ended.saturating_sub(set.run.started_unix_ns)).seconds();
        // Of a run that was interrupted, without the time until it resumed.
        let worked: f64 = set.cells.iter().map(|cell| cell.took_ns.seconds()).sum();
        seconds += whole.min(worked);
        cells += set.cells.len();
    }
    seconds / cells.max(1) as f64
}

/// The settings with a time limit.
fn limited(options: RunOptions, limit: Duration) -> RunOptions {
    // A limit of zero is no valid setting: the first cell runs in any case.
    RunOptions {
        budget: Some(Nanos::from(limit.max(Duration::from_millis(1)))),
        ..options
    }
}

/// The settings of a run of these contenders.
pub fn options(
    args: &AdviseArgs,
    disk: Option<&Path>,
    contenders: &[Contender],
    in_guest: bool,
) -> RunOptions {
    let application = args.application();
    let common = RunOptions {
        suite: args.suite.clone().filter(|_| application.is_none()),
        app: application.map(str::to_owned).into_iter().collect(),
        contenders: contenders.iter().map(Into::into).collect(),
        phases: args.phases.clone(),
        work: args.work.clone(),
        dataset: args.dataset.clone(),
        workload_trace: args.workload_trace.clone(),
        scale: args.scale,
        set: args.set.clone(),
        work_dir: args.work_dir.clone(),
        lab: Some(LabChoice::Host),
        ..RunOptions::default()
    };
    if !in_guest {
        return common;
    }
    let has_a_size =
        args.workload_trace.is_some() || !args.work.is_empty() || application.is_some();
    RunOptions {
        scale: common.scale.or_else(|| (!has_a_size).then_some(SCALE)),
        lab: Some(LabChoice::Uml),
        disk: Some(disk.unwrap_or(Path::new(DISK)).to_owned()),
        guest_kernel: args.guest_kernel.clone(),
        ..common
    }
}
