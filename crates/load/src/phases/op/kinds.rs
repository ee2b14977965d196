//! The phases of operations as kinds of phases: names, titles and parameters. Values are parsed
//! elsewhere.

use super::Phase;
use crate::phases::PhaseKind;
use fsdyno_model::{Form, Parameter};

/// The kinds, in the order of `Phase::ALL`.
pub static KINDS: [PhaseKind; 12] = [
    kind(Phase::Create, "creates files"),
    kind(Phase::Stat, "stats files"),
    kind(Phase::Open, "opens, reads and closes files"),
    kind(Phase::Rename, "renames files, and renames them back"),
    kind(Phase::Link, "creates hard links to files"),
    kind(Phase::Mkdir, "creates directories"),
    kind(Phase::Rmdir, "removes directories"),
    kind(Phase::Unlink, "unlinks files"),
    kind(Phase::Write, "writes a large file sequentially"),
    kind(Phase::Read, "reads a large file sequentially"),
    kind(Phase::RandomWrite, "writes a large file at random offsets"),
    kind(Phase::RandomRead, "reads a large file at random offsets"),
];

const fn kind(phase: Phase, title: &'static str) -> PhaseKind {
    let parameters = match phase {
        Phase::Write => WRITES_IN_ORDER,
        Phase::Read => IN_ORDER,
        Phase::RandomWrite => RANDOM_WRITES,
        Phase::RandomRead => RANDOM,
        Phase::Stat | Phase::Open => FILES,
        _ => CHANGED_FILES,
    };
    PhaseKind {
        writes: phase.writes(),
        ..PhaseKind::standalone(phase.name(), title, parameters)
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
    1..=super::parameters::DEEPEST,
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
const BYTES: Parameter = Parameter::number(
    "bytes",
    "bytes in each file",
    0..=super::parameters::LARGEST,
)
.fixed("0");

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

const IN_ORDER: &[Parameter] = &[
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
const WRITES_IN_ORDER: &[Parameter] = &[
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
const RANDOM: &[Parameter] = &[
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
const RANDOM_WRITES: &[Parameter] = &[
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
const FILES: &[Parameter] = &[
    FILE_COUNT,
    FILES_PER_DIR,
    BYTES,
    WORKERS,
    WORKER_TYPE,
    PLACE,
    PIN,
    RATE,
];
const CHANGED_FILES: &[Parameter] = &[
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
