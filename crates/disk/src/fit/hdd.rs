//! The parameters of a hard disk, from the reads of a rotating disk: tracks and their skews, the seek
//! curve, the controller and its cache.

use super::FitError;
use super::measurements::Measurements;
use super::probes::{median, quantile};
use super::rotation::{RotatingDisk, SHORTEST};
use super::search;
use crate::models::hdd::ThreePoint;

/// Parameters of a hard disk that its reads determine.
#[derive(Debug, Clone, PartialEq)]
pub struct HddFit {
    /// Revolutions per minute.
    pub rpm: f64,
    /// Sectors per track, outermost and innermost.
    pub sectors_per_track: [u64; 2],
    /// Skew between the tracks of a cylinder.
    pub track_skew_ms: f64,
    pub cylinder_skew_ms: f64,
    /// Tracks per cylinder, if the two skews differ.
    pub heads: Option<u32>,
    pub command_overhead_ms: f64,
    pub bus_mb_s: f64,
    /// Bytes of a segment.
    pub segment: Option<u64>,
    pub segments: Option<u64>,
    pub seek: ThreePoint,
}

impl HddFit {
    pub fn of(measured: &Measurements) -> Result<Self, FitError> {
        let rotating = measured.rotating.as_ref().ok_or(FitError::DoesNotTurn)?;
        let [outer, inner] = rotating.tracks;
        let revolution_us = f64::midpoint(outer.revolution_us, inner.revolution_us);
        let per_track = |sectors: f64| crate::arithmetic::to_ns(sectors).max(8);
        let sectors_per_track = [outer.sectors.max(inner.sectors), inner.sectors].map(per_track);
        let skews = Skews::of(&rotating.crossings_us);
        let (first, last) = (rotating.cached.first(), rotating.cached.last());
        let (Some(small), Some(large)) = (first, last) else {
            return Err(FitError::DoesNotTurn);
        };
        let bytes = large.bytes.saturating_sub(small.bytes) as f64;
        let bus_mb_s = bytes / (large.us - small.us).max(bytes / 1e5);
        let overhead_us = (small.us - small.bytes as f64 / bus_mb_s).max(0.0);
        let mut seek = seek_curve(rotating, revolution_us, overhead_us);
        // The skew covers the shortest seek, or each cylinder would cost a revolution.
        seek.minimum_ms = seek.minimum_ms.min(0.98 * skews.cylinder_us / 1e3);
        Ok(Self {
            rpm: 60e6 / revolution_us,
            sectors_per_track,
            track_skew_ms: skews.track_us / 1e3,
            cylinder_skew_ms: skews.cylinder_us / 1e3,
            heads: skews.heads,
            command_overhead_ms: overhead_us / 1e3,
            bus_mb_s,
            segment: rotating.ahead,
            segments: rotating.segments,
            seek,
        })
    }
}

struct Skews {
    track_us: f64,
    cylinder_us: f64,
    heads: Option<u32>,
}

impl Skews {
    /// From the times between descending reads: those to another track are shorter.
    fn of(crossings_us: &[f64]) -> Self {
        let usual = median(crossings_us);
        let off: Vec<f64> = crossings_us.iter().map(|us| (us - usual).abs()).collect();
        let least = (8.0 * median(&off)).max(0.01 * usual);
        let skews: Vec<f64> = crossings_us
            .iter()
            .map(|us| usual - us)
            .filter(|skew| *skew > least)
            .collect();
        // Of 10 tracks, the skew of one is that between cylinders.
        let (low, high) = (quantile(&skews, 0.1), quantile(&skews, 0.92));
        if high < 1.25 * low {
            let only = median(&skews);
            return Self {
                track_us: only,
                cylinder_us: only,
                heads: None,
            };
        }
        let limit = f64::midpoint(low, high);
        let part = |above: bool| {
            let all = skews.iter().copied();
            median(
                &all.filter(|skew| (*skew > limit) == above)
                    .collect::<Vec<_>>(),
            )
        };
        let (track_us, cylinder_us) = (part(false), part(true));
        let places: Vec<usize> = (0..skews.len()).filter(|at| skews[*at] > limit).collect();
        let spacing: Vec<f64> = places
            .windows(2)
            .map(|two| (two[1] - two[0]) as f64)
            .collect();
        let heads = crate::arithmetic::to_ns(median(&spacing));
        Self {
            track_us,
            cylinder_us,
            heads: u32::try_from(heads)
                .ok()
                .filter(|heads| (1..=64).contains(heads)),
        }
    }
}

/// Share of the cylinders before a share of the sectors, if sectors per track decrease evenly.
fn cylinder(sectors: f64, [outer, inner]: [f64; 2]) -> f64 {
    let mean = f64::midpoint(outer, inner);
    let fall = (outer - inner) / mean;
    if fall.abs() < 1e-6 {
        return sectors;
    }
    // sectors = (outer c - (outer - inner) c^2 / 2) / mean
    let first = outer / mean;
    (first - (first * first - 2.0 * fall * sectors).max(0.0).sqrt()) / fall
}

/// The three points of the seek curve under which the rotational latencies of all reads are most
/// likely: they are uniform over a revolution.
fn seek_curve(rotating: &RotatingDisk, revolution_us: f64, overhead_us: f64) -> ThreePoint {
    let tracks = rotating.tracks.map(|track| track.sectors);
    let transfer_us = 8.0 * revolution_us / f64::midpoint(tracks[0], tracks[1]);
    let seeks: Vec<(f64, f64)> = rotating
        .seeks
        .iter()
        .map(|seek| {
            let distance = cylinder(seek.to, tracks) - cylinder(seek.from, tracks);
            (distance.abs(), seek.us - overhead_us - transfer_us)
        })
        .filter(|(distance, _)| *distance > SHORTEST / 2.0)
        .collect();
    let mean = |range: std::ops::Range<f64>| {
        let us: Vec<f64> = seeks
            .iter()
            .filter(|(distance, _)| range.contains(distance))
            .map(|(_, us)| us - revolution_us / 2.0)
            .collect();
        median(&us)
    };
    let unlikely = |points: &[f64], width: f64| {
        let curve = ThreePoint {
            minimum_ms: points[0],
            mean_ms: points[1],
            full_ms: points[2],
        };
        let minus_log = |(distance, us): &(f64, f64)| {
            let wait = us - 1e3 * curve.at(*distance);
            let step = |at: f64| 1.0 / (1.0 + (-1.7 * at / width).exp());
            let uniform = (step(wait) - step(wait - revolution_us)).max(0.0);
            -(0.96 * uniform + 0.04 / 4.0).ln()
        };
        seeks.iter().map(minus_log).sum::<f64>()
    };
    let mut points = [mean(0.0..0.005), mean(0.2..0.5), mean(0.8..1.1)].map(|us| us.max(1.0) / 1e3);
    if points[2] < points[1] {
        points[2] = points[1] * 1.9;
    }
    let mut best = (f64::INFINITY, points);
    // The ends of the uniform distribution are first blurred, and finally as sharp as they are.
    for share in [0.125, 0.04, 0.02, 0.01, 0.005] {
        let width = share * revolution_us;
        search::least(&mut points, &[0.25; 3], |points| {
            if points.iter().any(|point| *point < 0.0) {
                f64::INFINITY
            } else {
                unlikely(points, width)
            }
        });
        let found = unlikely(&points, width);
        if found < best.0 {
            best = (found, points);
        }
    }
    let points = best.1;
    let [minimum_ms, mean_ms, full_ms] = points;
    ThreePoint {
        minimum_ms,
        mean_ms,
        full_ms,
    }
}
