//! The phases of bonnie as kinds of phases: names, titles and parameters. Values are parsed
//! elsewhere.

use super::Phase;
use crate::phases::PhaseKind;
use fsdyno_model::{Form, Given, Parameter};

/// The kinds, in the order of a whole run.
pub static KINDS: [PhaseKind; 9] = [
    kind(Phase::CharWrite, "writes a new file byte by byte"),
    kind(Phase::Write, "writes a new file chunk by chunk"),
    kind(Phase::Rewrite, "reads, changes and rewrites a file"),
    kind(Phase::CharRead, "reads a file byte by byte"),
    kind(Phase::Read, "reads a file chunk by chunk"),
    kind(
        Phase::Seeks,
        "reads chunks at random offsets, by several workers",
    ),
    kind(Phase::Create, "creates many files, or links"),
    kind(Phase::Stat, "stats many files, and reads them"),
    kind(Phase::Delete, "deletes many files"),
];

const fn kind(phase: Phase, title: &'static str) -> PhaseKind {
    PhaseKind {
        writes: !matches!(phase, Phase::CharRead | Phase::Read | Phase::Stat),
        ..PhaseKind::standalone(phase.name(), title, takes(phase))
    }
}

/// The parameters of a phase.
const fn takes(phase: Phase) -> &'static [Parameter] {
    match phase {
        Phase::Create | Phase::Stat | Phase::Delete => FILES,
        _ => DATA,
    }
}

const CHUNK: Parameter = Parameter {
    name: "chunk",
    about: "bytes of one read or write",
    form: Form::Number(1, 1 << 20),
    given: Given::Fixed("8192"),
};
const FILL: Parameter = Parameter {
    name: "data",
    about: "random, or like-original (zeros except one byte per chunk)",
    form: Form::OneOf(&["random", "like-original"]),
    given: Given::Fixed("random"),
};
const PERCENT: Parameter = Parameter {
    name: "compressible-to",
    about: "size of random data after compression, in percent",
    form: Form::Number(1, 100),
    given: Given::Fixed("100"),
};

const DATA: &[Parameter] = &[
    Parameter {
        name: "size",
        about: "size of the file",
        form: Form::Size,
        given: Given::Scaled(1 << 30, 1 << 20),
    },
    Parameter {
        name: "chars",
        about: "number of bytes transferred one by one",
        form: Form::Size,
        given: Given::Scaled(4 << 20, 1 << 16),
    },
    Parameter {
        name: "seeks",
        about: "number of seeks, total of all workers",
        form: Form::Number(1, 1 << 30),
        given: Given::Fixed("8192"),
    },
    Parameter {
        name: "seekers",
        about: "number of concurrent seekers",
        form: Form::Number(1, 256),
        given: Given::Fixed("5"),
    },
    CHUNK,
    FILL,
    PERCENT,
];

const FILES: &[Parameter] = &[
    Parameter {
        name: "files",
        about: "number of files",
        form: Form::Number(1, 1 << 24),
        given: Given::Scaled(16 * 1024, 1),
    },
    Parameter {
        name: "min",
        about: "minimum size of a file, in bytes",
        form: Form::Number(0, 1 << 30),
        given: Given::Fixed("0"),
    },
    Parameter {
        name: "max",
        about: "maximum size of a file, in bytes",
        form: Form::Number(0, 1 << 30),
        given: Given::Fixed("0"),
    },
    Parameter {
        name: "directories",
        about: "number of directories",
        form: Form::Number(1, 10_000),
        given: Given::Fixed("1"),
    },
    Parameter {
        name: "made",
        about: "type: files, hard-links or symlinks",
        form: Form::OneOf(&["files", "hard-links", "symlinks"]),
        given: Given::Fixed("files"),
    },
    Parameter {
        name: "order",
        about: "sequential or random: order of names, stats and deletions",
        form: Form::OneOf(&["sequential", "random"]),
        given: Given::Fixed("sequential"),
    },
    CHUNK,
    FILL,
    PERCENT,
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_phase_is_a_kind_with_parameters() {
        for (phase, kind) in Phase::ALL.into_iter().zip(&KINDS) {
            assert_eq!(kind.name, phase.name());
            assert!(kind.parameters.len() > 5);
        }
        assert!(crate::phases::untar::KIND.parameters.is_empty());
    }
}
