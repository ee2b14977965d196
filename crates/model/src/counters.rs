//! The figures of a sample that a history and a bisection follow: times, work and requests.

use crate::guest_kernel_time;
use crate::hardware::HardwareEvent;
use crate::sample::Sample;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// One figure of a sample. Less is better.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    schemars::JsonSchema,
    Serialize,
    Deserialize,
)]
#[serde(rename_all = "kebab-case")]
pub enum Counter {
    /// The time until the work was durable; until it returned for a phase that only reads.
    Durable,
    /// The time until the work returned.
    Return,
    /// Processor time: of the kernel of a guest as its host counts it, else of the workers.
    Cpu,
    /// Basic blocks that the kernel of a guest executed.
    Blocks,
    /// Instructions that the processors counted.
    Instructions,
    /// Requests to the devices, of all kinds.
    Requests,
    /// Read requests.
    Reads,
    /// Write requests.
    Writes,
    /// Discard requests.
    Discards,
    /// Flush requests.
    Flushes,
    /// Bytes read and written.
    Bytes,
    /// Bytes read.
    ReadBytes,
    /// Bytes written.
    WrittenBytes,
    /// Requests that do not begin where the previous one ended.
    Seeks,
    /// Extents of the files.
    Extents,
}

/// The kind of quantity of a counter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CounterUnit {
    /// Nanoseconds.
    Nanoseconds,
    /// Bytes.
    Bytes,
    /// A number of events or things.
    Count,
}

/// No counter has this name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown metric `{0}`: use one of {names}", names = Counter::names())]
pub struct NoCounter(pub String);

impl Counter {
    /// All counters, in the order they are listed.
    pub const ALL: [Self; 15] = [
        Self::Durable,
        Self::Return,
        Self::Cpu,
        Self::Blocks,
        Self::Instructions,
        Self::Requests,
        Self::Reads,
        Self::Writes,
        Self::Discards,
        Self::Flushes,
        Self::Bytes,
        Self::ReadBytes,
        Self::WrittenBytes,
        Self::Seeks,
        Self::Extents,
    ];

    /// The name on the command line and in tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::Durable => "durable",
            Self::Return => "return",
            Self::Cpu => "cpu",
            Self::Blocks => "blocks",
            Self::Instructions => "instructions",
            Self::Requests => "requests",
            Self::Reads => "reads",
            Self::Writes => "writes",
            Self::Discards => "discards",
            Self::Flushes => "flushes",
            Self::Bytes => "bytes",
            Self::ReadBytes => "read-bytes",
            Self::WrittenBytes => "written-bytes",
            Self::Seeks => "seeks",
            Self::Extents => "extents",
        }
    }

    /// The kind of quantity.
    pub fn unit(self) -> CounterUnit {
        match self {
            Self::Durable | Self::Return | Self::Cpu => CounterUnit::Nanoseconds,
            Self::Bytes | Self::ReadBytes | Self::WrittenBytes => CounterUnit::Bytes,
            _ => CounterUnit::Count,
        }
    }

    /// The names of all, as text.
    fn names() -> String {
        Self::ALL.map(Self::name).join(", ")
    }

    /// The figure of a sample. `None` if it was not measured.
    ///
    /// Requests of model disks are those of their recorders. Otherwise they are those of the block
    /// statistics of the kernel.
    pub fn of(self, sample: &Sample) -> Option<u64> {
        let figure = match self {
            Self::Durable => sample.whole_ns().0,
            Self::Return => sample.return_ns.0,
            // Virtual time does not measure it.
            Self::Cpu => guest_kernel_time::of(sample)
                .map(|time| time.0)
                .or(Some(sample.cpu.user_ns.0 + sample.cpu.system_ns.0))
                .filter(|ns| *ns > 0)?,
            Self::Blocks => sample.whole_kernel_work()?.blocks(),
            Self::Instructions => {
                HardwareEvent::UserInstructions.of(sample)?
                    + HardwareEvent::KernelInstructions.of(sample)?
            }
            Self::Seeks => sample.on_disks()?.seeks,
            Self::Extents => {
                let files = sample.fragmentation.as_ref()?;
                files.unavailable.is_none().then_some(files.extents)?
            }
            of_devices => of_devices.of_requests(&Requests::of(sample)?),
        };
        Some(figure)
    }

    fn of_requests(self, requests: &Requests) -> u64 {
        let [reads, writes, discards, flushes] = requests.number;
        let [read, written] = requests.bytes;
        match self {
            Self::Reads => reads,
            Self::Writes => writes,
            Self::Discards => discards,
            Self::Flushes => flushes,
            Self::ReadBytes => read,
            Self::WrittenBytes => written,
            Self::Bytes => read + written,
            _ => reads + writes + discards + flushes,
        }
    }
}

