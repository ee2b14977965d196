//! Trees compared: whether a copy is the tree it was made from, and whether what was unpacked is
//! what the archive holds.
//!
//! Compared are type, mode, owner, size, content, time of last change, target of symbolic links,
//! structure of hard links, device numbers and extended attributes. Holes are not.

mod archive_comparison;
mod compare;
mod error;

pub use archive_comparison::{compare_archive, compare_archive_on, compare_archive_with};
pub use compare::{Options, compare, compare_with};
pub use error::TreeError;

use fsdyno_model::Bytes;
use std::path::{Path, PathBuf};

/// How many differences are kept by name.
const TOLD: usize = 20;

/// What a comparison found.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Comparison {
    /// Entries compared that are no directories.
    pub files: u64,
    /// Directories compared, without the roots.
    pub directories: u64,
    /// Bytes of data compared.
    pub bytes: Bytes,
    /// The first differences.
    pub differences: Vec<Difference>,
    /// How many differences there are in all.
    pub total: u64,
}

/// One difference.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// The entry, relative to the root of the trees; empty for the roots themselves.
    pub path: PathBuf,
    /// What differs.
    pub what: String,
}

impl std::fmt::Display for Difference {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let path = if self.path.as_os_str().is_empty() {
            Path::new(".")
        } else {
            &self.path
        };
        write!(f, "{}: {}", crate::shown(path), self.what)
    }
}

impl Comparison {
    /// Whether nothing differs.
    pub fn equal(&self) -> bool {
        self.total == 0
    }

    fn differ(&mut self, path: &Path, what: impl Into<String>) {
        self.total += 1;
        if self.differences.len() < TOLD {
            self.differences.push(Difference {
                path: path.to_owned(),
                what: what.into(),
            });
        }
    }
}
