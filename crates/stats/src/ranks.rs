//! Ranks and rank correlation.

/// The ranks of values from 1, the smallest first. Ties share the mean of their ranks (midranks).
/// `None` for an empty list, or if a value is not finite.
pub fn midranks(values: &[f64]) -> Option<Vec<f64>> {
    if values.is_empty() || !values.iter().all(|value| value.is_finite()) {
        return None;
    }
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_unstable_by(|a, b| values[*a].total_cmp(&values[*b]));
    let mut ranks = vec![0.0; values.len()];
    let mut below = 0;
    // -0.0 equals 0.0, although `total_cmp` separates them.
    #[expect(
        clippy::float_cmp,
        reason = "what is equal shares its rank, and nothing else"
    )]
    for equal in order.chunk_by(|a, b| values[*a] == values[*b]) {
        // Equal values have the ranks from `below + 1` to `below + equal.len()`.
        let rank = below as f64 + f64::midpoint(1.0, equal.len() as f64);
        for place in equal {
            ranks[*place] = rank;
        }
        below += equal.len();
    }
    Some(ranks)
}

/// The smallest number of pairs with a rank correlation. With two pairs it is always 1 or -1.
pub const MIN_RANKED: usize = 3;

/// The rank correlation of pairs: 1 for equal orders, -1 for reversed orders, near 0 for
/// independent orders. `None` with fewer than [`MIN_RANKED`] pairs, or if all values of one side
/// are equal.
///
/// It is Pearson's correlation of the midranks, which is correct with ties. The short formula with
/// squared rank differences is not. C. Spearman, "The Proof and Measurement of Association between
/// Two Things", The American Journal of Psychology 15 (1904), 72-101.
pub fn rank_correlation(pairs: &[(f64, f64)]) -> Option<f64> {
    if pairs.len() < MIN_RANKED {
        return None;
    }
    let (left, right): (Vec<f64>, Vec<f64>) = pairs.iter().copied().unzip();
    let (left, right) = (midranks(&left)?, midranks(&right)?);
    let middle = f64::midpoint(1.0, pairs.len() as f64);
    let (mut covariance, mut of_left, mut of_right) = (0.0, 0.0, 0.0);
    for (left, right) in left.iter().zip(&right) {
        let (left, right) = (left - middle, right - middle);
        covariance += left * right;
        of_left += left * left;
        of_right += right * right;
    }
    // Ranks are multiples of one half, so the sums are exact and zero is exactly zero.
    let spread = (of_left * of_right).sqrt();
    (spread > 0.0).then(|| (covariance / spread).clamp(-1.0, 1.0))
}

/// The probability that chance alone produces one given order of `n` distinct items: 1 / `n`!. It
/// bounds how often a rank correlation of 1 arises by chance.
pub fn chance_of_order(n: usize) -> f64 {
    1.0 / (1..=n).map(|factor| factor as f64).product::<f64>()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn equal_values_share_the_mean_of_their_places() {
        assert_eq!(midranks(&[30.0, 10.0, 20.0]).unwrap(), [3.0, 1.0, 2.0]);
        assert_eq!(
            midranks(&[7.0, 5.0, 7.0, 9.0, 7.0]).unwrap(),
            [3.0, 1.0, 3.0, 5.0, 3.0]
        );
        assert_eq!(midranks(&[]), None);
        assert_eq!(midranks(&[1.0, f64::NAN]), None);
    }

    #[test]
    fn rank_correlations_agree_with_scipy() {
        // scipy.stats.spearmanr on the same numbers, with and without ties.
        let cases: [(&[f64], &[f64], f64); 5] = [
            (&[1.0, 2.0, 3.0], &[1.0, 2.0, 3.0], 1.0),
            (
                &[
                    106.0, 100.0, 86.0, 101.0, 99.0, 103.0, 97.0, 113.0, 112.0, 110.0,
                ],
                &[7.0, 27.0, 2.0, 50.0, 28.0, 29.0, 20.0, 12.0, 6.0, 17.0],
                -0.175_757_575_757_575_75,
            ),
            (
                &[1.0, 2.0, 2.0, 4.0, 5.0],
                &[3.0, 3.0, 1.0, 5.0, 4.0],
                0.657_894_736_842_105_4,
            ),
            (
                &[88.0, 101.0, 24.0, 1013.0],
                &[1.2, 1.4, 0.8, 1.4],
                0.948_683_298_050_513_9,
            ),
            (&[1.0, 1.0, 2.0], &[2.0, 3.0, 1.0], -0.866_025_403_784_438_7),
        ];
        for (left, right, expected) in cases {
            let pairs: Vec<_> = left.iter().copied().zip(right.iter().copied()).collect();
            let rho = rank_correlation(&pairs).unwrap();
            assert!((rho - expected).abs() < 1e-12, "{left:?} {right:?}: {rho}");
        }
    }

    #[test]
    fn two_pairs_or_equal_values_have_no_rank_correlation() {
        assert_eq!(rank_correlation(&[(1.0, 2.0), (2.0, 3.0)]), None);
        assert_eq!(
            rank_correlation(&[(1.0, 2.0), (2.0, 2.0), (3.0, 2.0)]),
            None
        );
        assert!((chance_of_order(4) - 1.0 / 24.0).abs() < 1e-12);
    }

    proptest! {
        #[test]
        fn the_correlation_depends_only_on_the_order(
            pairs in prop::collection::vec((0_i32..9, 0_i32..9), 3..12),
        ) {
            let real = |(a, b): &(i32, i32)| (f64::from(*a), f64::from(*b));
            let plain: Vec<_> = pairs.iter().map(real).collect();
            let stretched: Vec<_> = plain.iter().map(|(a, b)| (a.exp(), b * 3.0 + 1.0)).collect();
            let turned: Vec<_> = plain.iter().map(|(a, b)| (*a, -b)).collect();
            let swapped: Vec<_> = plain.iter().map(|(a, b)| (*b, *a)).collect();
            let rho = rank_correlation(&plain);
            prop_assert!(rho.is_none_or(|rho| (-1.0..=1.0).contains(&rho)));
            prop_assert_eq!(rank_correlation(&stretched), rho);
            prop_assert_eq!(rank_correlation(&swapped), rho);
            prop_assert_eq!(rank_correlation(&turned), rho.map(|rho| -rho));
        }
    }
}
