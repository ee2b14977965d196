//! Network volume: token buckets for requests and bytes, and latencies from a lognormal
//! distribution. It has no volatile cache: acknowledged writes are durable.

use super::{Command, Model, ModelEvent, Work};
use crate::arithmetic::{exp, normal_quantile, to_ns, us_to_ns};
use crate::request::{Causes, Kind};
use crate::values::{Impossible, size};
use fsdyno_model::Bytes;
use fsdyno_model::random::Random;
use serde::Deserialize;
use std::collections::BTreeMap;

/// Parameters of a volume in a profile.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct VolumeSpec {
    /// Requests per second.
    pub iops: f64,
    /// Burst size in requests after idle time.
    pub burst: u32,
    /// Maximum bytes of one counted request. Larger requests count as several.
    #[serde(deserialize_with = "size")]
    pub counted: Bytes,
    /// Throughput, MiB/s (2^20).
    pub mib_s: f64,
    /// Burst size in bytes after idle time.
    #[serde(deserialize_with = "size")]
    pub burst_bytes: Bytes,
    /// Median latency of requests that do not wait.
    pub latency_us: f64,
    /// Standard deviation of the logarithm of the latency.
    pub sigma: f64,
    pub seed: u64,
}

impl VolumeSpec {
    pub(crate) fn check(&self) -> Result<(), Impossible> {
        Impossible::outside("volume.iops", self.iops, 1.0, 1e8)?;
        Impossible::outside("volume.burst", f64::from(self.burst), 1.0, 1e9)?;
        Impossible::outside("volume.counted", self.counted.0 as f64, 512.0, 1e9)?;
        Impossible::outside("volume.mib_s", self.mib_s, 0.1, 1e6)?;
        let burst = self.burst_bytes.0 as f64;
        Impossible::outside("volume.burst_bytes", burst, 512.0, 1e15)?;
        Impossible::outside("volume.latency_us", self.latency_us, 0.001, 1e8)?;
        Impossible::outside("volume.sigma", self.sigma, 0.0, 5.0)
    }
}

/// A token bucket that fills evenly, stored as the time at which it is full.
///
/// This equals a token count (virtual scheduling, ITU-T I.371) in integer arithmetic.
#[derive(Debug, Clone)]
struct Bucket {
    /// Fill time of a token in picoseconds. Nanoseconds are too coarse for bytes.
    token_ps: u128,
    /// Picoseconds from empty to full.
    depth_ps: u128,
    /// Time at which it is full, in picoseconds.
    full_at: u128,
}

impl Bucket {
    fn new(tokens_a_second: f64, depth: u64) -> Self {
        let token_ps = u128::from(to_ns(1e12 / tokens_a_second).max(1));
        Self {
            token_ps,
            depth_ps: token_ps * u128::from(depth),
            full_at: 0,
        }
    }

    /// Time at which this many tokens are available, not before `now`. The number may exceed the
    /// capacity.
    fn ready(&self, now: u64, tokens: u64) -> u64 {
        let after = self.full_at + self.token_ps * u128::from(tokens);
        let ready = after.saturating_sub(self.depth_ps).div_ceil(1000);
        now.max(u64::try_from(ready).unwrap_or(u64::MAX))
    }

    /// Takes tokens at a time when they are available.
    fn take(&mut self, at: u64, tokens: u64) {
        let at = u128::from(at) * 1000;
        self.full_at = self.full_at.max(at) + self.token_ps * u128::from(tokens);
    }
}

#[derive(Debug)]
pub struct Volume {
    spec: VolumeSpec,
    requests: Bucket,
    bytes: Bucket,
    random: Random,
    /// Requests in flight by completion time.
    done: BTreeMap<(u64, u64), (bool, Causes)>,
    work: Work,
}

impl Volume {
    /// Creates an idle volume with full buckets.
    pub fn new(spec: &VolumeSpec) -> Self {
        Self {
            requests: Bucket::new(spec.iops, u64::from(spec.burst)),
            bytes: Bucket::new(spec.mib_s * 1_048_576.0, spec.burst_bytes.0),
            random: Random::new(spec.seed),
            spec: spec.clone(),
            done: BTreeMap::new(),
            work: Work::default(),
        }
    }

    fn latency(&mut self) -> u64 {
        let z = normal_quantile(self.random.unit());
        us_to_ns(self.spec.latency_us * exp(self.spec.sigma * z))
    }
}

