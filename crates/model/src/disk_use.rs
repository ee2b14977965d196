//! The activity of a model disk: requests by kind, seek distances, times by cause, and internal
//! work of the device. The disk crate defines sectors, profiles and the rules of counting. This
//! module holds the figures, in bytes and nanoseconds.

use crate::parts::parts;
use crate::units::{Bytes, Nanos};
use crate::waits::Waits;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::ops::{Add, AddAssign};

/// A point of a phase. The block traces of the disks contain these points as marks, in one sequence
/// with the requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Point {
    /// The clock starts.
    Begins,
    /// The work has returned.
    Returned,
    /// All its changes are durable; of a phase that only reads, the access times.
    Durable,
}

/// A point of a phase, as the workload reports it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, JsonSchema, Serialize, Deserialize)]
pub struct Mark {
    /// The place of the phase in its workload, from 0.
    pub phase: u32,
    /// The position in the phase.
    pub point: Point,
}

impl Point {
    /// All points, in their order.
    pub const ALL: [Self; 3] = [Self::Begins, Self::Returned, Self::Durable];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Begins => "begins",
            Self::Returned => "returned",
            Self::Durable => "durable",
        }
    }
}

impl Mark {
    /// Parses a mark from its `Display` text.
    pub fn parse(text: &str) -> Option<Self> {
        let (phase, point) = text.strip_prefix("phase ")?.split_once(' ')?;
        Some(Self {
            phase: phase.parse().ok()?,
            point: Point::ALL.into_iter().find(|one| one.name() == point)?,
        })
    }
}

impl fmt::Display for Mark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "phase {} {}", self.phase, self.point.name())
    }
}

/// The figures of one disk of a contender for one phase.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, JsonSchema, Serialize, Deserialize)]
pub struct DiskFigures {
    /// The disk, by its place among those of the contender, from 0.
    pub disk: u32,
    /// From the start of the clock until the work had returned.
    pub to_return: DiskUse,
    /// From then on until all of it was durable.
    pub to_durable: DiskUse,
}

impl DiskFigures {
    /// The whole phase.
    pub fn whole(&self) -> DiskUse {
        self.to_return + self.to_durable
    }
}

/// The activity of a disk in an interval. Requests are counted when they complete, seeks when they
/// are submitted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, JsonSchema, Serialize, Deserialize)]
pub struct DiskUse {
    /// Reads.
    pub reads: Tallied,
    /// Writes, of zeros too.
    pub writes: Tallied,
    /// Discards.
    pub discards: Tallied,
    /// Flushes.
    pub flushes: Tallied,
    /// Reads and writes that did not begin where the previous one ended.
    pub seeks: u64,
    /// The sum of the distances from the end of the previous request.
    #[serde(rename = "seek_distance_bytes")]
    pub seek_distance: Bytes,
    /// The time of all requests by cause, summed over the requests.
    pub causes: Causes,
    /// The time of all requests by kind; none in records of older versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waits: Option<Waits>,
    /// Time with at least one request in flight, summed over the disks.
    #[serde(default, rename = "busy_ns", skip_serializing_if = "Option::is_none")]
    pub busy: Option<Nanos>,
    /// The longest time of a request.
    #[serde(rename = "slowest_ns")]
    pub slowest: Nanos,
    /// The work of the device in the interval, internal work included.
    pub work: Work,
}

/// Requests of one kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, JsonSchema, Serialize, Deserialize)]
pub struct Tallied {
    /// How many completed.
    pub requests: u64,
    /// Bytes of their extents.
    pub bytes: u64,
    /// How many of them failed.
    pub failed: u64,
}

/// Time by cause, nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, JsonSchema, Serialize, Deserialize)]
pub struct Causes {
    /// Waiting for other requests.
    #[serde(rename = "queue_ns")]
    pub queue: u64,
    /// The disk's own work on a command: controller, firmware, network.
    #[serde(rename = "overhead_ns")]
    pub overhead: u64,
    /// Movement of the arm, head switches and settling.
    #[serde(rename = "seek_ns")]
    pub seek: u64,
    /// Rotation until the sector is under the head.
    #[serde(rename = "rotation_ns")]
    pub rotation: u64,
    /// Data transfer: medium, channels, bus.
    #[serde(rename = "transfer_ns")]
    pub transfer: u64,
    /// A flush waits until cached writes are on the medium.
    #[serde(rename = "flush_ns")]
    pub flush: u64,
    /// A write waits for space in the cache. Of a volume: a request waits for tokens.
    #[serde(rename = "cache_ns")]
    pub cache: u64,
    /// Time that a fault added.
    #[serde(rename = "fault_ns")]
    pub fault: u64,
}

