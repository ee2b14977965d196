//! A volume with token buckets, from reads. With tokens b and the rate r, a queue that is never
//! empty has completed b + r (t - latency) requests at the time t.

use super::FitError;
use super::measurements::Measurements;
use super::probes::{LARGE, median, quantile, rate, second_half};

/// Single reads that a burst admits.
const FIRST: usize = 100;

/// Parameters of a volume that its reads determine.
#[derive(Debug, Clone, PartialEq)]
pub struct VolumeFit {
    /// Requests per second.
    pub iops: f64,
    /// Requests of a burst.
    pub burst: f64,
    /// Bytes per second, MiB/s.
    pub mib_s: f64,
    pub burst_bytes: f64,
    pub latency_us: f64,
    /// Standard deviation of the logarithm of the latency.
    pub sigma: f64,
}

impl VolumeFit {
    pub fn of(measured: &Measurements) -> Result<Self, FitError> {
        // After a burst, single reads wait for tokens too.
        let all = measured.random_us.as_slice();
        let first = &all[..all.len().min(FIRST)];
        let throttled = median(&all[all.len() - all.len() / 4..]) > 1.3 * median(first);
        let latencies = if throttled { first } else { all };
        let latency_us = median(latencies);
        if latency_us <= 0.0 {
            return Err(FitError::TooSmall);
        }
        let sigma = (quantile(latencies, 0.841) / quantile(latencies, 0.159)).ln() / 2.0;
        let mean_us = latency_us * (sigma * sigma / 2.0).exp();
        let small = Bucket::of(&measured.small_burst_us, mean_us);
        let large = Bucket::of(&measured.large_burst_us, mean_us);
        Ok(Self {
            iops: (small.rate * 1e6).clamp(1.0, 1e8),
            burst: small.burst.clamp(1.0, 1e9),
            mib_s: (large.rate * 1e6 * LARGE as f64 / 1_048_576.0).clamp(0.1, 1e6),
            burst_bytes: (large.burst * LARGE as f64).clamp(4096.0, 1e15),
            latency_us: latency_us.clamp(0.001, 1e8),
            sigma: sigma.clamp(0.0, 5.0),
        })
    }
}

/// A token bucket.
struct Bucket {
    /// Tokens per microsecond.
    rate: f64,
    burst: f64,
}

impl Bucket {
    fn of(completed_us: &[f64], latency_us: f64) -> Self {
        let rate = rate(second_half(completed_us));
        let second_half = completed_us.iter().enumerate().skip(completed_us.len() / 2);
        let tokens: Vec<f64> = second_half
            .map(|(number, us)| (number + 1) as f64 - rate * (us - latency_us))
            .collect();
        Self {
            rate,
            burst: median(&tokens),
        }
    }
}
