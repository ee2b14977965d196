//! The signed rank test and its interval: exact for any distribution that is symmetric about its
//! middle.
//!
//! Logarithms of ratios within a block are symmetric by design, because the order within a block is
//! random. For two equal contenders, both signs of a pair are equally likely. This holds also with
//! drift, multimodal figures or dependence between blocks. R. A. Fisher, "The Design of
//! Experiments" (1935), section 21.
//!
//! F. Wilcoxon, "Individual Comparisons by Ranking Methods", Biometrics Bulletin 1 (1945), 80-83;
//! M. Hollander and D. A. Wolfe, "Nonparametric Statistics", 2nd ed. (1999), sections 3.1 to 3.3.

use crate::describe::sorted;
use crate::exact::Interval;
use crate::normal;
use crate::ranks::midranks;
use std::sync::OnceLock;

/// The largest sample with the exact distribution. Larger samples use the normal approximation.
const EXACT: usize = 100;

/// The one-sided p-values that the middle of values is above, and below, `limit`. A value that
/// equals the limit counts for neither side: J. W. Pratt, "Remarks on Zeros and Ties in the
/// Wilcoxon Signed Rank Procedures", Journal of the American Statistical Association 54 (1959),
/// 655-667. With ties, the p-value is computed from their midranks over all possible signs.
pub(crate) fn beyond(values: &[f64], limit: f64) -> Option<(f64, f64)> {
    let distances: Vec<f64> = values.iter().map(|value| value - limit).collect();
    let sizes: Vec<f64> = distances.iter().map(|distance| distance.abs()).collect();
    let ranks = midranks(&sizes)?;
    let of = |wanted: fn(f64) -> bool| {
        let both = distances.iter().zip(&ranks);
        both.filter(|(distance, _)| wanted(**distance))
            .map(|(_, rank)| *rank)
            .collect::<Vec<f64>>()
    };
    let (below, above) = (of(|d| d < 0.0), of(|d| d > 0.0));
    let moving = [below.clone(), above.clone()].concat();
    let sum = |ranks: &[f64]| ranks.iter().sum::<f64>();
    Some((at_most(sum(&below), &moving), at_most(sum(&above), &moving)))
}

/// The probability that the sum of a random half of these ranks is at most `sum`.
fn at_most(sum: f64, ranks: &[f64]) -> f64 {
    if ranks.len() > EXACT {
        let all: f64 = ranks.iter().sum();
        let squares: f64 = ranks.iter().map(|rank| rank * rank).sum();
        // The half is the continuity correction.
        return normal::below((sum + 0.5 - all / 2.0) / (squares / 4.0).sqrt());
    }
    // Midranks are multiples of one half.
    let mut places: Vec<usize> = ranks.iter().map(|rank| twice(*rank)).collect();
    places.sort_unstable();
    let plain = places
        .iter()
        .enumerate()
        .all(|(at, place)| *place == 2 * (at + 1));
    if plain {
        return cumulated(places.len())[twice(sum) / 2];
    }
    let distribution = distribution(&places);
    distribution[..=twice(sum)].iter().sum::<f64>().min(1.0)
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "ranks are halves of small whole numbers"
)]
fn twice(rank: f64) -> usize {
    (2.0 * rank).round() as usize
}

/// The distribution of the sum of a random subset of these numbers.
fn distribution(places: &[usize]) -> Vec<f64> {
    let mut share = vec![1.0];
    for place in places {
        let mut next = vec![0.0; share.len() + place];
        for (sum, part) in share.iter().enumerate() {
            next[sum] += part / 2.0;
            next[sum + place] += part / 2.0;
        }
        share = next;
    }
    share
}

/// The distribution function of the sum of a random subset of the ranks 1 to `n`.
fn cumulated(n: usize) -> &'static [f64] {
    static KNOWN: [OnceLock<Vec<f64>>; EXACT + 1] = [const { OnceLock::new() }; EXACT + 1];
    KNOWN[n].get_or_init(|| {
        let mut sum = 0.0;
        let ranks: Vec<usize> = (1..=n).collect();
        let each = distribution(&ranks).into_iter();
        each.map(|part| {
            sum += part;
            f64::min(sum, 1.0)
        })
        .collect()
    })
}

/// The smallest two-sided p-value for `n` values: all on one side.
pub(crate) fn smallest(n: usize) -> f64 {
    2.0 * 0.5_f64.powf(n as f64)
}

/// The Hodges-Lehmann estimate of the middle of symmetric values: the median of the means of all
/// pairs, with each value also paired with itself.
///
/// J. L. Hodges and E. L. Lehmann, "Estimates of Location Based on Rank Tests", The Annals of
/// Mathematical Statistics 34 (1963), 598-611.
pub(crate) fn middle(values: &[f64]) -> Option<f64> {
    let sorted = sorted(values)?;
    let count = pairs_of(sorted.len());
    let high = nth_mean(&sorted, count / 2);
    let low = if count % 2 == 1 {
        high
    } else {
        nth_mean(&sorted, count / 2 - 1)
    };
    // The midpoint does not depend on which contender is the numerator.
    Some(f64::midpoint(low, high).clamp(low, high))
}

