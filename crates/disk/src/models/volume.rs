//! A volume over a network: token buckets for requests and bytes, and a latency drawn from a
//! lognormal distribution. What is acknowledged is kept: there is no volatile cache.

use super::{Command, Happening, Model, Work};
use crate::arithmetic::{exp, normal_quantile, to_ns, us_to_ns};
use crate::profiles::{Impossible, size};
use crate::random::Random;
use crate::request::{Causes, Kind};
use fsdyno_model::Bytes;
use serde::Deserialize;
use std::collections::BTreeMap;

/// A volume as a profile writes it.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct VolumeSpec {
    /// Requests a second.
    pub iops: f64,
    /// How many it lets pass at once after a rest.
    pub burst: u32,
    /// Bytes that count as one request; larger ones count as several.
    #[serde(deserialize_with = "size")]
    pub counted: Bytes,
    /// Bytes a second, in mebibytes (2^20).
    pub mib_s: f64,
    /// How much it lets pass at once after a rest.
    #[serde(deserialize_with = "size")]
    pub burst_bytes: Bytes,
    /// Half of the requests that need not wait take less than this.
    pub latency_us: f64,
    /// The standard deviation of the logarithm of the latency.
    pub sigma: f64,
    /// Where the latencies are drawn from.
    pub seed: u64,
}

impl VolumeSpec {
    /// What no volume is like.
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

/// A bucket of tokens that fills evenly, kept as the moment at which it would be full.
///
/// The same as counting tokens (virtual scheduling, ITU-T I.371), in whole numbers.
#[derive(Debug, Clone)]
struct Bucket {
    /// Picoseconds of filling that a token takes: a nanosecond is too coarse for bytes.
    token_ps: u128,
    /// Picoseconds from empty to full.
    depth_ps: u128,
    /// When it is full, in picoseconds.
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

    /// When so many tokens are there, at `now` or later. More than it ever holds may be asked for.
    fn ready(&self, now: u64, tokens: u64) -> u64 {
        let after = self.full_at + self.token_ps * u128::from(tokens);
        let ready = after.saturating_sub(self.depth_ps).div_ceil(1000);
        now.max(u64::try_from(ready).unwrap_or(u64::MAX))
    }

    /// Takes them, at a moment at which they are there.
    fn take(&mut self, at: u64, tokens: u64) {
        let at = u128::from(at) * 1000;
        self.full_at = self.full_at.max(at) + self.token_ps * u128::from(tokens);
    }
}

/// A volume over a network.
#[derive(Debug)]
pub struct Volume {
    spec: VolumeSpec,
    requests: Bucket,
    bytes: Bucket,
    random: Random,
    /// What is under way, by when it is done.
    done: BTreeMap<(u64, u64), (bool, Causes)>,
    work: Work,
}

impl Volume {
    /// A volume that has been at rest.
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
            // Nothing is volatile: a flush is one round trip, and so is telling what is not needed.
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

    fn advance(&mut self, now: u64, happened: &mut Vec<Happening>) {
        while let Some(entry) = self.done.first_entry()
            && entry.key().0 <= now
        {
            let ((at, order), (changes, causes)) = entry.remove_entry();
            if changes {
                happened.push(Happening::Landed { order });
            }
            happened.push(Happening::Done { order, at, causes });
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

    /// The moments at which commands submitted at 0 are done.
    fn done(spec: &VolumeSpec, sectors: u64, count: u64) -> Vec<u64> {
        let mut volume = Volume::new(spec);
        for order in 0..count {
            volume.submit(0, command(order, Kind::Read, 0, sectors, 0));
        }
        let mut happened = Vec::new();
        volume.advance(u64::MAX, &mut happened);
        let at = happened.iter().filter_map(|one| match one {
            Happening::Done { at, causes, .. } => {
                assert_eq!(causes.total(), *at);
                Some(*at)
            }
            _ => None,
        });
        at.collect()
    }

    #[test]
    fn after_the_burst_as_much_passes_as_was_bought() {
        // 1,010 requests: ten at once, then one a millisecond.
        let last = *done(&spec(), 8, 1010).last().unwrap();
        assert!((1_000_000_000..1_003_000_000).contains(&last), "{last}");
        // 101 MiB: one at once, then 100 a second; each counts as four requests.
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
    fn latencies_are_lognormal_and_the_same_for_a_seed() {
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
