//! The parameters of the phases of mongo, as declared and as parsed. They must be equal within a
//! workload, whose phases share trees.

use fsdyno_model::Parameter;
use std::collections::BTreeMap;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Parameters {
    /// Total size of the files of a tree, bytes.
    pub bytes: u64,
    /// Median size of a file, bytes.
    pub median: u64,
    /// Parallel workers, each with its own trees.
    pub processes: u32,
    /// Rounds, each with new trees.
    pub rounds: u32,
}

impl Parameters {
    /// Reads the parameters; defaults are those of the original's first set. Plans are validated,
    /// so every value is a number.
    pub fn read(given: &BTreeMap<String, String>) -> Self {
        let number = |name: &str, default: u64| {
            let text = given.get(name);
            text.and_then(|text| text.parse().ok()).unwrap_or(default)
        };
        let few = |name: &str, default| u32::try_from(number(name, default)).unwrap_or(u32::MAX);
        Self {
            bytes: number("bytes", 50 << 20),
            median: number("median", 100),
            processes: few("processes", 1),
            rounds: few("rounds", 3),
        }
    }
}

pub(super) const ALL: &[Parameter] = &[
    Parameter::size("bytes", "bytes of files in each tree").scaled(50 << 20, 1 << 10),
    Parameter::bytes("median", "median size of a file", 1..=1 << 30).fixed("100"),
    Parameter::number(
        "processes",
        "concurrent workers, each with its own trees",
        1..=256,
    )
    .fixed("1"),
    Parameter::number("rounds", "number of rounds, each with new trees", 1..=1000).fixed("3"),
];
