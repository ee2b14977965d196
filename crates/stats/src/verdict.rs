//! The verdict on two contenders, in a family of comparisons.

use crate::interim::{Analysis, InterimAnalyses, Spending};
use crate::multiple::{benjamini_hochberg, holm};
use crate::pairs::{CONFIDENCE, Series, pairs};
use crate::{rank_sum, signed_rank, student};
use fsdyno_model::{ErrorRate, Plan, RunInfo, StopReason};

/// The default margin: the smallest relative difference that matters, 2 %.
pub const MARGIN: f64 = 0.02;

/// The error rate of a table of verdicts: 1 in 20.
pub const LEVEL: f64 = 1.0 - CONFIDENCE;

/// The smallest number of pairs with a verdict.
pub const MIN_PAIRS: usize = 3;

/// The smallest number of pairs at which the exact test can reject.
pub const EXACT_FROM: usize = 6;

/// The smallest ratio, in every block, of two contenders that are far apart.
const FAR: f64 = 8.0;

/// The exact test decides alone only if its smallest p-value is below the level by this factor.
/// With less, a single pair with the other sign would prevent a verdict.
const EXACT_FACTOR: f64 = 8.0;

/// The verdict on a contender compared with another one. `margin` is the smallest difference that
/// matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Verdict {
    /// It takes less time, by more than the margin.
    Faster,
    /// It takes more time, by more than the margin.
    Slower,
    /// They differ by less than the margin. This is shown by an interval within the margin, not
    /// assumed.
    Equivalent,
    /// The comparison is inconclusive: it needs more repeats.
    Inconclusive,
}

impl Verdict {
    /// The verdict with both sides exchanged.
    #[must_use]
    pub fn turned(self) -> Self {
        match self {
            Self::Faster => Self::Slower,
            Self::Slower => Self::Faster,
            other => other,
        }
    }
}

/// The rule of verdicts.
#[derive(Debug, Clone, PartialEq)]
pub struct Rule {
    /// The smallest difference that matters: 0.02 is 2 %.
    pub margin: f64,
    /// The analyses of a run that share the error rate. `None` if there is one.
    pub analyses: Option<InterimAnalyses>,
    /// The error rate of a family of comparisons.
    pub errors: ErrorRate,
    /// Whether all blocks are equal, as in virtual time without variation. However many they are,
    /// they are one draw: there is no verdict.
    pub one_draw: bool,
}

impl Rule {
    /// The rule for the figures of a run that is not in progress, used in every report.
    pub fn of(run: &RunInfo) -> Self {
        Self::with(&run.plan, ends_independently(run))
    }

    /// Whether the report of a run that stopped after this number of blocks analyses them as an
    /// end.
    pub fn is_end(run: &RunInfo, blocks: u32) -> bool {
        ends_independently(run) || blocks == run.plan.most_repeats()
    }

    /// The rule for interim analyses of a run of that plan.
    pub fn during(plan: &Plan) -> Self {
        Self::with(plan, plan.adaptive.is_none())
    }

    fn with(plan: &Plan, ended: bool) -> Self {
        let remaining = || Spending::Remaining {
            ends: plan.ends.clone(),
            ended,
        };
        let analyses = match (plan.errors, plan.adaptive) {
            (None, None) if plan.ends.is_empty() => None,
            (None, Some(_)) if plan.ends.is_empty() => Some(Spending::Proportional),
            _ => Some(remaining()),
        };
        Self {
            margin: plan.margin,
            analyses: analyses.map(|spending| InterimAnalyses {
                // A fixed number has no interim analysis.
                least: plan.repeats,
                most: plan.most_repeats(),
                spending,
            }),
            // Plans without an error rate are of a version that had this one.
            errors: plan.errors.unwrap_or(ErrorRate::Fwer),
            one_draw: plan.is_one_draw(),
        }
    }

    /// The same rule with the family-wise error rate.
    #[must_use]
    pub fn family_wise(self) -> Self {
        let errors = ErrorRate::Fwer;
        Self { errors, ..self }
    }
}