/// The work of a device, counted since it was switched on or within an interval.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, JsonSchema, Serialize, Deserialize)]
pub struct Work {
    /// Moves of the arm to another cylinder.
    pub seeks: u64,
    /// Cylinders that the arm crossed.
    pub cylinders: u64,
    /// Nanoseconds of arm movement, head switches and settling.
    pub seek_ns: u64,
    /// Nanoseconds of waiting for rotation.
    pub rotation_ns: u64,
    /// Nanoseconds in which the medium was read or written.
    pub transfer_ns: u64,
    /// Bytes read from the medium, for requests and for internal copies.
    #[serde(rename = "medium_read_bytes")]
    pub medium_read: u64,
    /// Bytes written to the medium.
    #[serde(rename = "medium_written_bytes")]
    pub medium_written: u64,
    /// Blocks erased.
    pub erases: u64,
    /// Reads served from the cache of the disk.
    pub cache_hits: u64,
}

impl DiskUse {
    /// Requests of all kinds.
    pub fn requests(&self) -> u64 {
        let kinds = [&self.reads, &self.writes, &self.discards, &self.flushes];
        kinds.map(|kind| kind.requests).iter().sum()
    }

    /// Failed requests of all kinds.
    pub fn failed(&self) -> u64 {
        let kinds = [&self.reads, &self.writes, &self.discards, &self.flushes];
        kinds.map(|kind| kind.failed).iter().sum()
    }

    /// The mean distance of a seek; none if there was none.
    pub fn mean_seek_distance(&self) -> Option<Bytes> {
        self.seek_distance.0.checked_div(self.seeks).map(Bytes)
    }

    /// Bytes written to the medium per byte requested, by the host or by the workload; none if
    /// nothing was requested.
    pub fn write_amplification(&self, requested: u64) -> Option<f64> {
        (requested > 0).then(|| self.work.medium_written as f64 / requested as f64)
    }
}

impl Tallied {
    /// The mean size of a request; none without requests.
    pub fn mean(&self) -> Option<Bytes> {
        self.bytes.checked_div(self.requests).map(Bytes)
    }
}

parts!(Tallied: 3 { requests, bytes, failed });

/// The sum of two optional figures. It is known if both are known, or if one side is empty.
fn known<T: Default>(
    one: &DiskUse,
    other: &DiskUse,
    of: fn(&DiskUse) -> Option<T>,
    sum: fn(T, T) -> T,
) -> Option<T> {
    let part = |did: &DiskUse| of(did).or_else(|| (did.requests() == 0).then(T::default));
    match (of(one), of(other)) {
        (None, None) => None,
        _ => Some(sum(part(one)?, part(other)?)),
    }
}

impl Add for DiskUse {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            reads: self.reads + other.reads,
            writes: self.writes + other.writes,
            discards: self.discards + other.discards,
            flushes: self.flushes + other.flushes,
            seeks: self.seeks + other.seeks,
            seek_distance: Bytes(self.seek_distance.0.saturating_add(other.seek_distance.0)),
            causes: self.causes + other.causes,
            waits: known(&self, &other, |of| of.waits, Waits::add),
            busy: known(&self, &other, |of| of.busy, |a, b| Nanos(a.0 + b.0)),
            slowest: self.slowest.max(other.slowest),
            work: self.work + other.work,
        }
    }
}

impl AddAssign for DiskUse {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

parts!(Causes: 8 { queue, overhead, seek, rotation, transfer, flush, cache, fault });

impl Causes {
    /// The sum of all parts.
    pub fn total(&self) -> u64 {
        self.parts().iter().sum()
    }
}

parts!(Work: 9 {
    seeks, cylinders, seek_ns, rotation_ns, transfer_ns, medium_read, medium_written, erases, cache_hits
});

impl Work {
    /// The difference from `earlier`.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        self.combined(earlier, |now, earlier| now - earlier)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_parses_only_from_its_own_text() {
        for phase in [0, 7, u32::MAX] {
            for point in Point::ALL {
                let mark = Mark { phase, point };
                assert_eq!(Mark::parse(&mark.to_string()), Some(mark));
            }
        }
        for text in [
            "",
            "phase",
            "phase x begins",
            "phase 1 ended",
            "phase 1 begins ",
        ] {
            assert_eq!(Mark::parse(text), None, "{text}");
        }
    }

    #[test]
    fn figures_add_up_and_means_without_requests_are_none() {
        let one = DiskUse {
            reads: Tallied {
                requests: 3,
                bytes: 12_288,
                failed: 1,
            },
            seeks: 2,
            seek_distance: Bytes(2048),
            causes: Causes::from_parts([1, 2, 3, 4, 5, 6, 7, 8]),
            slowest: Nanos(9),
            work: Work::from_parts([1, 2, 3, 4, 5, 6, 7, 8, 9]),
            ..DiskUse::default()
        };
        let twice = one + one;
        assert_eq!((twice.requests(), twice.failed()), (6, 2));
        assert_eq!(twice.reads.mean(), Some(Bytes(4096)));
        assert_eq!(twice.mean_seek_distance(), Some(Bytes(1024)));
        assert_eq!((twice.causes.total(), twice.slowest), (72, Nanos(9)));
        assert_eq!(twice.work.since(&one.work), one.work);
        assert_eq!(one.write_amplification(14), Some(0.5));
        let nothing = DiskUse::default();
        assert_eq!(
            (nothing.reads.mean(), nothing.mean_seek_distance()),
            (None, None)
        );
        assert_eq!(nothing.write_amplification(0), None);
    }
}
