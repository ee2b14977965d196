//! The activity of the machine while a phase ran, except for its own work: it may disturb
//! a figure, or help to explain it. No figure is corrected by it.

use crate::parts::parts;
use crate::units::{Bytes, Nanos};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Readings around a phase. A value without a source is none; [`Observed::unobserved`] has the reason.
#[derive(Debug, Clone, PartialEq, Eq, Default, JsonSchema, Serialize, Deserialize)]
pub struct Observed {
    /// The time between the two readings: a little more than that of the phase.
    pub over_ns: Nanos,
    /// Processors that were there to be used.
    pub processors: u32,
    /// How fast they were.
    pub frequency: Option<Frequency>,
    /// How often processors were slowed down for their heat.
    pub throttled: Option<u64>,
    /// For how long some task waited (PSI, `some`).
    pub pressure: Option<Pressure>,
    /// Processor time of kernel threads, and of processes that serve file systems.
    pub kernel_threads_ns: Option<Nanos>,
    /// Processor time of everybody else but fsdyno and what it started.
    pub others_ns: Option<Nanos>,
    /// Requests that were not those of the contender.
    pub other_io: Option<OtherIo>,
    /// Metadata and forced writes among the requests of the contender.
    pub traced: Option<Traced>,
    /// What could not be observed, and why: `frequency: no /sys/.../cpufreq`.
    #[serde(default)]
    pub unobserved: Vec<String>,
}

/// The speed of all processors at both readings, as the kernel reports it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, JsonSchema, Serialize, Deserialize)]
pub struct Frequency {
    /// Of the slowest, kHz.
    pub least_khz: u64,
    /// The mean, kHz.
    pub mean_khz: u64,
    /// Of the fastest, kHz.
    pub most_khz: u64,
}

/// For how long tasks of the whole machine stood waiting (`Documentation/accounting/psi.rst`):
/// some of them, or all that were not idle.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, JsonSchema, Serialize, Deserialize)]
pub struct Pressure {
    /// Some, for a processor.
    pub cpu_some_ns: Nanos,
    /// Some, for devices.
    pub io_some_ns: Nanos,
    /// All, for devices.
    pub io_full_ns: Nanos,
    /// Some, for memory.
    pub memory_some_ns: Nanos,
    /// All, for memory.
    pub memory_full_ns: Nanos,
}

parts!(Pressure: 5 {
    cpu_some_ns, io_some_ns, io_full_ns, memory_some_ns, memory_full_ns
});

/// Requests at other block devices of the machine, and at those that hold the image files of the
/// contender beyond its own.
#[derive(Debug, Clone, PartialEq, Eq, Default, JsonSchema, Serialize, Deserialize)]
pub struct OtherIo {
    /// Completed by devices that are neither the contender's nor below it.
    pub requests: u64,
    /// Bytes of these.
    pub bytes: Bytes,
    /// The one of them that was busy longest; empty where none was.
    pub busiest: String,
    /// For how long that one was.
    pub busiest_ns: Nanos,
    /// Read and written at the devices that hold its image files, by whomever; none where there
    /// are none to be seen.
    pub below_bytes: Option<Bytes>,
}

/// Requests of the contender that are metadata or forced, as its file system marked them when it
/// requested them (tracepoint `block_bio_queue`), before any were merged.
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
    /// Writes that were to be on the medium when done (FUA), of metadata or data.
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
