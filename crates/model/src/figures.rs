//! The figures of a sample: each is defined once, here, or by the program that reports it.
//!
//! Everything that compares, exports or lists figures takes them by name ([`FigureName`]).

use crate::guest_kernel_time;
use crate::hardware::{self, HardwareEvent};
use crate::profile::Profile;
use crate::sample::{Better, COUNTED, DeviceUse, Figure, Sample};
use crate::suggestion::suggestion;
use crate::timeline::LatencyDistribution;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::borrow::Cow;
use std::cmp::Ordering;
use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

/// The unit of times.
pub const NANOSECONDS: &str = "ns";
/// The unit of amounts of data.
pub const BYTES: &str = "B";
/// The unit of rates of data.
pub const BYTES_A_SECOND: &str = "B/s";
/// The unit of counts.
pub const COUNT: &str = "";
/// The unit of ratios.
pub const RATIO: &str = "x";

/// The source of a figure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// A clock, that of virtual time included.
    Measured,
    /// A clock or a counter that is real also in virtual time, so that it has noise.
    Machine,
    /// Counted events; the same in every run of equal cells in virtual time.
    Counted,
    /// The recorder of a model disk.
    Modelled,
    /// The output of a program.
    Program,
}

impl Source {
    /// The name in documents.
    pub fn name(self) -> &'static str {
        match self {
            Self::Measured => "measured",
            Self::Machine => "measured by the machine",
            Self::Counted => "counted",
            Self::Modelled => "modelled",
            Self::Program => "a program's own",
        }
    }
}

/// The definition of a figure.
#[derive(Debug)]
pub struct FigureDefinition {
    /// Its name on the command line, in plans, tables and exports.
    pub name: &'static str,
    /// Its unit: `ns`, `B`, `B/s`, `1/s`; empty for a count.
    pub unit: &'static str,
    /// Which of two values is better. A figure of which neither is better is never judged.
    pub better: Better,
    /// Its source.
    pub source: Source,
    /// What it is, as a part of a sentence: `the time until the work returned`.
    pub about: &'static str,
    /// Its column in tables of costs; none if it is not a cost.
    pub cost: Option<CostColumn>,
    read: fn(&Sample) -> Option<f64>,
}

/// The column of a figure in tables of costs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CostColumn {
    /// Its heading.
    pub heading: &'static str,
    /// The order in which columns are dropped if they do not fit; 0: never, higher values first.
    /// Above 5 they are also dropped if they have no value, or only zeros.
    pub gives_way: u8,
}

const fn defined(
    name: &'static str,
    unit: &'static str,
    better: Better,
    source: Source,
    about: &'static str,
    read: fn(&Sample) -> Option<f64>,
) -> FigureDefinition {
    FigureDefinition {
        name,
        unit,
        better,
        source,
        about,
        cost: None,
        read,
    }
}

/// Shorter names for the table.
use Better::{Higher, Lower, Neither};
use Source::{Counted, Machine, Measured, Modelled};

