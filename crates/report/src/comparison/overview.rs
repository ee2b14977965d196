//! The overview: the whole time of each phase as a ratio to the first contender and to the fastest
//! one, with verdicts and ranks. It covers all contenders, or those with the same layout of
//! devices.

use super::{Comparison, Line, Rank};
use crate::document::Outcome;
use crate::terms;
use fsdyno_stats::{PairedRatio, Verdict, geometric_ratio, rank_intervals, tiers};

/// The ratios of some contenders over all phases.
#[derive(Debug)]
pub struct Overview<'a> {
    /// The compared contenders, by index; the first is the baseline.
    pub among: Vec<usize>,
    /// A row for each phase that was measured.
    pub rows: Vec<Row<'a>>,
    /// The geometric means of the ratios to the baseline; may be empty.
    pub to_base: Vec<PairedRatio>,
    /// The geometric means of the ratios to the contender with the lowest mean.
    pub to_best: Vec<PairedRatio>,
    /// The number of phases in these means.
    pub phases: usize,
}

/// One phase.
#[derive(Debug)]
pub struct Row<'a> {
    /// Workload and phase, as in every report.
    pub place: String,
    /// The workload.
    pub workload: &'a str,
    /// The phase.
    pub phase: &'a str,
    /// The times.
    pub line: &'a Line,
    /// The compared contenders in order; `None` without a figure.
    pub entries: Vec<Option<Entry>>,
}

/// One contender in one phase.
#[derive(Debug, Clone, Copy)]
pub struct Entry {
    /// Compared with the baseline.
    pub to_base: Relation,
    /// Compared with the lowest median.
    pub to_best: Relation,
    /// Its rank among all compared; `None` if fewer than three have a verdict.
    pub rank: Option<Rank>,
}

/// One contender compared with another.
#[derive(Debug, Clone, Copy)]
pub struct Relation {
    /// Its time divided by that of the other, paired by block.
    pub ratio: Option<PairedRatio>,
    /// The verdict.
    pub outcome: Outcome,
}

/// The outcome of a verdict.
fn outcome(verdict: Option<Verdict>) -> Outcome {
    match verdict {
        Some(Verdict::Faster) => Outcome::Faster,
        Some(Verdict::Slower) => Outcome::Slower,
        Some(Verdict::Indistinguishable) => Outcome::Equivalent,
        Some(Verdict::Inconclusive) => Outcome::Inconclusive,
        None => Outcome::TooFew,
    }
}

impl Comparison {
    /// The ratios of these contenders, by index.
    pub fn overview(&self, among: &[usize]) -> Overview<'_> {
        let mut rows = Vec::new();
        for workload in &self.workloads {
            for phase in &workload.phases {
                let Some(line) = phase.lines.last() else {
                    continue;
                };
                let entries = entries(line, among);
                if entries.iter().any(Option::is_some) {
                    rows.push(Row {
                        place: terms::phase(self.workloads.len(), &workload.name, &phase.label),
                        workload: &workload.name,
                        phase: &phase.label,
                        line,
                        entries,
                    });
                }
            }
        }
        let lines: Vec<&Line> = rows.iter().map(|row| row.line).collect();
        let to_base = means(&lines, among, 0);
        let least = (0..to_base.len()).min_by(|a, b| {
            let middle = |at: usize| to_base[at].middle;
            middle(*a).total_cmp(&middle(*b))
        });
        Overview {
            among: among.to_vec(),
            to_best: least.map_or_else(Vec::new, |least| means(&lines, among, least)),
            phases: complete(&lines, among).len(),
            to_base,
            rows,
        }
    }

    /// The contenders by layout, in order of first occurrence; one group if all have the same
    /// layout.
    pub fn by_layout(&self) -> Vec<(&str, Vec<usize>)> {
        let mut groups: Vec<(&str, Vec<usize>)> = Vec::new();
        for (at, layout) in self.layouts.iter().enumerate() {
            match groups.iter_mut().find(|(name, _)| name == layout) {
                Some((_, places)) => places.push(at),
                None => groups.push((layout, vec![at])),
            }
        }
        groups
    }
}

