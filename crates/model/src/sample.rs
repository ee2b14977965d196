//! The figures of one phase of one cell.

use crate::disk_use::{DiskFigures, DiskUse};
use crate::evidence::CacheEvidence;
use crate::kernel_work::KernelWork;
use crate::observed::Observed;
use crate::profile::Profile;
use crate::timeline::{LatencyDistribution, Progress};
use crate::units::{Bytes, Nanos};
use crate::waits::Waits;
use crate::warning::{Warning, WarningKind};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The figures of one phase.
#[derive(Debug, Clone, Default, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct Sample {
    /// The place of the phase in its workload, from 0.
    pub phase: u32,
    /// The label of the phase, unique in its workload (`copy`, `grep warm`).
    pub label: String,
    /// The kind of phase (`copy`, `delete`, `untar` ...).
    pub kind: String,
    /// The engine that did the work (`sync`, `tools`, `null`).
    pub engine: String,
    /// The method, if the kind of phase has several: `read-write`, `cp -a` ...
    pub method: String,
    /// The state of the caches at its start.
    pub cache: CacheEvidence,
    /// Wall time until the work had returned: what `time cp` shows. If a phase that only reads was
    /// repeated in turn with other contenders, this and its processor time are means of all passes;
    /// all else is that of the pass with the median time.
    pub return_ns: Nanos,
    /// Wall time until `syncfs` had returned as well; none for phases that only read.
    pub durable_ns: Option<Nanos>,
    /// The counts of the work.
    pub tally: Tally,
    /// Processor time.
    pub cpu: CpuUse,
    /// The traffic of the devices until the phase was durable; none if they have no counters.
    pub device: Option<DeviceUse>,
    /// The figures of each model disk, by index; empty without model disks, and if their recorders
    /// did not receive the marks of the phase.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub disks: Vec<DiskFigures>,
    /// Space in use before the phase (statfs), bytes.
    pub space_before: Bytes,
    /// Space in use after it was durable (statfs), bytes.
    pub space_after: Bytes,
    /// Extents of the files after the phase; none if they were not requested.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fragmentation: Option<Fragmentation>,
    /// Further figures: those that a program reported, and hardware counters.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub figures: Vec<Figure>,
    /// Latencies of single operations, by kind of operation; empty if the engine reports none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub latencies: Vec<LatencyDistribution>,
    /// The timeline: the work in equal slices of the time until return; none if the engine does not
    /// report it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub progress: Option<Progress>,
    /// The work of the guest's kernel until the phase returned, and until it was durable; empty if
    /// the kernel does not count it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub kernel: Vec<KernelWork>,
    /// Which functions of the guest's kernel did this work, from a repeat of the cell; none if nobody
    /// requested them (`why --functions`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile: Option<Profile>,
    /// Other activity of the machine during the phase; none in virtual time, and if it was not
    /// observed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed: Option<Observed>,
    /// The speed of the machine just before it; none if no probe was taken.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub probe: Option<Probe>,
    /// The warnings on this sample.
    pub warnings: Vec<Warning>,
}

/// The counts of the work of a phase.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, JsonSchema, Serialize, Deserialize)]
pub struct Tally {
    /// Files, links and special files handled.
    pub files: u64,
    /// Directories handled.
    pub directories: u64,
    /// Bytes of file data handled.
    pub bytes: Bytes,
    /// Calls to the engine; 0 if other programs make them (`tools`).
    pub calls: u64,
    /// Lines found by a search; 0 elsewhere.
    pub matches: u64,
}

impl Tally {
    /// Adds the figures of another worker or pass.
    pub fn add(&mut self, other: &Self) {
        self.files += other.files;
        self.directories += other.directories;
        self.bytes.0 += other.bytes.0;
        self.calls += other.calls;
        self.matches += other.matches;
    }
}

/// Processor time of a phase.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, JsonSchema, Serialize, Deserialize)]
pub struct CpuUse {
    /// User time of the workers until return (`getrusage`).
    pub user_ns: Nanos,
    /// System time of the workers until return (`getrusage`).
    pub system_ns: Nanos,
    /// Busy time of all processors until durable, kernel threads included (`/proc/stat`).
    pub machine_busy_ns: Nanos,
    /// Time taken by the hypervisor until durable (`/proc/stat`, steal).
    pub steal_ns: Nanos,
}

/// The speed of the machine, from short operations that do not use the file system of the contender.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, JsonSchema, Serialize, Deserialize)]
pub struct Probe {
    /// The mean time of open, read and close of a file of the kernel (`/proc`).
    pub system_ns: Nanos,
    /// The mean time of a random direct read of 4 KiB: from the device, or for image files from a
    /// file on the device that holds them; none without a device.
    pub device_ns: Option<Nanos>,
}

