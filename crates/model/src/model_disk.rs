//! The disk in software on which contenders live, as a plan names it, and where it is recorded.

use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// A model disk, under guests in virtual time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelDisk {
    /// The name of its profile.
    pub profile: String,
    /// The profile, whole: a file of a user's own may change.
    pub text: String,
    /// The faults it is told to have: the file, whole. None where it has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub faults: Option<String>,
}

/// The whole record of each disk, request by request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DiskRecord {
    /// Where it lies: a file for each cell and disk.
    pub directory: PathBuf,
    /// Whether what was written is in it, and not only its hashes.
    #[serde(default)]
    pub payloads: bool,
}