/// Whether a run ends independently of its figures wherever it stops. A fixed number of blocks is
/// independent of them, also if fewer were measured.
fn ends_independently(run: &RunInfo) -> bool {
    run.plan.adaptive.is_none() || run.stop == Some(StopReason::Budget)
}

impl Default for Rule {
    fn default() -> Self {
        Self {
            margin: MARGIN,
            analyses: None,
            errors: ErrorRate::Fwer,
            one_draw: false,
        }
    }
}

/// Judges a family of comparisons, each the times of a contender and of its reference. `None` for a
/// comparison with fewer than 3 pairs in common blocks, and for blocks that are one draw.
///
/// *Faster* and *slower* need a test that the ratio is beyond the margin, with a p-value adjusted
/// over the family, by [`holm`] or by [`benjamini_hochberg`]. *Equivalent* needs an interval of the
/// ratio wholly within the margin (two one-sided tests): D. J. Schuirmann, "A Comparison of the Two
/// One-Sided Tests Procedure and the Power Approach for Assessing the Equivalence of Average
/// Bioavailability", Journal of Pharmacokinetics and Biopharmaceutics 15 (1987), 657-680. All other
/// comparisons are *inconclusive*.
///
/// The test is the signed rank test on the logarithms of the ratios. It is exact for any noise,
/// because the order within a block is random. With few pairs it cannot reach the level that a
/// large family requires. Student's test then decides, which assumes normal logarithms. It also
/// needs the support of an exact test. From 6 pairs on, this is the signed rank test at 95 %. With
/// fewer pairs, the times of both must not overlap. Chance alone does this in 1 of 10 cases with 3
/// pairs, in 1 of 35 with 4 and in 1 of 126 with 5.
///
/// Each interim analysis is repeated in turn, at its part of the level ([`InterimAnalyses`]). A
/// decision of an earlier analysis is kept. The rates add up: a wrong share of the verdicts of one
/// analysis is an even smaller share of all verdicts. Analyses
/// before 6 pairs decide nothing but what is far apart: with a bimodal distribution, 3 pairs do not
/// overlap in up to 1 of 32 cases, which exceeds the budget of so early an analysis.
///
/// Contenders are far apart if their times do not overlap in three or more pairs, and differ by a
/// factor of 8 in each pair, always on the same side. That needs no level: among equal
/// contenders, a disturbance of 8 times would have to hit the same one in every block.
pub fn judge_all(family: &[(Series<'_>, Series<'_>)], rule: &Rule) -> Vec<Option<Verdict>> {
    let all = family.iter().flat_map(|(a, b)| a.iter().chain(b.iter()));
    let blocks = all.map(|(block, _)| block + 1).max().unwrap_or(0);
    judge_until(blocks, family.len(), rule, &mut |until| {
        let paired = family.iter();
        let paired = paired.map(|(a, b)| Paired::of(&before(a, until), &before(b, until)));
        paired.collect()
    })
}

/// The same for comparisons whose figures depend on the number of blocks: `paired` returns those of
/// the blocks before one.
pub(crate) fn judge_until(
    blocks: u32,
    comparisons: usize,
    rule: &Rule,
    paired: &mut dyn FnMut(u32) -> Vec<Paired>,
) -> Vec<Option<Verdict>> {
    if rule.one_draw {
        return vec![None; comparisons];
    }
    let margin = rule.margin.max(0.0).ln_1p();
    let one = |level, exact| Judging {
        margin,
        level,
        exact,
        errors: rule.errors,
    };
    let Some(analyses) = &rule.analyses else {
        return at_once(&paired(blocks), one(LEVEL, false));
    };
    let mut kept = vec![None; comparisons];
    for Analysis { until, level, end } in analyses.until(blocks, LEVEL) {
        let found = at_once(&paired(until), one(level, !end));
        for (kept, found) in kept.iter_mut().zip(found) {
            if matches!(kept, None | Some(Verdict::Inconclusive)) {
                *kept = found;
            }
        }
    }
    kept
}

