//! The reads of a measurement: at random places, one at a time and at several depths, of several sizes,
//! sequential over the address range, and in bursts.

use super::target::{Access, Target, TargetError, Timing};
use fsdyno_model::random::Random;
use serde::Serialize;

/// A small and a large read.
pub const SMALL: u64 = 4096;
pub const LARGE: u64 = 1 << 20;

/// From this median latency of random reads on, a disk may have an arm.
pub const SLOW_US: f64 = 1500.0;

/// The depths of random reads.
const DEPTHS: [usize; 8] = [2, 4, 8, 16, 32, 64, 128, 256];

/// The greatest depth for a slow disk.
const SLOW_DEPTH: usize = 128;

/// How a disk is measured.
#[derive(Debug, Clone, Copy)]
pub struct Effort {
    /// Duration of the whole measurement, in nanoseconds.
    pub budget_ns: u64,
    /// Seed of the random places.
    pub seed: u64,
}

/// Random reads at a depth.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Depth {
    /// Reads at a time.
    pub depth: usize,
    /// Reads per second.
    pub iops: f64,
}

/// Reads of a size.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Size {
    /// Bytes of a read.
    pub bytes: u64,
    /// Median latency in microseconds.
    pub us: f64,
}

/// A sequential read.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Place {
    /// Its position as a share of the capacity.
    pub at: f64,
    /// Rate, MB/s (10^6).
    pub mb_s: f64,
}

/// Median, or 0 of nothing.
pub fn median(values: &[f64]) -> f64 {
    fsdyno_stats::median(values).unwrap_or(0.0)
}

/// The lengths from [`SMALL`] to this one, each twice the one before.
pub fn doublings(last: u64) -> impl Iterator<Item = u64> {
    let powers = (0..).map(|power| SMALL << power);
    powers.take_while(move |bytes| *bytes <= last)
}

/// The value below which this share of all is.
pub fn quantile(values: &[f64], share: f64) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let last = sorted.len().saturating_sub(1);
    let place = crate::arithmetic::to_ns(share * last as f64);
    let place = usize::try_from(place).unwrap_or(last).min(last);
    sorted.get(place).copied().unwrap_or_default()
}

/// Completions per microsecond: the median over the parts of a sequence, so that a pause of the
/// machine does not count.
pub fn rate(completed_us: &[f64]) -> f64 {
    let part = (completed_us.len() / 4).max(1);
    let parts = completed_us.iter().zip(completed_us.iter().skip(part));
    let us: Vec<f64> = parts.map(|(from, to)| to - from).collect();
    part as f64 / median(&us).max(1e-3)
}

/// The second half of a burst, when its tokens are used.
pub fn second_half(completed_us: &[f64]) -> &[f64] {
    &completed_us[completed_us.len() / 2..]
}

/// Only the random reads at several depths.
pub(super) fn depths_of(
    target: &mut dyn Target,
    effort: Effort,
) -> Result<Vec<Depth>, TargetError> {
    Prober::new(target, effort).depths()
}

/// A measurement in progress.
pub struct Prober<'a> {
    pub target: &'a mut dyn Target,
    pub random: Random,
    pub budget_ns: u64,
    /// Median latency of a random read.
    pub latency_us: f64,
}

impl<'a> Prober<'a> {
    pub fn new(target: &'a mut dyn Target, effort: Effort) -> Self {
        Self {
            target,
            random: Random::new(effort.seed),
            budget_ns: effort.budget_ns,
            latency_us: 0.0,
        }
    }

    /// The number of requests of this duration that fit into a share of the budget.
    pub fn count(&self, share: f64, each_us: f64, least: u64, most: u64) -> u64 {
        let fits = share * self.budget_ns as f64 / 1e3 / each_us.max(0.1);
        crate::arithmetic::to_ns(fits).clamp(least, most)
    }

    /// A random place for a read, aligned to its size.
    pub fn place(&mut self, bytes: u64) -> u64 {
        self.random.below((self.target.capacity() / bytes).max(1)) * bytes
    }

    /// Sends reads one at a time.
    pub fn one_by_one(&mut self, all: &[Access]) -> Result<Vec<Timing>, TargetError> {
        self.target.run(all, 1)
    }

