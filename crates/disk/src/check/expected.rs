//! Expected random read latencies from the sheet alone: a separate implementation of the formulas
//! without geometry, queue or cache.

use crate::arithmetic::{exp, ln, normal_quantile};
use crate::models::hdd::ThreePoint;
use crate::profiles::{Profile, Timing};
use fsdyno_model::random::Random;

const READ_BYTES: f64 = 4096.0;

/// The three seek figures of a sheet.
pub fn three_points(profile: &Profile) -> Option<ThreePoint> {
    let sheet = &profile.sheet;
    Some(ThreePoint {
        minimum_ms: sheet.track_to_track_ms?,
        mean_ms: sheet.mean_seek_ms?,
        full_ms: sheet.full_stroke_ms?,
    })
}

/// Latencies of this many single 4 KiB reads, microseconds, sorted. Returns none if the sheet lacks
/// figures.
pub fn expected_reads(profile: &Profile, count: usize) -> Option<Vec<f64>> {
    let mut expected: Vec<f64> = match &profile.timing {
        Timing::Hdd(spec) => {
            let points = three_points(profile)?;
            let turn_us = 60e6 / profile.sheet.rpm?;
            let rate = f64::midpoint(profile.sheet.outer_mb_s?, profile.sheet.inner_mb_s?);
            let fixed = spec.command_overhead_ms * 1e3 + READ_BYTES / rate;
            let mut random = Random::new(2);
            let mut one = || {
                let distance = (random.unit() - random.unit()).abs();
                fixed + points.at(distance) * 1e3 + random.unit() * turn_us
            };
            (0..count).map(|_| one()).collect()
        }
        Timing::Flash(_) => vec![profile.sheet.random_read_us?; count],
        Timing::Volume(_) => {
            let (half, most) = (profile.sheet.latency_p50_us?, profile.sheet.latency_p99_us?);
            let sigma = ln(most / half) / normal_quantile(0.99);
            let quantile = |n: usize| (n as f64 + 0.5) / count as f64;
            (0..count)
                .map(|n| half * exp(sigma * normal_quantile(quantile(n))))
                .collect()
        }
        Timing::Null => return None,
    };
    expected.sort_by(f64::total_cmp);
    Some(expected)
}