/// Requests to the devices of a sample.
struct Requests {
    /// Reads, writes, discards, flushes.
    number: [u64; 4],
    /// Read, written.
    bytes: [u64; 2],
}

impl Requests {
    fn of(sample: &Sample) -> Option<Self> {
        if let Some(disks) = sample.on_disks() {
            let kinds = [disks.reads, disks.writes, disks.discards, disks.flushes];
            return Some(Self {
                number: kinds.map(|kind| kind.requests),
                bytes: [disks.reads.bytes, disks.writes.bytes],
            });
        }
        let device = sample.device.as_ref()?;
        Some(Self {
            number: [device.reads, device.writes, device.discards, device.flushes],
            bytes: [device.read_bytes.0, device.written_bytes.0],
        })
    }
}

impl fmt::Display for Counter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Counter {
    type Err = NoCounter;

    fn from_str(name: &str) -> Result<Self, NoCounter> {
        let mut all = Self::ALL.into_iter();
        let found = all.find(|counter| counter.name() == name);
        found.ok_or_else(|| NoCounter(name.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::disk_use::{DiskFigures, DiskUse, Tallied};
    use crate::sample::DeviceUse;
    use crate::units::{Bytes, Nanos};

    #[test]
    fn counters_of_model_disks_come_from_their_recorders() {
        let device = DeviceUse {
            reads: 1,
            read_bytes: Bytes(4096),
            writes: 2,
            written_bytes: Bytes(8192),
            flushes: 3,
            ..DeviceUse::default()
        };
        let mut sample = Sample {
            return_ns: Nanos(5),
            device: Some(device),
            ..Sample::default()
        };
        let all = |sample: &Sample| Counter::ALL.map(|counter| (counter, counter.of(sample)));
        let known = |sample: &Sample| -> Vec<(&str, u64)> {
            let known = all(sample).into_iter();
            known
                .filter_map(|(counter, figure)| Some((counter.name(), figure?)))
                .collect()
        };
        let times = [("durable", 5), ("return", 5)];
        let requests = [
            ("requests", 6),
            ("reads", 1),
            ("writes", 2),
            ("discards", 0),
            ("flushes", 3),
            ("bytes", 12_288),
            ("read-bytes", 4096),
            ("written-bytes", 8192),
        ];
        assert_eq!(known(&sample), [&times[..], &requests].concat());
        let recorded = DiskUse {
            flushes: Tallied {
                requests: 9,
                ..Tallied::default()
            },
            seeks: 7,
            ..DiskUse::default()
        };
        sample.disks.push(DiskFigures {
            to_return: recorded,
            ..DiskFigures::default()
        });
        assert_eq!(Counter::Flushes.of(&sample), Some(9));
        assert_eq!(Counter::Seeks.of(&sample), Some(7));
        assert_eq!(Counter::Bytes.of(&sample), Some(0));
    }

    #[test]
    fn the_processor_time_is_that_of_the_kernel_of_a_guest_where_its_host_counts_it() {
        let mut sample = Sample::default();
        assert_eq!(Counter::Cpu.of(&sample), None);
        (sample.cpu.user_ns, sample.cpu.system_ns) = (Nanos(10), Nanos(20));
        assert_eq!(Counter::Cpu.of(&sample), Some(30));
        sample.figures.push(guest_kernel_time::figure(Nanos(70)));
        assert_eq!(Counter::Cpu.of(&sample), Some(70));
    }

    #[test]
    fn each_name_is_that_of_one_counter() {
        for counter in Counter::ALL {
            assert_eq!(counter.name().parse(), Ok(counter));
        }
        let error = "time".parse::<Counter>().unwrap_err().to_string();
        assert!(error.contains("durable, return"), "{error}");
    }
}