/// The figures of the blocks before this one.
fn before(series: Series<'_>, block: u32) -> Vec<(u32, f64)> {
    let before = series.iter().filter(|(of, _)| *of < block);
    before.copied().collect()
}

/// The rules of one analysis.
#[derive(Clone, Copy)]
struct Judging {
    margin: f64,
    level: f64,
    /// Whether fewer than 6 pairs decide nothing.
    exact: bool,
    errors: ErrorRate,
}

/// Judges a single comparison.
pub fn judge(times: Series<'_>, baseline: Series<'_>, rule: &Rule) -> Option<Verdict> {
    judge_all(&[(times, baseline)], rule).pop().flatten()
}

/// Two contenders, paired.
pub(crate) struct Paired {
    times: Vec<(f64, f64)>,
    /// The logarithms of their ratios.
    pub logs: Vec<f64>,
    /// The slopes on which they depend.
    pub fitted: usize,
}

impl Paired {
    pub fn of(a: Series<'_>, b: Series<'_>) -> Self {
        let times = pairs(a, b);
        let logs = times.iter().map(|(a, b)| (a / b).ln()).collect();
        let fitted = 0;
        Self {
            times,
            logs,
            fitted,
        }
    }

    /// Whether the times are far above or far below the others; `None` if neither.
    pub fn far(&self) -> Option<bool> {
        let beyond = |above: bool| {
            let side = if above { 1.0 } else { -1.0 };
            let (these, others): (Vec<f64>, Vec<f64>) = self.times.iter().copied().unzip();
            self.logs.iter().all(|log| side * log >= FAR.ln()) && separated(&these, &others, above)
        };
        let enough = self.logs.len() >= MIN_PAIRS;
        [true, false]
            .into_iter()
            .find(|above| enough && beyond(*above))
    }

    /// The p-value that the ratio is beyond the margin, and whether it is above. With `exact`, it
    /// is 1 below 6 pairs.
    pub fn p(&self, margin: f64, level: f64, exact: bool) -> (f64, bool) {
        let n = self.logs.len();
        if exact && n < EXACT_FROM {
            return (1.0, false);
        }
        if n >= EXACT_FROM && EXACT_FACTOR * signed_rank::smallest(n) <= level {
            return sides(&|limit| signed_rank::beyond(&self.logs, limit), margin);
        }
        let (p, above) = sides(
            &|limit| student::beyond(&self.logs, limit, self.fitted),
            margin,
        );
        let holds = if n >= EXACT_FROM {
            sides(&|limit| signed_rank::beyond(&self.logs, limit), margin).0 <= LEVEL
        } else {
            let (these, others): (Vec<f64>, Vec<f64>) = self.times.iter().copied().unzip();
            separated(&these, &others, above)
        };
        (if holds { p } else { 1.0 }, above)
    }
}

/// The two-sided p-value beyond a margin, from a test with two one-sided p-values, and whether it
/// is the upper side.
fn sides(test: &dyn Fn(f64) -> Option<(f64, f64)>, margin: f64) -> (f64, bool) {
    let above = test(margin).map_or(1.0, |p| p.0);
    let below = test(-margin).map_or(1.0, |p| p.1);
    ((2.0 * above.min(below)).min(1.0), above < below)
}

/// Whether all of these are above all others, or below with `above` false.
fn separated(these: &[f64], others: &[f64], above: bool) -> bool {
    let least = |of: &[f64]| of.iter().copied().fold(f64::INFINITY, f64::min);
    let most = |of: &[f64]| of.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    if above {
        least(these) > most(others)
    } else {
        most(these) < least(others)
    }
}

