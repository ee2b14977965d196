//! The parameters of the phases. Phases of a workload that use the same files must have equal
//! parameters.

use super::Phase;
use std::collections::BTreeMap;

/// The parameters of a phase.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a parameter of its own"
)]
pub(crate) struct Parameters {
    /// The number of files of all workers.
    pub files: u64,
    /// Files per directory.
    pub files_per_dir: u64,
    /// The size of a file, bytes.
    pub bytes: usize,
    /// The total size of large files of all workers, bytes.
    pub size: u64,
    /// Bytes per call on a large file.
    pub block: usize,
    /// Random operations on large files, of all workers.
    pub operations: u64,
    /// Whether large files bypass the page cache (direct I/O).
    pub direct: bool,
    /// Whether large files for random operations begin as sparse files.
    pub sparse: bool,
    /// The number of parallel workers.
    pub workers: usize,
    /// Whether all workers use the same directories and the same large file.
    pub shared: bool,
    /// Whether workers are processes instead of threads.
    pub processes: bool,
    /// Whether each worker is pinned to one processor.
    pub pin: bool,
    /// Requests in flight on a large file (queue depth), if the engine supports it.
    pub depth: usize,
    /// Scheduled operations per second of all workers; none for a closed loop.
    pub rate: Option<u64>,
}

/// The default block size of sequential access, bytes.
pub(super) const BLOCK_IN_ORDER: u64 = 128 << 10;
/// The default block size of random access, bytes.
pub(super) const RANDOM_BLOCK: u64 = 4 << 10;
/// The maximum size of a block and of a small file, bytes.
pub(super) const LARGEST: u64 = 4 << 20;

/// The maximum queue depth.
pub(super) const DEEPEST: u64 = 1024;

impl Parameters {
    /// Reads the parameters. Plans are validated, so every value is a number.
    pub fn read(phase: Phase, given: &BTreeMap<String, String>) -> Self {
        let number = |name: &str, default: u64| {
            let text = given.get(name);
            text.and_then(|text| text.parse().ok()).unwrap_or(default)
        };
        let is_set_to = |name: &str, word: &str| given.get(name).is_some_and(|text| text == word);
        let few = |name: &str, default: u64, most: u64| {
            usize::try_from(number(name, default).min(most)).unwrap_or(usize::MAX)
        };
        let block = match phase {
            Phase::RandomRead | Phase::RandomWrite => RANDOM_BLOCK,
            _ => BLOCK_IN_ORDER,
        };
        let files = number("files", 100_000).max(1);
        Self {
            files,
            files_per_dir: number("files-per-dir", 100).clamp(1, files),
            bytes: few("bytes", 0, LARGEST),
            size: number("size", 1 << 30).max(1),
            block: few("block", block, LARGEST).max(1),
            operations: number("operations", 65_536).max(1),
            direct: is_set_to("cache", "direct"),
            sparse: is_set_to("lay", "sparse"),
            workers: few("workers", 1, 256).max(1),
            shared: is_set_to("place", "shared"),
            depth: few("depth", 32, DEEPEST).max(1),
            processes: is_set_to("worker-type", "process"),
            pin: is_set_to("pin", "yes"),
            rate: Some(number("rate", 0)).filter(|rate| *rate > 0),
        }
    }

    /// The share of one of several workers: its begin and its end.
    pub fn share(&self, all: u64, worker: usize) -> std::ops::Range<u64> {
        let (worker, workers) = (worker as u64, self.workers as u64);
        all * worker / workers..all * (worker + 1) / workers
    }

    /// The number of blocks in the large file of one worker, or in the shared one.
    pub fn blocks(&self) -> u64 {
        let files = if self.shared { 1 } else { self.workers as u64 };
        (self.size / self.block as u64 / files).max(1)
    }
}
