//! The JSON of `fsdyno compare --json`.

use super::{Checked, Difference, Line, RunComparison, ThresholdResult};
use crate::comparison::Measure;
use fsdyno_model::Metric;
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
    /// Each time of a phase of a contender that both runs have.
    pub lines: Vec<ComparedTime>,
    /// Each count of the work of a phase that both runs have; empty where nothing was counted.
    pub counts: Vec<ComparedCount>,
    /// The smallest difference of counts that matters.
    pub margin_of_counts: f64,
    /// Each threshold of `--fail-if`, checked against a line.
    pub thresholds: Vec<CheckedThreshold>,
}

/// One time of one phase of one contender, in both runs.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct ComparedTime {
    /// The contender.
    pub contender: String,
    /// The workload.
    pub workload: String,
    /// The phase.
    pub phase: String,
    /// The kind of time.
    pub measure: Measure,
    /// The times of the first run by repeat, nanoseconds.
    pub base_ns: Vec<f64>,
    /// The times of the other run by repeat, nanoseconds.
    pub run_ns: Vec<f64>,
    /// The ratio of the other run to the first; null without times, and if a time is negligible.
    pub ratio: Option<f64>,
    /// The lower end of its confidence interval (at least 95 %); null with too few repeats.
    pub ratio_low: Option<f64>,
    /// The upper end of that interval.
    pub ratio_high: Option<f64>,
    /// The verdict on the other run; null with too few repeats.
    pub verdict: Option<RunVerdict>,
    /// Whether both medians are below the resolution of times (1 ms).
    pub negligible: bool,
}

/// One count of the work of one phase of one contender, in both runs.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct ComparedCount {
    /// The contender.
    pub contender: String,
    /// The workload.
    pub workload: String,
    /// The phase.
    pub phase: String,
    /// The kind of count.
    pub count: Count,
    /// The counts of the first run by repeat.
    pub base: Vec<f64>,
    /// The counts of the other run by repeat.
    pub run: Vec<f64>,
    /// The ratio of the other run to the first; null if one count is zero.
    pub ratio: Option<f64>,
    /// The lower end of its confidence interval (at least 95 %); null with too few repeats.
    pub ratio_low: Option<f64>,
    /// The upper end of that interval.
    pub ratio_high: Option<f64>,
    /// The verdict on the other run; null with too few repeats.
    pub verdict: Option<CountVerdict>,
}

/// A kind of count of a phase.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Count {
    /// Basic blocks that the kernel of a guest executed.
    Blocks,
    /// Instructions of the workload that the processors counted.
    Instructions,
}

/// The verdict on a count, compared with that of the first run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CountVerdict {
    /// Less by more than the margin of counts.
    Fewer,
    /// More by more than the margin of counts.
    More,
    /// The difference is within the margin of counts.
    Equivalent,
    /// More repeats are needed.
    Inconclusive,
}

/// A threshold, checked against one time or count of one phase.
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
    /// The kind of time or count.
    pub measure: ComparedMetric,
    /// The result.
    pub holds: ThresholdResult,
}

/// A time or a count of a phase.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ComparedMetric {
    /// The time until the work had returned.
    Return,
    /// The time until it was durable.
    Durable,
    /// Basic blocks that the kernel of a guest executed.
    Blocks,
    /// Instructions of the workload that the processors counted.
    Instructions,
}

/// The verdict on a run or a contender, compared with the first one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RunVerdict {
    /// Faster by more than the margin.
    Faster,
    /// Slower by more than the margin.
    Slower,
    /// The difference is within the margin.
    Equivalent,
    /// More repeats are needed.
    Inconclusive,
}

impl Comparisons {
    /// The version of the structure that this program writes.
    pub const SCHEMA: u32 = 2;

    /// Runs, each compared with the first, with its checked thresholds.
    pub fn of(all: &[(RunComparison, Vec<CheckedThreshold>)]) -> Self {
        Self {
            schema: Self::SCHEMA,
            compared: all.iter().map(compared_run).collect(),
        }
    }
}

impl RunVerdict {
    /// The name of a verdict.
    pub fn of(verdict: Verdict) -> Self {
        match verdict {
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
        lines: one.lines.iter().filter_map(compared_time).collect(),
        counts: one.lines.iter().filter_map(compared_count).collect(),
        margin_of_counts: one.margin_of_counts,
        thresholds: thresholds.clone(),
    }
}

fn compared_time(line: &Line) -> Option<ComparedTime> {
    let ratio = line.shown_ratio();
    let interval = ratio.and_then(|ratio| ratio.interval);
    Some(ComparedTime {
        contender: line.contender.clone(),
        workload: line.workload.clone(),
        phase: line.phase.clone(),
        measure: match line.metric {
            Metric::Return => Measure::Return,
            Metric::Durable => Measure::Durable,
            Metric::Blocks | Metric::Instructions => return None,
        },
        base_ns: line.base.clone(),
        run_ns: line.figures.clone(),
        ratio: ratio.map(|ratio| ratio.middle),
        ratio_low: interval.map(|interval| interval.low),
        ratio_high: interval.map(|interval| interval.high),
        verdict: line.verdict.map(RunVerdict::of),
        negligible: line.is_negligible(),
    })
}

fn compared_count(line: &Line) -> Option<ComparedCount> {
    let count = match line.metric {
        Metric::Return | Metric::Durable => return None,
        Metric::Blocks => Count::Blocks,
        Metric::Instructions => Count::Instructions,
    };
    let interval = line.ratio.and_then(|ratio| ratio.interval);
    Some(ComparedCount {
        contender: line.contender.clone(),
        workload: line.workload.clone(),
        phase: line.phase.clone(),
        count,
        base: line.base.clone(),
        run: line.figures.clone(),
        ratio: line.ratio.map(|ratio| ratio.middle),
        ratio_low: interval.map(|interval| interval.low),
        ratio_high: interval.map(|interval| interval.high),
        verdict: line.verdict.map(|verdict| match verdict {
            Verdict::Faster => CountVerdict::Fewer,
            Verdict::Slower => CountVerdict::More,
            Verdict::Equivalent => CountVerdict::Equivalent,
            Verdict::Inconclusive => CountVerdict::Inconclusive,
        }),
    })
}

impl From<&Checked<'_>> for CheckedThreshold {
    fn from(checked: &Checked<'_>) -> Self {
        Self {
            threshold: checked.threshold.to_string(),
            contender: checked.line.contender.clone(),
            workload: checked.line.workload.clone(),
            phase: checked.line.phase.clone(),
            measure: match checked.line.metric {
                Metric::Return => ComparedMetric::Return,
                Metric::Durable => ComparedMetric::Durable,
                Metric::Blocks => ComparedMetric::Blocks,
                Metric::Instructions => ComparedMetric::Instructions,
            },
            holds: checked.holds,
        }
    }
}
