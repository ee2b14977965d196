//! A hard disk, from reads: rotation and tracks by descending reads, the seek curve by random reads,
//! the controller and its cache by reads of cached sectors.
//!
//! A read of the sectors before the last ones waits for nearly a revolution T. With N sectors per
//! track and a step of s sectors, the times between completions are T (1 - s / N), and two steps
//! give both. A step to another track is shorter by the skew.

use super::FitError;
use super::probes::{Measurements, Prober, SMALL, Size, median, quantile};
use super::search;
use super::target::{Access, TargetError, Timing};
use crate::models::hdd::ThreePoint;
use crate::request::SECTOR;
use serde::Serialize;

/// The steps of descending reads, in sectors.
const STEPS: [u64; 2] = [8, 40];

/// Descending reads of a step.
const DESCENTS: u64 = 80;

/// Descending reads across tracks, a quarter of a track each.
const CROSSINGS: u64 = 160;

/// Passes over them.
const PASSES: u64 = 3;

/// Revolutions of hard disks, in microseconds: 2,500 to 20,000 a minute.
const REVOLUTIONS: std::ops::Range<f64> = 3000.0..24_000.0;

/// Sizes of reads from the cache.
const CACHED: [u64; 3] = [4096, 16_384, 32_768];

/// The largest segment of read-ahead that is searched for.
const LONGEST_AHEAD: u64 = 8 << 20;

/// The most segments that are searched for.
const MOST_SEGMENTS: u64 = 64;

/// The shortest seek of the curve, as a share of the address range.
const SHORTEST: f64 = 1e-3;

/// A rotating disk.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RotatingDisk {
    /// At the first and at the last sectors.
    pub tracks: [Track; 2],
    /// Times between the completions of descending reads of a quarter of a track, microseconds.
    pub crossings_us: Vec<f64>,
    /// Reads of cached sectors.
    pub cached: Vec<Size>,
    /// Bytes that the disk reads ahead. None if it was not found.
    pub ahead: Option<u64>,
    /// Segments of the cache. None if there are more than were searched for.
    pub segments: Option<u64>,
    /// Seeks.
    pub seeks: Vec<Seek>,
}

/// A track.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Track {
    /// Microseconds of a revolution.
    pub revolution_us: f64,
    /// Sectors.
    pub sectors: f64,
}

/// A read after another read.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Seek {
    /// Both places as shares of the address range.
    pub from: f64,
    /// The second one.
    pub to: f64,
    /// Latency in microseconds.
    pub us: f64,
}

impl RotatingDisk {
    /// Probes a disk. None if it does not rotate.
    pub(super) fn measure(prober: &mut Prober<'_>) -> Result<Option<Self>, TargetError> {
        let end = prober.target.capacity() / SMALL * SMALL;
        // Away from the first sectors, which may be cached.
        let outer = (end / 1000).max(CROSSINGS * SMALL * 16).min(end);
        let Some(first) = track(prober, outer)? else {
            return Ok(None);
        };
        let Some(last) = track(prober, end - SMALL)? else {
            return Ok(None);
        };
        if (last.revolution_us / first.revolution_us - 1.0).abs() > 0.1 {
            return Ok(None);
        }
        let quarter = crate::arithmetic::to_ns(first.sectors / 32.0) * 8;
        let from = (end / 500)
            .max(CROSSINGS * quarter * SECTOR + outer)
            .min(end - SMALL);
        let mut passes = Vec::new();
        for pass in 0..PASSES {
            // The sectors of the pass before are cached.
            let from = from.saturating_sub(pass * SMALL);
            passes.push(descend(prober, from, quarter.max(8), CROSSINGS)?);
        }
        let common = passes.iter().map(Vec::len).min().unwrap_or(0);
        let crossings_us = (0..common)
            .map(|at| median(&passes.iter().map(|pass| pass[at]).collect::<Vec<_>>()))
            .collect();
        let cached = cached(prober)?;
        let limits = Limits {
            hit_us: cached.first().map_or(0.0, |size| size.us) + first.revolution_us / 30.0,
            mb_s: last.sectors * SECTOR as f64 / last.revolution_us,
        };
        let ahead = ahead(prober, limits)?;
        let segments = segments(prober, limits)?;
        let seeks = seeks(prober)?;
        Ok(Some(Self {
            tracks: [first, last],
            crossings_us,
            cached,
            ahead,
            segments,
            seeks,
        }))
    }
}

