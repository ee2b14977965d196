//! The rule that names the fastest contender, of one phase or of all. All marks, counts and answers
//! use it.

use super::{Comparison, Line};
use fsdyno_stats::{
    PairedRatio, Rule, Times, Verdict, Verdicts, best_set, geometric_ratio, judge_table,
};
use std::collections::BTreeMap;

/// The contenders that may be the fastest, by index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Leaders {
    /// Their indices, in ascending order. A single one is the fastest.
    pub among: Vec<usize>,
    /// Whether several are equivalent, so that none of them matters more than the others.
    pub equivalent: bool,
}

impl Leaders {
    /// The contender with the lowest figure and all that are not slower by a verdict. `None` if the
    /// lowest has no verdict.
    fn of(
        figures: &[Option<f64>],
        verdict: impl Fn(usize, usize) -> Option<Verdict>,
    ) -> Option<Self> {
        let known = (0..figures.len()).filter_map(|at| Some((at, figures[at]?)));
        let known: Vec<(usize, f64)> = known.collect();
        let lowest = known.iter().min_by(|a, b| a.1.total_cmp(&b.1))?.0;
        let others = known.iter().map(|(at, _)| *at).filter(|at| *at != lowest);
        let others: Vec<_> = others.map(|at| (at, verdict(lowest, at))).collect();
        if others.iter().all(|(_, verdict)| verdict.is_none()) {
            return None;
        }
        let level = others
            .into_iter()
            .filter(|(_, verdict)| *verdict != Some(Verdict::Faster));
        let level: Vec<_> = level.collect();
        let equivalent = !level.is_empty()
            && level
                .iter()
                .all(|(_, verdict)| *verdict == Some(Verdict::Equivalent));
        let mut among: Vec<usize> = level.into_iter().map(|(at, _)| at).collect();
        among.push(lowest);
        among.sort_unstable();
        Some(Self { among, equivalent })
    }

    /// The fastest contender, if there is one.
    pub fn winner(&self) -> Option<usize> {
        match self.among[..] {
            [one] => Some(one),
            _ => None,
        }
    }
}

impl Line {
    /// The contenders that may be the fastest, without those whose work was not durable. `None`
    /// without verdicts.
    pub fn leaders(&self) -> Option<Leaders> {
        let durable = (0..self.values.len()).map(|at| (at, !self.is_not_durable(at)));
        let costs = durable.map(|(at, durable)| self.cost(at).filter(|_| durable));
        Leaders::of(&costs.collect::<Vec<_>>(), |a, b| self.verdict(a, b))
    }

    /// Whether nothing of the work of a contender was durable.
    pub fn is_not_durable(&self, at: usize) -> bool {
        self.values[at]
            .as_ref()
            .is_some_and(|value| value.not_durable)
    }

    /// The confidence set of the fastest contender, by index, of those with figures.
    pub fn may_be_fastest(&self, rule: &Rule) -> impl Iterator<Item = usize> {
        let mut set = best_set(&self.compared, rule);
        if let Some((with_all, _)) = &self.with_user_code {
            let other = best_set(with_all, rule);
            set = set.into_iter().zip(other).map(|(a, b)| a || b).collect();
        }
        let set = set.into_iter().enumerate();
        set.filter_map(|(at, kept)| (kept && self.values[at].is_some()).then_some(at))
    }

    /// The compared figures of a contender.
    pub(super) fn times(&self, at: usize) -> &[(u32, f64)] {
        self.values[at]
            .as_ref()
            .map_or(&[], |value| &value.adjusted)
    }
}

/// All phases together: the geometric mean of the ratios of whole times.
#[derive(Debug, Clone, Default)]
pub struct Overall {
    /// The mean of each contender's ratios to the baseline, computed within blocks; `None` if the
    /// contender has no figure at all. Empty with fewer than two phases that have figures of all
    /// others, or without a block that has all of them.
    pub ratios: Vec<Option<PairedRatio>>,
    /// The number of these phases. Phases in which a time is negligible do not count.
    pub phases: usize,
    /// The contenders whose work was not durable in some phase, by index. In the mean of all phases
    /// also phases that have no figures of all others count.
    pub not_durable: Vec<usize>,
    verdicts: Verdicts,
    /// What user code makes of each pair of contenders; empty if there is none to add.
    with_user_code: BTreeMap<(usize, usize), MeanWithUserCode>,
}

