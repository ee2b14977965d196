//! Times: per phase one line to return, and one to durable where it writes.

use super::warnings::not_warm;
use crate::figures::{Blocked, FEWEST, astray, leading, trend};
use fsdyno_model::Sample;
use fsdyno_stats::{PairedRatio, Summary, Verdict, Verdicts, rank_intervals, ratio_paired, tiers};

/// Which of the two times of a phase.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Measure {
    /// Until the work had returned.
    Return,
    /// Until it was durable as well.
    Durable,
}

/// One time of one phase, all contenders.
#[derive(Debug, Clone)]
pub struct Line {
    /// Which time.
    pub measure: Measure,
    /// Its figures by contender; none where it has none.
    pub values: Vec<Option<Value>>,
    /// What may be said of each contender beside each other one.
    pub verdicts: Verdicts,
}

/// The figures of one contender.
#[derive(Debug, Clone)]
pub struct Value {
    /// Every figure in nanoseconds, with its block.
    pub times: Vec<Blocked>,
    /// Median and spread, nanoseconds.
    pub summary: Summary,
    /// The ratio to the baseline, block by block; none where nobody else has a figure.
    pub ratio: Option<PairedRatio>,
    /// Where it stands beside the baseline.
    pub standing: Standing,
    /// Whether it is the fastest, or cannot be told from the fastest.
    pub best: bool,
    /// By which part of the median it rises (below zero: falls) over the blocks, where it does.
    pub drift: Option<f64>,
    /// The figures that lie far from their fellows.
    pub outliers: Vec<Blocked>,
    /// Whether a warning stands behind it: of one of its samples, or of all as a series.
    pub doubted: bool,
}

/// Where a contender stands beside the baseline.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// Faster or slower, or nobody has repeats enough to be judged.
    Plain,
    /// Nearer to it than what matters.
    Level,
    /// Nothing of that is known.
    Open,
    /// Too few repeats to be judged, where others have enough.
    TooFew,
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
    /// Takes its mark off where nobody on it was judged, in a report whose mark means a judgement.
    pub(super) fn unmark_unjudged(&mut self) {
        let there = self.values.iter().flatten();
        if there.filter(|v| v.times.len() >= FEWEST).count() < 2 {
            for value in self.values.iter_mut().flatten() {
                value.best = false;
            }
        }
    }
}

/// The lines of a phase from its samples by contender.
pub(super) fn lines(
    samples: &[Vec<(u32, &Sample)>],
    verdicts: impl Fn(Measure) -> Verdicts,
) -> Vec<Line> {
    [Measure::Return, Measure::Durable]
        .into_iter()
        .filter_map(|measure| Line::of(measure, samples, verdicts(measure)))
        .collect()
}

impl Line {
    fn of(measure: Measure, samples: &[Vec<(u32, &Sample)>], verdicts: Verdicts) -> Option<Self> {
        let times: Vec<Vec<Blocked>> = samples
            .iter()
            .map(|of_one| {
                of_one
                    .iter()
                    .filter_map(|(block, s)| Some((*block, measure.of(s)?)))
                    .collect()
            })
            .collect();
        let base = times.first()?.clone();
        let most = times.iter().map(Vec::len).max().unwrap_or(0);
        let compared = times.iter().filter(|t| !t.is_empty()).count() > 1;
        let mut values: Vec<Option<Value>> = times
            .into_iter()
            .zip(samples)
            .enumerate()
            .map(|(at, (times, samples))| {
                let summary = Summary::of(&times.iter().map(|(_, t)| *t).collect::<Vec<_>>())?;
                let (drift, outliers) = (trend(&times), astray(&times, summary.median));
                Some(Value {
                    ratio: compared.then(|| ratio_paired(&times, &base)).flatten(),
                    standing: match verdicts.of(at, 0) {
                        Some(Verdict::Indistinguishable) => Standing::Level,
                        Some(Verdict::Open) => Standing::Open,
                        None if at > 0 && most >= FEWEST => Standing::TooFew,
                        _ => Standing::Plain,
                    },
                    best: false,
                    doubted: drift.is_some()
                        || !outliers.is_empty()
                        || samples
                            .iter()
                            .any(|(_, s)| !s.warnings.is_empty() || not_warm(s).is_some()),
                    drift,
                    outliers,
                    summary,
                    times,
                })
            })
            .collect();
        if compared {
            mark_best(&mut values, &verdicts);
        }
        values.iter().any(Option::is_some).then_some(Self {
            measure,
            values,
            verdicts,
        })
    }

    /// The contenders that have figures here, by their places.
    fn there(&self) -> Vec<usize> {
        let places = 0..self.values.len();
        places.filter(|at| self.values[*at].is_some()).collect()
    }

    /// Between which ranks each contender lies, and its tier, where any two were judged.
    pub fn ranks(&self) -> Option<Vec<Option<Rank>>> {
        let there = self.there();
        let verdict = |a: usize, b: usize| self.verdicts.of(there[a], there[b]);
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

/// Where a contender stands among all of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rank {
    /// The best rank it may have, from 1.
    pub first: usize,
    /// The worst.
    pub last: usize,
    /// The tier of those that are not told apart from the fastest in it, from 1.
    pub tier: usize,
}

impl Rank {
    /// `1`, or `2-4` where it is not known more closely.
    pub fn in_words(self) -> String {
        if self.first == self.last {
            return self.first.to_string();
        }
        format!("{}-{}", self.first, self.last)
    }
}

/// Marks the lowest median, and every contender judged to be not apart from it; nobody where it was
/// never judged, and others were. Where there are too few repeats to judge, the lowest alone is
/// marked.
fn mark_best(values: &mut [Option<Value>], verdicts: &Verdicts) {
    let places = 0..values.len();
    let there: Vec<usize> = places.filter(|at| values[*at].is_some()).collect();
    let medians: Vec<f64> = values.iter().flatten().map(|v| v.summary.median).collect();
    let leads = leading(&medians, |a, b| verdicts.of(there[a], there[b]));
    for (value, leads) in values.iter_mut().flatten().zip(leads) {
        value.best = leads;
    }
}
