//! Cache states, and the evidence that a phase began in the requested state.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// The state of the caches when a phase begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CacheState {
    /// Nothing of the dataset is in memory, and that is proven.
    #[default]
    Cold,
    /// A full untimed pass over the dataset came just before.
    Warm,
    /// As the previous phase left the caches. Never read as cold or warm.
    #[serde(alias = "as-left")]
    AsIs,
}

impl CacheState {
    /// All states, in display order.
    pub const ALL: [Self; 3] = [Self::Cold, Self::Warm, Self::AsIs];

    /// The name, as typed and stored.
    pub fn name(self) -> &'static str {
        match self {
            Self::Cold => "cold",
            Self::Warm => "warm",
            Self::AsIs => "as-is",
        }
    }

    /// The state with that name, or with its name in version 0.1.
    pub fn from_name(name: &str) -> Option<Self> {
        // retired word kept: the name in version 0.1
        let name = if name == "as-left" { "as-is" } else { name };
        Self::ALL.into_iter().find(|state| state.name() == name)
    }
}

impl fmt::Display for CacheState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// What is known of the caches at the start of a phase.
#[derive(Debug, Clone, PartialEq, Eq, Default, JsonSchema, Serialize, Deserialize)]
pub struct CacheEvidence {
    /// The requested state.
    #[serde(alias = "asked")]
    pub requested: CacheState,
    /// Whether that state was proven.
    pub proven: bool,
    /// How it was set up: `remount, drop_caches`, `fadvise`, `full pass`.
    pub method: String,
    /// How it was checked: `cachestat`, `mincore`; empty where it was not.
    pub checked_by: String,
    /// Files whose pages were counted.
    pub files_checked: u64,
    /// Bytes of data in the files whose pages were counted.
    pub bytes_checked: u64,
    /// Pages of these files found in memory.
    pub resident_pages: Option<u64>,
    /// Why it is not proven, where it is not.
    #[serde(alias = "doubt")]
    pub reason: Option<String>,
}
