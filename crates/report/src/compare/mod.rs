//! Comparison of runs across kernels, machines or dates, each with the first run.
//!
//! Their figures are unpaired: every other difference between two runs is part of the ratio. The
//! differences are listed ([`mod@differences`]).

pub mod differences;
mod document;
mod json;
pub mod thresholds;

pub use differences::{Difference, differences};
pub use document::{ROWS, document, figures};
pub use json::{
    CheckedThreshold, ComparedCount, ComparedMetric, ComparedRun, ComparedTime, Comparisons, Count,
    CountVerdict, RunVerdict,
};
pub use thresholds::{Checked, Threshold, ThresholdError, ThresholdResult, check};

use crate::comparison::warnings::about_work_of_run;
use crate::resolution::{both_negligible, have_ratio};
use crate::terms;
use fsdyno_model::{Metric, ResultSet};
use fsdyno_stats::{IndependentRatio, Rule, Summary, Verdict, judge_unpaired, ratio_unpaired};

/// The smallest difference of a count that matters, unless the margin is smaller. Counts of work
/// are the same in every run of one kernel, so that a smaller difference than that of times is
/// real.
pub const MARGIN_OF_COUNTS: f64 = 0.01;

/// A run compared with the first one.
#[derive(Debug, Clone)]
pub struct RunComparison {
    /// The first run.
    pub base: String,
    /// The other run.
    pub run: String,
    /// The warnings about work that is not what the runs should measure.
    pub warnings: Vec<String>,
    /// The differences between them.
    pub differences: Vec<Difference>,
    /// The smallest difference of times that matters.
    pub margin: f64,
    /// The smallest difference of counts that matters.
    pub margin_of_counts: f64,
    /// Whether the figures of both have no noise.
    pub certain: bool,
    /// The common metrics, by contender and phase.
    pub lines: Vec<Line>,
}

/// One metric of one phase of one contender, in both runs.
#[derive(Debug, Clone)]
pub struct Line {
    /// The contender, escaped for printing.
    pub contender: String,
    /// The workload, escaped for printing.
    pub workload: String,
    /// The phase, escaped for printing.
    pub phase: String,
    /// The metric.
    pub metric: Metric,
    /// The figures of the first run: nanoseconds, or counts.
    pub base: Vec<f64>,
    /// The figures of the other run.
    pub figures: Vec<f64>,
    /// Its ratio to the first, also of negligible times.
    pub ratio: Option<IndependentRatio>,
    /// The verdict; `None` with too few repeats. Two negligible times are equivalent.
    pub verdict: Option<Verdict>,
}

impl Line {
    /// The medians of both.
    pub fn medians(&self) -> Option<(f64, f64)> {
        let of = |figures: &[f64]| Some(Summary::of(figures)?.median);
        Some((of(&self.base)?, of(&self.figures)?))
    }

    /// Whether it is a time that is below the resolution in both runs.
    pub fn is_negligible(&self) -> bool {
        self.metric.is_time()
            && self
                .medians()
                .is_some_and(|(one, other)| both_negligible(one, other))
    }

    /// The size of the difference: 0 for equal figures, the same for a ratio and its inverse.
    fn distance(&self) -> f64 {
        let ratio = self.shown_ratio();
        ratio.map_or(0.0, |ratio| ratio.middle.ln().abs())
    }

    /// The ratio, unless a time is negligible.
    pub fn shown_ratio(&self) -> Option<IndependentRatio> {
        let (base, now) = self.medians()?;
        self.ratio
            .filter(|_| !self.metric.is_time() || have_ratio(base, now))
    }
}

impl RunComparison {
    /// Compares a run with the first one. Phases and contenders are matched by name.
    pub fn of(base: &ResultSet, other: &ResultSet, margin: f64) -> Self {
        let certain = base.run.plan.is_certain() && other.run.plan.is_certain();
        let margin_of_counts = margin.min(MARGIN_OF_COUNTS);
        let mut lines = lines(base, other);
        for (is_time, margin) in [(true, margin), (false, margin_of_counts)] {
            let rule = Rule {
                margin,
                certain,
                ..Rule::default()
            };
            judge(&mut lines, &rule, |line| line.metric.is_time() == is_time);
        }
        Self {
            base: base.run.id.clone(),
            run: other.run.id.clone(),
            warnings: [base, other]
                .into_iter()
                .flat_map(about_work_of_run)
                .collect(),
            differences: differences(base, other),
            margin,
            margin_of_counts,
            certain,
            lines,
        }
    }

    /// The lines of times, or those of counts.
    pub fn lines_of(&self, times: bool) -> impl Iterator<Item = &Line> {
        let lines = self.lines.iter();
        lines.filter(move |line| line.metric.is_time() == times)
    }
}

/// Judges a family of lines. Negligible times are equivalent without a test.
fn judge(lines: &mut [Line], rule: &Rule, is_of_it: impl Fn(&Line) -> bool) {
    let mut family: Vec<&mut Line> = Vec::new();
    for line in lines.iter_mut().filter(|line| is_of_it(line)) {
        if line.is_negligible() {
            line.verdict = Some(Verdict::Equivalent);
        } else {
            family.push(line);
        }
    }
    let figures: Vec<(&[f64], &[f64])> = family
        .iter()
        .map(|line| (&line.figures[..], &line.base[..]))
        .collect();
    let verdicts = judge_unpaired(&figures, rule);
    for (line, verdict) in family.into_iter().zip(verdicts) {
        line.verdict = verdict;
    }
}

/// The metrics that both runs have under the same names, by contender.
fn lines(base: &ResultSet, other: &ResultSet) -> Vec<Line> {
    let (then, now) = (base.lines_of(&Metric::ALL), other.lines_of(&Metric::ALL));
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
                    && one.metric == line.metric
            });
            let Some(same) = same else { continue };
            let figures = |of: &[(u32, f64)]| of.iter().map(|(_, figure)| *figure).collect();
            let (before, after): (Vec<f64>, Vec<f64>) =
                (figures(&line.figures[at]), figures(&same.figures[there]));
            if before.is_empty() || after.is_empty() {
                continue;
            }
            lines.push(Line {
                contender: terms::printable(&contender.label),
                workload: terms::printable(workload),
                phase: terms::printable(phase),
                metric: line.metric,
                ratio: ratio_unpaired(&after, &before),
                base: before,
                figures: after,
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