    pub fn random_reads(&mut self, count: u64) -> Result<Vec<f64>, TargetError> {
        let all: Vec<Access> = (0..count)
            .map(|_| Access::read(self.place(SMALL), SMALL))
            .collect();
        let times = self.one_by_one(&all)?;
        Ok(times.iter().map(Timing::us).collect())
    }

    /// The sizes alternate, so that a slow second of the machine delays all of them alike.
    pub fn sizes(&mut self, count: u64) -> Result<Vec<Size>, TargetError> {
        let capacity = self.target.capacity();
        let sizes = doublings(LARGE.min(capacity));
        let mut all: Vec<(u64, Vec<f64>)> = sizes.map(|bytes| (bytes, Vec::new())).collect();
        // A processor that slept long is slow at first.
        self.random_reads(16)?;
        for _ in 0..count {
            for (bytes, us) in &mut all {
                let read = Access::read(self.place(*bytes), *bytes);
                us.extend(self.one_by_one(&[read])?.iter().map(Timing::us));
            }
        }
        let medians = all.into_iter().map(|(bytes, us)| Size {
            bytes,
            us: median(&us),
        });
        Ok(medians.collect())
    }

    pub fn sequential(&mut self, slow: bool) -> Result<Vec<Place>, TargetError> {
        let (places, bytes, each, depth) = if slow {
            (25_u64, 4 << 20, 256 << 10, 1)
        } else {
            (9, 16 << 20, LARGE, 4)
        };
        let capacity = self.target.capacity();
        let bytes: u64 = bytes.min(capacity / each * each);
        let mut all = Vec::new();
        for place in 0..places {
            let reach = (capacity - bytes) / SMALL;
            let from = reach * place / (places - 1) * SMALL;
            let reads: Vec<Access> = (0..bytes / each)
                .map(|n| Access::read(from + n * each, each))
                .collect();
            let times = self.target.run(&reads, depth)?;
            // The first read includes the seek to this place.
            let mut completed: Vec<f64> = times
                .iter()
                .skip(1)
                .map(|one| one.completed as f64 / 1e3)
                .collect();
            completed.sort_by(f64::total_cmp);
            all.push(Place {
                at: from as f64 / capacity as f64,
                mb_s: rate(&completed) * each as f64,
            });
        }
        Ok(all)
    }

    pub fn depths(&mut self) -> Result<Vec<Depth>, TargetError> {
        let mut depths = Vec::new();
        let mut each_us = self.latency_us;
        for depth in DEPTHS {
            if each_us > SLOW_US && depth > SLOW_DEPTH {
                break;
            }
            let fewest = 4 * depth as u64;
            let count = self.count(0.02, each_us, fewest.max(100), 4000);
            let all: Vec<Access> = (0..count)
                .map(|_| Access::read(self.place(SMALL), SMALL))
                .collect();
            let times = self.target.run(&all, depth)?;
            let mut completed: Vec<u64> = times.iter().map(|one| one.completed).collect();
            completed.sort_unstable();
            // From a third on the queue is full and a burst is over. At the end it empties.
            let last = completed.len() - depth.min(completed.len() / 3);
            let us: Vec<f64> = completed[completed.len() / 3..last]
                .iter()
                .map(|at| *at as f64 / 1e3)
                .collect();
            let iops = (rate(&us) * 1e6).max(1e-3);
            each_us = 1e6 / iops;
            depths.push(Depth { depth, iops });
        }
        Ok(depths)
    }

    pub fn burst(&mut self, count: u64, bytes: u64, depth: usize) -> Result<Vec<f64>, TargetError> {
        self.target.pause(300_000_000)?;
        let from = self.place(LARGE) / 2;
        let capacity = self.target.capacity();
        let most = capacity / bytes;
        let all: Vec<Access> = (0..count.min(most))
            .map(|n| match bytes {
                SMALL => Access::read(self.place(SMALL), SMALL),
                _ => Access::read(from / bytes * bytes + n * bytes, bytes),
            })
            .filter(|read| read.at + read.bytes <= capacity)
            .collect();
        let times = self.target.run(&all, depth)?;
        let began = times.iter().map(|one| one.submitted).min().unwrap_or(0);
        let mut all: Vec<f64> = times
            .iter()
            .map(|one| (one.completed - began) as f64 / 1e3)
            .collect();
        all.sort_by(f64::total_cmp);
        Ok(all)
    }
}
