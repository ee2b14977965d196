//! The phases of bonnie as kinds of phases: names, titles and parameters. Values are parsed
//! elsewhere.

use super::Phase;
use crate::phases::PhaseKind;
use fsdyno_model::Parameter;

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

const CHUNK: Parameter =
    Parameter::number("chunk", "bytes of one read or write", 1..=1 << 20).fixed("8192");
const FILL: Parameter = Parameter::one_of(
    "data",
    "random, or like-original (zeros except one byte per chunk)",
    &["random", "like-original"],
)
.fixed("random");
const PERCENT: Parameter = Parameter::number(
    "compressible-to",
    "size of random data after compression, in percent",
    1..=100,
)
.fixed("100");

const DATA: &[Parameter] = &[
    Parameter::size("size", "size of the file").scaled(1 << 30, 1 << 20),
    Parameter::size("chars", "number of bytes transferred one by one").scaled(4 << 20, 1 << 16),
    Parameter::number(
        "seeks",
        "number of seeks, total of all workers",
        1..=1 << 30,
    )
    .fixed("8192"),
    Parameter::number("seekers", "number of concurrent seekers", 1..=256).fixed("5"),
    CHUNK,
    FILL,
    PERCENT,
];

const FILES: &[Parameter] = &[
    Parameter::number("files", "number of files", 1..=1 << 24).scaled(16 * 1024, 1),
    Parameter::number("min", "minimum size of a file, in bytes", 0..=1 << 30).fixed("0"),
    Parameter::number("max", "maximum size of a file, in bytes", 0..=1 << 30).fixed("0"),
    Parameter::number("directories", "number of directories", 1..=10_000).fixed("1"),
    Parameter::one_of(
        "made",
        "type: files, hard-links or symlinks",
        &["files", "hard-links", "symlinks"],
    )
    .fixed("files"),
    Parameter::one_of(
        "order",
        "sequential or random: order of names, stats and deletions",
        &["sequential", "random"],
    )
    .fixed("sequential"),
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
