//! Reads in pairs. Two reads at the same time take longer if one unit of a flash disk serves both. The
//! distances at which they do show the program unit, the number of units and the channels (F. Chen,
//! R. Lee, X. Zhang, "Essential roles of exploiting internal parallelism of flash memory based
//! solid state drives", HPCA 2011).

use super::probes::{LARGE, Prober, SMALL, doublings, median, quantile};
use super::target::{Access, TargetError};
use serde::Serialize;

/// Pairs of a distance.
const PAIRS: u64 = 32;

const MOST_UNITS: u64 = 256;

/// A second read in the same unit delays a pair by at least this share of a read.
const LEAST_DELAY: f64 = 0.12;

/// Two reads of whole program units on one channel take longer by at least this share.
const LEAST_WAIT: f64 = 0.04;

/// Pairs of reads at the same time, microseconds until both are complete.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Pairs {
    /// One read of 4 KiB.
    pub alone_us: f64,
    /// Two reads of 4 KiB by their distance in bytes.
    pub near: Vec<(u64, f64)>,
    /// Bytes that a unit has in a row, if reads in the same unit delay each other.
    pub program_unit: Option<u64>,
    pub units: Option<u64>,
    pub channels: Option<u64>,
}

impl Pairs {
    /// Probes a disk. None if it is too small.
    pub(super) fn measure(prober: &mut Prober<'_>) -> Result<Option<Self>, TargetError> {
        if prober.target.capacity() < 512 * LARGE {
            return Ok(None);
        }
        let near: Vec<u64> = doublings(LARGE / 2).collect();
        let reads: Vec<PairOfReads> = near.iter().map(|at| PairOfReads::small(*at)).collect();
        let alone = PairOfReads {
            distance: None,
            bytes: SMALL,
        };
        let us = times_us(prober, &[&[alone], reads.as_slice()].concat(), 2 * PAIRS)?;
        let mut pairs = Self {
            alone_us: us[0],
            near: near.into_iter().zip(us.into_iter().skip(1)).collect(),
            program_unit: None,
            units: None,
            channels: None,
        };
        let delay_us = pairs.delay_us();
        if delay_us < LEAST_DELAY * pairs.alone_us {
            return Ok(Some(pairs));
        }
        let limit_us = pairs.undelayed_us() + delay_us / 2.0;
        let separate = pairs.near.iter().find(|(_, us)| *us < limit_us);
        let Some(unit) = separate.map(|(distance, _)| *distance) else {
            return Ok(Some(pairs));
        };
        pairs.program_unit = Some(unit);
        for number in 2..=MOST_UNITS {
            if one_unit(prober, number * unit, unit, PAIRS / 2)?
                && one_unit(prober, 2 * number * unit, unit, PAIRS)?
                && one_unit(prober, 3 * number * unit, unit, PAIRS)?
            {
                pairs.units = Some(number);
                pairs.channels = channels(prober, number, unit)?;
                break;
            }
        }
        Ok(Some(pairs))
    }

    /// Two reads that do not delay each other.
    fn undelayed_us(&self) -> f64 {
        let all = self.near.iter().map(|(_, us)| *us);
        all.fold(f64::INFINITY, f64::min)
    }

    /// How much longer two reads in the same unit take.
    pub(super) fn delay_us(&self) -> f64 {
        self.near
            .first()
            .map_or(0.0, |(_, us)| us - self.undelayed_us())
    }
}

/// A read, and another one at the same time at this distance. None: no other one.
#[derive(Debug, Clone, Copy)]
struct PairOfReads {
    distance: Option<u64>,
    bytes: u64,
}

impl PairOfReads {
    fn small(distance: u64) -> Self {
        Self {
            distance: Some(distance),
            bytes: SMALL,
        }
    }
}

/// Times until both reads of each pair are complete, in microseconds: what a quarter of the
/// repeats does not exceed, because other work of the machine only adds time. The pairs alternate,
/// so that a slow second of the machine delays all of them alike.
fn times_us(
    prober: &mut Prober<'_>,
    pairs: &[PairOfReads],
    count: u64,
) -> Result<Vec<f64>, TargetError> {
    let mut all = vec![Vec::new(); pairs.len()];
    for _ in 0..count {
        for (pair, all) in pairs.iter().zip(&mut all) {
            let reach = prober.target.capacity() - pair.distance.unwrap_or(0) - pair.bytes;
            let at = prober.random.below((reach / LARGE).max(1)) * LARGE;
            let mut reads = vec![Access::read(at, pair.bytes)];
            let other = pair.distance.map(|distance| at + distance);
            reads.extend(other.map(|at| Access::read(at, pair.bytes)));
            let times = prober.target.run(&reads, 2)?;
            let began = times.iter().map(|one| one.submitted).min().unwrap_or(0);
            let ended = times.iter().map(|one| one.completed).max().unwrap_or(0);
            all.push((ended - began) as f64 / 1e3);
        }
    }
    Ok(all.iter().map(|all| quantile(all, 0.25)).collect())
}

/// Whether one unit serves reads at this distance: whether a pair takes as long as one in the same
/// program unit, rather than as one in two consecutive program units.
fn one_unit(
    prober: &mut Prober<'_>,
    distance: u64,
    unit: u64,
    count: u64,
) -> Result<bool, TargetError> {
    let pairs = [distance, SMALL, unit].map(PairOfReads::small);
    let us = times_us(prober, &pairs, count)?;
    Ok(us[0] > f64::midpoint(us[1], us[2]))
}

/// The number of channels: pairs of whole program units on one channel wait for it. It is the divisor
/// of the units whose multiples are the slowest distances, so that a single disturbed pair decides
/// nothing.
fn channels(prober: &mut Prober<'_>, units: u64, unit: u64) -> Result<Option<u64>, TargetError> {
    let whole = |number| PairOfReads {
        distance: Some(number * unit),
        bytes: unit,
    };
    let pairs: Vec<PairOfReads> = (1..units).map(whole).collect();
    let us = times_us(prober, &pairs, PAIRS)?;
    let all: Vec<(u64, f64)> = (1..units).zip(us).collect();
    let part = |of: u64, multiples: bool| {
        let distances = all.iter();
        let own = distances.filter(|(number, _)| number.is_multiple_of(of) == multiples);
        median(&own.map(|(_, us)| *us).collect::<Vec<_>>())
    };
    let divisors = (2..units).filter(|of| units.is_multiple_of(*of));
    let slower = divisors.map(|of| (part(of, true) - part(of, false), of));
    let most = slower.max_by(|a, b| a.0.total_cmp(&b.0));
    let least = all.iter().map(|(_, us)| *us).fold(f64::INFINITY, f64::min);
    Ok(Some(match most {
        Some((more_us, of)) if more_us > LEAST_WAIT * least => of,
        // No pair waits: each unit has a channel of its own.
        _ => units,
    }))
}
