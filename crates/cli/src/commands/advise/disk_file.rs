//! The profile of a model disk in a file that ends with the advice.

use crate::exit::CliError;
use fsdyno_files::{TemporaryDir, refuse_foreign_dir};
use std::fs;
use std::path::{Path, PathBuf};

/// A profile in a file, which is removed with this value.
#[derive(Debug)]
pub struct DiskFile {
    path: PathBuf,
    _directory: TemporaryDir,
}

impl DiskFile {
    /// Writes the text of a profile of this name.
    pub fn of(name: &str, text: &str) -> Result<Self, CliError> {
        let parent = std::env::temp_dir();
        refuse_foreign_dir(&parent).map_err(CliError::usage)?;
        let directory = TemporaryDir::create(&parent, "fsdyno-disk-")?;
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
        let plain = |c: char| if is_plain(c) { c } else { '-' };
        let name: String = name.chars().map(plain).collect();
        let path = directory.path().join(format!("{name}.toml"));
        fs::write(&path, text)?;
        Ok(Self {
            path,
            _directory: directory,
        })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }
}
