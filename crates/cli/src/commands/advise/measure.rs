//! The runs of an advice: on a model disk in virtual time, or on image files in real time, within a
//! time budget.

use super::args::AdviseArgs;
use super::{count, labels};
use crate::catalogue::unavailable;
use crate::commands::disk::{fit_to_reads, profile_text};
use crate::commands::measuring::LockArgs;
use crate::commands::run::{Execution, Variants, assembled, check_early, fresh, resolve_here};
use crate::exit::{CliError, Code};
use crate::output;
use fsdyno_files::refuse_foreign_dir;
use fsdyno_model::{CancelToken, Contender, LabChoice, Nanos, ResultSet, StopReason};
use fsdyno_recipes as recipes;
use fsdyno_report::advice::{DeviceFit, Recommendation, contending};
use fsdyno_run::RunOptions;
use fsdyno_store::Store;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// The name of the runs.
const NAME: &str = "advise";

/// The model disk without `--disk`.
const DISK: &str = "sata-ssd";

/// The smallest size of generated datasets in virtual time.
pub const SCALE: f64 = 0.1;

/// The larger sizes of the work, as multiples of the smallest.
const SIZES: [f64; 2] = [4.0, 16.0];

/// A contender that is so many times slower than the fastest is not measured at larger sizes.
const MUCH_SLOWER: f64 = 3.0;

/// The number of blocks for which a stage has time: in real time those from which intervals follow, in
/// virtual time the fewest draws with a verdict.
const BLOCKS: f64 = 6.0;
const DRAWS: f64 = 3.0;

/// The share of the whole time that is kept for the variants of the model.
const VARIANTS: f64 = 0.25;

/// A stage of the measurements.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// All contenders with their defaults.
    Defaults,
    /// All contenders that are not much slower, with more work.
    Sizes,
    /// Options of the best two, each alone.
    Singles,
    /// Joins of the options that help.
    Joins,
    /// The choice and the runner-up in variants of the model.
    Variants,
    /// Image files in real time.
    Validation,
}

impl Stage {
    /// The share of the time that is left which the stage may use. The rest is for later stages.
    fn share(self, in_guest: bool, validates: bool) -> f64 {
        let rest = if validates { 0.6 } else { 1.0 };
        match self {
            // A stage ends when its comparisons are decided, at the latest after its share.
            Self::Defaults if in_guest => 0.5 * rest,
            Self::Defaults => 0.4,
            Self::Sizes => 0.4 * rest,
            Self::Singles => 0.6 * rest,
            Self::Joins | Self::Variants => rest,
            Self::Validation => 1.0,
        }
    }
}

/// A profile that was fitted to a device, in a file that ends with this value.
#[derive(Debug)]
pub struct FittedFile {
    /// The description of the fit.
    pub note: DeviceFit,
    path: PathBuf,
    _directory: TempDir,
}

impl FittedFile {
    /// Measures a device by reads.
    pub fn of(device: &Path, stop: &CancelToken) -> Result<Self, CliError> {
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
        refuse_foreign_dir(&std::env::temp_dir()).map_err(CliError::usage)?;
        let directory = TempDir::with_prefix("fsdyno-fit-")?;
        let name = device.file_name().unwrap_or_default().to_string_lossy();
        let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '-' };
        let name: String = name.chars().map(plain).collect();
        let path = directory.path().join(format!("fit-of-{name}.toml"));
        fs::write(&path, profile_text(&best))?;
        Ok(Self {
            note,
            path,
            _directory: directory,
        })
    }
}

/// Measures contenders, and counts the time.
pub struct Measurer<'a> {
    /// The arguments of the user.
    pub args: &'a AdviseArgs,
    in_guest: bool,
    disk: Option<&'a Path>,
    store: &'a Path,
    stop: &'a CancelToken,
    began: Instant,
}

impl<'a> Measurer<'a> {
    /// Starts the time budget.
    pub fn new(
        args: &'a AdviseArgs,
        in_guest: bool,
        store: &'a Path,
        stop: &'a CancelToken,
    ) -> Self {
        Self {
            args,
            in_guest,
            disk: args.disk.as_deref(),
            store,
            stop,
            began: Instant::now(),
        }
    }

    /// The same on a fitted model disk.
    #[must_use]
    pub fn on(self, fitted: Option<&'a FittedFile>) -> Self {
        let disk = fitted.map(|fitted| fitted.path.as_path()).or(self.disk);
        Self { disk, ..self }
    }