/// All defined figures, in the order in which they are listed.
pub static ALL: &[FigureDefinition] = &[
    defined(
        "durable",
        NANOSECONDS,
        Lower,
        Measured,
        "the time until durable (until return if a phase only reads)",
        |s| Some(s.whole_ns().0 as f64),
    ),
    defined(
        "return",
        NANOSECONDS,
        Lower,
        Measured,
        "the time until the work returned",
        |s| Some(s.return_ns.0 as f64),
    ),
    defined(
        "cpu",
        NANOSECONDS,
        Lower,
        Machine,
        "the processor time: of the workers, or of the kernel of a guest where its host counts it",
        cpu,
    ),
    defined(
        "user",
        NANOSECONDS,
        Lower,
        Machine,
        "the user time of the workers until return",
        |s| positive(s.cpu.user_ns.0),
    )
    .cost("user", 0),
    defined(
        "system",
        NANOSECONDS,
        Lower,
        Machine,
        "the system time of the workers until return",
        |s| positive(s.cpu.system_ns.0),
    )
    .cost("sys", 0),
    defined(
        "machine",
        NANOSECONDS,
        Lower,
        Machine,
        "the busy time of all processors until durable, kernel threads included",
        |s| positive(s.cpu.machine_busy_ns.0),
    )
    .cost("machine", 3),
    defined(
        "steal",
        NANOSECONDS,
        Neither,
        Machine,
        "the time taken by the hypervisor until durable",
        |s| positive(s.cpu.machine_busy_ns.0).map(|_| s.cpu.steal_ns.0 as f64),
    )
    .cost("steal", 8),
    defined(
        "context-switches",
        COUNT,
        Lower,
        Machine,
        "the context switches of all processors until durable",
        |s| counted(s, "context-switches"),
    )
    .cost("switches", 12),
    defined(
        "charged",
        NANOSECONDS,
        Lower,
        Modelled,
        "what virtual time advanced for the kernel's work until durable",
        |s| Some(s.whole_kernel_work()?.charged_ns.0 as f64),
    )
    .cost("charged", 6),
    defined(
        "blocks",
        COUNT,
        Lower,
        Counted,
        "the basic blocks that the kernel executed",
        |s| Some(s.whole_kernel_work()?.blocks() as f64),
    )
    .cost("blocks", 6),
    defined(
        "thread-blocks",
        COUNT,
        Lower,
        Counted,
        "the basic blocks that kernel threads executed",
        |s| Some(s.whole_kernel_work()?.kthread_blocks as f64),
    )
    .cost("kthreads", 6),
    defined(
        "instructions",
        COUNT,
        Lower,
        Machine,
        "the instructions of the workload that processors counted",
        |s| {
            events(
                s,
                [
                    HardwareEvent::UserInstructions,
                    HardwareEvent::KernelInstructions,
                ],
            )
        },
    ),
    defined(
        "user-instructions",
        COUNT,
        Lower,
        Machine,
        "the instructions of the workload in user mode",
        |s| Some(HardwareEvent::UserInstructions.of(s)? as f64),
    )
    .cost("user instr", 6),
    defined(
        "kernel-instructions",
        COUNT,
        Lower,
        Machine,
        "the instructions of the kernel in the system calls of the workload",
        |s| Some(HardwareEvent::KernelInstructions.of(s)? as f64),
    )
    .cost("sys instr", 6),
    defined(
        "cycles",
        COUNT,
        Lower,
        Machine,
        "the processor cycles of the workload",
        |s| events(s, [HardwareEvent::UserCycles, HardwareEvent::KernelCycles]),
    )
    .cost("cycles", 6),
    defined(
        "system-calls",
        COUNT,
        Lower,
        Counted,
        "the system calls that the kernel counted",
        |s| Some(s.whole_kernel_work()?.system_calls as f64),
    ),
    defined(
        "requests",
        COUNT,
        Lower,
        Counted,
        "the requests to the devices",
        |s| Some(Requests::of(s)?.number.iter().sum::<u64>() as f64),
    ),
    defined("reads", COUNT, Lower, Counted, "the read requests", |s| {
        Some(Requests::of(s)?.number[0] as f64)
    })
    .cost("reads", 1),
    defined("writes", COUNT, Lower, Counted, "the write requests", |s| {
        Some(Requests::of(s)?.number[1] as f64)
    })
    .cost("writes", 1),
    defined(
        "discards",
        COUNT,
        Lower,
        Counted,
        "the discard requests",
        |s| Some(Requests::of(s)?.number[2] as f64),
    ),
    defined(
        "flushes",
        COUNT,
        Lower,
        Counted,
        "the flush requests",
        |s| Some(Requests::of(s)?.number[3] as f64),
    )
    .cost("flushes", 2),
    defined(
        "bytes",
        BYTES,
        Lower,
        Counted,
        "the bytes read and written",
        |s| Some(Requests::of(s)?.bytes[..2].iter().sum::<u64>() as f64),
    ),
    defined("read-bytes", BYTES, Lower, Counted, "the bytes read", |s| {
        Some(Requests::of(s)?.bytes[0] as f64)
    })
    .cost("read", 0),
    defined(
        "written-bytes",
        BYTES,
        Lower,
        Counted,
        "the bytes written",
        |s| Some(Requests::of(s)?.bytes[1] as f64),
    )
    .cost("written", 0),
    defined(
        "written-ratio",
        RATIO,
        Lower,
        Counted,
        "the bytes written to the devices for each byte of file data",
        |s| per_data(s, Requests::of(s)?.bytes[1]),
    )
    .cost("written/data", 9),
    defined(
        "discarded-bytes",
        BYTES,
        Neither,
        Counted,
        "the bytes discarded",
        |s| Some(Requests::of(s)?.bytes[2] as f64),
    )
    .cost("discarded", 10),
    defined(
        "busy",
        NANOSECONDS,
        Lower,
        Measured,
        "the time with a request to a device in flight, summed over the devices",
        |s| Some(s.device?.busy()?.0 as f64),
    )
    .cost("busy", 7),
    defined(
        "seeks",
        COUNT,
        Lower,
        Modelled,
        "the requests that begin elsewhere than the previous one ended",
        |s| Some(s.on_disks()?.seeks as f64),
    ),
    defined(
        "extents",
        COUNT,
        Lower,
        Counted,
        "the extents of all files",
        |s| {
            let files = s.fragmentation.as_ref()?;
            files.unavailable.is_none().then_some(files.extents as f64)
        },
    ),
    defined(
        "extents-per-file",
        RATIO,
        Lower,
        Counted,
        "the mean number of extents of a file",
        |s| s.fragmentation.as_ref()?.per_file(),
    )
    .cost("extents/file", 11),
    defined(
        "space",
        BYTES,
        Neither,
        Measured,
        "the space in use after the phase, minus that before it",
        |s| (s.space_after.0 > 0).then_some(s.space_after.0 as f64 - s.space_before.0 as f64),
    )
    .cost("space", 4),
    defined(
        "space-ratio",
        RATIO,
        Lower,
        Measured,
        "the space taken for each byte of file data that the phase stored",
        |s| {
            let taken = s.space_after.0.checked_sub(s.space_before.0)?;
            per_data(s, s.durable_ns.map(|_| taken)?)
        },
    )
    .cost("space/data", 5),
    defined(
        "file-rate",
        "1/s",
        Higher,
        Measured,
        "the files handled in a second of the time until durable",
        |s| rate(s, s.tally.files),
    ),
    defined(
        "byte-rate",
        BYTES_A_SECOND,
        Higher,
        Measured,
        "the bytes of file data handled in a second of the time until durable",
        |s| rate(s, s.tally.bytes.0),
    ),
    defined(
        "latency-p50",
        NANOSECONDS,
        Lower,
        Measured,
        "the median latency of the operations",
        |s| latency(s, 0.5),
    ),
    defined(
        "latency-p99",
        NANOSECONDS,
        Lower,
        Measured,
        "the latency that 99 % of the operations do not exceed",
        |s| latency(s, 0.99),
    ),
    defined(
        "latency-p99.9",
        NANOSECONDS,
        Lower,
        Measured,
        "the latency that 99.9 % of the operations do not exceed",
        |s| latency(s, 0.999),
    ),
    defined(
        "latency-max",
        NANOSECONDS,
        Lower,
        Measured,
        "the longest latency of an operation",
        |s| latency(s, 1.0),
    ),
];

