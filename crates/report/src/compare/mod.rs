//! Comparison of runs across kernels, machines or dates, each with the first run.
//!
//! Figures of real time are unpaired: every other difference between two runs is part of the ratio.
//! In virtual time two runs with the same seed have the same draws, and their figures are paired. The
//! differences between the runs are listed ([`mod@differences`]).

pub mod differences;
mod document;
mod json;
pub mod thresholds;

pub use differences::{Difference, differences};
pub use document::{ROWS, document, figures};
pub use json::{CheckedThreshold, ComparedFigure, ComparedRun, Comparisons, RunVerdict};
pub use thresholds::{Checked, Threshold, ThresholdError, ThresholdResult, check, named};

use crate::comparison::user_code::UserCode;
use crate::comparison::warnings::about_work_of_run;
use crate::lists::unique;
use crate::resolution::{both_negligible, have_ratio};
use crate::terms;
use fsdyno_model::{Better, FigureLine, FigureName, Plan, ResultSet, Source};
use fsdyno_stats::{
    IndependentRatio, Rule, Verdict, cost, in_both, judge_all, judge_unpaired, median,
    ratio_paired, ratio_unpaired,
};

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
    /// Whether the figures are paired: both runs have the same draws.
    pub paired: bool,
    /// Whether a run has one draw, so that no difference is decided.
    pub one_draw: bool,
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
    /// The figure.
    pub figure: FigureName,
    /// Its unit.
    pub unit: String,
    /// Which of two values is better.
    pub better: Better,
    /// Whether the phase is judged by it.
    pub whole: bool,
    /// The figures of the first run, in the unit.
    pub base: Vec<f64>,
    /// The figures of the other run.
    pub figures: Vec<f64>,
    /// Its ratio to the first, also of negligible times.
    pub ratio: Option<IndependentRatio>,
    /// The verdict; `None` with too few repeats. Two negligible times are equivalent. One that does
    /// not hold with none and with all user code is inconclusive.
    pub verdict: Option<Verdict>,
    /// What all user code adds to the cost of a figure; none if it adds nothing.
    pub user_code: Option<f64>,
    /// Whether the verdict would be another one without user code.
    pub depends_on_user_code: bool,
}

impl Line {
    /// The medians of both.
    pub fn medians(&self) -> Option<(f64, f64)> {
        Some((median(&self.base)?, median(&self.figures)?))
    }

    /// Whether it is a time that is below the resolution in both runs.
    pub fn is_negligible(&self) -> bool {
        self.figure.is_time()
            && self
                .medians()
                .is_some_and(|(one, other)| both_negligible(one, other))
    }

    /// Whether it counts work, and is not a time or a rate.
    pub fn is_count(&self) -> bool {
        let counted = |source| [Source::Counted, Source::Modelled].contains(&source);
        let definition = self.figure.definition();
        self.figure == FigureName::INSTRUCTIONS || definition.is_some_and(|one| counted(one.source))
    }

    /// The figures of both runs as costs.
    fn costs(&self) -> (Vec<f64>, Vec<f64>) {
        let costs = |of: &[f64]| of.iter().map(|one| cost(self.better, *one)).collect();
        (costs(&self.figures), costs(&self.base))
    }

    /// The line with all user code in the figures of both runs.
    fn with_user_code(&self) -> Self {
        let added = self.user_code.unwrap_or_default();
        // A cost of a cost is the figure.
        let with = |figure: &f64| cost(self.better, cost(self.better, *figure) + added);
        let all = |of: &[f64]| of.iter().map(with).collect();
        Self {
            base: all(&self.base),
            figures: all(&self.figures),
            ..self.clone()
        }
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
            .filter(|_| !self.figure.is_time() || have_ratio(base, now))
    }
}

impl RunComparison {
    /// Compares a run with the first one: the times, the kernel's work, what a phase is judged by, and
    /// these figures. Phases and contenders are matched by name.
    pub fn of(base: &ResultSet, other: &ResultSet, margin: f64, figures: &[FigureName]) -> Self {
        let plans = [&base.run.plan, &other.run.plan];
        let margin_of_counts = margin.min(MARGIN_OF_COUNTS);
        let paired = have_same_draws(plans);
        let mut comparison = Self {
            base: base.run.id.clone(),
            run: other.run.id.clone(),
            warnings: [base, other]
                .into_iter()
                .flat_map(about_work_of_run)
                .collect(),
            differences: differences(base, other),
            margin,
            margin_of_counts,
            paired,
            one_draw: plans.iter().any(|plan| plan.is_one_draw()),
            lines: lines(base, other, paired, figures),
        };
        comparison.judge(margin, |line| line.figure.is_time());
        comparison.judge(margin_of_counts, Line::is_count);
        comparison.judge(margin, |line| !line.figure.is_time() && !line.is_count());
        comparison
    }

    /// Judges a family of lines. Negligible times are equivalent without a test, and figures of
    /// which neither is better have no verdict.
    fn judge(&mut self, margin: f64, is_of_it: impl Fn(&Line) -> bool) {
        let is_of_it = |line: &Line| is_of_it(line) && line.better != Better::Neither;
        let is_judged = |line: &&Line| is_of_it(line) && !line.is_negligible();
        let lines: Vec<&Line> = self.lines.iter().filter(is_judged).collect();
        let judged = Self::bounded(&lines, |lines| {
            let costs: Vec<(Vec<f64>, Vec<f64>)> = lines.iter().map(Line::costs).collect();
            let figures = costs.iter().map(|(these, base)| (&these[..], &base[..]));
            self.verdicts(&figures.collect::<Vec<_>>(), margin)
        });
        let mut judged = judged.into_iter();
        for line in self.lines.iter_mut().filter(|line| is_of_it(line)) {
            if line.is_negligible() {
                line.verdict = Some(Verdict::Equivalent);
            } else if let Some([without, held]) = judged.next() {
                line.verdict = held;
                line.depends_on_user_code = held != without;
            }
        }
    }

