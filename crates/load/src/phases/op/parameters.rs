//! The parameters of the phases. Those of one workload must agree where they name the same files.

use super::Phase;
use std::collections::BTreeMap;

/// The parameters of a phase.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a parameter of its own"
)]
pub(crate) struct Parameters {
    /// Files, of all workers together.
    pub files: u64,
    /// Files of one directory.
    pub files_per_dir: u64,
    /// Bytes in a file.
    pub bytes: usize,
    /// Bytes of large files, of all workers together.
    pub size: u64,
    /// Bytes of one call on a large file.
    pub block: usize,
    /// Operations in random order on large files, of all workers together.
    pub operations: u64,
    /// Whether large files are opened past the page cache.
    pub direct: bool,
    /// Whether large files for random operations begin as sparse files.
    pub sparse: bool,
    /// Workers in parallel.
    pub workers: usize,
    /// Whether all workers work in the same directories, on the same large file.
    pub shared: bool,
    /// Whether workers are processes, rather than threads of one.
    pub processes: bool,
    /// Whether each worker keeps to one processor.
    pub pin: bool,
    /// Requests in flight on a large file (queue depth), where the engine can.
    pub depth: usize,
    /// Operations a second that arrive, of all workers together; none where each begins when the
    /// one before has ended.
    pub rate: Option<u64>,
}

/// Bytes of one call in order, where no value is given.
pub(super) const BLOCK_IN_ORDER: u64 = 128 << 10;
/// Bytes of one call in random order, where no value is given.
pub(super) const BLOCK_ALL_OVER: u64 = 4 << 10;
/// The largest block, and the most bytes in a small file.
pub(super) const LARGEST: u64 = 4 << 20;

/// The most requests in flight.
pub(super) const DEEPEST: u64 = 1024;

impl Parameters {
    /// Reads them; a plan was checked when it was made, so that what is no number does not occur.
    pub fn read(phase: Phase, given: &BTreeMap<String, String>) -> Self {
        let number = |name: &str, default: u64| {
            let text = given.get(name);
            text.and_then(|text| text.parse().ok()).unwrap_or(default)
        };
        let said = |name: &str, word: &str| given.get(name).is_some_and(|text| text == word);
        let few = |name: &str, default: u64, most: u64| {
            usize::try_from(number(name, default).min(most)).unwrap_or(usize::MAX)
        };
        let block = match phase {
            Phase::RandomRead | Phase::RandomWrite => BLOCK_ALL_OVER,
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
            direct: said("cache", "direct"),
            sparse: said("lay", "sparse"),
            workers: few("workers", 1, 256).max(1),
            shared: said("place", "shared"),
            depth: few("depth", 32, DEEPEST).max(1),
            processes: said("worker-type", "process"),
            pin: said("pin", "yes"),
            rate: Some(number("rate", 0)).filter(|rate| *rate > 0),
        }
    }

    /// The share of a worker in so many: where it begins, and where it ends.
    pub fn share(&self, all: u64, worker: usize) -> std::ops::Range<u64> {
        let (worker, workers) = (worker as u64, self.workers as u64);
        all * worker / workers..all * (worker + 1) / workers
    }

    /// The blocks of the large file of one worker, or of the one that all share.
    pub fn blocks(&self) -> u64 {
        let files = if self.shared { 1 } else { self.workers as u64 };
        (self.size / self.block as u64 / files).max(1)
    }
}
