//! Times of requests to devices, by kind.

use crate::units::Nanos;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::ops::Add;

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

impl Waits {
    /// The kinds, in the order of [`Waits::parts`].
    pub const NAMES: [&'static str; 4] = ["reads", "writes", "discards", "flushes"];

    /// The parts, in nanoseconds, in the order of [`Waits::NAMES`].
    pub fn parts(&self) -> [u64; 4] {
        [self.reads, self.writes, self.discards, self.flushes].map(|part| part.0)
    }

    /// From parts in the order of [`Waits::NAMES`].
    pub fn from_parts(parts: [u64; 4]) -> Self {
        let [reads, writes, discards, flushes] = parts.map(Nanos);
        Self {
            reads,
            writes,
            discards,
            flushes,
        }
    }

    /// The sum of all kinds.
    pub fn total(&self) -> u64 {
        self.parts().iter().sum()
    }
}

impl Add for Waits {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        let (mut parts, others) = (self.parts(), other.parts());
        for (part, other) in parts.iter_mut().zip(others) {
            *part += other;
        }
        Self::from_parts(parts)
    }
}
