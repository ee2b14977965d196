//! Times: for each phase a line to return, and a line to durable if it writes.

use super::warnings::not_warm;
use crate::document::Outcome;
use crate::figures::{Blocked, MIN_PAIRS, astray, summary, trend};
use crate::resolution::{both_negligible, have_ratio, is_negligible};
use fsdyno_model::Sample;
use fsdyno_stats::{
    PairedRatio, Rule, Summary, Times, Verdict, Verdicts, rank_intervals, ratio_paired, tiers,
};
use schemars::JsonSchema;
use serde::Serialize;

/// A time of a phase.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Measure {
    /// The time until the work had returned.
    Return,
    /// The time until it was durable.
    Durable,
}

/// One time of one phase, all contenders.
#[derive(Debug, Clone)]
pub struct Line {
    /// The kind of time.
    pub measure: Measure,
    /// Its figures by contender; `None` if a contender has none.
    pub values: Vec<Option<Value>>,
    /// The share of the variance within blocks that the adjustment for the speed of the machine
    /// removes; `None` if the compared times are not adjusted.
    pub removed: Option<f64>,
    /// The compared times.
    pub(super) compared: Times,
    verdicts: Verdicts,
}

/// The figures of one contender.
#[derive(Debug, Clone)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a mark of its own, in any combination"
)]
pub struct Value {
    /// Every figure in nanoseconds, with its block.
    pub times: Vec<Blocked>,
    /// The figures by which it is compared: adjusted for the speed of the machine, if that was
    /// measured and matters.
    pub adjusted: Vec<Blocked>,
    /// Median and spread, nanoseconds.
    pub summary: Summary,
    /// The ratio to the baseline, paired by block; `None` if no other contender has a figure, or if
    /// a time is negligible.
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

impl Measure {
    /// Its name in every report.
    pub fn name(self) -> &'static str {
        match self {
            Self::Return => "return",
            Self::Durable => "durable",
        }
    }

    fn of(self, sample: &Sample) -> Option<f64> {
        match self {
            Self::Return => Some(sample.return_ns.0 as f64),
            Self::Durable => sample.durable_ns.map(|t| t.0 as f64),
        }
    }
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
        let median = |at: usize| Some(self.values[at].as_ref()?.summary.median);
        let medians = median(one).zip(median(other));
        medians.is_some_and(|(one, other)| both_negligible(one, other))
    }
}

impl Value {
    /// Its ratio to another, paired by block. `None` if a time is negligible.
    pub fn ratio_to(&self, other: &Self) -> Option<PairedRatio> {
        let has_ratio = have_ratio(self.summary.median, other.summary.median);
        ratio_paired(&self.adjusted, &other.adjusted).filter(|_| has_ratio)
    }

    /// Whether its median is below the resolution.
    pub fn is_negligible(&self) -> bool {
        is_negligible(self.summary.median)
    }
}

impl Line {
    /// A time of a phase, from its samples by contender.
    pub(super) fn of(
        measure: Measure,
        samples: &[Vec<(u32, &Sample)>],
        (compared, verdicts): (Times, Verdicts),
        rule: &Rule,
    ) -> Option<Self> {
        let times: Vec<Vec<Blocked>> = samples
            .iter()
            .map(|of_one| {
                of_one
                    .iter()
                    .filter_map(|(block, s)| Some((*block, measure.of(s)?)))
                    .collect()
            })
            .collect();
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
                        None if at > 0 && most >= MIN_PAIRS => Some(Outcome::TooFew),
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
            measure,
            values,
            removed: compared.removed(),
            compared,
            verdicts,
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
            if at > 0 && both_negligible(value.summary.median, base.summary.median) {
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
        let of = |at: &usize| self.values[*at].as_ref().map(|value| value.summary.median);
        let medians: Vec<f64> = there.iter().filter_map(of).collect();
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