impl FigureDefinition {
    /// Makes it a cost.
    const fn cost(mut self, heading: &'static str, gives_way: u8) -> Self {
        self.cost = Some(CostColumn { heading, gives_way });
        self
    }

    /// The name of its column in tables of figures: with its unit, in letters, digits and `_`.
    pub fn column(&self) -> String {
        let plain = self.name.replace(['-', '.'], "_");
        match self.unit {
            NANOSECONDS => format!("{plain}_ns"),
            BYTES if !plain.ends_with("bytes") => format!("{plain}_bytes"),
            _ => plain,
        }
    }

    /// Whether contenders can be judged by it.
    pub fn may_be_judged(&self) -> bool {
        self.better != Neither
    }
}

/// A count in a sample, made by [`Figure::counted`].
fn counted(sample: &Sample, name: &str) -> Option<f64> {
    let mut figures = sample.figures.iter();
    let figure = figures.find(|figure| figure.unit == COUNTED && figure.name == name)?;
    Some(figure.value)
}

/// Virtual time does not measure times of the machine.
fn positive(ns: u64) -> Option<f64> {
    (ns > 0).then_some(ns as f64)
}

fn cpu(sample: &Sample) -> Option<f64> {
    let of_guest = guest_kernel_time::of(sample).map(|time| time.0);
    let of_workers = sample.cpu.user_ns.0 + sample.cpu.system_ns.0;
    positive(of_guest.unwrap_or(of_workers))
}

fn events(sample: &Sample, events: [HardwareEvent; 2]) -> Option<f64> {
    let [user, kernel] = events.map(|event| event.of(sample));
    Some((user? + kernel?) as f64)
}

