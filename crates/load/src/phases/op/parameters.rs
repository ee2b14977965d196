//! The parameters of the phases, as declared and as parsed. Phases of a workload that use the same
//! files must have equal parameters.

use super::Phase;
use fsdyno_model::{Form, Parameter};
use std::collections::BTreeMap;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a parameter of its own"
)]
pub(crate) struct Parameters {
    /// The number of files of all workers.
    pub files: u64,
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
    /// The operations after which written data are made durable.
    pub fsync: Fsync,
    /// The number of reads in 100 random operations, in a phase that writes.
    pub reads: u64,
    /// Whether large files for random operations begin as sparse files.
    pub sparse: bool,
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

/// The operations after which a phase makes written data durable, in addition to the `syncfs` after
/// its return.
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

    /// The text for the method of a phase that states when it is called; none if it is not called.
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
pub(super) const MAX_BYTES: u64 = 4 << 20;

pub(super) const MAX_DEPTH: u64 = 1024;

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
            bytes: few("bytes", 0, MAX_BYTES),
            size: number("size", 1 << 30).max(1),
            block: few("block", block, MAX_BYTES).max(1),
            operations: number("operations", 65_536).max(1),
            direct: is_set_to("cache", "direct"),
            sparse: is_set_to("lay", "sparse"),
            // More than a user sets: the ranks of a cluster are workers, too.
            workers: few("workers", 1, 1 << 20).max(1),
            shared: is_set_to("place", "shared"),
            strided: is_set_to("blocks", "strided"),
            depth: few("depth", 32, MAX_DEPTH).max(1),
            processes: is_set_to("worker-type", "process"),
            pin: is_set_to("pin", "yes"),
            rate: Some(number("rate", 0)).filter(|rate| *rate > 0),
        }
    }

    /// Whether one thread performs one operation after another.
    pub fn is_one_loop(&self) -> bool {
        self.workers == 1 && !self.processes && self.rate.is_none()
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

const SIZE: Parameter = Parameter::size("size", "bytes of the large files, total of all workers")
    .scaled(1 << 30, 1 << 20);
const CACHE: Parameter = Parameter::one_of(
    "cache",
    "through the page cache, or direct (O_DIRECT)",
    &["through", "direct"],
)
.fixed("through");
const WORKERS: Parameter = Parameter::number("workers", "concurrent workers", 1..=256).fixed("1");
const WORKER_TYPE: Parameter = Parameter::one_of(
    "worker-type",
    "type of each worker: thread or process",
    &["thread", "process"],
)
.fixed("thread");
const PLACE: Parameter = Parameter::one_of(
    "place",
    "private or shared: one set of directories and one large file per worker, or for all",
    &["private", "shared"],
)
.fixed("private");
const BLOCKS: Parameter = Parameter::one_of(
    "blocks",
    "blocks of a worker in a shared file: segmented (default), or strided: every n-th",
    &["segmented", "strided"],
);
const LAY: Parameter = Parameter::one_of(
    "lay",
    "how missing large files are created: written, or sparse (one hole)",
    &["written", "sparse"],
)
.fixed("written");
const PIN: Parameter =
    Parameter::one_of("pin", "pin each worker to one processor", &["no", "yes"]).fixed("no");
const RATE: Parameter = Parameter::number(
    "rate",
    "operations per second, open-loop; 0: each starts when the previous one ends",
    0..=100_000_000,
)
.fixed("0");

const DEPTH: Parameter = Parameter::number(
    "depth",
    "requests in flight (queue depth); engine uring",
    1..=MAX_DEPTH,
)
.fixed("32");

const fn block(given: &'static str) -> Parameter {
    Parameter::size("block", "bytes of one request").fixed(given)
}

const OPERATIONS: Parameter =
    Parameter::number("operations", "number, total of all workers", 1..=1 << 40).scaled(65_536, 1);

const FILE_COUNT: Parameter =
    Parameter::number("files", "number, total of all workers", 1..=1_000_000_000)
        .scaled(100_000, 1);
const FILES_PER_DIR: Parameter = Parameter::number(
    "files-per-dir",
    "files in each directory",
    1..=1_000_000_000,
)
.fixed("100");
const BYTES: Parameter = Parameter::bytes("bytes", "bytes in each file", 0..=MAX_BYTES).fixed("0");

/// Absent by default, as all parameters that older plans do not have.
const fn fsync(about: &'static str) -> Parameter {
    let form = Form::OneOfOrNumber(&["no", "each", "end"], 1, 1 << 40);
    Parameter::new("fsync", about, form)
}
const FSYNC_DATA: Parameter =
    fsync("fsync after each write, every N writes, at the end (default), or no");
const FSYNC_FILES: Parameter =
    fsync("fsync after each operation, every N, syncfs at the end, or no (default)");
const DSYNC: Parameter = Parameter::one_of(
    "dsync",
    "open with O_DSYNC: each write returns when durable; default no",
    &["no", "yes"],
);
const READS: Parameter = Parameter::number(
    "reads",
    "percent of the operations that read; default 0",
    0..=99,
);

pub(super) const SEQUENTIAL_READS: &[Parameter] = &[
    SIZE,
    block("131072"),
    DEPTH,
    CACHE,
    WORKERS,
    WORKER_TYPE,
    PLACE,
    BLOCKS,
    PIN,
    RATE,
];
pub(super) const SEQUENTIAL_WRITES: &[Parameter] = &[
    SIZE,
    block("131072"),
    FSYNC_DATA,
    DSYNC,
    DEPTH,
    CACHE,
    WORKERS,
    WORKER_TYPE,
    PLACE,
    BLOCKS,
    PIN,
    RATE,
];
pub(super) const RANDOM_READS: &[Parameter] = &[
    SIZE,
    block("4096"),
    OPERATIONS,
    LAY,
    DEPTH,
    CACHE,
    WORKERS,
    WORKER_TYPE,
    PLACE,
    PIN,
    RATE,
];
pub(super) const RANDOM_WRITES: &[Parameter] = &[
    SIZE,
    block("4096"),
    OPERATIONS,
    READS,
    FSYNC_DATA,
    DSYNC,
    LAY,
    DEPTH,
    CACHE,
    WORKERS,
    WORKER_TYPE,
    PLACE,
    PIN,
    RATE,
];
pub(super) const FILES: &[Parameter] = &[
    FILE_COUNT,
    FILES_PER_DIR,
    BYTES,
    WORKERS,
    WORKER_TYPE,
    PLACE,
    PIN,
    RATE,
];
pub(super) const CHANGED_FILES: &[Parameter] = &[
    FILE_COUNT,
    FILES_PER_DIR,
    BYTES,
    FSYNC_FILES,
    WORKERS,
    WORKER_TYPE,
    PLACE,
    PIN,
    RATE,
];
