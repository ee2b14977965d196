//! Limits on the ratio of a phase to the first run: `copy.durable > 1.05`, `copy.blocks > 1.01`.

use super::{Line, RunComparison};
use fsdyno_model::{FigureName, ResultSet};
use fsdyno_stats::Verdict;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

/// A limit on a ratio.
#[derive(Debug, Clone, PartialEq)]
pub struct Threshold {
    text: String,
    workload: Option<String>,
    /// `PHASE` or `PHASE.FIGURE`; the phase may be `*`. Both names may hold points.
    name: String,
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
        "`{0}` is no threshold: write PHASE.FIGURE > RATIO, as 'copy.durable > 1.05'; the figure \
         is one of docs/reference/figures.md or a program's, the phase * for all, or WORKLOAD/PHASE"
    )]
    Malformed(String),
    /// No common phase has this name and figure.
    #[error(
        "`{threshold}` is of no phase and figure that the runs have in common; they have {phases}, \
         each with {figures} behind it, or none of them"
    )]
    Nowhere {
        threshold: String,
        phases: String,
        figures: String,
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
        let (workload, name) = match name.rsplit_once('/') {
            Some((workload, phase)) => (Some(workload.trim().to_owned()), phase.trim()),
            None => (None, name.trim()),
        };
        if name.is_empty() {
            return Err(malformed());
        }
        Ok(Self {
            text: text.trim().to_owned(),
            workload,
            name: name.to_owned(),
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
    fn is_of(&self, line: &Line) -> bool {
        let of_phase = |phase: &str| {
            let rest = self.name.strip_prefix(phase);
            rest.is_some_and(|rest| match rest.strip_prefix('.') {
                Some(figure) => figure == line.figure.as_str(),
                None => rest.is_empty() && line.whole,
            })
        };
        let workload = self.workload.as_ref();
        workload.is_none_or(|name| *name == line.workload)
            && (of_phase(&line.phase) || of_phase("*"))
    }

    fn is_beyond(&self, ratio: f64) -> bool {
        if self.above {
            ratio > self.limit
        } else {
            ratio < self.limit
        }
    }
}

/// The figures that thresholds name: defined ones, and those that programs report in these runs.
pub fn named(thresholds: &[Threshold], sets: &[ResultSet]) -> Vec<FigureName> {
    let cells = sets.iter().flat_map(|set| &set.cells);
    let reported = FigureName::reported(cells.flat_map(|cell| &cell.samples));
    let mut all: BTreeSet<FigureName> = FigureName::all().chain(reported).collect();
    let is_named = |figure: &FigureName| {
        let end = format!(".{figure}");
        thresholds.iter().any(|one| one.name.ends_with(&end))
    };
    all.retain(is_named);
    all.into_iter().collect()
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
        let mut of = lines.filter(|line| threshold.is_of(line)).peekable();
        if of.peek().is_none() {
            let mut phases: Vec<String> =
                comparison.lines.iter().map(|l| l.phase.clone()).collect();
            phases.sort();
            phases.dedup();
            let figures = comparison.lines.iter().map(|line| &line.figure);
            let figures: BTreeSet<&FigureName> = figures.collect();
            let figures = figures.iter().map(|figure| format!(".{figure}"));
            return Err(ThresholdError::Nowhere {
                threshold: threshold.to_string(),
                phases: phases.join(", "),
                figures: figures.collect::<Vec<_>>().join(", "),
            });
        }
        checked.extend(of.map(|line| (threshold, line)));
    }
    let lines: Vec<&Line> = checked.iter().map(|(_, line)| *line).collect();
    let verdicts = RunComparison::bounded(&lines, |lines| {
        let limits: Vec<Vec<f64>> = checked
            .iter()
            .zip(lines)
            .map(|((threshold, _), line)| {
                let limits = line.base.iter().map(|figure| figure * threshold.limit);
                limits.collect()
            })
            .collect();
        let family = lines.iter().zip(&limits);
        let family = family.map(|(line, limits)| (&line.figures[..], &limits[..]));
        comparison.verdicts(&family.collect::<Vec<_>>(), 0.0)
    });
    let judged = checked.into_iter().zip(verdicts);
    Ok(judged
        .map(|((threshold, line), [_, verdict])| {
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