/// Times between the completions of descending reads, microseconds.
fn descend(
    prober: &mut Prober<'_>,
    from: u64,
    step: u64,
    count: u64,
) -> Result<Vec<f64>, TargetError> {
    let all: Vec<Access> = (0..count)
        .map_while(|n| from.checked_sub(n * step * SECTOR))
        .map(|at| Access::read(at / SMALL * SMALL, SMALL))
        .collect();
    let times = prober.one_by_one(&all)?;
    let between = times.windows(2);
    Ok(between
        .map(|two| two[1].completed.saturating_sub(two[0].completed) as f64 / 1e3)
        .collect())
}

/// Revolution and sectors of the tracks before a place.
fn track(prober: &mut Prober<'_>, from: u64) -> Result<Option<Track>, TargetError> {
    let mut medians = [0.0; 2];
    for (median_us, step) in medians.iter_mut().zip(STEPS) {
        let us = descend(prober, from, step, DESCENTS)?;
        *median_us = median(&us);
        let off: Vec<f64> = us.iter().map(|one| (one - *median_us).abs()).collect();
        // Most other disks have no such interval. The error of the fit excludes the rest.
        if median(&off) > 0.15 * *median_us {
            return Ok(None);
        }
    }
    let per_sector = (medians[0] - medians[1]) / (STEPS[1] - STEPS[0]) as f64;
    let revolution_us = medians[0] + per_sector * STEPS[0] as f64;
    let turns = REVOLUTIONS.contains(&revolution_us) && per_sector > 1e-5 * revolution_us;
    Ok(turns.then_some(Track {
        revolution_us,
        sectors: revolution_us / per_sector,
    }))
}

/// Reads sectors twice; the second read is from the cache.
fn cached(prober: &mut Prober<'_>) -> Result<Vec<Size>, TargetError> {
    let mut sizes = Vec::new();
    for bytes in CACHED {
        let mut all = Vec::new();
        for _ in 0..30 {
            let read = Access::read(prober.place(bytes), bytes);
            all.extend([read, read]);
        }
        let times = prober.one_by_one(&all)?;
        let again: Vec<f64> = times.iter().skip(1).step_by(2).map(Timing::us).collect();
        sizes.push(Size {
            bytes,
            us: median(&again),
        });
    }
    Ok(sizes)
}

/// What a read from the cache takes at most, and bytes per microsecond of the medium.
#[derive(Clone, Copy)]
struct Limits {
    hit_us: f64,
    mb_s: f64,
}

/// Whether a read at this distance after another one comes from the cache, by the majority of
/// three: a read that meets its sector at once looks like one.
fn is_ahead(prober: &mut Prober<'_>, bytes: u64, limits: Limits) -> Result<bool, TargetError> {
    let mut hits = 0;
    for _ in 0..3 {
        let room = prober.target.capacity().saturating_sub(bytes + 2 * SMALL) / SMALL;
        let at = prober.random.below(room.max(1)) * SMALL;
        prober.one_by_one(&[Access::read(at, SMALL)])?;
        let streamed = crate::arithmetic::us_to_ns(1.5 * bytes as f64 / limits.mb_s);
        prober.target.pause(20_000_000 + streamed)?;
        let times = prober.one_by_one(&[Access::read(at + bytes, SMALL)])?;
        hits += u32::from(times.first().is_some_and(|time| time.us() < limits.hit_us));
    }
    Ok(hits >= 2)
}

