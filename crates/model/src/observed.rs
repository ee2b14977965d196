//! The activity of the machine while a phase ran, except for the work of the phase itself. It may
//! disturb a figure or help to explain it. Figures are never corrected by it.

use crate::parts::parts;
use crate::units::{Bytes, Nanos};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Readings around a phase. A value without a source is none; [`Observed::unobserved`] has the reason.
#[derive(Debug, Clone, PartialEq, Eq, Default, JsonSchema, Serialize, Deserialize)]
pub struct Observed {
    /// The time between the two readings. It is slightly longer than the phase.
    pub over_ns: Nanos,
    /// Available processors.
    pub processors: u32,
    /// Their frequency.
    pub frequency: Option<Frequency>,
    /// How often processors were throttled because of heat.
    pub throttled: Option<u64>,
    /// Pressure stall times (PSI).
    pub pressure: Option<Pressure>,
    /// Processor time of kernel threads, and of processes that serve file systems.
    pub kernel_threads_ns: Option<Nanos>,
    /// Processor time of other programs: neither fsdyno nor a process that it started.
    pub others_ns: Option<Nanos>,
    /// Requests that did not come from the contender.
    pub other_io: Option<OtherIo>,
    /// Metadata and forced writes among the requests of the contender.
    pub traced: Option<Traced>,
    /// Values that could not be observed, each with the reason: `frequency: no /sys/.../cpufreq`.
    #[serde(default)]
    pub unobserved: Vec<String>,
}

/// The speed of all processors at both readings, as the kernel reports it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, JsonSchema, Serialize, Deserialize)]
pub struct Frequency {
    /// The lowest frequency of a processor, kHz.
    pub least_khz: u64,
    /// The mean frequency, kHz.
    pub mean_khz: u64,
    /// The highest frequency of a processor, kHz.
    pub most_khz: u64,
}

/// Pressure stall times of the whole machine (`Documentation/accounting/psi.rst`): *some* task
/// waited, or *all* tasks that were not idle waited.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, JsonSchema, Serialize, Deserialize)]
pub struct Pressure {
    /// Time in which some task waited for a processor.
    pub cpu_some_ns: Nanos,
    /// Time in which some task waited for a device.
    pub io_some_ns: Nanos,
    /// Time in which all tasks waited for devices.
    pub io_full_ns: Nanos,
    /// Time in which some task waited for memory.
    pub memory_some_ns: Nanos,
    /// Time in which all tasks waited for memory.
    pub memory_full_ns: Nanos,
}

parts!(Pressure: 5 {
    cpu_some_ns, io_some_ns, io_full_ns, memory_some_ns, memory_full_ns
});

/// Requests to block devices that are not those of the contender, and traffic of the devices that
/// hold its image files.
#[derive(Debug, Clone, PartialEq, Eq, Default, JsonSchema, Serialize, Deserialize)]
pub struct OtherIo {
    /// Requests completed by devices that neither belong to the contender nor are below it.
    pub requests: u64,
    /// Bytes of these requests.
    pub bytes: Bytes,
    /// The device of these with the longest busy time; empty if none was busy.
    pub busiest: String,
    /// The busy time of that device.
    pub busiest_ns: Nanos,
    /// Bytes read and written by the devices that hold its image files, for all programs; none if
    /// there is no such device.
    pub below_bytes: Option<Bytes>,
}

/// Requests of the contender that are metadata or forced, as its file system marked them at
/// submission (tracepoint `block_bio_queue`), before any were merged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, JsonSchema, Serialize, Deserialize)]
pub struct Traced {
    /// Reads of metadata.
    pub metadata_reads: u64,
    /// Their bytes.
    pub metadata_read_bytes: Bytes,
    /// Writes of metadata.
    pub metadata_writes: u64,
    /// Their bytes.
    pub metadata_written_bytes: Bytes,
    /// Writes with FUA (forced unit access), of metadata or data.
    pub forced_writes: u64,
    /// Their bytes.
    pub forced_bytes: Bytes,
    /// Flushes requested, alone or before a write.
    pub flushes: u64,
}

parts!(Traced: 7 {
    metadata_reads, metadata_read_bytes, metadata_writes, metadata_written_bytes, forced_writes,
    forced_bytes, flushes
});