impl Row<'_> {
    /// The contender with the lowest median among these contenders of the run.
    pub fn fastest(&self, of: &[usize]) -> Option<usize> {
        fastest(self.line, of)
    }

    /// One contender of the run compared with another.
    pub fn relation(&self, one: usize, other: usize) -> Relation {
        relation(self.line, one, other)
    }
}

fn median(line: &Line, at: usize) -> Option<f64> {
    Some(line.values[at].as_ref()?.summary.median)
}

fn fastest(line: &Line, of: &[usize]) -> Option<usize> {
    let there = of
        .iter()
        .filter_map(|at| Some((*at, median(line, *at)?)))
        .min_by(|a, b| a.1.total_cmp(&b.1));
    there.map(|(at, _)| at)
}

fn relation(line: &Line, one: usize, other: usize) -> Relation {
    if one == other {
        return Relation {
            ratio: None,
            outcome: Outcome::Itself,
        };
    }
    let both = line.values[one].as_ref().zip(line.values[other].as_ref());
    let ratio = both.and_then(|(one, other)| one.ratio_to(other));
    Relation {
        outcome: if line.both_negligible(one, other) {
            Outcome::Negligible
        } else {
            outcome(line.verdict(one, other))
        },
        ratio,
    }
}

fn entries(line: &Line, among: &[usize]) -> Vec<Option<Entry>> {
    let ranks = ranks(line, among);
    let best = fastest(line, among);
    let of = |(place, at): (usize, &usize)| {
        line.values[*at].as_ref()?;
        Some(Entry {
            to_base: relation(line, *at, among[0]),
            to_best: relation(line, *at, best?),
            rank: ranks[place],
        })
    };
    among.iter().enumerate().map(of).collect()
}

/// Ranks and tiers of the contenders with figures. `None` if fewer than three have a verdict: the
/// verdicts are then sufficient.
fn ranks(line: &Line, among: &[usize]) -> Vec<Option<Rank>> {
    let mut placed = vec![None; among.len()];
    let there: Vec<usize> = (0..among.len())
        .filter(|place| line.values[among[*place]].is_some())
        .collect();
    let verdict = |a: usize, b: usize| line.verdict(among[there[a]], among[there[b]]);
    let all = 0..there.len();
    let judged = all
        .clone()
        .any(|a| all.clone().any(|b| verdict(a, b).is_some()));
    if there.len() < 3 || !judged {
        return placed;
    }
    let medians = there.iter().filter_map(|place| median(line, among[*place]));
    let medians: Vec<f64> = medians.collect();
    let ranks = rank_intervals(there.len(), verdict).into_iter();
    for ((place, (first, last)), tier) in there.iter().zip(ranks).zip(tiers(&medians, verdict)) {
        placed[*place] = Some(Rank { first, last, tier });
    }
    placed
}

/// The lines with figures of all contenders that are not negligible.
fn complete<'a>(lines: &[&'a Line], among: &[usize]) -> Vec<&'a Line> {
    let counts = |line: &&&Line| line.counts(among);
    lines.iter().filter(counts).copied().collect()
}

/// The geometric mean of the ratios of each contender to one of them, over the phases with figures
/// of all. Empty if there are fewer than two such phases, or no block has all of them.
fn means(lines: &[&Line], among: &[usize], base: usize) -> Vec<PairedRatio> {
    let complete = complete(lines, among);
    if complete.len() < 2 || among.len() < 2 {
        return Vec::new();
    }
    let of = |at: usize| {
        let phases = complete.iter();
        let phases = phases.map(|line| (line.times(among[at]), line.times(among[base])));
        geometric_ratio(&phases.collect::<Vec<_>>())
    };
    let means: Option<Vec<PairedRatio>> = (0..among.len()).map(of).collect();
    means.unwrap_or_default()
}
