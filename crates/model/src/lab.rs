//! Where a cell runs: on this kernel, or in a guest that has one of its own.

use crate::units::Bytes;
use serde::{Deserialize, Serialize};
use std::fmt;

/// A lab, by name.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default, Serialize, Deserialize,
)]
#[serde(rename_all = "kebab-case")]
pub enum LabChoice {
    /// This machine and its kernel.
    #[default]
    Host,
    /// A guest of User-mode Linux: a kernel that runs as a program, without root.
    Uml,
}

impl LabChoice {
    /// All labs.
    pub const ALL: [Self; 2] = [Self::Host, Self::Uml];

    /// The name, as typed and stored.
    pub fn name(self) -> &'static str {
        match self {
            Self::Host => "host",
            Self::Uml => "uml",
        }
    }

    /// What it is, in one line.
    pub fn title(self) -> &'static str {
        match self {
            Self::Host => "this machine and its kernel",
            Self::Uml => "a guest of User-mode Linux: another kernel, without root",
        }
    }

    /// The lab of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|lab| lab.name() == name)
    }

    /// Whether it is that of this machine, as where nobody says.
    pub fn is_host(&self) -> bool {
        *self == Self::Host
    }
}

impl fmt::Display for LabChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// The size of a guest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct GuestSize {
    /// Its memory.
    pub memory: Bytes,
}

impl GuestSize {
    /// Less than a kernel and the tools of today start in.
    pub const LEAST: Bytes = Bytes(64 << 20);
}

impl Default for GuestSize {
    fn default() -> Self {
        Self {
            memory: Bytes(512 << 20),
        }
    }
}
