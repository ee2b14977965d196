//! What a mongo phase can be told: how much, how small, by how many.

/// The parameters, read. Those of one workload must agree: they name the same trees.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Parameters {
    /// Bytes of files in a tree.
    pub bytes: u64,
    /// Median size of a file, bytes.
    pub median: u64,
    /// Workers at the same time, each with trees of its own.
    pub processes: u32,
    /// Rounds, each with new trees.
    pub rounds: u32,
}
