//! The processor model of virtual time: the profile that a plan names, and the work of a guest's
//! kernel that was counted and charged.

use crate::disk_use::Point;
use crate::units::{Bytes, Nanos};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A model processor.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct ModelCpu {
    /// The name of its profile.
    pub profile: String,
    /// The complete text of the profile, because a file of the user may change.
    pub text: String,
}

/// The work that the kernel of a guest did from the start of a phase to one of its points.
///
/// Basic blocks are counted by the kernel itself; the counts are the same in every run.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct KernelWork {
    /// The end of the count: the work returned, or is durable.
    pub until: Point,
    /// Basic blocks executed for processes: system calls and page faults.
    pub process_blocks: u64,
    /// Basic blocks executed by kernel threads.
    pub kthread_blocks: u64,
    /// Basic blocks executed in interrupts.
    pub interrupt_blocks: u64,
    /// System calls.
    pub system_calls: u64,
    /// Bytes copied between processes and the kernel, and from page to page. This count and the
    /// following ones exclude kernel threads.
    pub copied: Bytes,
    /// Bytes set to zero.
    pub cleared: Bytes,
    /// Bytes of CRC-32C checksums.
    pub checksummed: Bytes,
    /// Requests to disks.
    #[serde(default)]
    pub disk_requests: u64,
    /// Waits: a process sleeps, and no other process runs.
    #[serde(default)]
    pub waits: u64,
    /// The time by which the virtual clock was advanced for the work; 0 if computing is free.
    pub charged_ns: Nanos,
    /// Kernel threads by name with the blocks that each executed, the largest count first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub threads: Vec<ThreadWork>,
}

/// The work of the kernel threads with one name.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct ThreadWork {
    /// The name, without the numbers of a worker: `kworker`, `jbd2`, `xfsaild`.
    pub name: String,
    /// Basic blocks.
    pub blocks: u64,
}

impl KernelWork {
    /// All basic blocks.
    pub fn blocks(&self) -> u64 {
        self.process_blocks + self.kthread_blocks + self.interrupt_blocks
    }
}
