//! Times adjusted for the speed of the machine, which was measured by a probe before each time.
//!
//! Analysis of covariance: R. A. Fisher, "Statistical Methods for Research Workers", 4th ed.
//! (1932), section 49.1. The logarithm of a time is adjusted by the logarithms of its probes. The
//! slopes are fitted by least squares without the effects of blocks and contenders. They are not
//! negative: a slower machine makes nothing faster.
//!
//! The slopes of a block are those of the other blocks. So they do not depend on its own noise. If
//! two contenders are equal, exchanging them within a block reverses the sign of its adjusted log
//! ratio, as it does without adjustment. The same fit measures how much variance the adjustment
//! removes: M. Stone, "Cross-Validatory Choice and Assessment of Statistical Predictions", Journal
//! of the Royal Statistical Society B 36 (1974), 111-147.
//!
//! The assumption is that contenders do not affect the probes. A probe that differs by contender is
//! not used.

use crate::student;
use crate::verdict::Paired;
use fsdyno_model::Probe;
use std::collections::BTreeMap;

/// The smallest number of blocks with all times and probes for an adjustment.
const MIN_BLOCKS: usize = 6;

/// The smallest number of residual degrees of freedom after a fit of two slopes.
const MIN_DEGREES_OF_FREEDOM: usize = 6;

/// A probe differs by contender if a test of all pairs of contenders finds it at this level.
const DIFFERS: f64 = 0.01;

/// The share of the variance that an adjustment must remove.
const WORTHWHILE: f64 = 0.1;

/// Probes of the kernel and of the device.
const PROBES: usize = 2;

/// A time with its block, and with the probe before it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Timed {
    /// The block.
    pub block: u32,
    /// The time.
    pub time: f64,
    /// The speed of the machine before it, if it was measured.
    pub probe: Option<Probe>,
}

/// The figures of one contender, each with its block.
type Figures = Vec<(u32, f64)>;

/// The times of one phase after an adjustment.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Adjusted {
    /// The times by contender.
    pub figures: Vec<Figures>,
    /// The share of the variance within blocks that the adjustment removes; `None` if there is
    /// none.
    pub removed: Option<f64>,
}

impl Adjusted {
    /// Two contenders, paired. Their ratios have one degree of freedom less if they are adjusted.
    pub fn paired(&self, one: usize, other: usize) -> Paired {
        let mut paired = Paired::of(&self.figures[one], &self.figures[other]);
        paired.fitted = usize::from(self.removed.is_some());
        paired
    }
}

/// Adjusts the times of a phase, by contender. They are unchanged without enough probes, or if the
/// adjustment removes too little variance.
pub(crate) fn adjust(phase: &[Vec<Timed>]) -> Adjusted {
    let unchanged = || Adjusted {
        figures: phase
            .iter()
            .map(|of| of.iter().map(plain).collect())
            .collect(),
        removed: None,
    };
    let Some(fit) = Fit::of(phase) else {
        return unchanged();
    };
    let by_block = by_block(phase);
    let figure = |timed: &Timed| {
        let whole = by_block[&timed.block]
            .iter()
            .all(|(_, timed)| fit.has_probes(timed));
        let time = if whole { fit.adjust(timed) } else { timed.time };
        (timed.block, time)
    };
    let figures = phase.iter().map(|of| of.iter().map(figure).collect());
    Adjusted {
        figures: figures.collect(),
        removed: Some(fit.removed),
    }
}

/// A time without its probe.
fn plain(timed: &Timed) -> (u32, f64) {
    (timed.block, timed.time)
}

/// All times of each block, with their contenders.
fn by_block(phase: &[Vec<Timed>]) -> BTreeMap<u32, Vec<(usize, &Timed)>> {
    let mut blocks: BTreeMap<u32, Vec<(usize, &Timed)>> = BTreeMap::new();
    for (contender, of) in phase.iter().enumerate() {
        for timed in of {
            blocks
                .entry(timed.block)
                .or_default()
                .push((contender, timed));
        }
    }
    blocks
}

/// The logarithm of a time, and of its probes; 0 for one that is not used.
type Logs = [f64; 1 + PROBES];

