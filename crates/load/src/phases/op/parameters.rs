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
    /// Whether each write to a large file returns when its data are durable (`O_DSYNC`).
    pub dsync: bool,
    /// When written data are made durable.
    pub fsync: Fsync,
    /// How many of 100 random operations read, in a phase that writes.
    pub reads: u64,
    /// Whether large files for random operations begin as sparse files.
    pub sparse: bool,
    /// The number of parallel workers.
    pub workers: usize,
    /// Whether all workers use the same directories and the same large file.
    pub shared: bool,
    /// Whether workers transfer every n-th block of a shared file, instead of one part each.
    pub strided: bool,
    /// Whether workers are processes instead of threads.
    pub processes: bool,
    /// Whether each worker is pinned to one processor.
    pub pin: bool,
    /// Requests in flight on a large file (queue depth), if the engine supports it.
    pub depth: usize,
    /// Scheduled operations per second of all workers; none for a closed loop.
    pub rate: Option<u64>,
}

/// When a phase makes written data durable, in addition to the `syncfs` after its return.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fsync {
    Never,
    /// After each of this many operations of a worker.
    Every(u64),
    /// Once by each worker, after its last operation.
    AtEnd,
}

impl Fsync {
    fn read(text: Option<&str>, default: Self) -> Self {
        match text {
            Some("no") => Self::Never,
            Some("each") => Self::Every(1),
            Some("end") => Self::AtEnd,
            other => other
                .and_then(|text| text.parse().ok())
                .map_or(default, |count: u64| Self::Every(count.max(1))),
        }
    }

    /// When it is called, as a part of the method of a phase; none if it is not called.
    pub fn describe(self, call: &str) -> Option<String> {
        match self {
            Self::Never => None,
            Self::Every(1) => Some(format!("; {call} after each")),
            Self::Every(count) => Some(format!("; {call} after every {count}")),
            Self::AtEnd => Some(format!("; {call} at the end")),
        }
    }
}

/// Counts operations until the next `fsync` is due.
#[derive(Debug, Clone, Copy)]
pub(super) struct SyncCounter {
    /// The number of operations between two of them; 0 for none.
    every: u64,
    done: u64,
}

impl SyncCounter {
    pub fn new(fsync: Fsync) -> Self {
        let every = match fsync {
            Fsync::Every(count) => count,
            Fsync::Never | Fsync::AtEnd => 0,
        };
        Self { every, done: 0 }
    }

    /// Counts an operation; returns whether data are made durable after it.
    #[inline]
    pub fn is_due(&mut self) -> bool {
        if self.every == 0 {
            return false;
        }
        self.done += 1;
        if self.done < self.every {
            return false;
        }
        self.done = 0;
        true
    }
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
        let fsync = match phase {
            Phase::Write | Phase::RandomWrite => Fsync::AtEnd,
            _ => Fsync::Never,
        };
        Self {
            dsync: is_set_to("dsync", "yes"),
            fsync: Fsync::read(given.get("fsync").map(String::as_str), fsync),
            reads: number("reads", 0).min(99),
            files,
            files_per_dir: number("files-per-dir", 100).clamp(1, files),
            bytes: few("bytes", 0, LARGEST),
            size: number("size", 1 << 30).max(1),
            block: few("block", block, LARGEST).max(1),
            operations: number("operations", 65_536).max(1),
            direct: is_set_to("cache", "direct"),
            sparse: is_set_to("lay", "sparse"),
            // More than a user sets: the ranks of a cluster are workers, too.
            workers: few("workers", 1, 1 << 20).max(1),
            shared: is_set_to("place", "shared"),
            strided: is_set_to("blocks", "strided"),
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