    /// The text that names the place of the measurement.
    pub fn place(&self) -> &'static str {
        if self.in_guest {
            "on a model disk in virtual time"
        } else {
            "on image files in real time (a model disk needs: fsdyno lab setup)"
        }
    }

    /// The time limit of a stage.
    fn limit(&self, stage: Stage) -> Duration {
        let whole = Duration::from_nanos(self.args.budget.0);
        let comes_later = !matches!(stage, Stage::Variants | Stage::Validation);
        let budget = if self.varies() && comes_later {
            whole.mul_f64(1.0 - VARIANTS)
        } else {
            whole
        };
        let left = budget.saturating_sub(self.began.elapsed());
        left.mul_f64(stage.share(self.in_guest, self.args.validate))
    }

    /// Measures the contenders of a run with more work, as far as the time lasts. Returns the runs
    /// with the size of their work as a multiple of that of the first, and the omitted sizes. A
    /// dataset of the user has one size.
    pub fn larger(&self, first: &ResultSet) -> Result<(SizedRuns, Vec<String>), CliError> {
        let plan = &first.run.plan;
        let (mut runs, mut omitted) = (Vec::new(), Vec::new());
        let generated = plan.workloads.iter().any(|one| !one.dataset.is_users());
        if !self.in_guest || !generated {
            return Ok((runs, omitted));
        }
        let contenders = contending(first, MUCH_SLOWER);
        if contenders.len() < 2 {
            return Ok((runs, omitted));
        }
        let cells = contenders.len() * plan.workloads.len();
        // Seconds of a cell for each unit of the work, which is that of the first run.
        let mut of_unit = seconds_of_cells([first]);
        for times in SIZES {
            let limit = self.limit(Stage::Sizes);
            if limit.as_secs_f64() < of_unit * times * cells as f64 * DRAWS {
                omitted.push(format!("{times} times the work"));
                continue;
            }
            output::note(format_args!(
                "fsdyno: {} with {times} times the work",
                count(contenders.len(), "contender")
            ));
            let options = options(self.args, self.disk, &contenders, self.in_guest);
            let scale = Some(plan.scale * times);
            let set = self.measure(limited(RunOptions { scale, ..options }, limit))?;
            of_unit = seconds_of_cells([&set]) / times;
            runs.push((times, set));
        }
        Ok((runs, omitted))
    }

    /// The number of contenders that a stage can measure within its limit, by the time of earlier
    /// runs.
    pub fn slots(&self, earlier: &[ResultSet], stage: Stage) -> usize {
        let limit = self.limit(stage);
        let each = seconds_of_cells(earlier);
        let blocks = if self.in_guest { DRAWS } else { BLOCKS };
        let fits = limit.as_secs_f64() / (each * blocks).max(1e-3);
        // Fractions of a contender do not count.
        (0..1000).take_while(|n| f64::from(*n + 1) <= fits).count()
    }

    /// Measures contenders, and returns the run from the store.
    pub fn run(&self, contenders: &[Contender], stage: Stage) -> Result<ResultSet, CliError> {
        let limit = self.limit(stage);
        let options = options(self.args, self.disk, contenders, self.in_guest);
        self.measure(limited(options, limit))
    }

    /// Whether the choice is compared again in variants of the model.
    fn varies(&self) -> bool {
        self.in_guest && !self.args.no_robust
    }

    /// Compares the choice of an advice with its runner-up in variants of the run that decides, as far
    /// as the time lasts. Returns the variants.
    pub fn variants(
        &self,
        advice: &Recommendation,
        decides: &ResultSet,
    ) -> Result<Vec<ResultSet>, CliError> {
        let pair = advice.choice.as_ref().and_then(|choice| {
            let places = [choice.best, choice.runner_up.as_ref()?.at];
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
        Ok(Store::open_existing_read_only(self.store)?.variants(run)?)
    }

    /// Refuses what a later step would refuse, before a device is measured: the first run after a fit,
    /// and the validation after all runs.
    pub fn check(&self, contenders: &[Contender]) -> Result<(), CliError> {
        if self.args.fit.is_some() {
            let options = options(self.args, self.disk, contenders, self.in_guest);
            check_early(&resolve_here(&options)?, self.store, self.stop)?;
        }
        if self.args.validate {
            let here = on_this_machine(contenders)?;
            let options = options(self.args, None, &here, false);
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
        let is_recorded = self.args.workload_trace.is_some();
        let scale = (!is_recorded).then_some(predicted.run.plan.scale);
        let options = RunOptions {
            scale,
            ..options(self.args, None, &here, false)
        };
        self.measure(limited(options, self.limit(Stage::Validation)))
    }

    /// Runs with these settings, and returns the run from the store.
    fn measure(&self, options: RunOptions) -> Result<ResultSet, CliError> {
        let options = RunOptions {
            name: Some(NAME.to_owned()),
            ..options
        };
        let plan = resolve_here(&options)?;
        let ended = fresh(plan, &Execution::silent(), self.store, self.stop)?;
        match ended.run {
            Some(run) if ended.code != Code::Interrupted => {
                Ok(Store::open_existing_read_only(self.store)?.load(&run)?)
            }
            _ => Err(CliError::interrupted()),
        }
    }
}

/// The contenders that run on this machine without a guest: at least two.
fn on_this_machine(contenders: &[Contender]) -> Result<Vec<Contender>, CliError> {
    let contenders = contenders.iter().cloned();
    let (here, missing): (Vec<Contender>, Vec<Contender>) = contenders.partition(|contender| {
        let recipe = recipes::find(&contender.filesystem);
        recipe.is_some_and(|recipe| unavailable(recipe, false).is_none())
    });
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

/// Runs with the size of their work, as a multiple of that of the first run.
type SizedRuns = Vec<(f64, ResultSet)>;

/// The mean time of a cell of some runs on this machine, seconds.
fn seconds_of_cells<'a>(sets: impl IntoIterator<Item = &'a ResultSet>) -> f64 {
    let (mut seconds, mut cells) = (0.0, 0);
    for set in sets {
        let ended = set.run.ended_unix_ns.unwrap_or(set.run.started_unix_ns);
        seconds += Nanos(ended.saturating_sub(set.run.started_unix_ns)).seconds();
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
    let common = RunOptions {
        suite: args.suite.clone(),
        contenders: contenders
            .iter()
            .map(|one| one.label.as_str().into())
            .collect(),
        phases: args.phases.clone(),
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
    let generated = args.workload_trace.is_none();
    RunOptions {
        scale: common.scale.or_else(|| generated.then_some(SCALE)),
        lab: Some(LabChoice::Uml),
        disk: Some(disk.unwrap_or(Path::new(DISK)).to_owned()),
        guest_kernel: args.guest_kernel.clone(),
        ..common
    }
}
