//! The JSON of a run: its cells as they were recorded, and the results that reports show.

use crate::compare::RunVerdict;
use crate::comparison::robustness::ChangedVerdict;
use crate::comparison::user_code::UnitsOfWork;
use crate::comparison::{self, Comparison, Comparisons, PhaseTable, Robustness, labs};
use crate::formats::{Exported, exported};
use fsdyno_model::{Better, CellRecord, FigureName, ResultSet, RunInfo};
use fsdyno_stats::PairedRatio;
use schemars::JsonSchema;
use serde::Serialize;

/// A run with its results.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct RunReport<'a> {
    /// The version of this structure.
    #[schemars(extend("const" = RunReport::SCHEMA))]
    pub schema: u32,
    /// Identity, plan and provenance.
    pub run: &'a RunInfo,
    /// All cells recorded, by index, with their raw samples.
    pub cells: &'a [CellRecord],
    /// The results of each lab. Figures of different labs are not compared.
    pub results: Vec<LabResults>,
}

/// The results of one lab.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct LabResults {
    /// The lab; null if the run has only one.
    pub lab: Option<String>,
    /// The answer, in one sentence.
    pub answer: String,
    /// The contender that ratios and verdicts refer to.
    pub baseline: String,
    /// The estimator of ratios.
    pub ratio_estimator: RatioEstimator,
    /// The smallest difference that matters: 0.02 is 2 %.
    pub margin: f64,
    /// Whether the verdicts hold in variants of the model; null if none was measured.
    pub robustness: Option<RobustnessResult>,
    /// The user code of programs that virtual time does not count, by phase, as measured on the host;
    /// empty if none was measured.
    pub user_code: Vec<UserCodeResult>,
    /// All phases together; null with fewer than two phases that have figures of all contenders.
    pub overall: Option<OverallResult>,
    /// The times of each phase, and the figure that it is judged by.
    pub phases: Vec<PhaseResult>,
    /// All figures, defined ones and those that programs report, by phase, figure and contender.
    pub figures: Vec<FigureResult>,
}

/// A figure of a contender in a phase, over its repeats.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct FigureResult {
    /// The workload.
    pub workload: String,
    /// The phase.
    pub phase: String,
    /// The figure.
    pub figure: FigureName,
    /// The contender.
    pub contender: String,
    /// Its unit: `ns`, `B`, `1/s`; empty for a count.
    pub unit: String,
    /// Which of two values is better.
    pub better: Better,
    /// The number of repeats with this figure.
    pub repeats: usize,
    /// The median.
    pub median: f64,
    /// The smallest value.
    pub min: f64,
    /// The largest value.
    pub max: f64,
}

/// The estimator of ratios.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RatioEstimator {
    /// The median of the means of all pairs of the logarithms of the ratios within blocks.
    HodgesLehmannWithinBlocks,
}

/// Whether the verdicts hold in variants of the model.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct RobustnessResult {
    /// The number of all variants; fewer may be measured.
    pub planned: u32,
    /// Whether the answer holds in all measured variants; null without an answer.
    pub answer_holds: Option<bool>,
    /// The measured variants.
    pub variants: Vec<VariantResult>,
}

/// The comparison in one variant of the model.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct VariantResult {
    /// The change of the model.
    pub change: String,
    /// The name of its run in the store.
    pub run: String,
    /// The fastest contenders, within the margin.
    pub fastest: Vec<String>,
    /// The verdicts of the run that do not hold in it.
    pub changed: Vec<ChangedVerdict>,
}

/// The processor time of a phase in user mode, of programs and services.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct UserCodeResult {
    /// The workload.
    pub workload: String,
    /// The phase.
    pub phase: String,
    /// The number of measurements.
    pub repeats: usize,
    /// The median, of the whole load.
    pub median_ns: f64,
    /// The smallest time.
    pub min_ns: f64,
    /// The largest time.
    pub max_ns: f64,
    /// The units of work in it; null if the programs report none.
    pub units: Option<UnitsOfWork>,
    /// By how much the model processor is slower than one of today; 1 if it is not.
    pub factor: f64,
    /// Whether verdicts hold with none and with all of it. False if it cannot be added to the figure
    /// that the phase is judged by.
    pub bounds_verdicts: bool,
}

