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
    /// The rebuild of a disk that is lost after the first phase. It begins with the second.
    Rebuild,
}

impl PricedKind {
    /// All of them.
    pub const ALL: [Self; 6] = [
        Self::Option,
        Self::Snapshots,
        Self::Disks,
        Self::Degraded,
        Self::Scrub,
        Self::Rebuild,
    ];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Option => "option",
            Self::Snapshots => "snapshots",
            Self::Disks => "disks",
            Self::Degraded => "degraded",
            Self::Scrub => "scrub",
            Self::Rebuild => "rebuild",
        }
    }

    /// Whether the phase of this number, from 0, runs with it.
    pub fn concerns(self, phase: usize) -> bool {
        match self {
            Self::Option | Self::Disks => true,
            Self::Snapshots | Self::Degraded | Self::Scrub => phase > 0,
            Self::Rebuild => phase == 1,
        }
    }
}
