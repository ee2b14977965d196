//! The phases of mongo as kinds of phases: names, titles and parameters. Values are parsed
//! elsewhere.

use super::Phase;
use crate::phases::PhaseKind;
use fsdyno_model::Parameter;

/// The kinds, in the order of `Phase::ALL`.
pub static KINDS: [PhaseKind; 9] = [
    kind(
        Phase::Create,
        "creates trees of small files, one set per worker",
    ),
    kind(Phase::Copy, "copies the trees as cp -r does"),
    kind(
        Phase::Symlinks,
        "creates a symbolic link to every file, and reads it",
    ),
    kind(
        Phase::Read,
        "reads all trees; every worker reads all of them",
    ),
    kind(
        Phase::Stats,
        "stats all entries; every worker stats all of them",
    ),
    kind(Phase::Rename, "renames every file"),
    kind(Phase::Append, "appends half of its length to every file"),
    kind(Phase::Modify, "overwrites the middle tenth of every file"),
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
    Parameter::size("bytes", "bytes of files in each tree").scaled(50 << 20, 1 << 10),
    Parameter::number("median", "median size of a file, in bytes", 1..=1 << 30).fixed("100"),
    Parameter::number(
        "processes",
        "concurrent workers, each with its own trees",
        1..=256,
    )
    .fixed("1"),
    Parameter::number("rounds", "number of rounds, each with new trees", 1..=1000).fixed("3"),
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
