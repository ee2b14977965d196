//! Verdicts on a whole table: several lines of times, all pairs of contenders compared.

use crate::verdict::{Rule, Series, Verdict, judge_all, unsettled};

/// The times of one line: a list for each contender, each time with its block.
pub type Line = [Vec<(u32, f64)>];

/// The verdicts of one line, for each pair of contenders.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Verdicts(Vec<Vec<Option<Verdict>>>);

impl Verdicts {
    /// The verdict on one contender compared with another. `None` if too few blocks have both.
    pub fn of(&self, one: usize, other: usize) -> Option<Verdict> {
        *self.0.get(one)?.get(other)?
    }
}

/// Judges all pairs of contenders of all lines as one family of comparisons ([`judge_all`]).
pub fn judge_table(lines: &[&Line], rule: &Rule) -> Vec<Verdicts> {
    let (places, family): (Vec<_>, Vec<_>) = family(lines).into_iter().unzip();
    let mut table: Vec<Verdicts> = lines
        .iter()
        .map(|line| Verdicts(vec![vec![None; line.len()]; line.len()]))
        .collect();
    for ((line, one, other), verdict) in places.into_iter().zip(judge_all(&family, rule)) {
        table[line].0[one][other] = verdict;
        table[line].0[other][one] = verdict.map(Verdict::turned);
    }
    table
}

/// Marks for each line the contenders that need more repeats: their comparison with the first is
/// neither decided nor as precise as requested. If there are any, the first is marked too.
pub fn open_in(lines: &[&Line], rule: &Rule, precision: f64) -> Vec<Vec<bool>> {
    let (places, family): (Vec<_>, Vec<_>) = family(lines).into_iter().unzip();
    let mut open: Vec<Vec<bool>> = lines.iter().map(|line| vec![false; line.len()]).collect();
    let unsettled = unsettled(&family, rule, precision);
    for ((line, one, other), is_open) in places.into_iter().zip(unsettled) {
        if other == 0 && is_open {
            open[line][one] = true;
            open[line][0] = true;
        }
    }
    open
}

type Place = (usize, usize, usize);

/// All pairs of contenders of all lines.
fn family<'a>(lines: &[&'a Line]) -> Vec<(Place, (Series<'a>, Series<'a>))> {
    let mut family = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        for (other, base) in line.iter().enumerate() {
            for (one, times) in line.iter().enumerate().skip(other + 1) {
                family.push(((at, one, other), (&times[..], &base[..])));
            }
        }
    }
    family
}
