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
    /// A complete untimed pass over the dataset precedes the phase.
    Warm,
    /// The state that the previous phase left. It is never reported as cold or warm.
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

    /// The state with that name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.name() == name)
    }
}

impl fmt::Display for CacheState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// The evidence of the cache state at the start of a phase.
#[derive(Debug, Clone, PartialEq, Eq, Default, JsonSchema, Serialize, Deserialize)]
pub struct CacheEvidence {
    /// The requested state.
    pub requested: CacheState,
    /// Whether that state was proven.
    pub proven: bool,
    /// How it was set up: `remount, drop_caches`, `fadvise`, `full pass`.
    pub method: String,
    /// How it was checked: `cachestat`, `mincore`; empty if it was not.
    pub checked_by: String,
    /// Files whose pages were counted.
    pub files_checked: u64,
    /// Bytes of data in the files whose pages were counted.
    pub bytes_checked: u64,
    /// Pages of these files found in memory.
    pub resident_pages: Option<u64>,
    /// The reason why it is not proven; none if it is.
    pub reason: Option<String>,
}
