//! A rotating disk, from reads: rotation and tracks by descending reads, seeks by random reads, the
//! cache by reads of cached sectors.
//!
//! A read of the sectors before the last ones waits for nearly a revolution T. With N sectors per
//! track and a step of s sectors, the times between completions are T (1 - s / N), and two steps
//! give both. A step to another track is shorter by the skew.

use super::probes::{Prober, SMALL, Size, median};
use super::target::{Access, TargetError, Timing};
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

const MOST_SEGMENTS: u64 = 64;

/// The shortest seek of the curve, as a share of the address range.
pub(super) const SHORTEST: f64 = 1e-3;

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
    pub seeks: Vec<Seek>,
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Track {
    pub revolution_us: f64,
    pub sectors: f64,
}

/// A read after another read.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Seek {
    /// Both places as shares of the address range.
    pub from: f64,
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