fn at_once(family: &[Paired], judging: Judging) -> Vec<Option<Verdict>> {
    let Judging { margin, level, .. } = judging;
    let judged = |one: &&Paired| one.logs.len() >= MIN_PAIRS;
    let compared = family.iter().filter(judged).count().max(1) as f64;
    let p = |one: &Paired| {
        if judged(&one) {
            one.p(margin, level / compared, judging.exact)
        } else {
            (1.0, false)
        }
    };
    let found: Vec<(f64, bool)> = family.iter().map(p).collect();
    let adjusted = adjusted(&found, family, &judged, judging.errors);
    let each = family.iter().zip(found).zip(adjusted);
    each.map(|((one, (_, above)), p)| {
        if !judged(&one) {
            return None;
        }
        let far = one.far().filter(|_| margin < FAR.ln());
        Some(match (p <= level || far.is_some(), far.unwrap_or(above)) {
            (true, true) => Verdict::Slower,
            (true, false) => Verdict::Faster,
            _ if equivalent(&one.logs, margin, level) => Verdict::Equivalent,
            _ => Verdict::Inconclusive,
        })
    })
    .collect()
}

/// The adjusted p-values of the selected comparisons; 1 for the others.
fn adjusted(
    found: &[(f64, bool)],
    family: &[Paired],
    judged: &dyn Fn(&&Paired) -> bool,
    errors: ErrorRate,
) -> Vec<f64> {
    let places: Vec<usize> = (0..found.len())
        .filter(|at| judged(&&family[*at]))
        .collect();
    let p_values: Vec<f64> = places.iter().map(|at| found[*at].0).collect();
    let raised = match errors {
        ErrorRate::Fwer => holm(&p_values),
        ErrorRate::Fdr => benjamini_hochberg(&p_values),
    };
    let mut all = vec![1.0; found.len()];
    for (at, p) in places.into_iter().zip(raised) {
        all[at] = p;
    }
    all
}

/// Whether the interval is within the margin.
fn equivalent(logs: &[f64], margin: f64, level: f64) -> bool {
    let interval = signed_rank::interval(logs, 1.0 - level);
    interval.is_some_and(|of| -margin <= of.low && of.high <= margin)
}

/// Whether more repeats may decide a comparison: it has pairs, is open, and its interval is wider
/// than the requested precision.
pub(crate) fn is_unsettled(verdict: Option<Verdict>, paired: &Paired, precision: f64) -> bool {
    match verdict {
        None => !paired.logs.is_empty(),
        Some(verdict) => verdict == Verdict::Inconclusive && !precise(paired, precision),
    }
}

/// Whether the interval of the ratio has the requested precision: both ends are within `precision`
/// (0.01 is 1 %) of the estimate. More repeats are then pointless.
fn precise(paired: &Paired, precision: f64) -> bool {
    half_width(paired).is_some_and(|reached| reached <= precision)
}

/// The distance of the interval's ends from the estimate: 0.01 is 1 % on each side.
pub fn reached(times: Series<'_>, baseline: Series<'_>) -> Option<f64> {
    half_width(&Paired::of(times, baseline))
}

fn half_width(paired: &Paired) -> Option<f64> {
    let interval = signed_rank::interval(&paired.logs, CONFIDENCE)?;
    Some(((interval.high - interval.low) / 2.0).exp_m1())
}

/// Judges the times of two runs, which are not paired: whether these are longer or shorter than the
/// others by more than the margin. `None` with fewer than 3 on either side, or if they are one draw. The tests are the
/// unpaired counterparts of [`judge_all`]: rank sums and Welch's test. All other differences
/// between two runs, such as the hour, are part of the result.
pub fn judge_unpaired(family: &[(&[f64], &[f64])], rule: &Rule) -> Vec<Option<Verdict>> {
    let margin = rule.margin.max(0.0).ln_1p();
    let logs = |of: &[f64]| of.iter().map(|time| time.ln()).collect::<Vec<f64>>();
    let enough = if rule.one_draw { usize::MAX } else { MIN_PAIRS };
    let both: Vec<Option<(Vec<f64>, Vec<f64>)>> = family
        .iter()
        .map(|(a, b)| (a.len().min(b.len()) >= enough).then(|| (logs(a), logs(b))))
        .collect();
    let compared = both.iter().flatten().count().max(1) as f64;
    let p = |(a, b): &(Vec<f64>, Vec<f64>)| p_unpaired(a, b, margin, LEVEL / compared);
    let found: Vec<(f64, bool)> = both.iter().flatten().map(p).collect();
    let raised = holm(&found.iter().map(|(p, _)| *p).collect::<Vec<_>>());
    let mut judged = found.into_iter().zip(raised);
    let one = |both: Option<(Vec<f64>, Vec<f64>)>| {
        let (a, b) = both?;
        let ((_, above), p) = judged.next()?;
        let interval = rank_sum::interval(&a, &b, CONFIDENCE);
        Some(match (p <= LEVEL, above) {
            (true, true) => Verdict::Slower,
            (true, false) => Verdict::Faster,
            _ if interval.is_some_and(|of| -margin <= of.low && of.high <= margin) => {
                Verdict::Equivalent
            }
            _ => Verdict::Inconclusive,
        })
    };
    both.into_iter().map(one).collect()
}

