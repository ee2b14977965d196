//! Lines: for each phase its times, to return and to durable if it writes, and the figure that it is
//! judged by.

use super::verdicts::JudgedLine;
use super::warnings::not_warm;
use crate::document::Outcome;
use crate::figures::{Blocked, MIN_PAIRS, astray, summary, trend};
use crate::resolution::is_negligible;
use crate::terms::{Scale, amount, figure_with_unit, printable};
use fsdyno_model::{Better, FigureLine, FigureName, Nanos, Sample};
use fsdyno_stats::{
    PairedRatio, Rule, Summary, Times, Verdict, Verdicts, cost, costs, rank_intervals,
    ratio_paired, tiers,
};

/// One figure of one phase, all contenders.
#[derive(Debug, Clone)]
pub struct Line {
    /// The figure.
    pub figure: FigureName,
    /// Its unit.
    pub unit: String,
    /// Which of two values is better.
    pub better: Better,
    /// Its figures by contender; `None` if a contender has none.
    pub values: Vec<Option<Value>>,
    /// The share of the variance within blocks that the adjustment for the speed of the machine
    /// removes; `None` if the compared figures are not adjusted.
    pub removed: Option<f64>,
    /// The compared figures, as costs.
    pub(super) compared: Times,
    verdicts: Verdicts,
    /// The same with all user code, and the verdicts without any; `None` if there is none to add.
    pub(super) with_user_code: Option<(Times, Verdicts)>,
}

/// The figures of one contender.
#[derive(Debug, Clone)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a mark of its own, in any combination"
)]
pub struct Value {
    /// Every figure in the unit of its line, with its block.
    pub times: Vec<Blocked>,
    /// The costs by which it is compared ([`fsdyno_stats::cost`]): adjusted for the speed of the
    /// machine, if that was measured and matters.
    pub adjusted: Vec<Blocked>,
    /// Median and spread, in the unit of its line.
    pub summary: Summary,
    /// Which of two figures is better.
    pub better: Better,
    /// Whether its median is a time below the resolution.
    pub negligible: bool,
    /// The ratio of its cost to that of the baseline, paired by block; `None` if no other contender
    /// has a figure, or if a time is negligible.
    pub ratio: Option<PairedRatio>,
    /// Its relation to the baseline: equivalent, inconclusive, negligible, or with too few repeats,
    /// while others have enough. `None` if it is faster or slower, or if no contender has enough
    /// repeats for a verdict.
    pub outcome: Option<Outcome>,
    /// Whether it is the fastest by verdict.
    pub best: bool,
    /// The drift over the blocks as a part of the median (below zero: falling), if there is one.
    pub drift: Option<f64>,
    /// The outliers.
    pub outliers: Vec<Blocked>,
    /// Whether there is a warning about one of its samples or about the series.
    pub doubted: bool,
    /// Whether nothing of its work was durable when the phase returned as durable: it is not
    /// compared as the fastest.
    pub not_durable: bool,
    /// Whether its figures are one draw, which decides nothing.
    pub one_draw: bool,
    /// Whether its verdict does not hold in all variants of the model.
    pub sensitive: bool,
}

impl Line {
    /// The verdict on one contender compared with another. Two negligible times are equivalent.
    pub fn verdict(&self, one: usize, other: usize) -> Option<Verdict> {
        if one != other && self.both_negligible(one, other) {
            return Some(Verdict::Equivalent);
        }
        self.verdicts.of(one, other)
    }

    /// Whether the times of two contenders are both negligible.
    pub(super) fn both_negligible(&self, one: usize, other: usize) -> bool {
        let negligible = |at: usize| {
            self.values[at]
                .as_ref()
                .is_some_and(|value| value.negligible)
        };
        negligible(one) && negligible(other)
    }

    /// The cost of a contender's median: the lowest is the best.
    pub fn cost(&self, at: usize) -> Option<f64> {
        let value = self.values[at].as_ref()?;
        Some(cost(self.better, value.summary.median))
    }

    /// The contender with the best median among these.
    pub fn best_median(&self, among: impl Iterator<Item = usize>) -> Option<usize> {
        let known = among.filter_map(|at| Some((at, self.cost(at)?)));
        known.min_by(|a, b| a.1.total_cmp(&b.1)).map(|(at, _)| at)
    }

    /// Whether it is a time of the phase.
    pub fn is_time(&self) -> bool {
        self.figure.is_time()
    }

    /// Its name in a sentence: `time to durable`, `tps`.
    pub fn label(&self) -> String {
        let name = printable(self.figure.as_str());
        if self.is_time() {
            return format!("time to {name}");
        }
        name
    }

    /// A figure with its unit.
    pub fn shown(&self, figure: f64) -> String {
        if self.is_time() {
            return Nanos::from_seconds(figure / 1e9).to_string();
        }
        amount(&self.unit, figure, false)
    }

    /// A figure with its unit: a time in the unit of the times of its phase.
    pub(super) fn show(&self, figure: f64, times: Scale) -> String {
        if self.is_time() {
            return format!("{} {}", times.show(figure), times.unit());
        }
        amount(&self.unit, figure, false)
    }

    /// The common unit in which its figures are shown; `None` if they are shown as they are.
    pub fn scale(&self) -> Option<Scale> {
        let values = self.values.iter().flatten();
        Scale::of_unit(&self.unit, values.map(|value| value.summary.median))
    }

