//! Two contenders compared by pairs within blocks.
//!
//! Block effects (other tenants, temperature, a disk that fills) affect both figures of a pair and
//! cancel in their ratio: G. E. P. Box, J. S. Hunter and W. G. Hunter, "Statistics for
//! Experimenters", 2nd ed. (2005), section 3.2, paired comparison.

use crate::describe::{geometric_mean, mean, sorted};
use crate::exact::Interval;
use crate::signed_rank;
use std::cmp::Ordering;
use std::collections::BTreeMap;

/// Times of one contender, each with its block.
pub type Series<'a> = &'a [(u32, f64)];

/// The figures of one line: a list for each contender, each figure with its block.
pub(crate) type Line = [Vec<(u32, f64)>];

/// The confidence level of intervals.
pub(crate) const CONFIDENCE: f64 = 0.95;

/// The ratio of one contender's figures to another's, by pairs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PairedRatio {
    /// The number of pairs.
    pub pairs: usize,
    /// The Hodges-Lehmann estimate of the ratio: the median of the pairwise means of the
    /// logarithms. The inverse ratio has the inverse estimate.
    pub middle: f64,
    /// The smallest ratio of a pair.
    pub low: f64,
    /// The largest ratio of a pair.
    pub high: f64,
    /// The confidence interval of the estimate (at least 95 %); `None` with fewer than 6 pairs.
    pub interval: Option<Interval>,
}

/// The ratio `a / b`, paired within blocks. Both are lists of `(block, figure)` in any order. The
/// `k`-th figure of a block is paired with the `k`-th of the same block. Figures without partner
/// are ignored, as are pairs with a figure that is not positive and finite. `None` if no pair is
/// left.
pub fn ratio_paired(a: &[(u32, f64)], b: &[(u32, f64)]) -> Option<PairedRatio> {
    let logs: Vec<f64> = pairs(a, b).iter().map(|(a, b)| (a / b).ln()).collect();
    of_logs(&logs)
}

fn of_logs(logs: &[f64]) -> Option<PairedRatio> {
    let ordered = sorted(logs)?;
    let interval = signed_rank::interval(logs, CONFIDENCE).map(|of_logs| Interval {
        low: of_logs.low.exp(),
        high: of_logs.high.exp(),
    });
    Some(PairedRatio {
        pairs: logs.len(),
        middle: signed_rank::middle(logs)?.exp(),
        low: ordered[0].exp(),
        high: ordered[ordered.len() - 1].exp(),
        interval,
    })
}

/// The geometric mean of the ratios of several phases, `(times, baseline)` each, with its interval.
/// The mean is computed within each block that has all phases, then treated as the ratio of one
/// phase. Effects that the phases of a block share thus count once. `None` if no block has all
/// phases.
///
/// Ratios are averaged by logarithms; see [`geometric_mean`](crate::geometric_mean) for the reason.
pub fn geometric_ratio(phases: &[(Series<'_>, Series<'_>)]) -> Option<PairedRatio> {
    let mut by_block: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
    for (times, baseline) in phases {
        let blocks = times.iter().map(|(block, _)| *block);
        let blocks: std::collections::BTreeSet<u32> = blocks.collect();
        for block in blocks {
            let of = |list: &[(u32, f64)]| -> Vec<(u32, f64)> {
                let here = list.iter().filter(|(other, _)| *other == block);
                here.copied().collect()
            };
            if let Some((a, b)) = pairs(&of(times), &of(baseline)).first() {
                by_block.entry(block).or_default().push((a / b).ln());
            }
        }
    }
    let whole = by_block.values().filter(|logs| logs.len() == phases.len());
    let means: Vec<f64> = whole.filter_map(|logs| mean(logs)).collect();
    of_logs(&means)
}

/// The geometric mean of several lines, each with the same contenders: a line with the mean of each
/// contender in each block in which it has a figure of all lines.
pub(crate) fn geometric_line(lines: &[&Line]) -> Vec<Vec<(u32, f64)>> {
    let contenders = lines.first().map_or(0, |line| line.len());
    let of = |contender: usize| {
        let mut by_block: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
        for line in lines {
            let mut seen = None;
            let mut times = line[contender].clone();
            times.sort_by_key(|(block, _)| *block);
            // The first figure of a block counts.
            times.retain(|(block, _)| seen.replace(*block) != Some(*block));
            for (block, time) in times {
                by_block.entry(block).or_default().push(time);
            }
        }
        by_block.retain(|_, times| times.len() == lines.len());
        let means = by_block.into_iter();
        means
            .filter_map(|(block, times)| Some((block, geometric_mean(&times)?)))
            .collect()
    };
    (0..contenders).map(of).collect()
}

