//! Change points of a series of figures: the places at which its level changes.

use crate::describe::median;
use fsdyno_model::random::Random;

/// The minimum number of figures on each side of a change point. The distances within one figure
/// are undefined.
const MIN_SEGMENT: usize = 2;

/// The permutations of a test. The smallest p-value is 1 / 500.
const PERMUTATIONS: u32 = 499;

/// The seed of the permutations: the same figures give the same change points.
const SEED: u64 = 0x005e_ed0f_fc4a_49e5;

/// The way in which a series is searched.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Detection {
    /// The figures have no noise, as in virtual time: each change of the level is real.
    Exact {
        /// The smallest relative change of the level that counts.
        margin: f64,
    },
    /// The figures have noise.
    Noisy {
        /// The smallest relative change of the level that counts.
        margin: f64,
        /// The largest chance of a change point in a series without one.
        level: f64,
    },
}

/// A place at which the level of a series changes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ChangePoint {
    /// The index of the first figure of the new level.
    pub at: usize,
    /// The level before it: the median of the figures since the previous change point.
    pub before: f64,
    /// The level from it on, up to the next change point.
    pub after: f64,
    /// The p-value. `None` for figures without noise.
    pub p: Option<f64>,
}

impl ChangePoint {
    /// The new level divided by the old one; 1 if both are zero.
    pub fn ratio(&self) -> f64 {
        ratio(self.before, self.after)
    }
}

/// The change points of a series of figures that are not negative, in ascending order. A figure
/// that is not finite, or is negative, gives none.
///
/// Figures without noise: a change point is where a figure differs from the first one of its level
/// by more than the margin. A slow drift is found as soon as its sum exceeds the margin.
///
/// Figures with noise: E-divisive with means, as `MongoDB` and Hunter use it, on logarithms. The
/// statistic is the energy distance with exponent 1 of both parts of a segment, of the best split.
/// Its significance is that of the same maximum in permutations within the segments. Segments are
/// divided until the best split is not significant. Change points within the margin are left out.
/// Below 10 figures nothing is significant at 1 %.
///
/// D. S. Matteson and N. A. James, "A Nonparametric Approach for Multiple Change Point Analysis of
/// Multivariate Data", Journal of the American Statistical Association 109 (2014), 334-345.
/// D. Daly et al., "The Use of Change Point Detection to Identify Software Performance Regressions
/// in a Continuous Integration System", ICPE 2020. M. Fleming et al., "Hunter: Using Change Point
/// Detection to Hunt for Performance Regressions", ICPE 2023.
pub fn change_points(values: &[f64], detection: Detection) -> Vec<ChangePoint> {
    if values
        .iter()
        .any(|value| !value.is_finite() || *value < 0.0)
    {
        return Vec::new();
    }
    match detection {
        Detection::Exact { margin } => exact(values, margin),
        Detection::Noisy { margin, level } => {
            let mut points = with_levels(values, &divide(values, level));
            points.retain(|point| exceeds(point.before, point.after, margin));
            points
        }
    }
}

fn exact(values: &[f64], margin: f64) -> Vec<ChangePoint> {
    let mut points = Vec::new();
    let Some(mut first) = values.first().copied() else {
        return points;
    };
    for (at, value) in values.iter().copied().enumerate() {
        if exceeds(first, value, margin) {
            points.push(ChangePoint {
                at,
                // The last figure before the change, so that a drift within the margin is no part
                // of it.
                before: values[at - 1],
                after: value,
                p: None,
            });
            first = value;
        }
    }
    points
}

fn ratio(before: f64, after: f64) -> f64 {
    if before > 0.0 || after > 0.0 {
        after / before
    } else {
        1.0
    }
}

/// Whether two levels differ by more than the margin, in either direction.
fn exceeds(before: f64, after: f64, margin: f64) -> bool {
    let (low, high) = (before.min(after), before.max(after));
    high > low * (1.0 + margin)
}

/// The significant splits with their p-values, in ascending order.
fn divide(values: &[f64], level: f64) -> Vec<(usize, f64)> {
    // Relative changes are equal distances on this scale. A count may be zero.
    let logs: Vec<f64> = values.iter().map(|value| value.ln_1p()).collect();
    let mut random = Random::new(SEED);
    let mut found: Vec<(usize, f64)> = Vec::new();
    loop {
        let bounds = bounds(&found, values.len());
        let Some((at, statistic)) = best(&logs, &bounds) else {
            return found;
        };
        let p = significance(&logs, &bounds, statistic, &mut random);
        if p > level {
            return found;
        }
        found.push((at, p));
        found.sort_by_key(|(at, _)| *at);
    }
}