    /// Its name with its unit: `tps, 1/s`.
    pub fn name(&self) -> String {
        let scale = self.scale();
        let unit = scale.map_or(self.unit.as_str(), |scale| scale.unit());
        figure_with_unit(self.figure.as_str(), unit)
    }
}

impl Value {
    /// Its ratio to another, paired by block. `None` if a time is negligible.
    pub fn ratio_to(&self, other: &Self) -> Option<PairedRatio> {
        let has_ratio = !self.negligible && !other.negligible;
        ratio_paired(&self.adjusted, &other.adjusted).filter(|_| has_ratio)
    }
}

impl Line {
    /// A figure of a phase, from its samples by contender. A line without verdicts is shown, and not
    /// judged.
    pub(super) fn of(
        figure: &FigureName,
        samples: &[Vec<(u32, &Sample)>],
        judged: Option<&JudgedLine>,
        rule: &Rule,
    ) -> Option<Self> {
        let line = FigureLine::of(figure, samples)?;
        let as_measured = || JudgedLine {
            times: Times::without_probes(&costs(&line)),
            verdicts: Verdicts::default(),
            with_user_code: None,
        };
        let is_judged = judged.is_some();
        let JudgedLine {
            times: compared,
            verdicts,
            with_user_code,
        } = judged.cloned().unwrap_or_else(as_measured);
        let FigureLine {
            figure,
            unit,
            better,
            figures: times,
            ..
        } = line;
        let most = times.iter().map(Vec::len).max().unwrap_or(0);
        let one_draw = rule.one_draw || most == 1;
        let several = times.iter().filter(|t| !t.is_empty()).count() > 1;
        let mut adjusted = compared.figures();
        adjusted.resize(times.len(), Vec::new());
        let values: Vec<Option<Value>> = times
            .into_iter()
            .zip(adjusted)
            .zip(samples)
            .enumerate()
            .map(|(at, ((times, adjusted), samples))| {
                let summary = summary(&times)?;
                let (drift, outliers) = (trend(&times), astray(&times, summary.median));
                Some(Value {
                    ratio: None,
                    outcome: match verdicts.of(at, 0) {
                        Some(Verdict::Equivalent) => Some(Outcome::Equivalent),
                        Some(Verdict::Inconclusive) => Some(Outcome::Inconclusive),
                        None if at > 0 && one_draw => Some(Outcome::OneDraw),
                        None if at > 0 && most >= MIN_PAIRS && is_judged => Some(Outcome::TooFew),
                        _ => None,
                    },
                    best: false,
                    doubted: drift.is_some()
                        || !outliers.is_empty()
                        || samples
                            .iter()
                            .any(|(_, s)| !s.warnings.is_empty() || not_warm(s).is_some()),
                    one_draw,
                    sensitive: false,
                    better,
                    negligible: figure.is_time() && is_negligible(summary.median),
                    not_durable: samples.iter().any(|(_, s)| s.is_not_durable()),
                    drift,
                    outliers,
                    summary,
                    times,
                    adjusted,
                })
            })
            .collect();
        let mut line = values.iter().any(Option::is_some).then_some(Self {
            figure,
            unit,
            better,
            values,
            removed: compared.removed(),
            compared,
            verdicts,
            with_user_code,
        })?;
        if several {
            line.compare();
        }
        Some(line)
    }

    /// Adds the ratios to the baseline, and the mark of the fastest.
    fn compare(&mut self) {
        let winner = self.leaders().and_then(|leaders| leaders.winner());
        let base = self.values.first().cloned().flatten();
        for (at, value) in self.values.iter_mut().enumerate() {
            let Some(value) = value else { continue };
            value.best = winner == Some(at);
            let Some(base) = &base else { continue };
            value.ratio = value.ratio_to(base);
            if at > 0 && value.negligible && base.negligible {
                value.outcome = Some(Outcome::Negligible);
            }
        }
    }

    /// The contenders with figures, by index.
    fn there(&self) -> Vec<usize> {
        let places = 0..self.values.len();
        places.filter(|at| self.values[*at].is_some()).collect()
    }

    /// The range of ranks and the tier of each contender; `None` if there is no verdict.
    pub fn ranks(&self) -> Option<Vec<Option<Rank>>> {
        let there = self.there();
        let verdict = |a: usize, b: usize| self.verdict(there[a], there[b]);
        let all = 0..there.len();
        all.clone()
            .any(|a| all.clone().any(|b| verdict(a, b).is_some()))
            .then_some(())?;
        let medians: Vec<f64> = there.iter().filter_map(|at| self.cost(*at)).collect();
        let ranks = rank_intervals(there.len(), verdict).into_iter();
        let mut placed = vec![None; self.values.len()];
        for ((at, (first, last)), tier) in there.iter().zip(ranks).zip(tiers(&medians, verdict)) {
            placed[*at] = Some(Rank { first, last, tier });
        }
        Some(placed)
    }
}

/// The rank and the tier of a contender in a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rank {
    /// Its best possible rank, from 1.
    pub first: usize,
    /// Its worst possible rank.
    pub last: usize,
    /// Its tier, from 1. Contenders of a tier are not distinguishable from its fastest.
    pub tier: usize,
}

impl Rank {
    /// `1`, or a range such as `2-4`.
    pub fn describe(self) -> String {
        if self.first == self.last {
            return self.first.to_string();
        }
        format!("{}-{}", self.first, self.last)
    }
}