/// The geometric mean over phases.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct OverallResult {
    /// The number of phases.
    pub phases: usize,
    /// The fastest contender by verdict, if there is one.
    pub fastest: Option<String>,
    /// Each contender with a figure.
    pub contenders: Vec<OverallContender>,
}

/// One contender over all phases.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct OverallContender {
    /// The contender.
    pub contender: String,
    /// The geometric mean of its ratios to the baseline.
    pub ratio: f64,
    /// The confidence interval of the ratio (at least 95 %); null with too few repeats.
    pub interval: Option<RatioInterval>,
    /// The verdict compared with the baseline; null for the baseline, and with too few repeats.
    pub verdict: Option<RunVerdict>,
    /// Whether the verdict is inconclusive because it depends on user code.
    pub depends_on_user_code: bool,
}

/// One figure of one phase.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct PhaseResult {
    /// The workload.
    pub workload: String,
    /// The phase.
    pub phase: String,
    /// The figure.
    pub figure: FigureName,
    /// Its unit: `ns`, `B`, `1/s`; empty for a count.
    pub unit: String,
    /// Which of two values is better.
    pub better: Better,
    /// Whether the phase is judged by it: answers and means use it.
    pub whole: bool,
    /// The share of the variance within blocks that is removed by the adjustment for the speed of
    /// the machine before each phase; null if ratios and verdicts use the times as measured.
    pub variance_removed: Option<f64>,
    /// The fastest contender by verdict, if there is one.
    pub fastest: Option<String>,
    /// The confidence set of the fastest: with 95 % confidence for this line alone, it holds the
    /// fastest contender.
    pub may_be_fastest: Vec<String>,
    /// Each contender with a figure.
    pub contenders: Vec<ContenderResult>,
}

/// One figure of one contender.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct ContenderResult {
    /// The contender.
    pub contender: String,
    /// The number of repeats.
    pub repeats: usize,
    /// The median, in the unit.
    pub median: f64,
    /// The smallest figure.
    pub min: f64,
    /// The largest figure.
    pub max: f64,
    /// The ratio to the baseline; null without baseline, and if a time is negligible. If the higher
    /// figure is better, it is the ratio of the baseline to the contender: above 1 is worse.
    pub ratio: Option<f64>,
    /// The confidence interval of the ratio (at least 95 %); null with too few repeats.
    pub interval: Option<RatioInterval>,
    /// The verdict compared with the baseline; null for the baseline, and with too few repeats.
    pub verdict: Option<RunVerdict>,
    /// Whether the verdict is inconclusive because it depends on user code.
    pub depends_on_user_code: bool,
    /// The ratio to the baseline with all user code in both figures; null if there is none to add.
    pub ratio_with_user_code: Option<f64>,
    /// Whether the median is below the resolution of times (1 ms).
    pub negligible: bool,
}

/// An interval of a ratio.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct RatioInterval {
    /// The lower end.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

impl<'a> RunReport<'a> {
    /// The version of the structure that this program writes.
    pub const SCHEMA: u32 = 5;

    /// The JSON of a run.
    pub fn of(set: &'a ResultSet) -> Self {
        let comparisons = Comparisons::of(set);
        let shares = labs::shares(set);
        let labs = comparisons.labs.iter().zip(&shares);
        Self {
            schema: Self::SCHEMA,
            run: &set.run,
            cells: &set.cells,
            results: labs.map(|(one, (_, share))| lab(one, share)).collect(),
        }
    }
}

