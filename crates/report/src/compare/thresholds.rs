//! Limits on the ratio of a phase to the first run: `copy.durable > 1.05`, `copy.blocks > 1.01`.

use super::{Line, RunComparison};
use fsdyno_model::Metric;
use fsdyno_stats::Verdict;
use schemars::JsonSchema;
use serde::Serialize;
use std::fmt;
use std::str::FromStr;

/// A limit on a ratio.
#[derive(Debug, Clone, PartialEq)]
pub struct Threshold {
    text: String,
    workload: Option<String>,
    /// The phase; `None` for all.
    phase: Option<String>,
    /// The metric; `None` for the whole time of a phase.
    metric: Option<Metric>,
    above: bool,
    limit: f64,
}

/// Whether a threshold is exceeded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ThresholdResult {
    /// The ratio does not exceed it.
    Kept,
    /// The ratio exceeds it, and that is significant.
    Beyond,
    /// The ratio exceeds it, and that is not significant.
    Inconclusive,
}

/// A threshold with a line.
#[derive(Debug, Clone)]
pub struct Checked<'a> {
    /// The threshold.
    pub threshold: &'a Threshold,
    /// The line.
    pub line: &'a Line,
    /// The result.
    pub holds: ThresholdResult,
}

/// A threshold that cannot be parsed, or that matches no phase.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs, reason = "the message describes the fields")]
pub enum ThresholdError {
    /// It is not a threshold.
    #[error(
        "`{0}` is no threshold: write PHASE.MEASURE > RATIO, as 'copy.durable > 1.05'; the measure \
         is return, durable, blocks or instructions, the phase * for all, or WORKLOAD/PHASE"
    )]
    Malformed(String),
    /// No common phase has this name and metric.
    #[error(
        "`{threshold}` is of no phase that the runs have in common; they have {phases}, each with \
         {metrics} behind it, or none of them"
    )]
    Nowhere {
        threshold: String,
        phases: String,
        metrics: String,
    },
}

impl FromStr for Threshold {
    type Err = ThresholdError;

    fn from_str(text: &str) -> Result<Self, ThresholdError> {
        let malformed = || ThresholdError::Malformed(text.to_owned());
        let at = text.find(['<', '>']).ok_or_else(malformed)?;
        let limit: f64 = text[at + 1..].trim().parse().map_err(|_| malformed())?;
        if !(limit.is_finite() && limit > 0.0) {
            return Err(malformed());
        }
        let name = text[..at].trim();
        let measured = name
            .rsplit_once('.')
            .and_then(|(name, metric)| Some((name, Metric::named(metric)?)));
        let (name, metric) = measured.map_or((name, None), |(name, metric)| (name, Some(metric)));
        let (workload, phase) = match name.rsplit_once('/') {
            Some((workload, phase)) => (Some(workload.trim().to_owned()), phase.trim()),
            None => (None, name.trim()),
        };
        if phase.is_empty() {
            return Err(malformed());
        }
        Ok(Self {
            text: text.trim().to_owned(),
            workload,
            phase: (phase != "*").then(|| phase.to_owned()),
            metric,
            above: text[at..].starts_with('>'),
            limit,
        })
    }
}

impl fmt::Display for Threshold {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl Threshold {
    fn is_of(&self, line: &Line, lines: &[Line]) -> bool {
        let whole = |line: &Line| {
            let same = |other: &&Line| {
                (&other.contender, &other.workload, &other.phase)
                    == (&line.contender, &line.workload, &line.phase)
            };
            let mut others = lines.iter().filter(same);
            match line.metric {
                Metric::Durable => true,
                Metric::Return => !others.any(|other| other.metric == Metric::Durable),
                Metric::Blocks | Metric::Instructions => false,
            }
        };
        self.workload
            .as_ref()
            .is_none_or(|name| *name == line.workload)
            && self.phase.as_ref().is_none_or(|name| *name == line.phase)
            && self
                .metric
                .map_or_else(|| whole(line), |metric| metric == line.metric)
    }

    fn is_beyond(&self, ratio: f64) -> bool {
        if self.above {
            ratio > self.limit
        } else {
            ratio < self.limit
        }
    }
}

/// Checks thresholds against a run and the first run. A ratio exceeds its threshold if a test is
/// significant over all of them, with a family-wise error rate of 1 in 20. Two negligible times exceed
/// none.
pub fn check<'a>(
    comparison: &'a RunComparison,
    thresholds: &'a [Threshold],
) -> Result<Vec<Checked<'a>>, ThresholdError> {
    let mut checked = Vec::new();
    for threshold in thresholds {
        let lines = comparison.lines.iter();
        let mut of = lines
            .filter(|line| threshold.is_of(line, &comparison.lines))
            .peekable();
        if of.peek().is_none() {
            let mut phases: Vec<String> =
                comparison.lines.iter().map(|l| l.phase.clone()).collect();
            phases.sort();
            phases.dedup();
            let mut metrics: Vec<Metric> = comparison.lines.iter().map(|l| l.metric).collect();
            metrics.sort();
            metrics.dedup();
            let metrics = metrics.iter().map(|metric| format!(".{}", metric.name()));
            return Err(ThresholdError::Nowhere {
                threshold: threshold.to_string(),
                phases: phases.join(", "),
                metrics: metrics.collect::<Vec<_>>().join(", "),
            });
        }
        checked.extend(of.map(|line| (threshold, line)));
    }
    let moved: Vec<(Vec<f64>, &Vec<f64>)> = checked
        .iter()
        .map(|(threshold, line)| {
            let limits = line.base.iter().map(|figure| figure * threshold.limit);
            (limits.collect(), &line.figures)
        })
        .collect();
    let family: Vec<(&[f64], &[f64])> = moved
        .iter()
        .map(|(limits, times)| (&times[..], &limits[..]))
        .collect();
    let verdicts = comparison.verdicts(&family, 0.0);
    let judged = checked.into_iter().zip(verdicts);
    Ok(judged
        .map(|((threshold, line), verdict)| {
            let wrong = if threshold.above {
                Verdict::Slower
            } else {
                Verdict::Faster
            };
            let beyond = line
                .ratio
                .is_some_and(|ratio| threshold.is_beyond(ratio.middle));
            let holds = match verdict {
                _ if line.is_negligible() => ThresholdResult::Kept,
                Some(verdict) if verdict == wrong => ThresholdResult::Beyond,
                _ if beyond => ThresholdResult::Inconclusive,
                _ => ThresholdResult::Kept,
            };
            Checked {
                threshold,
                line,
                holds,
            }
        })
        .collect())
}
