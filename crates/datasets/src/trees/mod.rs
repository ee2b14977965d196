//! Compares trees: a copy with its source, and an unpacked tree with its archive.
//!
//! The comparison includes type, mode, owner, size, content, modification time, symbolic link
//! targets, hard links, device numbers and extended attributes. Holes are not compared.

mod archive_comparison;
mod compare;
mod error;

pub use archive_comparison::{compare_archive, compare_archive_with};
pub use compare::{Options, compare, compare_with};
pub use error::TreeError;

use fsdyno_model::Bytes;
use std::path::{Path, PathBuf};

/// The number of differences that are kept by name.
const REPORTED: usize = 20;

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Comparison {
    /// Compared entries other than directories.
    pub files: u64,
    /// Compared directories, without the roots.
    pub directories: u64,
    /// Bytes of data compared.
    pub bytes: Bytes,
    /// The first differences.
    pub differences: Vec<Difference>,
    /// How many differences there are in all.
    pub total: u64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// The entry, relative to the root of the trees; empty for the roots themselves.
    pub path: PathBuf,
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
    /// Whether there are no differences.
    pub fn equal(&self) -> bool {
        self.total == 0
    }

    pub(crate) fn differ(&mut self, path: &Path, what: impl Into<String>) {
        self.total += 1;
        if self.differences.len() < REPORTED {
            self.differences.push(Difference {
                path: path.to_owned(),
                what: what.into(),
            });
        }
    }
}
