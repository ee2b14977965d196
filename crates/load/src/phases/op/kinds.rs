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
        Phase::Write | Phase::Read => IN_ORDER,
        Phase::RandomWrite | Phase::RandomRead => RANDOM,
        _ => FILES,
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

const IN_ORDER: &[Parameter] = &[
    SIZE,
    block("131072"),
    DEPTH,
    CACHE,
    WORKERS,
    WORKER_TYPE,
    PLACE,
    PIN,
    RATE,
];
const RANDOM: &[Parameter] = &[
    SIZE,
    block("4096"),
    Parameter {
        name: "operations",
        about: "number, total of all workers",
        form: Form::Number(1, 1 << 40),
        given: Given::Scaled(65_536, 1),
    },
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
    Parameter {
        name: "files",
        about: "number, total of all workers",
        form: Form::Number(1, 1_000_000_000),
        given: Given::Scaled(100_000, 1),
    },
    Parameter {
        name: "files-per-dir",
        about: "files in each directory",
        form: Form::Number(1, 1_000_000_000),
        given: Given::Fixed("100"),
    },
    Parameter {
        name: "bytes",
        about: "bytes in each file",
        form: Form::Number(0, super::parameters::LARGEST),
        given: Given::Fixed("0"),
    },
    WORKERS,
    WORKER_TYPE,
    PLACE,
    PIN,
    RATE,
];