fn lab(comparison: &Comparison, share: &ResultSet) -> LabResults {
    let plan = &share.run.plan;
    let name = |at: usize| plan.contenders[at].label.clone();
    let (mut phases, mut user_code) = (Vec::new(), Vec::new());
    for (workload, planned) in comparison.workloads.iter().zip(&plan.workloads) {
        for (phase, planned_phase) in workload.phases.iter().zip(&planned.phases) {
            user_code.extend(phase.user_code.as_ref().map(|code| UserCodeResult {
                workload: planned.name.clone(),
                phase: planned_phase.label.clone(),
                repeats: code.time.n,
                median_ns: code.time.median,
                min_ns: code.time.min,
                max_ns: code.time.max,
                units: code.units.clone(),
                factor: code.factor,
                bounds_verdicts: code.is_added,
            }));
            for (at, line) in phase.lines.iter().enumerate() {
                phases.push(PhaseResult {
                    workload: planned.name.clone(),
                    phase: planned_phase.label.clone(),
                    figure: line.figure.clone(),
                    unit: line.unit.clone(),
                    better: line.better,
                    whole: at + 1 == phase.lines.len(),
                    variance_removed: line.removed,
                    fastest: line.leaders().and_then(|one| one.winner()).map(name),
                    may_be_fastest: line.may_be_fastest(&comparison.rule).map(&name).collect(),
                    contenders: contenders(phase, at, &name),
                });
            }
        }
    }
    LabResults {
        lab: comparison.lab.as_ref().map(|lab| lab.name.clone()),
        answer: comparison.answer.clone(),
        baseline: plan
            .contenders
            .first()
            .map_or_else(String::new, |_| name(0)),
        ratio_estimator: RatioEstimator::HodgesLehmannWithinBlocks,
        margin: comparison.rule.margin,
        robustness: comparison
            .robustness
            .as_ref()
            .map(|robustness| robust(robustness, &name)),
        user_code,
        overall: overall(comparison, &name),
        phases,
        figures: exported(share).map(FigureResult::from).collect(),
    }
}

impl From<Exported<'_>> for FigureResult {
    fn from(one: Exported<'_>) -> Self {
        Self {
            workload: one.workload.to_owned(),
            phase: one.phase.to_owned(),
            figure: one.figure,
            contender: one.contender.to_owned(),
            unit: one.unit,
            better: one.better,
            repeats: one.summary.n,
            median: one.summary.median,
            min: one.summary.min,
            max: one.summary.max,
        }
    }
}

/// The contenders of one line of a phase.
fn contenders(
    phase: &PhaseTable,
    line: usize,
    name: &impl Fn(usize) -> String,
) -> Vec<ContenderResult> {
    let line = &phase.lines[line];
    let values = line.values.iter().enumerate();
    let known = values.filter_map(|(at, value)| Some((at, value.as_ref()?)));
    let verdict = |at: usize| {
        let verdict = line.verdict(at, 0).filter(|_| at > 0)?;
        Some(RunVerdict::of(verdict, line.is_time()))
    };
    let result = |(at, value): (usize, &comparison::Value)| ContenderResult {
        contender: name(at),
        repeats: value.summary.n,
        median: value.summary.median,
        min: value.summary.min,
        max: value.summary.max,
        ratio: value.ratio.map(|ratio| ratio.middle),
        interval: value.ratio.as_ref().and_then(interval),
        verdict: verdict(at),
        depends_on_user_code: line.depends_on_user_code(at, 0),
        ratio_with_user_code: value.ratio.and_then(|_| line.ratio_with_user_code(at, 0)),
        negligible: value.negligible,
    };
    known.map(result).collect()
}

fn robust(robustness: &Robustness, name: &impl Fn(usize) -> String) -> RobustnessResult {
    let variants = robustness.variants.iter().map(|one| VariantResult {
        change: one.change.clone(),
        run: one.run.clone(),
        fastest: one.fastest.iter().copied().map(name).collect(),
        changed: one.changed.clone(),
    });
    RobustnessResult {
        planned: robustness.planned,
        answer_holds: robustness.answer_holds,
        variants: variants.collect(),
    }
}

fn overall(comparison: &Comparison, name: &impl Fn(usize) -> String) -> Option<OverallResult> {
    let overall = &comparison.overall;
    let all_times = comparison.whole_times().all(|(_, _, line)| line.is_time());
    let ratios = overall.ratios.iter().enumerate();
    let known = ratios.filter_map(|(at, ratio)| Some((at, ratio.as_ref()?)));
    let contenders: Vec<OverallContender> = known
        .map(|(at, ratio)| OverallContender {
            contender: name(at),
            ratio: ratio.middle,
            interval: interval(ratio),
            verdict: overall
                .verdict(at, 0)
                .filter(|_| at > 0)
                .map(|one| RunVerdict::of(one, all_times)),
            depends_on_user_code: overall.depends_on_user_code(at, 0),
        })
        .collect();
    let fastest = overall.leaders().and_then(|leaders| leaders.winner());
    (!contenders.is_empty()).then(|| OverallResult {
        phases: overall.phases,
        fastest: fastest.map(name),
        contenders,
    })
}

pub(crate) fn interval(ratio: &PairedRatio) -> Option<RatioInterval> {
    let (low, high) = ratio.interval.map(|of| (of.low, of.high))?;
    Some(RatioInterval { low, high })
}
