//! What phases that find something share in making it ready, untimed.

use crate::error::LoadError;
use std::ffi::{CStr, OsStr};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// A name below a path.
pub(super) fn below(path: &Path, name: &CStr) -> PathBuf {
    path.join(OsStr::from_bytes(name.to_bytes()))
}

/// What is not there is no failure.
pub(super) fn unless_absent(done: io::Result<()>) -> io::Result<()> {
    match done {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        done => done,
    }
}

/// What failed, and where.
pub(super) fn with_path<T>(
    operation: &'static str,
    path: &Path,
    done: io::Result<T>,
) -> Result<T, LoadError> {
    done.map_err(|source| LoadError::io(operation, path, source))
}
