//! What may be said of two contenders.

use crate::exact::reached;
use crate::pairs::{CONFIDENCE, PairedRatio, pairs, ratio_paired};

/// By how much two medians must differ before anything is said of it: 2 %.
pub const MARGIN: f64 = 0.02;

/// The fewest pairs of which anything is said.
pub const FEWEST: usize = 3;

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

/// Judges the times of a contender beside those of another, both `(block, time)`; none where they
/// have fewer than 3 pairs in common blocks.
///
/// *From 6 pairs on* the interval of the median ratio decides ([`PairedRatio::interval`], 95 % or
/// more): faster (or slower) is said where it lies wholly further from 1 than `margin`, below
/// `1 / (1 + margin)` or above `1 + margin`. Blocks are pairs: what makes a whole block slow hits
/// both, so that ranges which overlap are no objection.
///
/// *Below 6 pairs* no such interval exists, and all of these must hold:
/// - every pair agrees in sign;
/// - the median ratio is further from 1 than `margin`, in either direction;
/// - the ranges of the paired times do not overlap.
///
/// How often it speaks where there is nothing to say ([`chance_verdict`]): from 6 pairs on, if
/// either order in a pair is equally likely, in at most 1 - confidence, which is 0.031 with 6
/// pairs, 0.008 with 8, 0.039 with 9 and never above 0.05. The margin makes it rarer. Of two that
/// truly differ, it names the wrong one in at most half as many. Below 6, signs alone would all
/// agree by chance in 2^(1 - n) (0.25 with 3 pairs); the ranges make it rarer: where blocks do
/// not differ, n values of each that are all alike are told apart by chance in 2 of C(2n, n)
/// orders, which is 0.1 with 3 pairs (the extreme case of the rank sum test, F. Wilcoxon,
/// "Individual Comparisons by Ranking Methods", Biometrics Bulletin 1 (1945), 80-83); where
/// blocks do differ, ranges overlap the more. Such a verdict *points to* a difference and proves
/// none. Many verdicts in one table err more often together than each alone: nothing is corrected
/// for that here.
pub fn judge(times: &[(u32, f64)], baseline: &[(u32, f64)], margin: f64) -> Option<Verdict> {
    let ratio = ratio_paired(times, baseline).filter(|ratio| ratio.pairs >= FEWEST)?;
    let factor = 1.0 + margin.max(0.0);
    let (faster, slower) = match ratio.interval {
        Some(interval) => (interval.high * factor < 1.0, interval.low > factor),
        None => of_few(&ratio, &pairs(times, baseline), factor),
    };
    Some(match (faster, slower) {
        (true, _) => Verdict::Faster,
        (_, true) => Verdict::Slower,
        _ => Verdict::Indistinguishable,
    })
}

/// Whether pairs too few for an interval let the first be called faster, or slower.
fn of_few(ratio: &PairedRatio, paired: &[(f64, f64)], factor: f64) -> (bool, bool) {
    let highest = |of: fn(&(f64, f64)) -> f64| paired.iter().map(of).fold(f64::MIN, f64::max);
    let lowest = |of: fn(&(f64, f64)) -> f64| paired.iter().map(of).fold(f64::MAX, f64::min);
    let below = highest(|pair| pair.0) < lowest(|pair| pair.1);
    let above = highest(|pair| pair.1) < lowest(|pair| pair.0);
    (
        // Ranges apart imply that every pair agrees in sign.
        below && ratio.median_ratio * factor < 1.0,
        above && ratio.median_ratio > factor,
    )
}

