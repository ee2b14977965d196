//! Flame graphs as values: the call paths of one contender, or of two and how they differ.

use super::Kind;
use serde::Serialize;

/// A flame graph.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Flame {
    /// The version of this structure in JSON.
    pub schema: u32,
    /// Its name, unique in its run and valid as a file name: `flame-copy-ext4-xfs`.
    pub name: String,
    /// Its kind: [`Kind::Flame`] or [`Kind::Sleep`].
    pub kind: Kind,
    /// The title above it.
    pub title: String,
    /// The unit of the figures: `blocks` or `ns`.
    pub unit: &'static str,
    /// One contender, or two that are compared.
    pub contenders: Vec<String>,
    /// What the frames without callers have together, of each contender.
    pub total: Vec<u64>,
    /// The frames, each before those that it calls.
    pub frames: Vec<Frame>,
}

/// A function by one call path.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Frame {
    pub function: String,
    /// The number of its callers.
    pub level: usize,
    /// Where it begins: what all contenders have in the frames before it on this level, and in the gaps
    /// between them.
    pub from: u64,
    /// Its own figure of each contender.
    pub own: Vec<u64>,
    /// The same with all that it calls. Their sum is the width of the frame.
    pub total: Vec<u64>,
}

impl Flame {
    /// The version of the structure that this program writes.
    pub const SCHEMA: u32 = 1;
}

impl Frame {
    /// What all contenders have together.
    pub fn width(&self) -> u64 {
        self.total.iter().sum()
    }
}
