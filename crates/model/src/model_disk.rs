//! The disk in software on which contenders live, as a plan names it.

use serde::{Deserialize, Serialize};

/// A model disk, under guests in virtual time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelDisk {
    /// The name of its profile.
    pub profile: String,
    /// The profile, whole: a file of a user's own may change.
    pub text: String,
}
