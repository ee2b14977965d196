//! Times of requests to devices, by kind.

use crate::parts::parts;
use crate::units::Nanos;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The time of all requests of each kind, from submission until completion. Many
/// are in flight at once, so that the sum can be more than the elapsed time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, JsonSchema, Serialize, Deserialize)]
pub struct Waits {
    /// Of reads.
    #[serde(rename = "reads_ns")]
    pub reads: Nanos,
    /// Of writes.
    #[serde(rename = "writes_ns")]
    pub writes: Nanos,
    /// Of discards.
    #[serde(rename = "discards_ns")]
    pub discards: Nanos,
    /// Of flushes.
    #[serde(rename = "flushes_ns")]
    pub flushes: Nanos,
}

parts!(Waits: 4 { reads, writes, discards, flushes });

impl Waits {
    /// The sum of all kinds.
    pub fn total(&self) -> u64 {
        self.parts().iter().sum()
    }
}