/// The mean ratio of two contenders between none and all of the user code of each phase.
#[derive(Debug, Clone, Copy, Default)]
struct MeanWithUserCode {
    /// The lowest and the highest ratio.
    range: Option<(f64, f64)>,
    /// Whether the verdict without user code is another one at an end of the range.
    decides: bool,
}

impl Overall {
    /// All phases of a comparison. Its error rate is family-wise: there is one such line.
    pub(super) fn of(comparison: &Comparison) -> Self {
        let lines = comparison.whole_times().map(|(_, _, line)| line);
        let lines = complete(lines, &comparison.measured_contenders());
        let rule = comparison.rule.clone().family_wise();
        let all = Self::of_each(comparison, &[lines], &rule);
        let all = all.into_iter().next().unwrap_or_default();
        let not_durable = |at: &usize| {
            let mut lines = comparison.whole_times().map(|(_, _, line)| line);
            lines.any(|line| line.is_not_durable(*at))
        };
        Self {
            not_durable: (0..comparison.contenders.len())
                .filter(not_durable)
                .collect(),
            ..if all.phases < 2 { Self::default() } else { all }
        }
    }

    /// The phases of each workload, with its name.
    pub fn by_workload(comparison: &Comparison) -> Vec<(&str, Self)> {
        let workloads = comparison.workloads.iter();
        let among = comparison.measured_contenders();
        let lines = workloads.clone().map(|workload| {
            let phases = workload.phases.iter();
            complete(phases.filter_map(|phase| phase.lines.last()), &among)
        });
        let means = Self::of_each(comparison, &lines.collect::<Vec<_>>(), &comparison.rule);
        workloads.map(|one| one.name.as_str()).zip(means).collect()
    }

    /// The means of some lists of lines, judged as one family.
    fn of_each(comparison: &Comparison, lists: &[Vec<&Line>], rule: &Rule) -> Vec<Self> {
        let contenders = comparison.contenders.len();
        let mean = |lines: &Vec<&Line>| Times::mean(lines.iter().map(|line| &line.compared));
        let means: Vec<Times> = lists.iter().map(mean).collect();
        let verdicts = judge_table(&means.iter().collect::<Vec<_>>(), rule);
        let with_user_code = with_user_code(contenders, lists, &verdicts, rule);
        let verdicts = verdicts.into_iter().zip(with_user_code);
        let of = |(lines, (verdicts, with_user_code)): (&Vec<&Line>, (Verdicts, _))| {
            let ratio = |one: usize| {
                let phases = lines.iter().map(|line| (line.times(one), line.times(0)));
                geometric_ratio(&phases.collect::<Vec<_>>())
            };
            let not_durable = |at: usize| lines.iter().any(|line| line.is_not_durable(at));
            let ratios: Vec<_> = (0..contenders).map(ratio).collect();
            let known = ratios.iter().flatten().count();
            if known < 2 || known < comparison.measured_contenders().len() {
                return Self::default();
            }
            Self {
                ratios,
                phases: lines.len(),
                not_durable: (0..contenders).filter(|at| not_durable(*at)).collect(),
                verdicts,
                with_user_code,
            }
        };
        lists.iter().zip(verdicts).map(of).collect()
    }

    /// The verdict on one contender compared with another.
    pub fn verdict(&self, one: usize, other: usize) -> Option<Verdict> {
        if self.depends_on_user_code(one, other) {
            return Some(Verdict::Inconclusive);
        }
        self.verdicts.of(one, other)
    }

    /// Whether the verdict on two contenders depends on user code.
    pub fn depends_on_user_code(&self, one: usize, other: usize) -> bool {
        let pair = self.with_user_code.get(&(one, other));
        pair.is_some_and(|pair| pair.decides)
    }

    /// The lowest and the highest mean ratio of two contenders, between none and all of the user code
    /// of each phase; `None` if there is none to add.
    pub fn range_with_user_code(&self, one: usize, other: usize) -> Option<(f64, f64)> {
        self.with_user_code.get(&(one, other))?.range
    }

    /// The contenders that may be the fastest, without those whose work was not durable. `None`
    /// without verdicts.
    pub fn leaders(&self) -> Option<Leaders> {
        let ratios = self.ratios.iter().enumerate();
        let durable = ratios.map(|(at, ratio)| ratio.filter(|_| !self.not_durable.contains(&at)));
        let ratios = durable.map(|ratio| Some(ratio?.middle));
        Leaders::of(&ratios.collect::<Vec<_>>(), |a, b| self.verdict(a, b))
    }
}

