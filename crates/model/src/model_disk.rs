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
    /// The profile, whole: a file of a user's own may change.
    pub text: String,
    /// The configured faults: the file, whole. None where the disk has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub faults: Option<String>,
    /// Which time passes for all who use it.
    #[serde(default, skip_serializing_if = "DiskTime::is_virtual")]
    pub time: DiskTime,
}

/// The time of a run on model disks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DiskTime {
    /// It advances only with the disks and the requests of a guest.
    #[default]
    Virtual,
    /// That of the clock: requests are answered when it has reached their completion.
    Real,
}

/// A text that names no clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NoTime;

impl DiskTime {
    /// Both.
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

/// The whole record of each disk, request by request.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct DiskRecord {
    /// The directory: a file for each cell and disk.
    pub directory: PathBuf,
    /// Whether what was written is in it, and not only its hashes.
    #[serde(default)]
    pub payloads: bool,
}
