//! The traffic of block devices, from `/sys/class/block/NAME/stat`.

use fsdyno_model::{DeviceUse, Waits};
use std::io;

/// The unit of all sector counters, for every device (Documentation/block/stat.rst).
pub(super) const SECTOR: u64 = 512;

/// A reading of the counters of some devices.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BlockCounters {
    devices: Vec<(String, Stat)>,
}

/// The counters of one device, since it exists.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Stat {
    pub(super) reads: u64,
    pub(super) read_sectors: u64,
    pub(super) writes: u64,
    pub(super) written_sectors: u64,
    in_flight: u64,
    pub(super) busy_ms: u64,
    pub(super) discards: u64,
    pub(super) discarded_sectors: u64,
    pub(super) flushes: u64,
    /// Time of reads, writes, discards and flushes; none on kernels without flush counters.
    waits_ms: Option<[u64; 4]>,
}

impl Stat {
    /// Requests completed, of every kind.
    pub(super) fn completed(&self) -> u64 {
        self.reads + self.writes + self.discards + self.flushes
    }
}

/// Reads the counters of devices, by the kernel's names (`loop3`, `sda1`).
pub fn block(names: &[String]) -> io::Result<BlockCounters> {
    let mut devices = Vec::with_capacity(names.len());
    for name in names {
        let path = format!("/sys/class/block/{name}/stat");
        let text = std::fs::read_to_string(&path).map_err(|error| {
            io::Error::new(error.kind(), format!("cannot read {path}: {error}"))
        })?;
        let stat = parse(&text).ok_or_else(|| {
            io::Error::new(
                io::ErrorKind::InvalidData,
                format!("{path} reads `{}`", text.trim()),
            )
        })?;
        devices.push((name.clone(), stat));
    }
    Ok(BlockCounters { devices })
}

impl BlockCounters {
    /// The traffic of all these devices since an earlier reading.
    pub fn since(&self, earlier: &Self) -> DeviceUse {
        let mut used = DeviceUse {
            waits: (!self.devices.is_empty()).then(Waits::default),
            ..DeviceUse::default()
        };
        for (name, now) in &self.devices {
            let then = earlier.devices.iter().find(|(known, _)| known == name);
            let then = then.map_or_else(Stat::default, |(_, stat)| *stat);
            used.reads += now.reads.saturating_sub(then.reads);
            used.read_bytes.0 += now.read_sectors.saturating_sub(then.read_sectors) * SECTOR;
            used.writes += now.writes.saturating_sub(then.writes);
            used.written_bytes.0 +=
                now.written_sectors.saturating_sub(then.written_sectors) * SECTOR;
            used.discards += now.discards.saturating_sub(then.discards);
            used.discarded_bytes.0 +=
                now.discarded_sectors.saturating_sub(then.discarded_sectors) * SECTOR;
            used.flushes += now.flushes.saturating_sub(then.flushes);
            used.busy_ns.0 += between_ms(then.busy_ms, now.busy_ms) * 1_000_000;
            let waits = waits(then.waits_ms.unwrap_or_default(), now.waits_ms);
            used.waits = used.waits.zip(waits).map(|(sum, of_one)| sum + of_one);
        }
        used
    }

    /// Requests completed so far, of every kind.
    pub(crate) fn completed(&self) -> u64 {
        self.devices.iter().map(|(_, stat)| stat.completed()).sum()
    }

    /// A reading of one device that has completed some reads.
    #[cfg(test)]
    pub(crate) fn of_reads(reads: u64) -> Self {
        let stat = Stat {
            reads,
            ..Stat::default()
        };
        Self {
            devices: vec![("d".to_owned(), stat)],
        }
    }

    pub(crate) fn in_flight(&self) -> u64 {
        self.devices.iter().map(|(_, stat)| stat.in_flight).sum()
    }
}

/// The kernel keeps this time in 32 bits: it wraps after 49 days of activity.
pub(super) fn between_ms(then: u64, now: u64) -> u64 {
    now.checked_sub(then)
        .unwrap_or_else(|| (now + (1 << 32)).saturating_sub(then))
}

/// How long requests of each kind took between two readings.
fn waits(then: [u64; 4], now: Option<[u64; 4]>) -> Option<Waits> {
    let mut parts = now?;
    for (part, then) in parts.iter_mut().zip(then) {
        *part = between_ms(then, *part) * 1_000_000;
    }
    Some(Waits::from_parts(parts))
}

/// Reads the 11 fields of all kernels, the 15 since 4.18 (discards), the 17 since 5.5 (flushes).
pub(super) fn parse(text: &str) -> Option<Stat> {
    let fields: Vec<u64> = text
        .split_whitespace()
        .map(|field| field.parse().ok())
        .collect::<Option<_>>()?;
    let field = |at: usize| fields.get(at).copied().unwrap_or_default();
    (fields.len() >= 11).then(|| Stat {
        reads: field(0),
        read_sectors: field(2),
        writes: field(4),
        written_sectors: field(6),
        in_flight: field(8),
        busy_ms: field(9),
        discards: field(11),
        discarded_sectors: field(13),
        flushes: field(15),
        waits_ms: (fields.len() >= 17).then(|| [3, 7, 14, 16].map(field)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use fsdyno_model::{Bytes, Nanos};

    fn reading(text: &str) -> BlockCounters {
        BlockCounters {
            devices: vec![("d".to_owned(), parse(text).unwrap())],
        }
    }

    #[test]
    fn a_difference_is_in_bytes_and_nanoseconds() {
        let earlier = reading("1 2 8 4 5 6 16 8 0 4294967290 11 12 13 24 15 16 17");
        let later = reading("3 2 16 6 9 6 80 8 1 4 11 13 13 32 16 20 17");
        let used = later.since(&earlier);
        assert_eq!(
            used,
            DeviceUse {
                reads: 2,
                read_bytes: Bytes(8 * 512),
                writes: 4,
                written_bytes: Bytes(64 * 512),
                discards: 1,
                discarded_bytes: Bytes(8 * 512),
                flushes: 4,
                busy_ns: Nanos(10_000_000),
                busy_unknown: false,
                waits: Some(Waits::from_parts([2, 0, 1, 0].map(|ms| ms * 1_000_000))),
            }
        );
        assert_eq!((later.in_flight(), later.completed()), (1, 3 + 9 + 13 + 20));
    }

    #[test]
    fn older_kernels_have_fewer_fields_and_invalid_text_is_no_reading() {
        let old = reading("1 2 8 4 5 6 16 8 0 9 11");
        assert_eq!(old.completed(), 6);
        assert_eq!(old.since(&old).waits, None);
        assert_eq!(parse("1 2 3"), None);
        assert_eq!(parse(""), None);
        assert!(block(&["no-such-device".to_owned()]).is_err());
    }
}