/// The logarithms. `None` if a used one is unknown.
fn logs(timed: &Timed, used: [bool; PROBES]) -> Option<Logs> {
    let probe = timed.probe?;
    let known = |ns: f64| (ns > 0.0 && ns.is_finite()).then(|| ns.ln());
    let mut logs = [known(timed.time)?, 0.0, 0.0];
    if used[0] {
        logs[1] = known(probe.system_ns.0 as f64)?;
    }
    if used[1] {
        logs[2] = known(probe.device_ns?.0 as f64)?;
    }
    Some(logs)
}

/// The slopes of a phase.
struct Fit {
    used: [bool; PROBES],
    /// The mean logarithm of each probe, over all contenders.
    centre: [f64; PROBES],
    /// The slopes of each block with all contenders, from the other blocks.
    slopes: BTreeMap<u32, [f64; PROBES]>,
    /// The slopes of other blocks.
    of_all: [f64; PROBES],
    removed: f64,
}

impl Fit {
    /// Fits the slopes. `None` if there are too few blocks or the adjustment is not worthwhile.
    fn of(phase: &[Vec<Timed>]) -> Option<Self> {
        let contenders = phase.iter().filter(|of| !of.is_empty()).count();
        let all = || phase.iter().flatten().filter_map(|timed| timed.probe);
        all().next()?;
        let mut used = [true, all().all(|probe| probe.device_ns.is_some())];
        let blocks = complete(phase, contenders, used);
        let n = blocks.len();
        let free = (contenders.saturating_sub(1) * n.saturating_sub(1)).saturating_sub(PROBES);
        if n < MIN_BLOCKS || free < MIN_DEGREES_OF_FREEDOM {
            return None;
        }
        for (probe, used) in used.iter_mut().enumerate() {
            *used &= !differs(&blocks, 1 + probe);
        }
        let mut parts = residuals(&blocks).into_iter();
        let parts: Vec<(u32, Vec<Logs>)> = blocks.keys().copied().zip(&mut parts).collect();
        let products: Vec<Products> = parts.iter().map(|(_, logs)| Products::of(logs)).collect();
        let sum = products
            .iter()
            .fold(Products::default(), |sum, one| sum.plus(one, 1.0));
        // Without a block, the means of contenders change too.
        let without = -(n as f64) / (n - 1) as f64;
        let others = products
            .iter()
            .map(|one| sum.plus(one, without).slopes(used));
        let slopes: BTreeMap<u32, _> = blocks.keys().copied().zip(others).collect();
        let left = parts.iter().flat_map(|(block, logs)| {
            let slopes = slopes[block];
            logs.iter()
                .map(move |logs| (logs[0] - effect(slopes, logs)).powi(2))
        });
        let removed = 1.0 - left.sum::<f64>() / sum.0[0][0];
        let logs = || blocks.values().flatten();
        let count = (n * contenders) as f64;
        let centre = [1, 2].map(|at| logs().map(|logs| logs[at]).sum::<f64>() / count);
        (removed >= WORTHWHILE).then(|| Self {
            used,
            centre,
            slopes,
            of_all: sum.slopes(used),
            removed,
        })
    }

    fn has_probes(&self, timed: &Timed) -> bool {
        logs(timed, self.used).is_some()
    }

    /// The adjusted time.
    fn adjust(&self, timed: &Timed) -> f64 {
        let Some(mut logs) = logs(timed, self.used) else {
            return timed.time;
        };
        for (log, centre) in logs[1..].iter_mut().zip(self.centre) {
            *log -= centre;
        }
        let slopes = self.slopes.get(&timed.block).copied();
        timed.time * (-effect(slopes.unwrap_or(self.of_all), &logs)).exp()
    }
}

/// The contribution of the probes to the logarithm of a time.
fn effect(slopes: [f64; PROBES], logs: &Logs) -> f64 {
    slopes
        .iter()
        .zip(&logs[1..])
        .map(|(slope, log)| slope * log)
        .sum()
}

/// The blocks in which each contender has one time with its probes, with their logarithms in the
/// order of the contenders.
fn complete(
    phase: &[Vec<Timed>],
    contenders: usize,
    used: [bool; PROBES],
) -> BTreeMap<u32, Vec<Logs>> {
    let blocks = by_block(phase).into_iter();
    let whole = blocks.filter_map(|(block, times)| {
        let once = times.windows(2).all(|two| two[0].0 < two[1].0);
        let logs: Option<Vec<Logs>> = times.iter().map(|(_, timed)| logs(timed, used)).collect();
        Some((block, logs.filter(|logs| once && logs.len() == contenders)?))
    });
    whole.collect()
}

