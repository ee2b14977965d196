//! Whether published conclusions hold in the run. Each pair has the same verdict as in every
//! report.

use super::{Cause, ComparedPhase, Paired};
use crate::lists::by_key;
use crate::published::{Conclusion, Table};
use crate::terms;
use fsdyno_model::Better;
use fsdyno_stats::Verdict;
use serde::Serialize;
use std::fmt::Write as _;

/// A conclusion, and its result in the run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CheckedConclusion {
    /// The published sentence.
    pub text: String,
    /// Its result.
    pub holding: ConclusionResult,
    /// The number of comparisons: each phase, each contender ahead with each contender behind.
    pub comparisons: usize,
    /// The comparisons with figures in the run.
    pub compared: Vec<Compared>,
    /// Contenders and phases without figures in the run, by name.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<String>,
    /// The explanations, if a rerun does not confirm it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub causes: Vec<Cause>,
}

/// The result of a conclusion.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ConclusionResult {
    /// Every possible comparison confirms it.
    Holds,
    /// Every possible comparison is reversed.
    Reversed,
    /// Some comparisons are reversed, but not all.
    InPart,
    /// No comparison contradicts it, but some do not confirm it.
    Undecidable,
    /// No comparison is possible.
    NotTested,
}

/// One comparison of a conclusion.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Compared {
    /// The phase.
    pub phase: String,
    /// The contender that was ahead.
    pub ahead: String,
    /// The contender that was behind.
    #[serde(rename = "behind")]
    pub trailing: String,
    /// The result of the first contender in the run.
    pub now: Outcome,
}

/// The result of the published leader in the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// It is ahead.
    Ahead,
    /// It is behind.
    #[serde(rename = "behind")]
    Trailing,
    /// It is not distinguishable from the other contender.
    Level,
    /// There are too few figures for a verdict.
    TooFew,
}

impl ConclusionResult {
    /// The order on a short screen: results that depart from the publication are first.
    pub(super) fn weight(self) -> u8 {
        match self {
            Self::Reversed => 0,
            Self::InPart => 1,
            Self::Undecidable => 2,
            Self::Holds => 3,
            Self::NotTested => 4,
        }
    }

    /// The result as text.
    pub fn words(self) -> &'static str {
        match self {
            Self::Holds => "holds",
            Self::Reversed => "is reversed",
            Self::InPart => "is reversed in part",
            Self::Undecidable => "cannot be decided",
            Self::NotTested => "is not tested",
        }
    }

    /// Whether the run has figures that do not confirm it.
    pub fn departs(self) -> bool {
        matches!(self, Self::Reversed | Self::InPart | Self::Undecidable)
    }

    fn of(compared: &[Compared]) -> Self {
        let count = |outcome| compared.iter().filter(|c| c.now == outcome).count();
        let (ahead, trailing) = (count(Outcome::Ahead), count(Outcome::Trailing));
        match compared.len() {
            0 => Self::NotTested,
            all if ahead == all => Self::Holds,
            all if trailing == all => Self::Reversed,
            _ if trailing > 0 => Self::InPart,
            _ => Self::Undecidable,
        }
    }
}

impl Outcome {
    /// Compares two entries of a phase, by index: the published leader and the other.
    fn of(line: &ComparedPhase, ahead: usize, trailing: usize) -> Self {
        let verdict = line.verdict(ahead, trailing);
        // Verdicts assume that lower is faster.
        let verdict = match line.better {
            Better::Lower | Better::Neither => verdict,
            Better::Higher => verdict.map(Verdict::turned),
        };
        match verdict {
            Some(Verdict::Faster) => Self::Ahead,
            Some(Verdict::Slower) => Self::Trailing,
            Some(Verdict::Equivalent | Verdict::Inconclusive) => Self::Level,
            None => Self::TooFew,
        }
    }

    fn words(self) -> &'static str {
        match self {
            Self::Ahead => "ahead of",
            Self::Trailing => "behind",
            Self::Level => "not distinguishable from",
            Self::TooFew => "not judged, for too few figures, against",
        }
    }
}

/// Judges all conclusions of a table.
pub(super) fn check_conclusions(
    table: &Table,
    pairs: &[Paired],
    lines: &[ComparedPhase],
) -> Vec<CheckedConclusion> {
    let one = |conclusion| CheckedConclusion {
        missing: missing(conclusion, table, pairs, lines),
        ..CheckedConclusion::of(conclusion, pairs, lines)
    };
    table.conclusions.iter().map(one).collect()
}

