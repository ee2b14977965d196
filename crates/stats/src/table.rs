//! Verdicts on a whole table: several lines of times, all pairs of contenders compared.

use crate::interim::Analysis;
use crate::times::Times;
use crate::verdict::{LEVEL, MIN_PAIRS, Paired, Rule, Verdict, is_unsettled, judge_until};

/// The verdicts of one line, for each pair of contenders.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Verdicts(Vec<Vec<Option<Verdict>>>);

impl Verdicts {
    /// The verdict on one contender compared with another. `None` if too few blocks have both.
    pub fn of(&self, one: usize, other: usize) -> Option<Verdict> {
        *self.0.get(one)?.get(other)?
    }

    /// The verdicts that these are also; a pair with another verdict there is inconclusive.
    #[must_use]
    pub fn also(&self, other: &Self) -> Self {
        let both = |(one, other): (&Option<Verdict>, &Option<Verdict>)| in_both(*one, *other);
        let rows = self.0.iter().zip(&other.0);
        let row = |(one, other): (&Vec<_>, &Vec<_>)| one.iter().zip(other).map(both).collect();
        Self(rows.map(row).collect())
    }

    /// The contenders with a verdict.
    fn judged(&self) -> Vec<usize> {
        let has_verdict = |one: &usize| self.0[*one].iter().any(Option::is_some);
        (0..self.0.len()).filter(has_verdict).collect()
    }

    /// The contenders that may be the fastest: no other one is judged faster.
    pub fn candidates(&self) -> Vec<usize> {
        let judged = self.judged();
        let slower = |one| {
            let mut others = judged.iter();
            others.any(|other| self.of(one, *other) == Some(Verdict::Slower))
        };
        judged.iter().copied().filter(|one| !slower(*one)).collect()
    }
}

/// The confidence set of the fastest contender of a line: with 95 % confidence for this line alone,
/// the fastest contender is in the set. Marks the contenders of the set; all are marked if too few
/// blocks have figures.
///
/// A contender leaves the set if it is slower than another one. The test is one-sided, at the level
/// divided by the number of others. If the fastest contender leaves the set, one of these tests is
/// wrong. J. C. Hsu, "Constrained Simultaneous Confidence Intervals for Multiple Comparisons with
/// the Best", The Annals of Statistics 12 (1984), 1136-1144, with the tests of [`judge_table`] and
/// with Bonferroni's instead of Dunnett's critical value, which assumes normal noise.
pub fn best_set(times: &Times, rule: &Rule) -> Vec<bool> {
    let blocks = times.blocks();
    let once = || {
        let (until, level, end) = (blocks, LEVEL, true);
        vec![Analysis { until, level, end }]
    };
    let analyses = rule.analyses.as_ref();
    let analyses = analyses.map_or_else(once, |of| of.until(blocks, LEVEL));
    let mut kept = vec![true; times.contenders()];
    for Analysis { until, level, end } in analyses {
        let line = times.until(until);
        for at in 0..kept.len() {
            let others = (0..kept.len()).filter(|other| *other != at);
            let paired = others.map(|other| line.paired(at, other));
            let enough = |paired: &Paired| paired.logs.len() >= MIN_PAIRS;
            let paired: Vec<Paired> = paired.filter(enough).collect();
            let level = level / paired.len().max(1) as f64;
            let slower = |paired: &Paired| {
                // Half of the two-sided p-value.
                let (p, above) = paired.p(0.0, 2.0 * level, !end);
                above && p / 2.0 <= level || paired.far() == Some(true)
            };
            kept[at] &= !paired.iter().any(slower);
        }
    }
    kept
}

/// Judges all pairs of contenders of all lines as one family of comparisons
/// ([`judge_all`](crate::judge_all)). Each analysis adjusts the times by its own blocks.
pub fn judge_table(lines: &[&Times], rule: &Rule) -> Vec<Verdicts> {
    let places = places(lines);
    let mut table: Vec<Verdicts> = lines
        .iter()
        .map(|line| Verdicts(vec![vec![None; line.contenders()]; line.contenders()]))
        .collect();
    let blocks = lines.iter().map(|line| line.blocks()).max().unwrap_or(0);
    let verdicts = judge_until(blocks, places.len(), rule, &mut |until| {
        family(lines, until)
    });
    for ((line, one, other), verdict) in places.into_iter().zip(verdicts) {
        table[line].0[one][other] = verdict;
        table[line].0[other][one] = verdict.map(Verdict::turned);
    }
    table
}

