//! The phases of operations as kinds of phases: names, titles and parameters. Values are parsed
//! elsewhere.

use super::Phase;
use crate::phases::PhaseKind;
use fsdyno_model::{Form, Given, Parameter};

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

const SIZE: Parameter = Parameter {
    name: "size",
    about: "bytes of the large files, total of all workers",
    form: Form::Size,
    given: Given::Scaled(1 << 30, 1 << 20),
};
const CACHE: Parameter = Parameter {
    name: "cache",
    about: "through the page cache, or direct (O_DIRECT)",
    form: Form::OneOf(&["through", "direct"]),
    given: Given::Fixed("through"),
};
const WORKERS: Parameter = Parameter {
    name: "workers",
    about: "concurrent workers",
    form: Form::Number(1, 256),
    given: Given::Fixed("1"),
};
const WORKER_TYPE: Parameter = Parameter {
    name: "worker-type",
    about: "type of each worker: thread or process",
    form: Form::OneOf(&["thread", "process"]),
    given: Given::Fixed("thread"),
};
const PLACE: Parameter = Parameter {
    name: "place",
    about: "private or shared: one set of directories and one large file per worker, or for all",
    form: Form::OneOf(&["private", "shared"]),
    given: Given::Fixed("private"),
};
const BLOCKS: Parameter = Parameter {
    name: "blocks",
    about: "blocks of a worker in a shared file: segmented (default), or strided: every n-th",
    form: Form::OneOf(&["segmented", "strided"]),
    given: Given::Absent,
};
const LAY: Parameter = Parameter {
    name: "lay",
    about: "how missing large files are created: written, or sparse (one hole)",
    form: Form::OneOf(&["written", "sparse"]),
    given: Given::Fixed("written"),
};
const PIN: Parameter = Parameter {
    name: "pin",
    about: "pin each worker to one processor",
    form: Form::OneOf(&["no", "yes"]),
    given: Given::Fixed("no"),
};
const RATE: Parameter = Parameter {
    name: "rate",
    about: "operations per second, open-loop; 0: each starts when the previous one ends",
    form: Form::Number(0, 100_000_000),
    given: Given::Fixed("0"),
};

const DEPTH: Parameter = Parameter {
    name: "depth",
    about: "requests in flight (queue depth); engine uring",
    form: Form::Number(1, super::parameters::DEEPEST),
    given: Given::Fixed("32"),
};

const fn block(given: &'static str) -> Parameter {
    Parameter {
        name: "block",
        about: "bytes of one request",
        form: Form::Size,
        given: Given::Fixed(given),
    }
}

const OPERATIONS: Parameter = Parameter {
    name: "operations",
    about: "number, total of all workers",
    form: Form::Number(1, 1 << 40),
    given: Given::Scaled(65_536, 1),
};

const FILE_COUNT: Parameter = Parameter {
    name: "files",
    about: "number, total of all workers",
    form: Form::Number(1, 1_000_000_000),
    given: Given::Scaled(100_000, 1),
};
const FILES_PER_DIR: Parameter = Parameter {
    name: "files-per-dir",
    about: "files in each directory",
    form: Form::Number(1, 1_000_000_000),
    given: Given::Fixed("100"),
};
const BYTES: Parameter = Parameter {
    name: "bytes",
    about: "bytes in each file",
    form: Form::Number(0, super::parameters::LARGEST),
    given: Given::Fixed("0"),
};

/// Absent by default, as all parameters that older plans do not have.
const fn fsync(about: &'static str) -> Parameter {
    Parameter {
        name: "fsync",
        about,
        form: Form::OneOfOrNumber(&["no", "each", "end"], 1, 1 << 40),
        given: Given::Absent,
    }
}
const FSYNC_DATA: Parameter =
    fsync("fsync after each write, every N writes, at the end (default), or no");
const FSYNC_FILES: Parameter =
    fsync("fsync after each operation, every N, syncfs at the end, or no (default)");
const DSYNC: Parameter = Parameter {
    name: "dsync",
    about: "open with O_DSYNC: each write returns when durable; default no",
    form: Form::OneOf(&["no", "yes"]),
    given: Given::Absent,
};
const READS: Parameter = Parameter {
    name: "reads",
    about: "percent of the operations that read; default 0",
    form: Form::Number(0, 99),
    given: Given::Absent,
};

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
