//! What a protection is whose price is asked for.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a protection is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PricedKind {
    /// An option of the file system.
    Option,
    /// Snapshots that hold the files of the first phase.
    Snapshots,
    /// Further disks.
    Disks,
    /// A disk that is lost after the first phase, and replaced after the last.
    Degraded,
    /// A scrub that begins with each phase after the first.
    Scrub,
}

impl PricedKind {
    /// All of them.
    pub const ALL: [Self; 5] = [
        Self::Option,
        Self::Snapshots,
        Self::Disks,
        Self::Degraded,
        Self::Scrub,
    ];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Option => "option",
            Self::Snapshots => "snapshots",
            Self::Disks => "disks",
            Self::Degraded => "degraded",
            Self::Scrub => "scrub",
        }
    }

    /// Whether the first phase runs without it.
    pub fn is_after_first(self) -> bool {
        matches!(self, Self::Snapshots | Self::Degraded | Self::Scrub)
    }
}
