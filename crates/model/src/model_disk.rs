//! The model disk under contenders, as a plan names it, and the directory of its block traces.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

/// A model disk.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct ModelDisk {
    /// The name of its profile.
    pub profile: String,
    /// The complete text of the profile, because a file of the user may change.
    pub text: String,
    /// The complete text of the fault file; none if the disk has no faults.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub faults: Option<String>,
    /// Whether its time is virtual or real.
    #[serde(default, skip_serializing_if = "DiskTime::is_virtual")]
    pub time: DiskTime,
}

/// The time of a run on model disks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DiskTime {
    /// Virtual time: it advances to the next event of a guest or a disk.
    #[default]
    Virtual,
    /// Real time: a request completes when the clock reaches its completion time.
    Real,
}

/// A text that names no clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NoTime;

impl DiskTime {
    /// Both values.
    pub const ALL: [Self; 2] = [Self::Virtual, Self::Real];

    /// The name, as typed and stored.
    pub fn name(self) -> &'static str {
        match self {
            Self::Virtual => "virtual",
            Self::Real => "real",
        }
    }

    /// Whether it is virtual.
    pub fn is_virtual(&self) -> bool {
        *self == Self::Virtual
    }
}

impl fmt::Display for DiskTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for DiskTime {
    type Err = NoTime;

    fn from_str(text: &str) -> Result<Self, NoTime> {
        Self::ALL
            .into_iter()
            .find(|time| time.name() == text)
            .ok_or(NoTime)
    }
}

/// The block traces of the disks.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct DiskRecord {
    /// The directory. It gets a file for each cell and disk.
    pub directory: PathBuf,
    /// Whether traces contain the written data in addition to its hashes.
    #[serde(default)]
    pub payloads: bool,
}