fn p_unpaired(a: &[f64], b: &[f64], margin: f64, level: f64) -> (f64, bool) {
    let exact = sides(&|limit| rank_sum::beyond(a, b, limit), margin);
    let smallest = rank_sum::smallest(a.len(), b.len());
    if EXACT_FACTOR * smallest <= level {
        return exact;
    }
    let (p, above) = sides(&|limit| student::unpaired(a, b, limit), margin);
    let holds = if smallest <= LEVEL {
        exact.0 <= LEVEL
    } else {
        separated(a, b, above)
    };
    (if holds { p } else { 1.0 }, above)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn blocks(values: &[f64]) -> Vec<(u32, f64)> {
        (0..).zip(values.iter().copied()).collect()
    }

    fn check(times: &[f64], baseline: &[f64], expected: Verdict) {
        let verdict = judge(&blocks(times), &blocks(baseline), &Rule::default());
        assert_eq!(verdict, Some(expected), "{times:?} {baseline:?}");
    }

    #[test]
    fn with_few_pairs_a_verdict_needs_a_difference_far_above_the_noise() {
        check(&[5.0, 5.1, 5.2], &[6.0, 6.1, 6.2], Verdict::Faster);
        check(&[6.0, 6.1, 6.2], &[5.0, 5.1, 5.2], Verdict::Slower);
        // Every pair agrees by the same ratio, but the times overlap.
        check(&[5.0, 6.0, 7.0], &[5.5, 6.6, 7.7], Verdict::Inconclusive);
        // They differ by less than the margin. Few pairs cannot establish equivalence.
        check(
            &[5.00, 5.01, 5.02],
            &[5.05, 5.06, 5.07],
            Verdict::Inconclusive,
        );
        check(&[5.0; 3], &[5.0; 3], Verdict::Inconclusive);
        let (a, b) = (blocks(&[5.0, 5.1]), blocks(&[6.0, 6.1, 6.2]));
        assert_eq!(judge(&a, &b, &Rule::default()), None);
        assert_eq!(judge(&a, &[], &Rule::default()), None);
    }

    #[test]
    fn pairs_decide_where_blocks_differ_by_more_than_contenders() {
        let slow: Vec<f64> = (0..9).map(|block| 5.0 + f64::from(block)).collect();
        let tenth_less: Vec<f64> = slow.iter().map(|time| time * 0.9).collect();
        check(&tenth_less, &slow, Verdict::Faster);
        check(&slow, &tenth_less, Verdict::Slower);
        let one_percent: Vec<f64> = slow.iter().map(|time| time * 1.01).collect();
        check(&one_percent, &slow, Verdict::Equivalent);
        let wider = Rule {
            margin: 0.15,
            ..Rule::default()
        };
        let verdict = judge(&blocks(&tenth_less), &blocks(&slow), &wider);
        assert_eq!(verdict, Some(Verdict::Equivalent));
    }

    #[test]
    fn three_blocks_decide_what_is_far_apart_in_any_family() {
        let (base, slow) = ([1.0, 1.6, 1.2], [20.0, 33.0, 26.0]);
        let rule = Rule {
            analyses: Some(InterimAnalyses {
                least: 6,
                most: 60,
                spending: Spending::Remaining {
                    ends: Vec::new(),
                    ended: false,
                },
            }),
            ..Rule::default()
        };
        let judged = |slow: &[f64], base: &[f64]| {
            let (slow, base) = (blocks(slow), blocks(base));
            let family = vec![(&slow[..], &base[..]); 200];
            judge_all(&family, &rule)[0]
        };
        assert_eq!(judged(&slow, &base), Some(Verdict::Slower));
        assert_eq!(judged(&base, &slow), Some(Verdict::Faster));
        assert_eq!(judged(&slow[..2], &base[..2]), None);
        // One block without the difference.
        let once = [20.0, 33.0, 9.0];
        assert_eq!(judged(&once, &base), Some(Verdict::Inconclusive));
    }

    #[test]
    fn a_larger_family_needs_stronger_evidence() {
        let base = blocks(&[1.0, 1.1, 0.9, 1.05, 0.95, 1.0, 1.02]);
        let near = blocks(&[1.07, 1.21, 0.96, 1.10, 1.06, 1.05, 1.12]);
        let rule = Rule::default();
        assert_eq!(judge(&near, &base, &rule), Some(Verdict::Slower));
        let family = vec![(&near[..], &base[..]); 60];
        assert_eq!(judge_all(&family, &rule)[0], Some(Verdict::Inconclusive));
    }

    #[test]
    fn one_draw_decides_nothing_however_often_it_is_repeated() {
        let rule = Rule {
            one_draw: true,
            ..Rule::default()
        };
        let (slow, fast) = ([3.0; 9], [1.0; 9]);
        for n in [1, 2, 9] {
            let (slow, fast) = (&slow[..n], &fast[..n]);
            assert_eq!(judge(&blocks(slow), &blocks(fast), &rule), None);
            assert_eq!(judge_unpaired(&[(slow, fast)], &rule), [None]);
        }
        assert_eq!(judge(&[(0, 3.0)], &[(0, 1.0)], &Rule::default()), None);
        // Draws that happen to be equal are several.
        check(&slow, &fast, Verdict::Slower);
    }

    #[test]
    fn a_decision_of_an_interim_analysis_stays() {
        let rule = Rule {
            analyses: Some(InterimAnalyses {
                least: 6,
                most: 12,
                spending: Spending::Proportional,
            }),
            ..Rule::default()
        };
        let base: Vec<f64> = (0..8).map(|k| 1.0 + 0.001 * f64::from(k % 3)).collect();
        let mut slow: Vec<f64> = base.iter().map(|time| 2.0 * time).collect();
        slow[7] = 0.5;
        let times = blocks(&slow);
        assert_eq!(judge(&times, &blocks(&base), &rule), Some(Verdict::Slower));
        // Without interim analyses, it is inconclusive at the end.
        check(&slow, &base, Verdict::Inconclusive);
        // Before the first analysis there is no verdict.
        assert_eq!(judge(&times[..5], &blocks(&base)[..5], &rule), None);
    }

    #[test]
    fn runs_are_compared_without_pairs() {
        let rule = Rule::default();
        let (a, b) = ([1.0, 1.02, 0.99, 1.01], [1.5, 1.52, 1.49, 1.53]);
        let verdicts = judge_unpaired(&[(&a, &b), (&b, &a), (&a, &a), (&a[..2], &b)], &rule);
        let expected = [
            Some(Verdict::Faster),
            Some(Verdict::Slower),
            Some(Verdict::Inconclusive),
            None,
        ];
        assert_eq!(verdicts, expected);
    }

    proptest! {
        #[test]
        fn exchanged_sides_give_the_opposite_verdict(
            figures in prop::collection::vec((1.0_f64..3.0, 2.0_f64..4.0), 3..14),
        ) {
            let (a, b): (Vec<f64>, Vec<f64>) = figures.into_iter().unzip();
            let there = judge(&blocks(&a), &blocks(&b), &Rule::default());
            let back = judge(&blocks(&b), &blocks(&a), &Rule::default());
            prop_assert_eq!(back, there.map(Verdict::turned));
        }
    }
}