/// The costs of some lines at an end of the ratio of two contenders.
fn ends_of_ratios<'a>(
    lines: &[&'a Line],
    [one, other]: [usize; 2],
    lowest: bool,
) -> Vec<&'a Times> {
    let lines = lines.iter();
    lines
        .map(|line| line.end_of_ratio(one, other, lowest))
        .collect()
}

/// The means of some lists of lines between none and all of the user code of each phase, by pair of
/// contenders. A ratio is lowest if user code is added to the phases in which it lowers the ratio, and
/// highest if it is added to the others.
fn with_user_code(
    contenders: usize,
    lists: &[Vec<&Line>],
    without: &[Verdicts],
    rule: &Rule,
) -> Vec<BTreeMap<(usize, usize), MeanWithUserCode>> {
    let mut all = vec![BTreeMap::new(); lists.len()];
    if !lists
        .iter()
        .flatten()
        .any(|line| line.with_user_code.is_some())
    {
        return all;
    }
    let pairs = (0..contenders).flat_map(|one| (0..contenders).map(move |other| (one, other)));
    for (one, other) in pairs.filter(|(one, other)| one != other) {
        let ends = [true, false].map(|lowest| -> Vec<Vec<&Times>> {
            let lists = lists.iter();
            lists
                .map(|lines| ends_of_ratios(lines, [one, other], lowest))
                .collect()
        });
        let verdicts = ends.each_ref().map(|lists| {
            let means: Vec<Times> = lists
                .iter()
                .map(|lines| Times::mean(lines.iter().copied()))
                .collect();
            judge_table(&means.iter().collect::<Vec<_>>(), rule)
        });
        let ratio = |lines: &[&Times]| {
            let figures: Vec<_> = lines.iter().map(|line| line.figures()).collect();
            let phases: Vec<_> = figures
                .iter()
                .map(|of| Some((&of.get(one)?[..], &of.get(other)?[..])))
                .collect::<Option<_>>()?;
            Some(geometric_ratio(&phases)?.middle)
        };
        for (at, of_list) in all.iter_mut().enumerate() {
            let [lowest, highest] = ends.each_ref().map(|lists| ratio(&lists[at]));
            let before = without[at].of(one, other);
            let pair = MeanWithUserCode {
                range: lowest.zip(highest),
                decides: before != Some(Verdict::Inconclusive)
                    && verdicts.iter().any(|end| end[at].of(one, other) != before),
            };
            of_list.insert((one, other), pair);
        }
    }
    all
}

impl Comparison {
    /// The contenders with a figure, by index.
    pub fn measured_contenders(&self) -> Vec<usize> {
        let has_figure = |at: &usize| self.lines().any(|line| line.values[*at].is_some());
        (0..self.contenders.len()).filter(has_figure).collect()
    }
}

/// The lines with figures of all these contenders, none of which is negligible.
pub(super) fn complete<'a>(
    lines: impl Iterator<Item = &'a Line>,
    among: &[usize],
) -> Vec<&'a Line> {
    let counts = |line: &&Line| {
        let mut values = among.iter().map(|at| line.values[*at].as_ref());
        values.all(|value| value.is_some_and(|value| !value.negligible))
    };
    lines.filter(counts).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_contender_that_is_faster_than_all_others_wins() {
        use Verdict::{Equivalent, Faster, Inconclusive};
        let of = |verdicts: [Option<Verdict>; 2]| {
            let figures = [Some(2.0), Some(1.0), None, Some(3.0)];
            Leaders::of(&figures, |one, other| {
                assert_eq!(one, 1, "the lowest is compared with the others");
                verdicts[usize::from(other == 3)]
            })
        };
        let leaders = |among: &[usize], equivalent| {
            let among = among.to_vec();
            Some(Leaders { among, equivalent })
        };
        assert_eq!(of([Some(Faster); 2]), leaders(&[1], false));
        assert_eq!(of([Some(Faster); 2]).unwrap().winner(), Some(1));
        let level = Some(Equivalent);
        assert_eq!(of([level, Some(Faster)]), leaders(&[0, 1], true));
        assert_eq!(of([level, Some(Inconclusive)]), leaders(&[0, 1, 3], false));
        assert_eq!(of([Some(Faster), None]), leaders(&[1, 3], false));
        assert_eq!(of([None, None]), None);
    }
}
