//! Times: per phase one line to return, and one to durable where it writes.

use super::doubts::not_warm;
use crate::figures::{Blocked, FEWEST, astray, leading, trend, verdict};
use fsdyno_model::Sample;
use fsdyno_stats::{PairedRatio, Summary, Verdict, ratio_paired};

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
    /// Not to be told from it.
    Level,
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
pub(super) fn lines(samples: &[Vec<(u32, &Sample)>]) -> Vec<Line> {
    [Measure::Return, Measure::Durable]
        .into_iter()
        .filter_map(|measure| Line::of(measure, samples))
        .collect()
}

impl Line {
    fn of(measure: Measure, samples: &[Vec<(u32, &Sample)>]) -> Option<Self> {
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
            .map(|(times, samples)| {
                let summary = Summary::of(&times.iter().map(|(_, t)| *t).collect::<Vec<_>>())?;
                let (drift, outliers) = (trend(&times), astray(&times, summary.median));
                Some(Value {
                    ratio: compared.then(|| ratio_paired(&times, &base)).flatten(),
                    standing: match verdict(&times, &base) {
                        Some(Verdict::Indistinguishable) => Standing::Level,
                        None if most >= FEWEST => Standing::TooFew,
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
            mark_best(&mut values);
        }
        values
            .iter()
            .any(Option::is_some)
            .then_some(Self { measure, values })
    }
}

/// Marks the lowest median, and every contender judged to be not apart from it; nobody where it was
/// never judged, and others were. Where there are too few repeats to judge, the lowest alone is
/// marked.
fn mark_best(values: &mut [Option<Value>]) {
    let there = || values.iter().flatten();
    let times: Vec<&[Blocked]> = there().map(|v| v.times.as_slice()).collect();
    let medians: Vec<f64> = there().map(|v| v.summary.median).collect();
    let leads = leading(&times, &medians);
    for (value, leads) in values.iter_mut().flatten().zip(leads) {
        value.best = leads;
    }
}
