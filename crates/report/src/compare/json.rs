//! The JSON of `fsdyno compare --json`.

use super::{Checked, Difference, Line, RunComparison, ThresholdResult};
use fsdyno_model::{Better, FigureName};
use fsdyno_stats::Verdict;
use schemars::JsonSchema;
use serde::Serialize;

/// Runs compared with the first of them.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Comparisons {
    /// The version of this structure.
    #[schemars(extend("const" = Comparisons::SCHEMA))]
    pub schema: u32,
    /// Each run, compared with the first.
    pub compared: Vec<ComparedRun>,
}

/// One run, compared with the first.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct ComparedRun {
    /// The id of the first run.
    pub base: String,
    /// The id of the other run.
    pub run: String,
    /// The smallest difference that matters: 0.02 is 2 %.
    pub margin: f64,
    /// The warnings about work that is not what the runs should measure.
    pub warnings: Vec<String>,
    /// The differences between the runs.
    pub differences: Vec<Difference>,
    /// Each figure of a phase of a contender that both runs have.
    pub lines: Vec<ComparedFigure>,
    /// The smallest difference of counts that matters.
    pub margin_of_counts: f64,
    /// Each threshold of `--fail-if`, checked against a line.
    pub thresholds: Vec<CheckedThreshold>,
}

/// One figure of one phase of one contender, in both runs.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct ComparedFigure {
    /// The contender.
    pub contender: String,
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
    /// The figures of the first run by repeat.
    pub base: Vec<f64>,
    /// The figures of the other run by repeat.
    pub run: Vec<f64>,
    /// The ratio of the other run to the first; null without figures above zero, and if a time is
    /// negligible.
    pub ratio: Option<f64>,
    /// The lower end of its confidence interval (at least 95 %); null with too few repeats.
    pub ratio_low: Option<f64>,
    /// The upper end of that interval.
    pub ratio_high: Option<f64>,
    /// The verdict on the other run; null with too few repeats.
    pub verdict: Option<RunVerdict>,
    /// Whether the verdict is inconclusive only because virtual time does not count user code.
    pub depends_on_user_code: bool,
    /// Whether both medians are times below the resolution (1 ms).
    pub negligible: bool,
}

/// A threshold, checked against one figure of one phase.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct CheckedThreshold {
    /// The threshold as typed.
    pub threshold: String,
    /// The contender.
    pub contender: String,
    /// The workload.
    pub workload: String,
    /// The phase.
    pub phase: String,
    /// The figure.
    pub figure: FigureName,
    /// The result.
    pub holds: ThresholdResult,
}

/// The verdict on a run or a contender, compared with the first one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RunVerdict {
    /// Faster by more than the margin.
    Faster,
    /// Slower by more than the margin.
    Slower,
    /// Better by more than the margin, in a figure that is no time.
    Better,
    /// Worse by more than the margin, in a figure that is no time.
    Worse,
    /// The difference is within the margin.
    Equivalent,
    /// More repeats are needed.
    Inconclusive,
}

impl Comparisons {
    /// The version of the structure that this program writes.
    pub const SCHEMA: u32 = 3;

    /// Runs, each compared with the first, with its checked thresholds.
    pub fn of(all: &[(RunComparison, Vec<CheckedThreshold>)]) -> Self {
        Self {
            schema: Self::SCHEMA,
            compared: all.iter().map(compared_run).collect(),
        }
    }
}

impl RunVerdict {
    /// The name of a verdict on a time, or on another figure.
    pub fn of(verdict: Verdict, is_time: bool) -> Self {
        match verdict {
            Verdict::Faster if !is_time => Self::Better,
            Verdict::Slower if !is_time => Self::Worse,
            Verdict::Faster => Self::Faster,
            Verdict::Slower => Self::Slower,
            Verdict::Equivalent => Self::Equivalent,
            Verdict::Inconclusive => Self::Inconclusive,
        }
    }
}

fn compared_run((one, thresholds): &(RunComparison, Vec<CheckedThreshold>)) -> ComparedRun {
    ComparedRun {
        base: one.base.clone(),
        run: one.run.clone(),
        margin: one.margin,
        warnings: one.warnings.clone(),
        differences: one.differences.clone(),
        lines: one.lines.iter().map(compared_figure).collect(),
        margin_of_counts: one.margin_of_counts,
        thresholds: thresholds.clone(),
    }
}

fn compared_figure(line: &Line) -> ComparedFigure {
    let ratio = line.shown_ratio();
    let interval = ratio.and_then(|ratio| ratio.interval);
    ComparedFigure {
        contender: line.contender.clone(),
        workload: line.workload.clone(),
        phase: line.phase.clone(),
        figure: line.figure.clone(),
        unit: line.unit.clone(),
        better: line.better,
        base: line.base.clone(),
        run: line.figures.clone(),
        ratio: ratio.map(|ratio| ratio.middle),
        ratio_low: interval.map(|interval| interval.low),
        ratio_high: interval.map(|interval| interval.high),
        verdict: line
            .verdict
            .map(|one| RunVerdict::of(one, line.figure.is_time())),
        depends_on_user_code: line.depends_on_user_code,
        negligible: line.is_negligible(),
    }
}

impl From<&Checked<'_>> for CheckedThreshold {
    fn from(checked: &Checked<'_>) -> Self {
        Self {
            threshold: checked.threshold.to_string(),
            contender: checked.line.contender.clone(),
            workload: checked.line.workload.clone(),
            phase: checked.line.phase.clone(),
            figure: checked.line.figure.clone(),
            holds: checked.holds,
        }
    }
}