    /// The verdicts on lines without user code, and those that hold also with all of it.
    fn bounded(
        lines: &[&Line],
        judge: impl Fn(&[Line]) -> Vec<Option<Verdict>>,
    ) -> Vec<[Option<Verdict>; 2]> {
        let as_measured: Vec<Line> = lines.iter().map(|line| (*line).clone()).collect();
        let without = judge(&as_measured);
        if lines.iter().all(|line| line.user_code.is_none()) {
            return without.into_iter().map(|one| [one; 2]).collect();
        }
        let with_all: Vec<Line> = lines.iter().map(|line| line.with_user_code()).collect();
        let both = without.into_iter().zip(judge(&with_all));
        both.map(|(without, with_all)| [without, in_both(without, with_all)])
            .collect()
    }

    /// The verdicts on a family of figures, each compared with others.
    fn verdicts(&self, family: &[(&[f64], &[f64])], margin: f64) -> Vec<Option<Verdict>> {
        let rule = Rule {
            margin,
            one_draw: self.one_draw,
            ..Rule::default()
        };
        if !self.paired {
            return judge_unpaired(family, &rule);
        }
        let blocks = |of: &[f64]| (0..).zip(of.iter().copied()).collect::<Vec<(u32, f64)>>();
        let family: Vec<_> = family.iter().map(|(a, b)| (blocks(a), blocks(b))).collect();
        let family: Vec<_> = family.iter().map(|(a, b)| (&a[..], &b[..])).collect();
        judge_all(&family, &rule)
    }

    /// The lines of times, or those of other figures.
    pub fn lines_of(&self, times: bool) -> impl Iterator<Item = &Line> {
        let lines = self.lines.iter();
        lines.filter(move |line| line.figure.is_time() == times)
    }
}

/// Whether the blocks of both plans are the same draws.
fn have_same_draws([one, other]: [&Plan; 2]) -> bool {
    let of = |plan: &Plan| {
        let varies = plan.variation();
        plan.in_virtual_time()
            .then_some((plan.seed, varies, plan.scale.to_bits()))
    };
    of(one).is_some() && of(one) == of(other)
}

/// The ratio of figures that are paired in their order.
fn ratio_paired_in_order(a: &[f64], b: &[f64]) -> Option<IndependentRatio> {
    let blocks = |of: &[f64]| (0..).zip(of.iter().copied()).collect::<Vec<(u32, f64)>>();
    let ratio = ratio_paired(&blocks(a), &blocks(b))?;
    Some(IndependentRatio {
        counts: (a.len(), b.len()),
        middle: ratio.middle,
        interval: ratio.interval,
    })
}

/// The figures that are compared in any case.
const ALWAYS: [FigureName; 4] = [
    FigureName::RETURN,
    FigureName::DURABLE,
    FigureName::BLOCKS,
    FigureName::INSTRUCTIONS,
];

/// The figures that both runs have under the same names, by contender.
fn lines(base: &ResultSet, other: &ResultSet, paired: bool, figures: &[FigureName]) -> Vec<Line> {
    let phases = base.run.plan.workloads.iter().flat_map(|one| &one.phases);
    let judged = phases.filter_map(|phase| phase.judge.clone());
    let figures = ALWAYS
        .into_iter()
        .chain(judged)
        .chain(figures.iter().cloned());
    let figures = unique(figures);
    let (then, now) = (base.lines_of(&figures), other.lines_of(&figures));
    let whole = base.compared_lines();
    let is_whole = |line: &FigureLine| {
        let of_phase = |one: &&FigureLine| (one.workload, one.phase) == (line.workload, line.phase);
        let last = whole.iter().rfind(of_phase);
        last.is_some_and(|last| last.figure == line.figure)
    };
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
                    && (&one.figure, &one.unit) == (&line.figure, &line.unit)
            });
            let Some(same) = same else { continue };
            let (before, after) = (&line.figures[at], &same.figures[there]);
            // Of paired runs, the draws that both have, in their order.
            let figures = |of: &[(u32, f64)], others: &[(u32, f64)]| -> Vec<f64> {
                let has = |block| others.iter().any(|(other, _)| *other == block);
                let of = of.iter().filter(|(block, _)| !paired || has(*block));
                of.map(|(_, figure)| *figure).collect()
            };
            let (before, after) = (figures(before, after), figures(after, before));
            if before.is_empty() || after.is_empty() {
                continue;
            }
            let code = [(base, line), (other, same)].map(|(set, of)| {
                let code = UserCode::of(set, of.workload, of.phase)?;
                code.cost(&of.figure, &of.unit, of.better)
            });
            lines.push(Line {
                contender: terms::printable(&contender.label),
                workload: terms::printable(workload),
                phase: terms::printable(phase),
                figure: line.figure.clone(),
                unit: line.unit.clone(),
                better: line.better,
                whole: is_whole(line),
                ratio: if paired {
                    ratio_paired_in_order(&after, &before)
                } else {
                    ratio_unpaired(&after, &before)
                },
                base: before,
                figures: after,
                verdict: None,
                user_code: code.into_iter().flatten().max_by(f64::total_cmp),
                depends_on_user_code: false,
            });
        }
    }
    lines
}

fn names(set: &ResultSet, workload: usize, phase: usize) -> (&str, &str) {
    let workload = &set.run.plan.workloads[workload];
    (&workload.name, &workload.phases[phase].label)
}