/// The pairs of figures, by block.
pub(crate) fn pairs(a: &[(u32, f64)], b: &[(u32, f64)]) -> Vec<(f64, f64)> {
    let by_block = |list: &[(u32, f64)]| {
        let mut list = list.to_vec();
        // A stable sort: figures of one block keep their order.
        list.sort_by_key(|(block, _)| *block);
        list
    };
    let (a, b) = (by_block(a), by_block(b));
    let (mut i, mut j) = (0, 0);
    let mut pairs = Vec::with_capacity(a.len().min(b.len()));
    while let (Some((in_a, x)), Some((in_b, y))) = (a.get(i), b.get(j)) {
        match in_a.cmp(in_b) {
            Ordering::Less => i += 1,
            Ordering::Greater => j += 1,
            Ordering::Equal => {
                let fits = |value: f64| value > 0.0 && value.is_finite();
                if fits(*x) && fits(*y) {
                    pairs.push((*x, *y));
                }
                (i, j) = (i + 1, j + 1);
            }
        }
    }
    pairs
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn blocks(values: &[f64]) -> Vec<(u32, f64)> {
        (0..).zip(values.iter().copied()).collect()
    }

    fn near(a: f64, b: f64) -> bool {
        ((a - b) / b).abs() < 1e-12
    }

    #[test]
    fn the_ratio_agrees_with_numpy() {
        let a = blocks(&[12.31, 11.87, 13.02, 12.55, 11.99, 14.21, 12.48]);
        let mut b = blocks(&[10.11, 10.54, 9.87, 10.42, 10.38, 10.95, 10.02]);
        b.reverse();
        let ratio = ratio_paired(&a, &b).unwrap();
        // numpy: exp of the median of all pairwise means, of the minimum and of the maximum of
        // log(a / b).
        assert!(near(ratio.middle, 1.221_592_708_994_520_2));
        assert!(near(ratio.low, 1.126_185_958_254_269_5));
        assert!(near(ratio.high, 1.319_148_936_170_213));
        assert_eq!(ratio.pairs, 7);
        // The limits that scipy's wilcoxon does not reject at 0.05.
        let interval = ratio.interval.unwrap();
        assert!(
            near(interval.low, 1.155_105_973_025_048_1)
                && near(interval.high, 1.297_716_894_977_169_1)
        );
    }

    #[test]
    fn figures_are_paired_only_within_blocks() {
        let a = [(2, 20.0), (0, 10.0), (1, 0.0), (7, 1.0), (2, 40.0)];
        let b = [(0, 5.0), (1, 1.0), (2, 20.0), (3, 9.0), (2, 20.0), (2, 1.0)];
        let ratio = ratio_paired(&a, &b).unwrap();
        assert_eq!(ratio.pairs, 3);
        assert!(near(ratio.low, 1.0) && near(ratio.high, 2.0));
        assert!(near(ratio.middle, 2.0_f64.powf(0.75)));
        assert_eq!(ratio.interval, None);
        assert_eq!(ratio_paired(&[(0, 1.0)], &[(1, 1.0)]), None);
        assert_eq!(ratio_paired(&[(0, f64::NAN)], &[(0, 1.0)]), None);
    }

    #[test]
    fn the_geometric_mean_is_taken_within_blocks_that_have_every_phase() {
        let (one, two) = ([(0, 2.0), (1, 8.0), (2, 4.0)], [(1, 2.0), (0, 8.0)]);
        let base = [(0, 1.0), (1, 1.0), (2, 1.0)];
        let all = geometric_ratio(&[(&one, &base), (&two, &base)]).unwrap();
        assert_eq!(all.pairs, 2);
        assert!(near(all.low, 4.0) && near(all.high, 4.0) && near(all.middle, 4.0));
        assert_eq!(
            geometric_ratio(&[(&one, &base), (&[(7, 1.0)], &base)]),
            None
        );
        // The same as a line: block 2 lacks the second phase.
        let lines = [[one.to_vec(), base.to_vec()], [two.to_vec(), base.to_vec()]];
        let line = geometric_line(&[&lines[0], &lines[1]]);
        let ratio = ratio_paired(&line[0], &line[1]).unwrap();
        assert_eq!(ratio.pairs, 2);
        assert!(near(ratio.low, 4.0) && near(ratio.high, 4.0));
        assert_eq!(line[1].len(), 3);
    }

    #[test]
    fn drift_over_blocks_cancels() {
        let drifting = |factor: f64| -> Vec<(u32, f64)> {
            (0_u32..9)
                .map(|b| (b, factor * 2.0_f64.powi(b.cast_signed())))
                .collect()
        };
        let ratio = ratio_paired(&drifting(3.0), &drifting(2.0)).unwrap();
        assert!(near(ratio.low, 1.5) && near(ratio.high, 1.5));
    }

    proptest! {
        #[test]
        fn exchanged_sides_give_the_inverse_ratio(
            figures in prop::collection::vec((0.001_f64..1e6, 0.001_f64..1e6), 1..30),
        ) {
            let (a, b): (Vec<f64>, Vec<f64>) = figures.into_iter().unzip();
            let there = ratio_paired(&blocks(&a), &blocks(&b)).unwrap();
            let back = ratio_paired(&blocks(&b), &blocks(&a)).unwrap();
            let inverse = |x: f64, y: f64| (x * y - 1.0).abs() < 1e-9;
            prop_assert!(inverse(there.middle, back.middle));
            prop_assert!(inverse(there.low, back.high) && inverse(there.high, back.low));
        }

        #[test]
        fn the_ratio_does_not_depend_on_unit_and_order(
            figures in prop::collection::vec((0.001_f64..1e6, 0.001_f64..1e6), 1..30),
            power in -20_i32..20,
        ) {
            let (a, b): (Vec<f64>, Vec<f64>) = figures.into_iter().unzip();
            let unit = 2.0_f64.powi(power);
            let scale = |v: &[f64]| {
                let mut list = blocks(&v.iter().map(|x| x * unit).collect::<Vec<_>>());
                list.reverse();
                list
            };
            prop_assert_eq!(
                ratio_paired(&blocks(&a), &blocks(&b)),
                ratio_paired(&scale(&a), &scale(&b))
            );
        }
    }
}