impl Model for Volume {
    fn submit(&mut self, now: u64, command: Command) {
        let (requests, bytes) = match command.kind {
            Kind::Read | Kind::Write => {
                let requests = command.bytes().div_ceil(self.spec.counted.0);
                (requests, command.bytes())
            }
            // Nothing is volatile: a flush or a discard takes one round trip.
            Kind::WriteZeroes | Kind::Discard | Kind::Flush => (1, 0),
        };
        match command.kind {
            Kind::Read => self.work.medium_read += bytes,
            Kind::Write | Kind::WriteZeroes => self.work.medium_written += command.bytes(),
            Kind::Discard | Kind::Flush => {}
        }
        let admitted = self.requests.ready(now, requests);
        let admitted = self.bytes.ready(admitted, bytes);
        self.requests.take(admitted, requests);
        self.bytes.take(admitted, bytes);
        let latency = self.latency();
        self.work.transfer_ns += latency;
        let causes = Causes {
            cache: admitted - now,
            overhead: latency,
            ..Causes::default()
        };
        let at = admitted + latency;
        let causes = command.causes(at, causes);
        self.done
            .insert((at, command.order), (command.kind.changes(), causes));
    }

    fn next_event(&self) -> Option<u64> {
        self.done.first_key_value().map(|((at, _), _)| *at)
    }

    fn advance(&mut self, now: u64, happened: &mut Vec<ModelEvent>) {
        while let Some(entry) = self.done.first_entry()
            && entry.key().0 <= now
        {
            let ((at, order), (changes, causes)) = entry.remove_entry();
            if changes {
                happened.push(ModelEvent::Landed { order });
            }
            happened.push(ModelEvent::Done { order, at, causes });
        }
    }

    fn work(&self) -> Work {
        self.work
    }

    fn landing(&self) -> Vec<u64> {
        let writes = self.done.iter().filter(|(_, (changes, _))| *changes);
        writes.map(|((_, order), _)| *order).collect()
    }

    fn power_cycle(&mut self, _now: u64) {
        self.done.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::models::hdd::tests::command;

    fn spec() -> VolumeSpec {
        VolumeSpec {
            iops: 1000.0,
            burst: 10,
            counted: Bytes(256 << 10),
            mib_s: 100.0,
            burst_bytes: Bytes(1 << 20),
            latency_us: 500.0,
            sigma: 0.3,
            seed: 1,
        }
    }

    /// Completion times of commands submitted at 0.
    fn done(spec: &VolumeSpec, sectors: u64, count: u64) -> Vec<u64> {
        let mut volume = Volume::new(spec);
        for order in 0..count {
            volume.submit(0, command(order, Kind::Read, 0, sectors, 0));
        }
        let mut happened = Vec::new();
        volume.advance(u64::MAX, &mut happened);
        let at = happened.iter().filter_map(|one| match one {
            ModelEvent::Done { at, causes, .. } => {
                assert_eq!(causes.total(), *at);
                Some(*at)
            }
            _ => None,
        });
        at.collect()
    }

    #[test]
    fn throughput_after_the_burst_equals_the_provisioned_rate() {
        // 1,010 requests: a burst of ten, then one per millisecond.
        let last = *done(&spec(), 8, 1010).last().unwrap();
        assert!((1_000_000_000..1_003_000_000).contains(&last), "{last}");
        // 101 MiB: a burst of one, then 100 per second. Each counts as four requests.
        let large = VolumeSpec {
            iops: 1e6,
            ..spec()
        };
        let last = *done(&large, 2048, 101).last().unwrap();
        assert!((1_000_000_000..1_003_000_000).contains(&last), "{last}");
        let counted = *done(&spec(), 2048, 101).last().unwrap();
        assert!(counted >= 101 * 4 * 1_000_000 - 10_000_000, "{counted}");
    }

    #[test]
    fn latencies_are_lognormal_and_equal_for_a_seed() {
        let fast = VolumeSpec {
            iops: 1e8,
            burst: 1_000_000,
            ..spec()
        };
        let all = done(&fast, 0, 10_000);
        let quantile = |p: f64| {
            let at = to_ns(p * 10_000.0);
            all[usize::try_from(at).unwrap()] as f64 / 1000.0
        };
        // 500 exp(0.3 z)
        for (p, us) in [(0.5, 500.0), (0.9, 734.4), (0.99, 1004.7), (0.01, 248.8)] {
            let off = quantile(p) / us - 1.0;
            assert!(off.abs() < 0.03, "{p}: {}", quantile(p));
        }
        assert_eq!(all, done(&fast, 0, 10_000));
        assert_ne!(all, done(&VolumeSpec { seed: 2, ..fast }, 0, 10_000));
    }
}
