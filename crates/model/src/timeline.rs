//! The timeline of a phase: the latency of its operations, and its progress over time.

use crate::units::{Bytes, Nanos};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The latencies of the operations of one kind.
#[derive(Debug, Clone, PartialEq, Eq, Default, JsonSchema, Serialize, Deserialize)]
pub struct LatencyDistribution {
    /// The kind of operation: `file`, `create`, `read`.
    pub operation: String,
    /// The number of operations. Every operation is counted.
    pub count: u64,
    /// The sum, nanoseconds.
    pub sum_ns: u64,
    /// The shortest, nanoseconds.
    pub min_ns: u64,
    /// The longest, nanoseconds.
    pub max_ns: u64,
    /// The buckets with operations, the shortest first: the upper end of the bucket in nanoseconds
    /// (inclusive), and the number of its operations. See [`LatencyDistribution::class_end`].
    pub buckets: Vec<(u64, u64)>,
}

/// The timeline of a phase: its work in equal slices of the time until return.
#[derive(Debug, Clone, PartialEq, Eq, Default, JsonSchema, Serialize, Deserialize)]
pub struct Progress {
    /// The length of a slice. The last slice ends when the work has returned, or earlier.
    pub slice_ns: Nanos,
    /// The slices, in order.
    pub slices: Vec<Slice>,
}

/// The operations that completed in one slice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, JsonSchema, Serialize, Deserialize)]
pub struct Slice {
    /// Operations that completed.
    pub operations: u64,
    /// Bytes of file data that they handled.
    pub bytes: Bytes,
}

impl LatencyDistribution {
    /// Classes per doubling, so that a class is at most 0.8 % wide.
    pub const CLASSES: u64 = 128;

    /// The end of the class that contains a time: its longest time. Up to 255 ns each nanosecond is
    /// a class; above, each doubling has [`LatencyDistribution::CLASSES`] of equal width.
    pub fn class_end(ns: u64) -> u64 {
        let shift = (ns | Self::CLASSES).ilog2() - Self::CLASSES.ilog2();
        ns | ((1 << shift) - 1)
    }

    /// The percentile at this share (0.99: 99 %), nanoseconds, to the width of its class; none
    /// without operations.
    pub fn at(&self, share: f64) -> Option<u64> {
        if self.count == 0 {
            return None;
        }
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a part of a count, which `as` keeps within it"
        )]
        let wanted = ((share * self.count as f64).ceil() as u64).clamp(1, self.count);
        let mut seen = 0;
        let found = self.buckets.iter().find(|(_, count)| {
            seen += count;
            seen >= wanted
        });
        // The upper end of a bucket may exceed the maximum.
        found.map(|(end, _)| (*end).clamp(self.min_ns, self.max_ns))
    }

    /// Adds another distribution of the same kind.
    pub fn add(&mut self, other: &Self) {
        if other.count == 0 {
            return;
        }
        if self.count == 0 {
            (self.min_ns, self.max_ns) = (other.min_ns, other.max_ns);
        }
        self.min_ns = self.min_ns.min(other.min_ns);
        self.max_ns = self.max_ns.max(other.max_ns);
        self.count += other.count;
        self.sum_ns += other.sum_ns;
        let mut buckets: BTreeMap<u64, u64> = self.buckets.drain(..).collect();
        for (end, count) in &other.buckets {
            *buckets.entry(*end).or_default() += count;
        }
        self.buckets = buckets.into_iter().collect();
    }

    /// The mean, nanoseconds; none without operations.
    pub fn mean(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum_ns as f64 / self.count as f64)
    }
}

impl Progress {
    /// The sum of all slices.
    pub fn whole(&self) -> Slice {
        let mut whole = Slice::default();
        for slice in &self.slices {
            whole.add(slice);
        }
        whole
    }
}

impl Slice {
    /// Adds the progress of another worker in the same time.
    pub fn add(&mut self, other: &Self) {
        self.operations += other.operations;
        self.bytes.0 += other.bytes.0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_are_contiguous_and_narrow() {
        let mut at = 0;
        while at < 1 << 45 {
            let end = LatencyDistribution::class_end(at);
            assert!(end >= at && (end - at) * 127 <= at, "{at} to {end}");
            assert_eq!(LatencyDistribution::class_end(end), end);
            assert_eq!(LatencyDistribution::class_end(at + (end - at) / 2), end);
            at = end + 1;
        }
        assert_eq!(LatencyDistribution::class_end(u64::MAX), u64::MAX);
    }

    #[test]
    fn percentiles_are_within_the_measured_range() {
        let distribution = LatencyDistribution {
            operation: "file".into(),
            count: 100,
            sum_ns: 10_000,
            min_ns: 70,
            max_ns: 5000,
            buckets: vec![(71, 50), (103, 49), (5119, 1)],
        };
        let shares = [0.0, 0.5, 0.51, 0.99, 0.991, 1.0];
        let found = shares.map(|share| distribution.at(share).unwrap());
        assert_eq!(found, [71, 71, 103, 103, 5000, 5000]);
        assert_eq!(distribution.mean(), Some(100.0));
        assert_eq!(LatencyDistribution::default().at(0.5), None);
    }

    #[test]
    fn distributions_of_repeats_add_up() {
        let of = |count, ns: u64| LatencyDistribution {
            operation: "file".into(),
            count,
            sum_ns: count * ns,
            min_ns: ns,
            max_ns: ns,
            buckets: vec![(LatencyDistribution::class_end(ns), count)],
        };
        let mut all = LatencyDistribution::default();
        for one in [
            of(3, 500),
            of(1, 90),
            of(2, 501),
            LatencyDistribution::default(),
        ] {
            all.add(&one);
        }
        assert_eq!((all.count, all.sum_ns), (6, 1500 + 90 + 1002));
        assert_eq!((all.min_ns, all.max_ns), (90, 501));
        assert_eq!(all.buckets, [(90, 1), (501, 5)]);
    }
}
