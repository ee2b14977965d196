//! The leading contenders, and the trends and outliers that a report mentions. The verdicts come
//! from `fsdyno-stats`.

use fsdyno_stats::{OUTLYING, Summary, Verdict, drift, outliers};

pub use fsdyno_stats::MIN_PAIRS;

/// Figures of one contender, each with its block.
pub type Blocked = (u32, f64);

/// The smallest number of repeats for which a ratio has a 95 % confidence interval.
pub const INTERVALS_FROM: usize = 6;

/// A drift, an outlier or a gap between medians is reported if it exceeds this part of the median.
pub const MATTERS: f64 = 0.1;

/// A drift with a p-value below this is significant.
const SIGNIFICANT: f64 = 0.05;

/// The median and the range; `None` without a figure.
pub fn summary(figures: &[Blocked]) -> Option<Summary> {
    let figures: Vec<f64> = figures.iter().map(|(_, figure)| *figure).collect();
    Summary::of(&figures)
}

/// The median of the ratios within blocks; `None` without a common block.
pub fn median_ratio(these: &[Blocked], base: &[Blocked]) -> Option<f64> {
    let ratios = these.iter().filter_map(|(block, figure)| {
        let (_, base) = base.iter().find(|(other, _)| other == block)?;
        (*base != 0.0).then(|| (*block, figure / base))
    });
    Some(summary(&ratios.collect::<Vec<_>>())?.median)
}

/// Marks the leader by rank (the lowest rank) and every contender that is not distinguishable from
/// it. Marks none if the first by rank has no verdict and others have one. If no pair has a
/// verdict, marks the first alone.
pub fn leading(ranks: &[f64], verdict: impl Fn(usize, usize) -> Option<Verdict>) -> Vec<bool> {
    let places = 0..ranks.len();
    let judged = |place: usize| {
        let mut others = places.clone().filter(|other| *other != place);
        others.any(|other| verdict(place, other).is_some())
    };
    let leader = places
        .clone()
        .min_by(|a, b| ranks[*a].total_cmp(&ranks[*b]));
    let leader = leader.filter(|leader| judged(*leader) || !places.clone().any(judged));
    let leads = |place: usize| {
        let level = |leader: usize| {
            let verdict_on = verdict(place, leader);
            matches!(
                verdict_on,
                Some(Verdict::Equivalent | Verdict::Inconclusive)
            )
        };
        leader.is_some_and(|leader| leader == place || level(leader))
    };
    places.clone().map(leads).collect()
}

/// The relative change from the first block to the last, as a part of the median (below zero:
/// figures fall). `None` if the drift is not significant or is small.
pub fn trend(times: &[Blocked]) -> Option<f64> {
    drift(times)
        .filter(|drift| drift.p < SIGNIFICANT && drift.relative.abs() > MATTERS)
        .map(|drift| drift.relative)
}

/// The outliers that differ from the median by more than [`MATTERS`] of it.
pub fn astray(times: &[Blocked], median: f64) -> Vec<Blocked> {
    let figures: Vec<f64> = times.iter().map(|(_, time)| *time).collect();
    outliers(&figures, OUTLYING)
        .into_iter()
        .map(|place| times[place])
        .filter(|(_, time)| (time - median).abs() > MATTERS * median)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use fsdyno_stats::{Rule, judge};

    fn blocks(values: &[f64]) -> Vec<Blocked> {
        (0..).zip(values.iter().copied()).collect()
    }

    fn verdict(these: &[Blocked], others: &[Blocked]) -> Option<Verdict> {
        judge(these, others, &Rule::default())
    }

    #[test]
    fn two_pairs_and_overlapping_ranges_have_no_leader() {
        let slow = [(0, 5.0), (1, 6.0), (2, 7.0)];
        let fast = [(2, 4.3), (1, 3.6), (0, 3.0)];
        assert_eq!(verdict(&fast[..2], &slow), None);
        assert_eq!(verdict(&fast, &slow), Some(Verdict::Faster));
        assert_eq!(verdict(&slow, &fast), Some(Verdict::Slower));
        // Faster in every block, but the ranges overlap.
        let near = [(0, 4.5), (1, 5.5), (2, 6.0)];
        assert_eq!(verdict(&near, &slow), Some(Verdict::Inconclusive));
    }

    #[test]
    fn a_first_without_verdict_leads_only_if_no_pair_has_one() {
        let (slow, near) = (blocks(&[5.0, 6.0, 7.0]), blocks(&[4.9, 6.1, 6.9]));
        let once = [(0, 1.0)];
        let lead = |figures: &[&[Blocked]], ranks: &[f64]| {
            leading(ranks, |one, other| verdict(figures[one], figures[other]))
        };
        let ranks = [2.0, 3.0, 1.0];
        assert_eq!(lead(&[&near, &slow, &once], &ranks), [false; 3]);
        let ranks = [1.0, 2.0, 3.0];
        assert_eq!(lead(&[&near, &slow, &once], &ranks), [true, true, false]);
        // No pair has a verdict: the first leads alone.
        assert_eq!(lead(&[&slow[..2], &once], &[2.0, 1.0]), [false, true]);
        assert_eq!(lead(&[&slow, &once], &[2.0, 1.0]), [false, true]);
        assert_eq!(lead(&[], &[]), Vec::<bool>::new());
    }

    #[test]
    fn a_ratio_has_an_interval_from_six_pairs() {
        let times = blocks(&[5.0; INTERVALS_FROM]);
        let interval = |n: usize| fsdyno_stats::ratio_paired(&times[..n], &times)?.interval;
        assert_eq!(interval(INTERVALS_FROM - 1), None);
        assert!(interval(INTERVALS_FROM).is_some());
    }

    #[test]
    fn only_a_large_and_significant_drift_is_reported() {
        let rising = [10.0, 10.5, 11.0, 11.5, 12.0];
        let by = trend(&blocks(&rising)).unwrap();
        assert!((by - 2.0 / 11.0).abs() < 1e-12);
        // Significant, but small.
        assert_eq!(trend(&blocks(&[10.0, 10.1, 10.2, 10.3, 10.4])), None);
        // Large, but four blocks may rise by chance (p = 0.083).
        assert_eq!(trend(&blocks(&rising[..4])), None);
        // Large, but not monotonic.
        assert_eq!(trend(&blocks(&[10.0, 14.0, 9.0, 15.0, 11.0, 13.0])), None);
    }

    #[test]
    fn only_a_distant_outlier_is_reported() {
        let one_off = [10.0, 10.1, 15.0, 10.2, 9.9];
        assert_eq!(astray(&blocks(&one_off), 10.1), [(2, 15.0)]);
        let near = [10.0, 10.001, 10.5, 10.002, 9.999];
        assert_eq!(astray(&blocks(&near), 10.001), []);
    }
}