/// How often chance alone makes [`judge`] tell two equal contenders apart, with so many pairs: at
/// most so often from 6 pairs on; below, where blocks do not differ. None below 3 pairs, of which
/// nothing is said.
pub fn chance_verdict(pairs: usize) -> Option<f64> {
    if pairs < FEWEST {
        return None;
    }
    Some(reached(pairs, CONFIDENCE).map_or_else(
        || {
            // 2 of the C(2n, n) ways to deal the ranks.
            let factors = (1..=pairs).map(|k| (pairs + k) as f64 / k as f64);
            2.0 / factors.product::<f64>()
        },
        |confidence| 1.0 - confidence,
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn blocks(values: &[f64]) -> Vec<(u32, f64)> {
        (0..).zip(values.iter().copied()).collect()
    }

    fn check(times: &[f64], baseline: &[f64], expected: Verdict) {
        let verdict = judge(&blocks(times), &blocks(baseline), MARGIN);
        assert_eq!(verdict, Some(expected), "{times:?} {baseline:?}");
    }

    fn near(a: f64, b: f64) -> bool {
        (a - b).abs() < 1e-12
    }

    #[test]
    fn of_few_pairs_a_verdict_is_given_only_where_every_sign_and_the_ranges_agree() {
        use Verdict::{Faster, Indistinguishable, Slower};
        check(&[5.0, 5.1, 5.2], &[6.0, 6.1, 6.2], Faster);
        check(&[6.0, 6.1, 6.2], &[5.0, 5.1, 5.2], Slower);
        // One pair disagrees.
        check(&[5.0, 5.1, 6.3], &[6.0, 6.1, 6.2], Indistinguishable);
        // Every pair agrees, and the ranges overlap.
        check(&[5.0, 6.0, 7.0], &[5.5, 6.6, 7.7], Indistinguishable);
        // Apart, and within the margin.
        check(&[5.00, 5.01, 5.02], &[5.05, 5.06, 5.07], Indistinguishable);
        // The same.
        check(&[5.0; 3], &[5.0; 3], Indistinguishable);
        // Too few.
        let (a, b) = (blocks(&[5.0, 5.1]), blocks(&[6.0, 6.1, 6.2]));
        assert_eq!(judge(&a, &b, MARGIN), None);
        assert_eq!(judge(&a, &[], MARGIN), None);
    }

    #[test]
    fn from_six_pairs_on_the_interval_of_the_ratio_decides() {
        use Verdict::{Faster, Indistinguishable, Slower};
        let slow = [5.0, 6.0, 7.0, 8.0, 9.0, 10.0];
        let tenth_less = slow.map(|time| time * 0.9);
        // Ranges overlap: the blocks differ by more than the contenders, and alike for both.
        check(&tenth_less, &slow, Faster);
        check(&slow, &tenth_less, Slower);
        check(&tenth_less[..5], &slow[..5], Indistinguishable);
        // One of six within the margin: the interval, here the whole range, reaches it.
        let mut one_near = tenth_less;
        one_near[3] = 7.9;
        check(&one_near, &slow, Indistinguishable);
        // Of nine, the interval leaves out the outermost pair on either side.
        let slow: Vec<f64> = (0..9).map(|block| 5.0 + f64::from(block)).collect();
        let mut less: Vec<f64> = slow.iter().map(|time| time * 0.9).collect();
        less[4] *= 2.0;
        check(&less, &slow, Faster);
        less[5] *= 2.0;
        check(&less, &slow, Indistinguishable);
    }

    #[test]
    fn equal_contenders_are_told_apart_as_often_as_is_said() {
        // Either order in a pair, whatever the pairs: all 2^n of them, with blocks that differ.
        for n in 6..=12_u32 {
            let mut told = 0_u32;
            for signs in 0..1_u32 << n {
                let (a, b): (Vec<_>, Vec<_>) = (0..n)
                    .map(|block| {
                        let (low, high) = (1.0 + f64::from(block), 2.0 * (1.0 + f64::from(block)));
                        let flipped = signs >> block & 1 == 1;
                        let pair = if flipped { (low, high) } else { (high, low) };
                        ((block, pair.0), (block, pair.1))
                    })
                    .unzip();
                told += u32::from(judge(&a, &b, MARGIN) != Some(Verdict::Indistinguishable));
            }
            let share = f64::from(told) / f64::from(1_u32 << n);
            assert!(share <= 0.05);
            assert!(near(share, chance_verdict(n as usize).unwrap()), "{n}");
        }
        assert!(near(chance_verdict(6).unwrap(), 2.0 / 64.0));
        assert!(near(chance_verdict(9).unwrap(), 20.0 / 512.0));
        assert!(near(chance_verdict(4).unwrap(), 2.0 / 70.0));
        assert_eq!(chance_verdict(2), None);
    }

    #[test]
    fn three_pairs_that_are_all_alike_are_told_apart_in_one_order_of_ten() {
        // All orders of six different times, dealt to two contenders in three blocks.
        let (mut told, mut orders) = (0, 0);
        let mut times = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0];
        permute(&mut times, 0, &mut |order| {
            orders += 1;
            let verdict = judge(&blocks(&order[..3]), &blocks(&order[3..]), 0.0);
            told += u32::from(verdict != Some(Verdict::Indistinguishable));
        });
        assert_eq!((orders, told), (720, 72));
        assert!(near(chance_verdict(3).unwrap(), 0.1));
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

    /// Numbers from 0 to 1 by a fixed seed (the generator of Lehmer, modulus 2^31 - 1).
    struct Lehmer(u64);

    impl Lehmer {
        fn next(&mut self) -> f64 {
            self.0 = self.0 * 48_271 % 0x7fff_ffff;
            self.0 as f64 / f64::from(0x7fff_ffff)
        }

        /// A run of `n` blocks that differ by up to 50 %, with 4 % of noise in each time.
        fn run(&mut self, n: u32, ratio: f64) -> Option<Verdict> {
            let (a, b): (Vec<_>, Vec<_>) = (0..n)
                .map(|block| {
                    let level = 1.0 + 0.5 * self.next();
                    let mut time = |of: f64| (block, level * of * (1.0 + 0.04 * self.next()));
                    (time(ratio), time(1.0))
                })
                .unzip();
            judge(&a, &b, MARGIN)
        }
    }

    #[test]
    fn a_difference_below_the_noise_of_blocks_is_found_by_pairs_and_never_the_wrong_way() {
        let mut chance = Lehmer(20_261_121);
        let mut found = |n, ratio, verdict| {
            let runs = 0..1000;
            runs.filter(|_| chance.run(n, ratio) == Some(verdict))
                .count()
        };
        assert!(found(5, 0.9, Verdict::Faster) < 30, "ranges overlap");
        assert!(found(6, 0.9, Verdict::Faster) > 990);
        assert!(found(12, 0.9, Verdict::Faster) > 990);
        for n in [6, 9, 12] {
            assert_eq!(found(n, 0.9, Verdict::Slower), 0);
            // Alike: noise within the margin is no verdict.
            assert!(found(n, 1.0, Verdict::Faster) + found(n, 1.0, Verdict::Slower) < 20);
        }
    }

    proptest! {
        #[test]
        fn the_other_way_round_the_verdict_turns(
            figures in prop::collection::vec((1.0_f64..3.0, 2.0_f64..4.0), 3..12),
        ) {
            let (a, b): (Vec<f64>, Vec<f64>) = figures.into_iter().unzip();
            let there = judge(&blocks(&a), &blocks(&b), MARGIN);
            let back = judge(&blocks(&b), &blocks(&a), MARGIN);
            prop_assert_eq!(back, there.map(|verdict| match verdict {
                Verdict::Faster => Verdict::Slower,
                Verdict::Slower => Verdict::Faster,
                Verdict::Indistinguishable => Verdict::Indistinguishable,
            }));
        }
    }
}
