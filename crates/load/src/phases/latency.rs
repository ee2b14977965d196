//! Latencies of operations: one reading of the clock per operation, into a preallocated histogram.
//! The phase defines its operations.

use crate::clock;
use fsdyno_model::sample::{Better, Figure};
use fsdyno_model::timeline::LatencyDistribution;
use hdrhistogram::Histogram;

/// The maximum distinguishable latency, nanoseconds: one hour.
const MAX_LATENCY_NS: u64 = 3_600_000_000_000;
/// Significant decimal digits of the histogram: its classes are those of [`LatencyDistribution`].
const DIGITS: u8 = 2;

/// The reported percentiles, with their names.
const SHARES: [(f64, &str); 4] = [
    (0.5, "latency p50"),
    (0.9, "latency p90"),
    (0.99, "latency p99"),
    (0.999, "latency p99.9"),
];
/// The name of the maximum.
pub(crate) const SLOWEST: &str = "latency max";

#[derive(Debug)]
pub(crate) struct Latencies {
    histogram: Histogram<u64>,
    /// The minimum and the maximum, exact: the histogram would round them.
    quickest: u64,
    slowest: u64,
    sum: u64,
    /// The start of the operation in flight, which is the end of the previous one.
    began: u64,
}

impl Latencies {
    /// An empty set of latencies.
    pub fn new() -> Self {
        Self {
            histogram: Histogram::new_with_bounds(1, MAX_LATENCY_NS, DIGITS)
                .expect("the bounds are constants, and good ones"),
            quickest: u64::MAX,
            slowest: 0,
            sum: 0,
            began: 0,
        }
    }

    /// The first operation begins now.
    #[inline]
    pub fn begin(&mut self) {
        self.began = clock::now();
    }

    /// The start of the operation in flight.
    pub fn began(&self) -> u64 {
        self.began
    }

    /// Sets the start of the operation in flight to another time.
    pub fn began_at(&mut self, moment: u64) {
        self.began = moment;
    }

    /// Records that an operation ends now and the next begins. Returns the time.
    #[inline]
    pub fn next(&mut self) -> u64 {
        let now = clock::now();
        let duration = now.saturating_sub(self.began);
        self.began = now;
        self.add_one(duration);
        now
    }

    /// Adds the latency of one operation.
    #[inline]
    pub fn add_one(&mut self, duration: u64) {
        self.quickest = self.quickest.min(duration);
        self.slowest = self.slowest.max(duration);
        self.sum += duration;
        self.histogram.saturating_record(duration);
    }

    /// Adds the latencies of another worker.
    pub fn add(&mut self, other: &Self) {
        self.quickest = self.quickest.min(other.quickest);
        self.slowest = self.slowest.max(other.slowest);
        self.sum += other.sum;
        // Both have the same bounds.
        let _ = self.histogram.add(&other.histogram);
    }

    /// Adds the latencies of another process.
    pub fn add_all(&mut self, other: &LatencyDistribution) {
        if other.count == 0 {
            return;
        }
        self.quickest = self.quickest.min(other.min_ns);
        self.slowest = self.slowest.max(other.max_ns);
        self.sum += other.sum_ns;
        for (end, count) in &other.buckets {
            self.histogram.saturating_record_n(*end, *count);
        }
    }

    /// Operations so far.
    pub fn count(&self) -> u64 {
        self.histogram.len()
    }

    /// The figures; none without operations.
    pub fn figures(&self) -> Vec<Figure> {
        let Some(all) = self.distribution("") else {
            return Vec::new();
        };
        let summary = |name: &str, ns: u64| Figure::new(name, ns as f64, "ns", Better::Lower);
        SHARES
            .iter()
            .filter_map(|(share, name)| Some(summary(name, all.at(*share)?)))
            .chain([summary(SLOWEST, self.slowest)])
            .collect()
    }

    /// The distribution, for operations of that name; none without operations.
    pub fn distribution(&self, operation: &str) -> Option<LatencyDistribution> {
        if self.count() == 0 {
            return None;
        }
        let classes = self.histogram.iter_recorded();
        let buckets = classes.map(|class| (class.value_iterated_to(), class.count_at_value()));
        Some(LatencyDistribution {
            operation: operation.to_owned(),
            count: self.count(),
            sum_ns: self.sum,
            min_ns: self.quickest,
            max_ns: self.slowest,
            buckets: buckets.collect(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_match_the_recorded_latencies() {
        let mut latencies = Latencies::new();
        for duration in 1..=1000 {
            latencies.add_one(duration * 1000);
        }
        let values: Vec<f64> = latencies.figures().iter().map(|f| f.value).collect();
        for (value, share) in values.iter().zip([0.5, 0.9, 0.99, 0.999, 1.0]) {
            assert!((value / 1e6 - share).abs() < 0.008, "{value} for {share}");
        }
        assert!(values.is_sorted() && values[4] <= 1e6);
    }

    #[test]
    fn latencies_of_workers_add_up_and_may_be_empty() {
        let (mut one, mut two) = (Latencies::new(), Latencies::new());
        assert!(one.figures().is_empty());
        two.begin();
        two.next();
        one.begin();
        one.next();
        one.add(&two);
        assert_eq!(one.count(), 2);
        assert!(one.slowest >= two.slowest);
        assert!(one.quickest <= two.quickest && one.sum >= two.sum);
    }

    #[test]
    fn every_operation_is_in_the_class_of_its_time() {
        let (mut one, mut two) = (Latencies::new(), Latencies::new());
        assert_eq!(one.distribution("file"), None);
        let times = |at: u64| 1 + at * at * 37;
        for at in 0..5000 {
            if at % 3 == 0 { &mut one } else { &mut two }.add_one(times(at));
        }
        one.add(&two);
        let mut expected = std::collections::BTreeMap::new();
        for at in 0..5000 {
            let end = LatencyDistribution::class_end(times(at));
            *expected.entry(end).or_insert(0_u64) += 1;
        }
        let summary = one.distribution("file").unwrap();
        assert_eq!(summary.buckets, expected.into_iter().collect::<Vec<_>>());
        assert_eq!(summary.sum_ns, (0..5000).map(times).sum::<u64>());
        assert_eq!((summary.min_ns, summary.max_ns), (1, times(4999)));
        assert_eq!((summary.count, summary.operation.as_str()), (5000, "file"));
        let median = summary.at(0.5).unwrap() as f64 / times(2499) as f64;
        assert!((1.0..1.01).contains(&median), "{median}");
    }
}