/// The segments between change points.
fn bounds(found: &[(usize, f64)], len: usize) -> Vec<(usize, usize)> {
    let starts = std::iter::once(0).chain(found.iter().map(|(at, _)| *at));
    let ends = found.iter().map(|(at, _)| *at).chain([len]);
    starts.zip(ends).collect()
}

/// The best split of all segments, with its statistic.
fn best(values: &[f64], bounds: &[(usize, usize)]) -> Option<(usize, f64)> {
    let splits = bounds.iter().filter_map(|(start, end)| {
        let (at, statistic) = best_split(&values[*start..*end])?;
        Some((start + at, statistic))
    });
    splits.reduce(|one, other| if other.1 > one.1 { other } else { one })
}

/// The split of a segment with the largest energy statistic.
///
/// For parts of `n` and `m` figures the statistic is `nm / (n + m)` times twice the mean distance
/// between the parts, less the mean distances within each (Matteson and James, equations 5 and 6).
fn best_split(values: &[f64]) -> Option<(usize, f64)> {
    let len = values.len();
    if len < 2 * MIN_SEGMENT {
        return None;
    }
    let distance = |at: usize, others: std::ops::Range<usize>| -> f64 {
        let distances = values[others].iter();
        distances.map(|other| (values[at] - other).abs()).sum()
    };
    // The sums of distances within the left part, within the right part, and between them.
    let mut left = 0.0;
    let mut right: f64 = (0..len).map(|at| distance(at, at + 1..len)).sum();
    let mut between = 0.0;
    let mut best: Option<(usize, f64)> = None;
    for split in 1..len {
        // The figure before the split moves to the left part.
        let moved = split - 1;
        let (to_left, to_right) = (distance(moved, 0..moved), distance(moved, split..len));
        left += to_left;
        right -= to_right;
        between += to_right - to_left;
        if split < MIN_SEGMENT || len - split < MIN_SEGMENT {
            continue;
        }
        let (n, m) = (split as f64, (len - split) as f64);
        let pairs = |count: f64| count * (count - 1.0) / 2.0;
        let energy = 2.0 * between / (n * m) - left / pairs(n) - right / pairs(m);
        let statistic = n * m / (n + m) * energy;
        if best.is_none_or(|(_, most)| statistic > most) {
            best = Some((split, statistic));
        }
    }
    best
}

/// The share of permutations within the segments whose best split has the same statistic or a
/// larger one, the given order included.
fn significance(
    values: &[f64],
    bounds: &[(usize, usize)],
    statistic: f64,
    random: &mut Random,
) -> f64 {
    let mut shuffled = values.to_vec();
    let mut reached = 1;
    // Sums of the same figures in another order differ in their last digits.
    let least = statistic - 1e-9 * statistic.abs();
    for _ in 0..PERMUTATIONS {
        for (start, end) in bounds {
            random.shuffle(&mut shuffled[*start..*end]);
        }
        let other = best(&shuffled, bounds);
        reached += u32::from(other.is_some_and(|(_, other)| other >= least));
    }
    f64::from(reached) / f64::from(PERMUTATIONS + 1)
}

