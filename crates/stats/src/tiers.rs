//! Ranks with their uncertainty, and tiers of contenders that are not distinguishable.

use crate::verdict::Verdict;

/// The range of ranks of each of `n` contenders, from 1 (fastest): after all contenders that are
/// faster, and before all that are slower. The ranges hold jointly if the verdicts do.
///
/// M. Klein, T. Wright and J. Wieczorek, "A joint confidence region for an overall ranking of
/// populations", Journal of the Royal Statistical Society C 69 (2020), 589-606.
pub fn rank_intervals(
    n: usize,
    verdict: impl Fn(usize, usize) -> Option<Verdict>,
) -> Vec<(usize, usize)> {
    let count = |one: usize, wanted| {
        let others = (0..n).filter(|other| *other != one);
        others
            .filter(|other| verdict(one, *other) == Some(wanted))
            .count()
    };
    (0..n)
        .map(|one| {
            (
                1 + count(one, Verdict::Slower),
                n - count(one, Verdict::Faster),
            )
        })
        .collect()
}

/// The tier of each contender, from 1. The first tier is the fastest by median and all contenders
/// that are not slower by verdict. The next tier repeats this with the remaining contenders.
pub fn tiers(medians: &[f64], verdict: impl Fn(usize, usize) -> Option<Verdict>) -> Vec<usize> {
    let mut order: Vec<usize> = (0..medians.len()).collect();
    order.sort_by(|a, b| medians[*a].total_cmp(&medians[*b]));
    let mut tiers = vec![0; medians.len()];
    let mut tier = 0;
    while let Some(leader) = order.first().copied() {
        tier += 1;
        let slower = |one: &usize| verdict(*one, leader) == Some(Verdict::Slower);
        for one in order.iter().filter(|one| !slower(one)) {
            tiers[*one] = tier;
        }
        order.retain(slower);
    }
    tiers
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_and_tiers_follow_from_the_verdicts() {
        // 0 is slower than all others; 1 and 2 are not separated; 3 is slower than 1 only.
        let verdict = |a: usize, b: usize| {
            let slower = [(0, 1), (0, 2), (0, 3), (3, 1)];
            Some(if slower.contains(&(a, b)) {
                Verdict::Slower
            } else if slower.contains(&(b, a)) {
                Verdict::Faster
            } else {
                Verdict::Inconclusive
            })
        };
        assert_eq!(rank_intervals(4, verdict), [(4, 4), (1, 2), (1, 3), (2, 3)]);
        assert_eq!(tiers(&[9.0, 1.0, 1.1, 1.2], verdict), [3, 1, 1, 2]);
        // Without verdicts, every rank is possible, and there is one tier.
        assert_eq!(rank_intervals(2, |_, _| None), [(1, 2), (1, 2)]);
        assert_eq!(tiers(&[2.0, 1.0], |_, _| None), [1, 1]);
    }
}