/// The verdict that holds in two cases; inconclusive if each has another one.
pub fn in_both(one: Option<Verdict>, other: Option<Verdict>) -> Option<Verdict> {
    match (one, other) {
        (Some(one), Some(other)) if one != other => Some(Verdict::Inconclusive),
        _ => one.and(other),
    }
}

/// Marks for each line the contenders that need more repeats: both of a comparison that is neither
/// decided nor as precise as requested, if one of them is the first contender. If `best`, also if
/// both may be the fastest.
pub fn open_in(lines: &[&Times], rule: &Rule, precision: f64, best: bool) -> Vec<Vec<bool>> {
    let mut open: Vec<Vec<bool>> = lines
        .iter()
        .map(|line| vec![false; line.contenders()])
        .collect();
    let table = judge_table(lines, rule);
    let candidates: Vec<Vec<usize>> = table.iter().map(Verdicts::candidates).collect();
    for ((line, one, other), paired) in places(lines).into_iter().zip(family(lines, u32::MAX)) {
        let may_be_best = |one| candidates[line].contains(&one);
        let is_open = is_unsettled(table[line].of(one, other), &paired, precision);
        if is_open && (other == 0 || best && may_be_best(one) && may_be_best(other)) {
            open[line][one] = true;
            open[line][other] = true;
        }
    }
    open
}

/// All pairs of contenders of all lines: line, contender and reference.
fn places(lines: &[&Times]) -> Vec<(usize, usize, usize)> {
    let mut places = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        for other in 0..line.contenders() {
            places.extend((other + 1..line.contenders()).map(|one| (at, one, other)));
        }
    }
    places
}

/// These pairs, by the figures of the blocks before this one.
fn family(lines: &[&Times], until: u32) -> Vec<Paired> {
    let figures: Vec<_> = lines.iter().map(|line| line.until(until)).collect();
    let places = places(lines).into_iter();
    let pairs =
        places.map(|(line, one, other): (usize, usize, usize)| figures[line].paired(one, other));
    pairs.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_verdict_holds_only_if_it_holds_with_a_constant_time_in_all_figures_too() {
        use Verdict::{Equivalent, Faster, Inconclusive, Slower};
        let line = |middle: f64| -> Vec<(u32, f64)> {
            (0..8).map(|n| (n, middle + f64::from(n) / 50.0)).collect()
        };
        let times = Times::without_probes(&[line(10.0), line(25.0), line(10.0), line(200.0)]);
        let verdicts =
            |added: f64| judge_table(&[&times.clone().plus(added)], &Rule::default()).remove(0);
        let (none, all) = (verdicts(0.0), verdicts(2000.0));
        let both = none.also(&all);
        let of = |one: &Verdicts| [(1, 0), (0, 1), (2, 0), (3, 0)].map(|(a, b)| one.of(a, b));
        let expected = |verdicts: [Verdict; 4]| verdicts.map(Some);
        assert_eq!(of(&none), expected([Slower, Faster, Equivalent, Slower]));
        assert_eq!(
            of(&all),
            expected([Equivalent, Equivalent, Equivalent, Slower])
        );
        assert_eq!(
            of(&both),
            expected([Inconclusive, Inconclusive, Equivalent, Slower])
        );
        assert_eq!(none.also(&none), none);
        assert_eq!(none.also(&Verdicts::default()).of(1, 0), None);
    }

    #[test]
    fn the_confidence_set_keeps_the_fastest_and_what_may_be_the_fastest() {
        let line = |factors: &[f64]| -> Vec<Vec<(u32, f64)>> {
            let noise = |block: u32, one: u32| f64::from((block * 7 + one * 5) % 11) / 100.0;
            let of = |(one, factor): (u32, &f64)| {
                let each = (0..10).map(|block| (block, factor * (1.0 + noise(block, one))));
                each.collect()
            };
            (0..).zip(factors).map(of).collect()
        };
        let set =
            |factors: &[f64]| best_set(&Times::without_probes(&line(factors)), &Rule::default());
        assert_eq!(set(&[1.5, 1.0, 1.2]), [false, true, false]);
        assert_eq!(set(&[1.0, 1.0, 1.5]), [true, true, false]);
        assert_eq!(set(&[1.0]), [true]);
        let few: Vec<Vec<(u32, f64)>> = vec![vec![(0, 1.0)], vec![(0, 9.0)]];
        let few = Times::without_probes(&few);
        assert_eq!(best_set(&few, &Rule::default()), [true, true]);
    }
}