/// Whether a probe differs by contender: Student's test of each pair within blocks, with
/// Bonferroni's correction.
fn differs(blocks: &BTreeMap<u32, Vec<Logs>>, probe: usize) -> bool {
    let contenders = blocks.values().next().map_or(0, Vec::len);
    let pairs = || (0..contenders).flat_map(|a| (0..a).map(move |b| (a, b)));
    let level = DIFFERS / pairs().count().max(1) as f64;
    let p = |(a, b): (usize, usize)| {
        let logs = blocks.values();
        let differences: Vec<f64> = logs.map(|logs| logs[a][probe] - logs[b][probe]).collect();
        let (above, below) = student::beyond(&differences, 0.0, 0).unwrap_or((1.0, 1.0));
        2.0 * above.min(below)
    };
    let varies = blocks.values().flatten().any(|logs| logs[probe] != 0.0);
    varies && pairs().any(|pair| p(pair) <= level)
}

/// The logarithms without the effects of blocks and contenders.
fn residuals(blocks: &BTreeMap<u32, Vec<Logs>>) -> Vec<Vec<Logs>> {
    let centred = |logs: &[Logs]| -> Vec<Logs> {
        let means = means(logs);
        logs.iter().map(|one| minus(one, &means)).collect()
    };
    let rows: Vec<Vec<Logs>> = blocks.values().map(|logs| centred(logs)).collect();
    let contenders = rows.first().map_or(0, Vec::len);
    let columns = (0..contenders).map(|at| rows.iter().map(|row| row[at]).collect::<Vec<_>>());
    let of_contender: Vec<Logs> = columns.map(|column| means(&column)).collect();
    let row = |row: Vec<Logs>| {
        let each = row.iter().zip(&of_contender);
        each.map(|(logs, mean)| minus(logs, mean)).collect()
    };
    rows.into_iter().map(row).collect()
}

fn means(logs: &[Logs]) -> Logs {
    let count = logs.len().max(1) as f64;
    std::array::from_fn(|at| logs.iter().map(|one| one[at]).sum::<f64>() / count)
}

fn minus(logs: &Logs, other: &Logs) -> Logs {
    std::array::from_fn(|at| logs[at] - other[at])
}

/// Sums of products of residuals.
#[derive(Clone, Copy, Default)]
struct Products([[f64; 1 + PROBES]; 1 + PROBES]);

impl Products {
    fn of(residuals: &[Logs]) -> Self {
        let sum = |a: usize, b: usize| residuals.iter().map(|of| of[a] * of[b]).sum();
        Self(std::array::from_fn(|a| std::array::from_fn(|b| sum(a, b))))
    }

    fn plus(&self, other: &Self, factor: f64) -> Self {
        let (one, two) = (&self.0, &other.0);
        Self(std::array::from_fn(|a| {
            std::array::from_fn(|b| one[a][b] + factor * two[a][b])
        }))
    }