fn with_levels(values: &[f64], found: &[(usize, f64)]) -> Vec<ChangePoint> {
    let bounds = bounds(found, values.len());
    let level = |(start, end): &(usize, usize)| median(&values[*start..*end]).unwrap_or(0.0);
    let levels: Vec<f64> = bounds.iter().map(level).collect();
    let points = found.iter().zip(levels.windows(2));
    points
        .map(|((at, p), levels)| ChangePoint {
            at: *at,
            before: levels[0],
            after: levels[1],
            p: Some(*p),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOISY: Detection = Detection::Noisy {
        margin: 0.02,
        level: 0.01,
    };

    /// Normal figures of a seed, by the sum of uniform ones.
    fn noise(random: &mut Random) -> f64 {
        let uniform =
            |random: &mut Random| (random.next_u64() >> 11) as f64 / 9.007_199_254_740_992e15;
        (0..12).map(|_| uniform(random)).sum::<f64>() - 6.0
    }

    fn places(values: &[f64], detection: Detection) -> Vec<usize> {
        let points = change_points(values, detection).into_iter();
        points.map(|point| point.at).collect()
    }

    #[test]
    fn the_energy_statistic_is_that_of_a_hand_computed_case() {
        // 0 0 | 3 3: between 4 pairs of 3, within 0. Energy 2 * 12 / 4 = 6, times 4 / 4.
        assert_eq!(best_split(&[0.0, 0.0, 3.0, 3.0]), Some((2, 6.0)));
        // 0 1 | 5 7 9: between 5+7+9+4+6+8 = 39 over 6 pairs, within 1 and (2+4+2) / 3.
        // Energy 13 - 1 - 8/3 = 28/3, times 6/5 = 11.2. 0 1 5 | 7 9: between 7+9+6+8+2+4 = 36,
        // within (1+5+4) / 3 and 2: 12 - 10/3 - 2 = 20/3, times 6/5 = 8.
        let (at, statistic) = best_split(&[0.0, 1.0, 5.0, 7.0, 9.0]).unwrap();
        assert_eq!(at, 2);
        assert!((statistic - 11.2).abs() < 1e-12, "{statistic}");
        assert_eq!(best_split(&[1.0, 2.0, 3.0]), None);
    }

    #[test]
    fn figures_without_noise_change_where_they_leave_their_level() {
        let exact = Detection::Exact { margin: 0.001 };
        assert_eq!(places(&[], exact), [0; 0]);
        assert_eq!(places(&[5.0], exact), [0; 0]);
        assert_eq!(places(&[1000.0, 1000.9, 1000.0], exact), [0; 0]);
        assert_eq!(places(&[1000.0, 1002.0, 1002.0, 900.0], exact), [1, 3]);
        // A drift of 0.04 % each time exceeds 0.1 % at the third.
        let drift = [10_000.0, 10_004.0, 10_008.0, 10_012.0];
        assert_eq!(places(&drift, exact), [3]);
        let point = change_points(&drift, exact)[0];
        assert_eq!(
            (point.before, point.after, point.p),
            (10_008.0, 10_012.0, None)
        );
        // Counts that begin at zero.
        assert_eq!(places(&[0.0, 0.0, 4.0], exact), [2]);
        assert_eq!(places(&[4.0, f64::NAN], exact), [0; 0]);
    }

    #[test]
    fn planted_changes_are_found_at_their_places() {
        let mut random = Random::new(1);
        let levels = [(12, 100.0), (9, 112.0), (15, 95.0)];
        let mut values = Vec::new();
        for (count, level) in levels {
            values.extend((0..count).map(|_| level * (1.0 + 0.01 * noise(&mut random))));
        }
        let points = change_points(&values, NOISY);
        let found: Vec<usize> = points.iter().map(|point| point.at).collect();
        assert_eq!(found, [12, 21]);
        assert!((points[0].ratio() - 1.12).abs() < 0.02, "{points:?}");
        assert!(points.iter().all(|point| point.p.unwrap() <= 0.01));
        // The same figures give the same change points.
        assert_eq!(change_points(&values, NOISY), points);
        // A margin above the first change keeps only the second.
        let wide = Detection::Noisy {
            margin: 0.15,
            level: 0.01,
        };
        assert_eq!(places(&values, wide), [21]);
    }

    #[test]
    fn series_without_a_change_have_one_at_most_at_the_level() {
        let level = 0.05;
        let mut wrong = 0;
        for seed in 0..200 {
            let mut random = Random::new(1000 + seed);
            // Skewed noise.
            let values: Vec<f64> = (0..16)
                .map(|_| 100.0 * (0.05 * noise(&mut random)).exp())
                .collect();
            let detection = Detection::Noisy { margin: 0.0, level };
            wrong += usize::from(!change_points(&values, detection).is_empty());
        }
        // Of 200 with a chance of 5 %, more than 19 occur with a chance of 0.3 %.
        assert!(wrong <= 19, "{wrong}");
    }

    #[test]
    fn too_few_figures_show_nothing() {
        let values = [1.0, 1.0, 1.0, 2.0, 2.0, 2.0];
        assert_eq!(places(&values, NOISY), [0; 0]);
        let twice: Vec<f64> = [1.0; 6].into_iter().chain([2.0; 6]).collect();
        assert_eq!(places(&twice, NOISY), [6]);
        assert_eq!(places(&[7.0; 20], NOISY), [0; 0]);
    }
}
