//! The parameters of the phases of mongo. Those of one workload must agree: they name the same trees.

use std::collections::BTreeMap;

/// The parameters of a phase.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Parameters {
    /// Bytes of files in a tree.
    pub bytes: u64,
    /// Median size of a file, bytes.
    pub median: u64,
    /// Workers in parallel, each with trees of its own.
    pub processes: u32,
    /// Rounds, each with new trees.
    pub rounds: u32,
}

impl Parameters {
    /// Reads them; the first set of the original where none is set. A plan was checked when
    /// it was made, so that what is no number does not occur.
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
