//! The overview: the whole time of each phase as a ratio to the first contender and to the fastest
//! one, with verdicts. It covers all contenders, or those with the same layout of devices.

use super::leaders::complete;
use super::{Comparison, Line};
use crate::document::Outcome;
use crate::lists::by_key;
use fsdyno_stats::{PairedRatio, geometric_ratio};

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
    /// The comparison with the baseline.
    pub to_base: Relation,
    /// The comparison with the contender that has the lowest median.
    pub to_best: Relation,
}

/// One contender compared with another.
#[derive(Debug, Clone, Copy)]
pub struct Relation {
    /// Its time divided by that of the other, paired by block.
    pub ratio: Option<PairedRatio>,
    /// The verdict.
    pub outcome: Outcome,
}

impl Comparison {
    /// The ratios of these contenders, by index.
    pub fn overview(&self, among: &[usize]) -> Overview<'_> {
        let rows = self.whole_times().filter_map(|(workload, phase, line)| {
            let entries = entries(line, among);
            entries.iter().any(Option::is_some).then(|| Row {
                place: self.place(workload, phase),
                workload: &workload.name,
                phase: &phase.label,
                line,
                entries,
            })
        });
        let rows: Vec<Row<'_>> = rows.collect();
        let lines = complete(rows.iter().map(|row| row.line), among);
        let to_base = means(&lines, among, 0);
        let least = (0..to_base.len()).min_by(|a, b| {
            let middle = |at: usize| to_base[at].middle;
            middle(*a).total_cmp(&middle(*b))
        });
        Overview {
            among: among.to_vec(),
            to_best: least.map_or_else(Vec::new, |least| means(&lines, among, least)),
            phases: lines.len(),
            to_base,
            rows,
        }
    }

    /// The contenders by layout, in order of first occurrence; one group if all have the same
    /// layout.
    pub fn by_layout(&self) -> Vec<(&str, Vec<usize>)> {
        by_key(self.layouts.iter().map(String::as_str).zip(0..))
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

fn fastest(line: &Line, of: &[usize]) -> Option<usize> {
    line.best_median(of.iter().copied())
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
        } else if both.is_some_and(|(one, _)| one.one_draw) {
            Outcome::OneDraw
        } else {
            Outcome::of_verdict(line.verdict(one, other), line.is_time(), line.better)
        },
        ratio,
    }
}

fn entries(line: &Line, among: &[usize]) -> Vec<Option<Entry>> {
    let best = fastest(line, among);
    let of = |at: &usize| {
        line.values[*at].as_ref()?;
        Some(Entry {
            to_base: relation(line, *at, among[0]),
            to_best: relation(line, *at, best?),
        })
    };
    among.iter().map(of).collect()
}

/// The geometric mean of the ratios of each contender to one of them, over these phases. Empty if
/// there are fewer than two such phases, or no block has all of them.
fn means(lines: &[&Line], among: &[usize], base: usize) -> Vec<PairedRatio> {
    if lines.len() < 2 || among.len() < 2 {
        return Vec::new();
    }
    let of = |at: usize| {
        let phases = lines.iter();
        let phases = phases.map(|line| (line.times(among[at]), line.times(among[base])));
        geometric_ratio(&phases.collect::<Vec<_>>())
    };
    let means: Option<Vec<PairedRatio>> = (0..among.len()).map(of).collect();
    means.unwrap_or_default()
}
