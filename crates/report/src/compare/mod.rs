//! Comparison of runs across kernels, machines or dates, each with the first run.
//!
//! Their figures are unpaired: every other difference between two runs is part of the ratio. The
//! differences are listed ([`mod@differences`]).

pub mod differences;
mod document;
mod json;
pub mod thresholds;

pub use differences::{Difference, differences};
pub use document::{document, figures};
pub use json::{
    CheckedThreshold, ComparedRun, ComparedTime, Comparisons, Measure, RunVerdict, ThresholdResult,
};
pub use thresholds::{Checked, Holds, Threshold, ThresholdError, check};

use crate::terms;
use fsdyno_model::ResultSet;
use fsdyno_stats::{IndependentRatio, Rule, Summary, Verdict, judge_unpaired, ratio_unpaired};

/// A run compared with the first one.
#[derive(Debug, Clone)]
pub struct RunComparison {
    /// The first run.
    pub base: String,
    /// The other run.
    pub run: String,
    /// What differs between them.
    pub differences: Vec<Difference>,
    /// The smallest difference that matters.
    pub margin: f64,
    /// Whether the figures of both have no noise.
    pub certain: bool,
    /// The common times, by contender and phase.
    pub lines: Vec<Line>,
}

/// One time of one phase of one contender, in both runs.
#[derive(Debug, Clone)]
pub struct Line {
    /// The contender, escaped for printing.
    pub contender: String,
    /// The workload, escaped for printing.
    pub workload: String,
    /// The phase, escaped for printing.
    pub phase: String,
    /// Whether it is the time to durable.
    pub durable: bool,
    /// The figures of the first run, nanoseconds.
    pub base: Vec<f64>,
    /// The figures of the other run, nanoseconds.
    pub times: Vec<f64>,
    /// Its ratio to the first.
    pub ratio: Option<IndependentRatio>,
    /// The verdict; `None` with too few repeats.
    pub verdict: Option<Verdict>,
}

impl Line {
    /// `return` or `durable`.
    pub fn measure(&self) -> &'static str {
        if self.durable { "durable" } else { "return" }
    }

    /// The medians of both.
    pub fn medians(&self) -> Option<(f64, f64)> {
        let of = |times: &[f64]| Some(Summary::of(times)?.median);
        Some((of(&self.base)?, of(&self.times)?))
    }
}

impl RunComparison {
    /// Compares a run with the first one. Phases and contenders are matched by name.
    pub fn of(base: &ResultSet, other: &ResultSet, margin: f64) -> Self {
        let certain = base.run.plan.is_certain() && other.run.plan.is_certain();
        let rule = Rule {
            margin,
            certain,
            ..Rule::default()
        };
        let mut lines = lines(base, other);
        let family: Vec<(&[f64], &[f64])> = lines
            .iter()
            .map(|line| (&line.times[..], &line.base[..]))
            .collect();
        let verdicts = judge_unpaired(&family, &rule);
        for (line, verdict) in lines.iter_mut().zip(verdicts) {
            line.verdict = verdict;
        }
        Self {
            base: base.run.id.clone(),
            run: other.run.id.clone(),
            differences: differences(base, other),
            margin,
            certain,
            lines,
        }
    }
}

/// The times that both runs have under the same names, by contender.
fn lines(base: &ResultSet, other: &ResultSet) -> Vec<Line> {
    let (then, now) = (base.time_lines(), other.time_lines());
    let mut lines = Vec::new();
    for (at, contender) in base.run.plan.contenders.iter().enumerate() {
        let mut others = other.run.plan.contenders.iter();
        let Some(there) = others.position(|one| one.label == contender.label) else {
            continue;
        };
        for line in &then {
            let (workload, phase) = names(base, line.workload, line.phase);
            let same = now.iter().find(|one| {
                names(other, one.workload, one.phase) == (workload, phase)
                    && one.durable == line.durable
            });
            let Some(same) = same else { continue };
            let figures = |of: &[(u32, f64)]| of.iter().map(|(_, time)| *time).collect();
            let (before, after): (Vec<f64>, Vec<f64>) =
                (figures(&line.times[at]), figures(&same.times[there]));
            if before.is_empty() || after.is_empty() {
                continue;
            }
            lines.push(Line {
                contender: terms::printable(&contender.label),
                workload: terms::printable(workload),
                phase: terms::printable(phase),
                durable: line.durable,
                ratio: ratio_unpaired(&after, &before),
                base: before,
                times: after,
                verdict: None,
            });
        }
    }
    lines
}

fn names(set: &ResultSet, workload: usize, phase: usize) -> (&str, &str) {
    let workload = &set.run.plan.workloads[workload];
    (&workload.name, &workload.phases[phase].label)
}