    /// The slopes of least squares that are not negative.
    fn slopes(&self, used: [bool; PROBES]) -> [f64; PROBES] {
        let [[_, ya, yb], [_, aa, ab], [_, _, bb]] = self.0;
        let both = used[0] && used[1];
        let determinant = aa * bb - ab * ab;
        if both && determinant > 1e-9 * aa * bb {
            let slopes = [
                (ya * bb - yb * ab) / determinant,
                (yb * aa - ya * ab) / determinant,
            ];
            if slopes.iter().all(|slope| *slope > 0.0) {
                return slopes;
            }
        }
        // One is zero: the other one removes more alone than no slope does.
        let alone = |used: bool, product: f64, square: f64| {
            let fits = used && product > 0.0 && square > 0.0;
            if fits {
                (product / square, product * product / square)
            } else {
                (0.0, 0.0)
            }
        };
        let (a, b) = (alone(used[0], ya, aa), alone(used[1], yb, bb));
        if a.1 >= b.1 { [a.0, 0.0] } else { [0.0, b.0] }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fsdyno_model::Nanos;

    /// Times of two contenders, the second 10 % slower, that follow the probes by these powers. The
    /// probes of the second are longer by a factor.
    fn phase(blocks: u32, powers: [f64; 2], factor: f64) -> Vec<Vec<Timed>> {
        let noise = |block: u32, salt: u32| f64::from((block * salt + salt) % 17) / 17.0;
        let timed = |contender: u32, block: u32| {
            let salts = [[3, 5, 7], [6, 11, 13]][contender as usize];
            let [system, device, own] = salts.map(|salt| noise(block, salt));
            let (truth, factor) = [(1.0, 1.0), (1.1, factor)][contender as usize];
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "times in nanoseconds"
            )]
            let ns = |log: f64| Nanos((1e9 * factor * log.exp()) as u64);
            Timed {
                block,
                time: truth * (powers[0] * system + powers[1] * device + 0.01 * own).exp(),
                probe: Some(Probe {
                    system_ns: ns(system),
                    device_ns: Some(ns(device)),
                }),
            }
        };
        let of = |contender| (0..blocks).map(|block| timed(contender, block)).collect();
        [0, 1].map(of).into()
    }

    /// The standard deviation of the log ratios.
    fn spread(figures: &[Figures]) -> f64 {
        let pairs = figures[0].iter().zip(&figures[1]);
        let logs: Vec<f64> = pairs.map(|(a, b)| (b.1 / a.1).ln()).collect();
        let mean = logs.iter().sum::<f64>() / logs.len() as f64;
        let squares = logs.iter().map(|log| (log - mean).powi(2)).sum::<f64>();
        (squares / (logs.len() - 1) as f64).sqrt()
    }

    #[test]
    fn times_that_follow_the_probes_are_adjusted_and_keep_their_ratio() {
        for powers in [[0.5, 0.3], [0.5, 0.0], [0.0, 0.5]] {
            let phase = phase(12, powers, 1.0);
            let adjusted = adjust(&phase);
            assert!(adjusted.removed.unwrap() > 0.95, "{powers:?}");
            assert!(spread(&adjusted.figures) < 0.01);
            let ratio = crate::ratio_paired(&adjusted.figures[1], &adjusted.figures[0]).unwrap();
            assert!((ratio.middle - 1.1).abs() < 0.005, "{}", ratio.middle);
            // The middle of all times stays where it was.
            let all = |of: &[Figures]| of.iter().flatten().map(|one| one.1.ln()).sum::<f64>();
            let raw: Vec<Figures> = phase
                .iter()
                .map(|of| of.iter().map(plain).collect())
                .collect();
            assert!((all(&adjusted.figures) - all(&raw)).abs() / 24.0 < 0.01);
        }
    }

    #[test]
    fn times_stay_as_measured_without_reason_to_adjust_them() {
        let unchanged = |phase: &[Vec<Timed>]| {
            let adjusted = adjust(phase);
            let raw: Vec<Figures> = phase
                .iter()
                .map(|of| of.iter().map(plain).collect())
                .collect();
            assert_eq!((adjusted.figures, adjusted.removed), (raw, None));
        };
        // Unrelated; a slower machine that makes work faster; too few blocks.
        unchanged(&phase(12, [0.0, 0.0], 1.0));
        unchanged(&phase(12, [-0.5, 0.0], 1.0));
        unchanged(&phase(8, [0.5, 0.3], 1.0));
        // A contender that makes the probes slower would be credited for it.
        unchanged(&phase(12, [0.5, 0.3], 3.0));
        let mut without = phase(12, [0.5, 0.3], 1.0);
        without[1].iter_mut().for_each(|timed| timed.probe = None);
        unchanged(&without);
        unchanged(&[]);
    }

    #[test]
    fn blocks_without_all_contenders_are_adjusted_if_all_their_times_have_probes() {
        let mut three = phase(16, [0.5, 0.3], 1.0);
        three.push(three[0].clone());
        // One contender leaves the run, and a probe fails later.
        three[2].truncate(12);
        three[0][15].probe = None;
        let adjusted = adjust(&three);
        assert!(adjusted.removed.is_some());
        let changed = |block: usize| adjusted.figures[1][block] != plain(&three[1][block]);
        assert_eq!([11, 14, 15].map(changed), [true, true, false]);
    }
}
