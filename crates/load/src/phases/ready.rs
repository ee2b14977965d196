//! Shared functions that create the input of phases, untimed.

use crate::error::LoadError;
use std::ffi::{CStr, OsStr};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

pub(super) fn below(path: &Path, name: &CStr) -> PathBuf {
    path.join(OsStr::from_bytes(name.to_bytes()))
}

/// A missing file is not a failure.
pub(super) fn unless_absent(done: io::Result<()>) -> io::Result<()> {
    match done {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        done => done,
    }
}

/// The error of a call on a path.
pub(super) fn with_path<T>(
    operation: &'static str,
    path: &Path,
    done: io::Result<T>,
) -> Result<T, LoadError> {
    done.map_err(|source| LoadError::io(operation, path, source))
}