/// Contenders and phases of a conclusion without figures in the run.
fn missing(
    conclusion: &Conclusion,
    table: &Table,
    pairs: &[Paired],
    lines: &[ComparedPhase],
) -> Vec<String> {
    let about = |line: &&ComparedPhase| conclusion.rows.iter().any(|row| line.rows.contains(row));
    let figures = || lines.iter().filter(about).flat_map(|line| &line.entries);
    let named = conclusion.ahead.iter().chain(&conclusion.trailing);
    let absent =
        named.filter(|place| !figures().any(|entry| pairs[entry.contender].in_table == **place));
    let mut labels: Vec<String> = Vec::new();
    let rows = conclusion.rows.iter();
    let rows: Vec<&usize> = rows
        .filter(|row| !lines.iter().any(|line| line.rows.contains(row)))
        .collect();
    // If none of its phases was measured, only the phases are named.
    if rows.len() < conclusion.rows.len() {
        labels.extend(absent.map(|place| table.contenders[*place].label.clone()));
    }
    labels.extend(rows.into_iter().map(|row| table.rows[*row].label()));
    labels.dedup();
    labels
}

impl CheckedConclusion {
    fn of(conclusion: &Conclusion, pairs: &[Paired], lines: &[ComparedPhase]) -> Self {
        // Several rows may be one line of the run. A row without a line counts alone.
        let about: Vec<&ComparedPhase> = lines
            .iter()
            .filter(|line| conclusion.rows.iter().any(|row| line.rows.contains(row)))
            .collect();
        let covered = |row: &&usize| about.iter().any(|line| line.rows.contains(row));
        let uncovered = conclusion.rows.iter().filter(|row| !covered(row)).count();
        let each = conclusion.ahead.len() * conclusion.trailing.len();
        let mut compared = Vec::new();
        for line in &about {
            let entry = |in_table: usize| {
                let mut entries = line.entries.iter();
                entries.position(|entry| pairs[entry.contender].in_table == in_table)
            };
            for ahead in conclusion.ahead.iter().filter_map(|place| entry(*place)) {
                for trailing in conclusion.trailing.iter().filter_map(|place| entry(*place)) {
                    compared.push(Compared {
                        phase: line.label.clone(),
                        ahead: pairs[line.entries[ahead].contender].now.clone(),
                        trailing: pairs[line.entries[trailing].contender].now.clone(),
                        now: Outcome::of(line, ahead, trailing),
                    });
                }
            }
        }
        Self {
            text: conclusion.text.clone(),
            holding: ConclusionResult::of(&compared),
            comparisons: (about.len() + uncovered) * each,
            compared,
            missing: Vec::new(),
            causes: Vec::new(),
        }
    }

    /// The result in the run, as text.
    pub fn today(&self) -> String {
        let made = self.compared.len();
        if made == 0 {
            return format!("there are no figures of {}", terms::list(&self.missing));
        }
        let parts: Vec<String> = [
            Outcome::Ahead,
            Outcome::Trailing,
            Outcome::Level,
            Outcome::TooFew,
        ]
        .into_iter()
        .flat_map(|outcome| self.clauses(outcome))
        .collect();
        let mut text = parts.join("; ");
        if made < self.comparisons {
            let all = self.comparisons;
            let _ = write!(text, " ({made} of {all} comparisons can be made)");
        }
        text
    }

    /// `a and b are ahead of c (copy, delete)`: contenders with the same opponents and phases share
    /// a clause.
    fn clauses(&self, outcome: Outcome) -> Vec<String> {
        let all = self.compared.iter().filter(|one| one.now == outcome);
        let by_phase = by_key(all.map(|one| ((&one.ahead, &*one.phase), one.trailing.clone())));
        let by_phase = by_phase.into_iter();
        let by_others =
            by_key(by_phase.map(|((ahead, phase), others)| ((ahead, others), phase))).into_iter();
        let grouped =
            by_key(by_others.map(|((ahead, others), phases)| ((others, phases), ahead.clone())));
        let clause = |((others, phases), ahead): ((Vec<String>, Vec<&str>), Vec<String>)| {
            format!(
                "{} {} {} {} ({})",
                terms::list(&ahead),
                if ahead.len() > 1 { "are" } else { "is" },
                outcome.words(),
                terms::list(&others),
                phases.join(", ")
            )
        };
        grouped.into_iter().map(clause).collect()
    }
}
