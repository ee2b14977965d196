//! The contents of the user's datasets when a plan was made. They are part of the plan and of its
//! hash.

use crate::units::Bytes;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// The content of one dataset: its counts and sizes, which a user can check, and its digest.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct DatasetContent {
    /// Everything that is no directory: files, links, special files. 1 for an archive.
    pub files: u64,
    /// Directories, without the root. 0 for an archive.
    pub directories: u64,
    /// Data in files; a file with several names counts once. For an archive, the size of its file.
    pub bytes: Bytes,
    /// SHA-256, in hexadecimal digits. docs/datasets.md defines over what.
    pub sha256: String,
}

impl fmt::Display for DatasetContent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plural =
            |n: u64, one: &str, many: &str| format!("{n} {}", if n == 1 { one } else { many });
        let digits = self.sha256.get(..16).unwrap_or(&self.sha256);
        let text = format!(
            "{}, {}, {} bytes, {digits}",
            plural(self.files, "file", "files"),
            plural(self.directories, "dir", "dirs"),
            self.bytes.0
        );
        f.pad(&text)
    }
}
