//! What may be said of two contenders.

use crate::pairs::{pairs, ratio_paired};

/// By how much two medians must differ before anything is said of it: 2 %.
pub const MARGIN: f64 = 0.02;

/// The fewest pairs of which anything is said.
const FEWEST: usize = 3;

/// What may be said of a contender beside another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Verdict {
    /// It takes less time.
    Faster,
    /// It takes more time.
    Slower,
    /// These figures do not tell them apart. It does not say that they are alike.
    Indistinguishable,
}

/// A verdict with what it rests on.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Judgement {
    /// What may be said.
    pub verdict: Verdict,
    /// The pairs it rests on.
    pub pairs: usize,
    /// The two-sided p-value of the sign test over these pairs.
    pub p: f64,
    /// The median ratio of the times.
    pub ratio: f64,
}

/// Judges the times of a contender beside those of another, both `(block, time)`; none where they
/// have no block in common.
///
/// Faster (or slower) is said only where all of these hold, and indistinguishable else:
/// - there are at least 3 pairs, and every one agrees in sign;
/// - the median ratio is further from 1 than `margin`, in either direction: above `1 + margin`,
///   or below its inverse;
/// - the ranges of the paired times do not overlap.
///
/// How often it speaks where there is nothing to say (both alike, either order in a pair equally
/// likely): at most as often as n signs all agree, 2^(1 - n). With 3 pairs that is 0.25, which is
/// `p`: such a verdict *points to* a difference and proves none. It takes 6 pairs for p = 0.031.
/// The ranges make it rarer: where blocks do not differ, n values of each that are all alike are
/// told apart by chance in 2 of C(2n, n) orders, which is 0.1 with 3 pairs (the extreme case of
/// the rank sum test, F. Wilcoxon, "Individual Comparisons by Ranking Methods", Biometrics
/// Bulletin 1 (1945), 80-83). Many verdicts in one table err more often together than each alone:
/// nothing is corrected for that here.
pub fn judge(times: &[(u32, f64)], baseline: &[(u32, f64)], margin: f64) -> Option<Judgement> {
    let ratio = ratio_paired(times, baseline)?;
    let paired = pairs(times, baseline);
    let apart = |smaller: &dyn Fn(&(f64, f64)) -> f64, larger: &dyn Fn(&(f64, f64)) -> f64| {
        let highest = paired.iter().map(smaller).fold(f64::MIN, f64::max);
        let lowest = paired.iter().map(larger).fold(f64::MAX, f64::min);
        highest < lowest
    };
    let enough = ratio.pairs >= FEWEST;
    let factor = 1.0 + margin.max(0.0);
    let faster = ratio.below == ratio.pairs
        && ratio.median_ratio * factor < 1.0
        && apart(&|pair| pair.0, &|pair| pair.1);
    let slower = ratio.above == ratio.pairs
        && ratio.median_ratio > factor
        && apart(&|pair| pair.1, &|pair| pair.0);
    Some(Judgement {
        verdict: match (enough, faster, slower) {
            (true, true, _) => Verdict::Faster,
            (true, _, true) => Verdict::Slower,
            _ => Verdict::Indistinguishable,
        },
        pairs: ratio.pairs,
        p: ratio.p,
        ratio: ratio.median_ratio,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn blocks(values: &[f64]) -> Vec<(u32, f64)> {
        (0..).zip(values.iter().copied()).collect()
    }

    fn check(times: &[f64], baseline: &[f64], expected: Verdict) {
        let judgement = judge(&blocks(times), &blocks(baseline), MARGIN).unwrap();
        assert_eq!(judgement.verdict, expected, "{times:?} {baseline:?}");
    }

    #[test]
    fn a_verdict_is_given_only_where_every_sign_and_the_ranges_agree() {
        check(&[5.0, 5.1, 5.2], &[6.0, 6.1, 6.2], Verdict::Faster);
        check(&[6.0, 6.1, 6.2], &[5.0, 5.1, 5.2], Verdict::Slower);
        // Two pairs.
        check(&[5.0, 5.1], &[6.0, 6.1], Verdict::Indistinguishable);
        // One pair disagrees.
        check(
            &[5.0, 5.1, 6.3],
            &[6.0, 6.1, 6.2],
            Verdict::Indistinguishable,
        );
        // Every pair agrees, and the ranges overlap.
        check(
            &[5.0, 6.0, 7.0],
            &[5.5, 6.6, 7.7],
            Verdict::Indistinguishable,
        );
        // Apart, and within the margin.
        check(
            &[5.00, 5.01, 5.02],
            &[5.05, 5.06, 5.07],
            Verdict::Indistinguishable,
        );
        // The same.
        check(
            &[5.0, 5.0, 5.0],
            &[5.0, 5.0, 5.0],
            Verdict::Indistinguishable,
        );
    }

    #[test]
    fn a_verdict_says_what_it_rests_on() {
        let (a, b) = (blocks(&[5.0, 5.1, 5.2]), blocks(&[10.0, 10.2, 10.4, 10.6]));
        let judgement = judge(&a, &b, MARGIN).unwrap();
        assert_eq!((judgement.pairs, judgement.p), (3, 0.25));
        assert!((judgement.ratio - 0.5).abs() < 1e-12);
        assert_eq!(judge(&a, &[], MARGIN), None);
    }

    #[test]
    fn three_pairs_that_are_all_alike_are_told_apart_in_one_order_of_ten() {
        // All orders of six different times, dealt to two contenders in three blocks.
        let mut told = 0;
        let mut orders = 0;
        let mut times = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0];
        permute(&mut times, 0, &mut |order| {
            orders += 1;
            let judgement = judge(&blocks(&order[..3]), &blocks(&order[3..]), 0.0).unwrap();
            told += u32::from(judgement.verdict != Verdict::Indistinguishable);
        });
        assert_eq!((orders, told), (720, 72));
    }

    fn permute(times: &mut [f64; 6], from: usize, visit: &mut dyn FnMut(&[f64; 6])) {
        if from == times.len() {
            return visit(times);
        }
        for place in from..times.len() {
            times.swap(from, place);
            permute(times, from + 1, visit);
            times.swap(from, place);
        }
    }

    proptest! {
        #[test]
        fn the_other_way_round_the_verdict_turns(
            figures in prop::collection::vec((1.0_f64..3.0, 2.0_f64..4.0), 1..5),
        ) {
            let (a, b): (Vec<f64>, Vec<f64>) = figures.into_iter().unzip();
            let there = judge(&blocks(&a), &blocks(&b), MARGIN).unwrap().verdict;
            let back = judge(&blocks(&b), &blocks(&a), MARGIN).unwrap().verdict;
            prop_assert_eq!(back, match there {
                Verdict::Faster => Verdict::Slower,
                Verdict::Slower => Verdict::Faster,
                Verdict::Indistinguishable => Verdict::Indistinguishable,
            });
        }
    }
}