/// An amount for each byte of file data, if both are above zero.
fn per_data(sample: &Sample, amount: u64) -> Option<f64> {
    let data = sample.tally.bytes.0;
    (amount > 0 && data > 0).then(|| amount as f64 / data as f64)
}

fn rate(sample: &Sample, amount: u64) -> Option<f64> {
    let seconds = sample.whole_ns().seconds();
    (amount > 0 && seconds > 0.0).then(|| amount as f64 / seconds)
}

/// A percentile over the operations of all kinds.
fn latency(sample: &Sample, share: f64) -> Option<f64> {
    let mut all = LatencyDistribution::default();
    for of_kind in &sample.latencies {
        all.add(of_kind);
    }
    Some(all.at(share)? as f64)
}

/// Requests to the devices of a sample. Those of model disks are from their recorders, others from
/// the block statistics of the kernel.
struct Requests {
    /// Reads, writes, discards, flushes.
    number: [u64; 4],
    /// Read, written, discarded.
    bytes: [u64; 3],
}

impl Requests {
    fn of(sample: &Sample) -> Option<Self> {
        if let Some(disks) = sample.on_disks() {
            let kinds = [disks.reads, disks.writes, disks.discards, disks.flushes];
            return Some(Self {
                number: kinds.map(|kind| kind.requests),
                bytes: [disks.reads.bytes, disks.writes.bytes, disks.discards.bytes],
            });
        }
        let device: &DeviceUse = sample.device.as_ref()?;
        Some(Self {
            number: [device.reads, device.writes, device.discards, device.flushes],
            bytes: [
                device.read_bytes.0,
                device.written_bytes.0,
                device.discarded_bytes.0,
            ],
        })
    }
}

impl Figure {
    /// Whether a program reports it: it is no count of fsdyno.
    pub fn is_of_program(&self) -> bool {
        let defined = || FigureName::new(&self.name).definition().is_some();
        let counted = self.unit == COUNTED && (defined() || hardware::is_count(self));
        !counted && !guest_kernel_time::is_it(self)
    }
}

/// How the names of the blocks of a function begin: its own, and with all that it calls.
const FUNCTION: [&str; 2] = ["blocks in ", "blocks in and below "];

/// The name of a figure: of a defined one, of one that a program reports, or of the blocks of a
/// function.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct FigureName(Cow<'static, str>);

/// A value of a figure, with its unit and direction.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Reading<'a> {
    /// The value.
    pub value: f64,
    /// Its unit.
    pub unit: &'a str,
    /// Which of two values is better.
    pub better: Better,
}

/// No defined figure has this name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown figure `{name}`: {}", suggestion(name, FigureName::defined()))]
pub struct NoFigure {
    /// The name.
    pub name: String,
}

impl FigureName {
    /// The time until the work was durable.
    pub const DURABLE: Self = Self(Cow::Borrowed("durable"));
    /// The time until the work returned.
    pub const RETURN: Self = Self(Cow::Borrowed("return"));
    /// Processor time.
    pub const CPU: Self = Self(Cow::Borrowed("cpu"));
    /// Basic blocks of the kernel.
    pub const BLOCKS: Self = Self(Cow::Borrowed("blocks"));
    /// Instructions of the workload.
    pub const INSTRUCTIONS: Self = Self(Cow::Borrowed("instructions"));
    /// Extents of the files.
    pub const EXTENTS: Self = Self(Cow::Borrowed("extents"));
    /// Mean number of extents of a file.
    pub const EXTENTS_PER_FILE: Self = Self(Cow::Borrowed("extents-per-file"));

    /// The times of a phase.
    pub const TIMES: [Self; 2] = [Self::RETURN, Self::DURABLE];

    /// The figure with this name, of a program if it is not defined.
    pub fn new(name: &str) -> Self {
        let defined = ALL.iter().find(|one| one.name == name);
        Self(defined.map_or_else(|| Cow::Owned(name.to_owned()), |one| one.name.into()))
    }

    /// The kernel blocks of a function, in profiles: its own, or with all that it calls. In sampled
    /// profiles its processor time.
    pub fn of_function(function: &str, with_callees: bool) -> Self {
        let kind = FUNCTION[usize::from(with_callees)];
        Self(Cow::Owned(format!("{kind}{function}")))
    }

