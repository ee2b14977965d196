//! The phases of mongo as kinds of phases: names, titles and parameters. Values are parsed
//! elsewhere.

use super::Phase;
use crate::phases::PhaseKind;
use fsdyno_model::{Form, Given, Parameter};

/// The kinds, in the order of `Phase::ALL`.
pub static KINDS: [PhaseKind; 9] = [
    kind(Phase::Create, "makes trees of small files, by workers"),
    kind(Phase::Copy, "copies them as cp -r does"),
    kind(
        Phase::Symlinks,
        "makes a link beside every file, and reads it",
    ),
    kind(Phase::Read, "reads all trees, every worker all of them"),
    kind(Phase::Stats, "looks at everything, every worker at all"),
    kind(Phase::Rename, "gives every file another name"),
    kind(Phase::Append, "makes every file half as long again"),
    kind(Phase::Modify, "writes the middle tenth of every file anew"),
    kind(Phase::Delete, "deletes all trees"),
];

const fn kind(phase: Phase, title: &'static str) -> PhaseKind {
    PhaseKind {
        writes: !matches!(phase, Phase::Read | Phase::Stats),
        ..PhaseKind::standalone(phase.name(), title, PARAMETERS)
    }
}

/// The parameters of every phase.
const PARAMETERS: &[Parameter] = &[
    Parameter {
        name: "bytes",
        about: "bytes of files in each tree",
        form: Form::Size,
        given: Given::Scaled(50 << 20, 1 << 10),
    },
    Parameter {
        name: "median",
        about: "the median size of a file, bytes",
        form: Form::Number(1, 1 << 30),
        given: Given::Fixed("100"),
    },
    Parameter {
        name: "processes",
        about: "workers at the same time, each with trees of its own",
        form: Form::Number(1, 256),
        given: Given::Fixed("1"),
    },
    Parameter {
        name: "rounds",
        about: "rounds, each with new trees",
        form: Form::Number(1, 1000),
        given: Given::Fixed("3"),
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_phase_is_a_kind_with_parameters() {
        for (phase, kind) in Phase::ALL.into_iter().zip(&KINDS) {
            assert_eq!(kind.name, phase.name());
            assert_eq!(kind.parameters.len(), 4);
        }
        assert!(crate::phases::untar::KIND.parameters.is_empty());
    }
}