/// The confidence interval of the middle: all limits that the two-sided test does not reject at one
/// minus the confidence. `None` if there are too few values (95 % needs 6).
///
/// J. W. Tukey, "The simplest signed-rank tests", Memorandum Report 17, Statistical Research Group,
/// Princeton (1949).
pub(crate) fn interval(values: &[f64], confidence: f64) -> Option<Interval> {
    let sorted = sorted(values)?;
    let inside = inside(sorted.len(), confidence)?;
    let last = pairs_of(sorted.len()) - 1;
    Some(Interval {
        low: nth_mean(&sorted, inside),
        high: nth_mean(&sorted, last - inside),
    })
}

/// The number of pairwise means outside the interval on each side. `None` if the whole range does
/// not reach the confidence.
fn inside(n: usize, confidence: f64) -> Option<usize> {
    let level = (1.0 - confidence) / 2.0;
    if n > EXACT {
        let count = n as f64 * (n as f64 + 1.0);
        let deviation = (count * (2.0 * n as f64 + 1.0) / 24.0).sqrt();
        let place = count / 4.0 - 0.5 + normal::quantile(level) * deviation;
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "not below zero for more than a few values"
        )]
        return Some(place.max(0.0) as usize);
    }
    // A tolerance for rounding, so that 0.05 / 2 is included.
    let within = |part: &&f64| **part <= level * (1.0 + 1e-9);
    cumulated(n)
        .iter()
        .take_while(within)
        .count()
        .checked_sub(1)
}

/// The number of pairs, with each value also paired with itself.
fn pairs_of(n: usize) -> usize {
    n * (n + 1) / 2
}

/// The pairwise mean at this index in ascending order, for sorted values. It does not form all
/// means: a thousand values have half a million. Two limits close in on it until the means between
/// them are no more than the values; only these are formed.
///
/// D. B. Johnson and T. Mizoguchi, "Selecting the Kth Element in X + Y and X1 + X2 + ... + Xm",
/// SIAM Journal on Computing 7 (1978), 147-153, on selection in sorted sums.
fn nth_mean(sorted: &[f64], place: usize) -> f64 {
    let (mut low, mut high) = (sorted[0], sorted[sorted.len() - 1]);
    let (mut below, mut up_to) = (means_up_to(sorted, low), pairs_of(sorted.len()));
    if below > place {
        // Normalizes -0.0 to 0.0, here and below.
        return low + 0.0;
    }
    let mut halving = false;
    while up_to - below > sorted.len() {
        // Interpolation and bisection alternate: neither is slow on all inputs.
        let part = (place - below) as f64 / (up_to - below) as f64;
        let part = if halving { 0.5 } else { part };
        let limit = (high - low).mul_add(part, low);
        let limit = if limit > low && limit < high {
            limit
        } else {
            f64::midpoint(low, high)
        };
        halving = !halving;
        if limit <= low || limit >= high {
            // No number is between the limits: all remaining means are equal.
            return high + 0.0;
        }
        let count = means_up_to(sorted, limit);
        if count > place {
            (high, up_to) = (limit, count);
        } else {
            (low, below) = (limit, count);
        }
    }
    let mut left = means_between(sorted, low, high);
    let (_, found, _) = left.select_nth_unstable_by(place - below, f64::total_cmp);
    *found + 0.0
}

/// The number of pairwise means up to a limit. The larger one of a pair is, the fewer partners fit.
fn means_up_to(sorted: &[f64], limit: f64) -> usize {
    let (mut count, mut end) = (0, sorted.len());
    for (at, one) in sorted.iter().enumerate() {
        while end > at && f64::midpoint(*one, sorted[end - 1]) > limit {
            end -= 1;
        }
        if end <= at {
            break;
        }
        count += end - at;
    }
    count
}

/// The pairwise means above `low` and up to `high`.
fn means_between(sorted: &[f64], low: f64, high: f64) -> Vec<f64> {
    let mut means = Vec::new();
    let mut end = sorted.len();
    for (at, one) in sorted.iter().enumerate() {
        while end > at && f64::midpoint(*one, sorted[end - 1]) > high {
            end -= 1;
        }
        let with = sorted[at..end.max(at)].iter().rev();
        let each = with.map(|other| f64::midpoint(*one, *other));
        means.extend(each.take_while(|mean| *mean > low));
    }
    means
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn each_pairwise_mean_is_found_exactly(
            mut values in prop::collection::vec(-3_i32..4, 0..6),
            more in prop::collection::vec(-1e3_f64..1e3, 1..20),
        ) {
            // Includes ties and zeros.
            values.sort_unstable();
            let all: Vec<f64> = values.iter().map(|n| f64::from(*n)).chain(more).collect();
            let sorted = sorted(&all).unwrap();
            let mut means = Vec::new();
            for (at, one) in sorted.iter().enumerate() {
                means.extend(sorted[at..].iter().map(|other| f64::midpoint(*one, *other)));
            }
            means.sort_by(f64::total_cmp);
            prop_assert_eq!(means.len(), pairs_of(sorted.len()));
            for (place, mean) in means.iter().enumerate() {
                prop_assert_eq!(nth_mean(&sorted, place).to_bits(), (mean + 0.0).to_bits());
            }
        }
    }
}