/// Traffic at the devices of a contender, all of them together, until durable.
///
/// For a phase that only reads, it includes an untimed `syncfs` after it, so that dirty access
/// times are counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, JsonSchema, Serialize, Deserialize)]
pub struct DeviceUse {
    /// Read requests completed.
    pub reads: u64,
    /// Bytes read.
    pub read_bytes: Bytes,
    /// Write requests completed.
    pub writes: u64,
    /// Bytes written.
    pub written_bytes: Bytes,
    /// Discard requests completed.
    pub discards: u64,
    /// Bytes discarded.
    pub discarded_bytes: Bytes,
    /// Flush requests completed.
    pub flushes: u64,
    /// Time with at least one request in flight, summed over the devices.
    pub busy_ns: Nanos,
    /// Whether that time was not counted.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub busy_unknown: bool,
    /// The time of the requests by kind; none if the kernel does not report all kinds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waits: Option<Waits>,
}

impl DeviceUse {
    /// The time with at least one request in flight, if it was counted.
    pub fn busy(&self) -> Option<Nanos> {
        (!self.busy_unknown).then_some(self.busy_ns)
    }
}

/// The extents of the regular files of a contender, counted untimed.
#[derive(Debug, Clone, PartialEq, Eq, Default, JsonSchema, Serialize, Deserialize)]
pub struct Fragmentation {
    /// Files smaller than this are left out, bytes.
    pub floor: Bytes,
    /// Regular files counted.
    pub files: u64,
    /// Files with more than one extent.
    pub fragmented: u64,
    /// Extents of all of them: runs that are contiguous in the file and on the device.
    pub extents: u64,
    /// Bytes of data in them, without holes and preallocated space.
    pub bytes: Bytes,
    /// How many extents have 2^n to 2^(n+1) - 1 bytes, by n from 0.
    pub extents_by_size: Vec<u64>,
    /// The reason why extents are unknown; none if they are known. With a reason, all counts are 0.
    pub unavailable: Option<String>,
}

impl Fragmentation {
    /// An empty result with the reason why extents are unknown.
    pub fn not_available(floor: Bytes, reason: impl Into<String>) -> Self {
        Self {
            floor,
            unavailable: Some(reason.into()),
            ..Self::default()
        }
    }

    /// Extents per file; none if they are unknown or no file was counted.
    pub fn per_file(&self) -> Option<f64> {
        (self.unavailable.is_none() && self.files > 0)
            .then(|| self.extents as f64 / self.files as f64)
    }
}

/// One figure that a program reported, or a hardware counter.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct Figure {
    /// Its name, unique in its sample: `write`, `seeks`, `read latency p99`.
    pub name: String,
    /// The figure.
    pub value: f64,
    /// Its unit: `KiB/s`, `1/s`, `ns`.
    pub unit: String,
    /// Whether a higher or a lower value is better.
    pub better: Better,
}

/// The unit of a count in a sample that the definition of a figure reads.
pub(crate) const COUNTED: &str = "count";

impl Figure {
    /// The unit of a figure that is the number of units of work of a program, as its transactions.
    pub const UNITS: &str = "units";

    /// A count that the definition of a figure reads.
    pub fn counted(name: &'static str, count: u64) -> Self {
        Self::new(name, count as f64, COUNTED, Better::Lower)
    }

    /// A figure with this name.
    pub fn new(name: impl Into<String>, value: f64, unit: &str, better: Better) -> Self {
        Self {
            name: name.into(),
            value,
            unit: unit.to_owned(),
            better,
        }
    }
}

/// Which of two values is better.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Better {
    /// The higher one: a rate.
    Higher,
    /// The lower one: a time.
    Lower,
    /// Neither: contenders are not judged by it.
    #[serde(rename = "none")]
    Neither,
}

impl Better {
    /// The name, as stored.
    pub fn name(self) -> &'static str {
        match self {
            Self::Higher => "higher",
            Self::Lower => "lower",
            Self::Neither => "none",
        }
    }
}

impl Sample {
    /// The compared time: to durable if it was measured, else to return.
    pub fn whole_ns(&self) -> Nanos {
        self.durable_ns.unwrap_or(self.return_ns)
    }

    /// Whether it returned as durable although nothing of its work can be.
    pub fn is_not_durable(&self) -> bool {
        let mut warnings = self.warnings.iter();
        warnings.any(|warning| warning.kind == WarningKind::NotDurable)
    }

    /// The sum of the figures of all its model disks; none without such figures.
    pub fn on_disks(&self) -> Option<DiskUse> {
        let wholes = self.disks.iter().map(DiskFigures::whole);
        wholes.reduce(|sum, whole| sum + whole)
    }
}
