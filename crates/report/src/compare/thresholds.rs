//! How much slower or faster a phase may be than in the first run: `copy.durable > 1.05`.

use super::{Line, RunComparison};
use fsdyno_stats::{Rule, Verdict, judge_apart};
use std::fmt;
use std::str::FromStr;

/// A ratio that is not to be passed.
#[derive(Debug, Clone, PartialEq)]
pub struct Threshold {
    text: String,
    workload: Option<String>,
    /// The phase; none for all.
    phase: Option<String>,
    /// Whether to durable; none for the time a comparison is made of.
    durable: Option<bool>,
    above: bool,
    limit: f64,
}

/// What became of a threshold at one line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Holds {
    /// The ratio is not beyond it.
    Yes,
    /// It is, and that is no chance.
    No,
    /// It is, and may be by chance: more repeats may tell.
    Open,
}

/// A threshold beside one line.
#[derive(Debug, Clone)]
pub struct Checked<'a> {
    /// The threshold.
    pub threshold: &'a Threshold,
    /// The line.
    pub line: &'a Line,
    /// What became of it.
    pub holds: Holds,
}

/// A threshold that cannot be read, or that no phase has.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ThresholdError {
    /// It is no threshold.
    #[error(
        "`{0}` is no threshold: write PHASE.MEASURE > RATIO, as 'copy.durable > 1.05'; the measure \
         is return or durable, the phase * for all, or WORKLOAD/PHASE"
    )]
    Malformed(String),
    /// Nothing both runs have is called so.
    #[error(
        "`{threshold}` is of no phase that the runs have in common; they have {phases}, each with \
         .return or .durable behind it, or neither"
    )]
    Nowhere {
        /// The threshold.
        threshold: String,
        /// The phases there are.
        phases: String,
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
        let (name, durable) = match name.rsplit_once('.') {
            Some((name, "return")) => (name, Some(false)),
            Some((name, "durable")) => (name, Some(true)),
            _ => (name, None),
        };
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
            durable,
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
            line.durable || !lines.iter().filter(same).any(|other| other.durable)
        };
        self.workload
            .as_ref()
            .is_none_or(|name| *name == line.workload)
            && self.phase.as_ref().is_none_or(|name| *name == line.phase)
            && self
                .durable
                .map_or_else(|| whole(line), |durable| durable == line.durable)
    }

    fn is_beyond(&self, ratio: f64) -> bool {
        if self.above {
            ratio > self.limit
        } else {
            ratio < self.limit
        }
    }
}

/// Holds thresholds against a run beside the first. A ratio is beyond one where a test says so
/// for all of them together, in 19 of 20 such checks rightly ([`judge_apart`]).
pub fn check<'a>(
    across: &'a RunComparison,
    thresholds: &'a [Threshold],
) -> Result<Vec<Checked<'a>>, ThresholdError> {
    let mut checked = Vec::new();
    for threshold in thresholds {
        let lines = across.lines.iter();
        let mut of = lines
            .filter(|line| threshold.is_of(line, &across.lines))
            .peekable();
        if of.peek().is_none() {
            let mut phases: Vec<String> = across.lines.iter().map(|l| l.phase.clone()).collect();
            phases.dedup();
            phases.sort();
            phases.dedup();
            return Err(ThresholdError::Nowhere {
                threshold: threshold.to_string(),
                phases: phases.join(", "),
            });
        }
        checked.extend(of.map(|line| (threshold, line)));
    }
    let moved: Vec<(Vec<f64>, &Vec<f64>)> = checked
        .iter()
        .map(|(threshold, line)| {
            let limits = line.base.iter().map(|time| time * threshold.limit);
            (limits.collect(), &line.times)
        })
        .collect();
    let family: Vec<(&[f64], &[f64])> = moved
        .iter()
        .map(|(limits, times)| (&times[..], &limits[..]))
        .collect();
    let rule = Rule {
        margin: 0.0,
        looks: None,
        certain: across.certain,
    };
    let verdicts = judge_apart(&family, &rule);
    let told = checked.into_iter().zip(verdicts);
    Ok(told
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
                Some(verdict) if verdict == wrong => Holds::No,
                _ if beyond => Holds::Open,
                _ => Holds::Yes,
            };
            Checked {
                threshold,
                line,
                holds,
            }
        })
        .collect())
}