    /// The function whose blocks it is, and whether with all that it calls.
    pub fn function(&self) -> Option<(&str, bool)> {
        // One begins like the other.
        let mut kinds = [true, false].into_iter();
        kinds.find_map(|all| Some((self.0.strip_prefix(FUNCTION[usize::from(all)])?, all)))
    }

    /// The names of all defined figures.
    pub fn defined() -> impl Iterator<Item = &'static str> + Clone {
        ALL.iter().map(|one| one.name)
    }

    /// The figures that are costs.
    pub fn costs() -> impl Iterator<Item = (&'static FigureDefinition, CostColumn)> {
        ALL.iter().filter_map(|one| Some((one, one.cost?)))
    }

    /// All defined figures.
    pub fn all() -> impl Iterator<Item = Self> {
        Self::defined().map(|name| Self(Cow::Borrowed(name)))
    }

    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Its definition; none if a program reports it.
    pub fn definition(&self) -> Option<&'static FigureDefinition> {
        ALL.iter().find(|one| one.name == self.0)
    }

    /// What it is, as a part of a sentence.
    pub fn about(&self) -> Cow<'static, str> {
        match (self.definition(), self.function()) {
            (Some(definition), _) => definition.about.into(),
            (None, Some((function, false))) => format!("the kernel blocks of {function}").into(),
            (None, Some((function, true))) => {
                format!("the kernel blocks of {function} and of all that it calls").into()
            }
            (None, None) => format!("{}, which a program reports", self.0).into(),
        }
    }

    /// Whether it is a time from the start of the phase, which may be below the resolution.
    pub fn is_time(&self) -> bool {
        Self::TIMES.contains(self)
    }

    /// Whether it is computed from the latencies of a sample.
    pub fn is_latency(&self) -> bool {
        self.definition().is_some() && self.0.starts_with("latency-")
    }

    /// Whether it has no noise in virtual time.
    pub fn is_exact_in_virtual_time(&self) -> bool {
        let definition = self.definition();
        self.function().is_some() || definition.is_some_and(|one| one.source != Machine)
    }

    /// The figures that programs report in these samples, in their order.
    pub fn reported<'a>(samples: impl Iterator<Item = &'a Sample>) -> BTreeSet<Self> {
        let figures = samples.flat_map(|sample| &sample.figures);
        let reported = figures.filter(|figure| figure.is_of_program());
        reported.map(|figure| Self::new(&figure.name)).collect()
    }

    /// The figure of a sample. `None` if it was not measured.
    pub fn read<'a>(&self, sample: &'a Sample) -> Option<Reading<'a>> {
        if let Some(definition) = self.definition() {
            return Some(Reading {
                value: (definition.read)(sample)?,
                unit: definition.unit,
                better: definition.better,
            });
        }
        if let Some((function, all)) = self.function() {
            let profile = sample.profile.as_ref()?;
            let select = |[own, total]: [u64; 2]| if all { total } else { own };
            let (value, unit) = match &profile.sampled {
                None => {
                    let blocks = profile.of_function(function, |work| work.blocks);
                    (select(blocks) as f64, COUNT)
                }
                Some(_) if profile.samples() < Profile::MIN_SAMPLES => return None,
                Some(sampling) => {
                    let samples = profile.of_function(function, |work| work.samples);
                    (sampling.time_ns(select(samples)), NANOSECONDS)
                }
            };
            return Some(Reading {
                value,
                unit,
                better: Lower,
            });
        }
        let mut reported = sample.figures.iter();
        let figure = reported.find(|figure| figure.name == self.0)?;
        Some(Reading {
            value: figure.value,
            unit: &figure.unit,
            better: figure.better,
        })
    }

    /// Its value in a sample. `None` if it was not measured.
    pub fn value(&self, sample: &Sample) -> Option<f64> {
        Some(self.read(sample)?.value)
    }

    /// The place in the order: as defined, then by name.
    fn place(&self) -> (usize, &str) {
        let place = ALL.iter().position(|one| one.name == self.0);
        (place.unwrap_or(ALL.len()), &self.0)
    }
}

impl Ord for FigureName {
    fn cmp(&self, other: &Self) -> Ordering {
        self.place().cmp(&other.place())
    }
}

impl PartialOrd for FigureName {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl fmt::Display for FigureName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl FromStr for FigureName {
    type Err = NoFigure;

