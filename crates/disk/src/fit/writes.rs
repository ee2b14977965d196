//! Writes to a scratch file: single writes, flushes, and sustained random writes.

use super::probes::{Effort, LARGE, SMALL, median};
use super::target::{Access, Target, TargetError, Timing};
use crate::request::Kind;
use fsdyno_model::random::Random;
use serde::Serialize;

/// Repeats of a flush.
const FLUSHES: usize = 40;

/// Depth of the sustained writes.
const DEPTH: usize = 32;

/// Writes of a batch of sustained writes.
const BATCH: usize = 512;

/// The maximum number of writes of a loop.
const MAX_WRITES: usize = 16_384;

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Writes {
    /// Latency of a 4 KiB write after idle time, microseconds.
    pub write_us: f64,
    /// Latency of a write of 128 KiB.
    pub large_us: f64,
    /// Latency of a flush without a write before it.
    pub clean_flush_us: f64,
    /// Latency of a flush after a 4 KiB write.
    pub flush_us: f64,
    /// Bytes that were written at once before the first write waited. None if none waited.
    pub room: Option<u64>,
    /// Random 4 KiB writes per second after that.
    pub sustained_iops: f64,
}

impl Writes {
    /// Measures the writes of a target, all of whose bytes may be overwritten.
    pub fn measure(target: &mut dyn Target, effort: Effort) -> Result<Self, TargetError> {
        let mut random = Random::new(effort.seed);
        let pages = (target.capacity() / SMALL).max(1);
        let mut place = || random.below(pages) * SMALL;
        let flush = Access {
            kind: Kind::Flush,
            at: 0,
            bytes: 0,
        };
        let write = |at: u64, bytes: u64| Access {
            kind: Kind::Write,
            at,
            bytes,
        };
        let [mut small, mut clean, mut dirty, mut large] = [const { Vec::new() }; 4];
        let us = |times: &[Timing], at: usize| times.get(at).map_or(0.0, Timing::us);
        for _ in 0..FLUSHES {
            let times = target.run(&[flush, flush, write(place(), SMALL), flush], 1)?;
            clean.push(us(&times, 1));
            small.push(us(&times, 2));
            dirty.push(us(&times, 3));
            let at = place() / LARGE * LARGE;
            let times = target.run(&[write(at, 128 << 10), flush], 1)?;
            large.push(us(&times, 0));
        }
        let (write_us, began) = (median(&small), target.now());
        // A write that takes this long waited for room.
        let waited_us = (20.0 * write_us).max(2000.0);
        let (mut room, mut written) = (None, 0);
        while room.is_none()
            && written < MAX_WRITES as u64 * SMALL
            && target.now() - began < effort.budget_ns / 4
        {
            let all: Vec<Access> = (0..BATCH).map(|_| write(place(), SMALL)).collect();
            for time in target.run(&all, 1)? {
                if room.is_none() && time.us() > waited_us {
                    room = Some((written, time.submitted - began));
                }
                written += SMALL;
            }
        }
        let mut sustained = Vec::new();
        let began = target.now();
        while sustained.len() * BATCH < MAX_WRITES && target.now() - began < effort.budget_ns / 4 {
            let all: Vec<Access> = (0..BATCH).map(|_| write(place(), SMALL)).collect();
            let from = target.now();
            target.run(&all, DEPTH)?;
            sustained.push(BATCH as f64 * 1e9 / (target.now() - from).max(1) as f64);
        }
        target.run(&[flush], 1)?;
        let sustained_iops = median(&sustained);
        // Meanwhile the disk wrote: from half of the room on.
        let room = room.map(|(written, ns)| {
            let meanwhile = sustained_iops * ns as f64 / 2e9 * SMALL as f64;
            written.saturating_sub(crate::arithmetic::to_ns(meanwhile)) / SMALL * SMALL
        });
        Ok(Self {
            write_us,
            large_us: median(&large),
            clean_flush_us: median(&clean),
            flush_us: median(&dirty),
            room,
            sustained_iops,
        })
    }
}