/// Bytes that the disk reads ahead, to 6 %.
fn ahead(prober: &mut Prober<'_>, limits: Limits) -> Result<Option<u64>, TargetError> {
    let mut held = 0;
    let mut missed = SMALL;
    while missed <= LONGEST_AHEAD && is_ahead(prober, missed, limits)? {
        held = missed;
        missed *= 2;
    }
    if held == 0 || missed > LONGEST_AHEAD {
        return Ok(None);
    }
    while missed - held > (held / 16).max(SMALL) {
        let middle = u64::midpoint(held, missed) / SMALL * SMALL;
        if is_ahead(prober, middle, limits)? {
            held = middle;
        } else {
            missed = middle;
        }
    }
    // The read itself is in the cache too.
    Ok(Some(held + SMALL))
}

/// Whether the first of so many reads is still cached after the others. A read of the medium takes
/// a seek more, so one hit is enough.
fn is_kept(prober: &mut Prober<'_>, reads: u64, limits: Limits) -> Result<bool, TargetError> {
    for _ in 0..2 {
        let mut all: Vec<Access> = (0..reads)
            .map(|_| Access::read(prober.place(SMALL), SMALL))
            .collect();
        all.extend(all.first().copied());
        let times = prober.one_by_one(&all)?;
        if times.last().is_some_and(|time| time.us() < limits.hit_us) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The number of segments of the cache.
fn segments(prober: &mut Prober<'_>, limits: Limits) -> Result<Option<u64>, TargetError> {
    let (mut kept, mut lost) = (1, 2);
    while lost <= MOST_SEGMENTS && is_kept(prober, lost, limits)? {
        kept = lost;
        lost *= 2;
    }
    if lost > MOST_SEGMENTS {
        return Ok(None);
    }
    while lost - kept > 1 {
        let middle = u64::midpoint(kept, lost);
        if is_kept(prober, middle, limits)? {
            kept = middle;
        } else {
            lost = middle;
        }
    }
    Ok(Some(kept))
}

/// Random reads: every second one anywhere, the others after seeks of all lengths alike.
fn seeks(prober: &mut Prober<'_>) -> Result<Vec<Seek>, TargetError> {
    let pages = prober.target.capacity() / SMALL;
    let count = prober.count(0.25, prober.latency_us, 300, 2400);
    let mut places = Vec::new();
    let mut here = prober.random.below(pages);
    for number in 0..count {
        if number % 2 == 0 {
            here = prober.random.below(pages);
        } else {
            let share = (prober.random.unit() * -SHORTEST.ln()).exp() * SHORTEST;
            let distance = crate::arithmetic::to_ns(share * pages as f64);
            here = if here + distance < pages {
                here + distance
            } else {
                here.saturating_sub(distance)
            };
        }
        places.push(here);
    }
    let all: Vec<Access> = places
        .iter()
        .map(|page| Access::read(page * SMALL, SMALL))
        .collect();
    let times = prober.one_by_one(&all)?;
    let share = |page: u64| page as f64 / pages as f64;
    let seeks = places.windows(2).zip(times.iter().skip(1));
    Ok(seeks
        .map(|(two, time)| Seek {
            from: share(two[0]),
            to: share(two[1]),
            us: time.us(),
        })
        .collect())
}

/// Parameters of a hard disk that its reads determine.
#[derive(Debug, Clone, PartialEq)]
pub struct HddFit {
    /// Revolutions per minute.
    pub rpm: f64,
    /// Sectors per track, outermost and innermost.
    pub sectors_per_track: [u64; 2],
    /// Skew between the tracks of a cylinder.
    pub track_skew_ms: f64,
    /// Skew between cylinders.
    pub cylinder_skew_ms: f64,
    /// Tracks per cylinder, if the two skews differ.
    pub heads: Option<u32>,
    /// Overhead per command.
    pub command_overhead_ms: f64,
    /// Bus rate.
    pub bus_mb_s: f64,
    /// Bytes of a segment.
    pub segment: Option<u64>,
    /// Segments.
    pub segments: Option<u64>,
    /// Seek curve.
    pub seek: ThreePoint,
}

impl HddFit {
    /// Fits the parameters.
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

/// Skews of the tracks.
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