    /// The defined figure with this name.
    fn from_str(name: &str) -> Result<Self, NoFigure> {
        let figure = Self::new(name);
        match figure.definition() {
            Some(_) => Ok(figure),
            None => Err(NoFigure {
                name: name.to_owned(),
            }),
        }
    }
}

impl Serialize for FigureName {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for FigureName {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Self::new(&String::deserialize(deserializer)?))
    }
}

impl JsonSchema for FigureName {
    fn schema_name() -> Cow<'static, str> {
        "FigureName".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let names: Vec<&str> = Self::defined().collect();
        json_schema!({
            "description": "The name of a defined figure, or of one that a program reports.",
            "type": "string",
            "examples": names,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::disk_use::{DiskFigures, DiskUse, Tallied};
    use crate::units::{Bytes, Nanos};

    fn value(name: &str, sample: &Sample) -> Option<f64> {
        FigureName::new(name).value(sample)
    }

    #[test]
    fn requests_of_model_disks_come_from_their_recorders() {
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
        let known: Vec<(&str, f64)> = ALL
            .iter()
            .filter_map(|one| Some((one.name, (one.read)(&sample)?)))
            .collect();
        let times = [("durable", 5.0), ("return", 5.0)];
        let requests = [
            ("requests", 6.0),
            ("reads", 1.0),
            ("writes", 2.0),
            ("discards", 0.0),
            ("flushes", 3.0),
            ("bytes", 12_288.0),
            ("read-bytes", 4096.0),
            ("written-bytes", 8192.0),
            ("discarded-bytes", 0.0),
            ("busy", 0.0),
        ];
        assert_eq!(known, [&times[..], &requests].concat());
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
        assert_eq!(value("flushes", &sample), Some(9.0));
        assert_eq!(value("seeks", &sample), Some(7.0));
        assert_eq!(value("bytes", &sample), Some(0.0));
    }

    #[test]
    fn the_processor_time_is_that_of_the_kernel_of_a_guest_where_its_host_counts_it() {
        let mut sample = Sample::default();
        assert_eq!(value("cpu", &sample), None);
        (sample.cpu.user_ns, sample.cpu.system_ns) = (Nanos(10), Nanos(20));
        assert_eq!(value("cpu", &sample), Some(30.0));
        sample.figures.push(guest_kernel_time::figure(Nanos(70)));
        assert_eq!(value("cpu", &sample), Some(70.0));
    }

    #[test]
    fn a_name_is_that_of_a_definition_or_of_a_reported_figure() {
        for name in FigureName::defined() {
            assert_eq!(name.parse(), Ok(FigureName::new(name)));
        }
        let error = |name: &str| name.parse::<FigureName>().unwrap_err().to_string();
        assert!(error("durabel").contains("did you mean durable?"));
        assert!(error("qqqq").contains("durable, return"));
        let mut sample = Sample::default();
        let tps = Figure::new("tps", 7.0, "1/s", Higher);
        sample.figures.push(tps);
        let reading = FigureName::new("tps").read(&sample).unwrap();
        assert_eq!(
            (reading.value, reading.unit, reading.better),
            (7.0, "1/s", Higher)
        );
        assert_eq!(value("tp", &sample), None);
    }

    #[test]
    fn names_are_unique_and_in_the_order_of_their_definitions() {
        let all: Vec<FigureName> = FigureName::all().collect();
        assert!(all.windows(2).all(|two| two[0] < two[1]), "{all:?}");
        assert!(all.iter().all(|name| *name < FigureName::new("a")));
        for one in FigureName::TIMES {
            assert!(one.definition().is_some());
        }
    }

    #[test]
    fn rates_and_latencies_are_of_all_work() {
        let of = |operation: &str, ns: u64, count| LatencyDistribution {
            operation: operation.into(),
            count,
            sum_ns: count * ns,
            min_ns: ns,
            max_ns: ns,
            buckets: vec![(LatencyDistribution::class_end(ns), count)],
        };
        let mut sample = Sample {
            return_ns: Nanos(1_000_000_000),
            durable_ns: Some(Nanos(2_000_000_000)),
            latencies: vec![of("read", 40, 99), of("write", 63, 1)],
            ..Sample::default()
        };
        (sample.tally.files, sample.tally.bytes) = (10, Bytes(4096));
        assert_eq!(value("file-rate", &sample), Some(5.0));
        assert_eq!(value("byte-rate", &sample), Some(2048.0));
        assert_eq!(value("latency-p99", &sample), Some(40.0));
        assert_eq!(value("latency-max", &sample), Some(63.0));
    }
}
