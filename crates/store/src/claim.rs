//! The lock of a live run: at most one process works on it.
//!
//! It is a file beside the store, `STORE.RUN.lock`, locked with `flock(2)`: the kernel gives the
//! lock back when its holder dies, however it dies, so that a killed run can be resumed at once.
//! A file that a killed process left behind is not locked, and is taken over. The file is opened in
//! a directory that only the user can change; what is no plain file of the user is refused.

use crate::place::Place;
use crate::resolve::check_id;
use crate::{Store, StoreError};
use fsdyno_files::{Access, TrustedDir, Untrusted};
use rustix::fs::{FlockOperation, Mode, OFlags, flock, openat};
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

/// The right to work on a run, given back on drop.
#[derive(Debug)]
#[must_use = "the run is claimed only as long as this lives"]
pub struct Claim {
    path: PathBuf,
    // Held for its lock.
    _file: File,
}

impl Store {
    /// Claims a run for this process; refused while another one works on it.
    pub fn claim(&self, run_id: &str) -> Result<Claim, StoreError> {
        check_id(run_id)?;
        let place = Place::to_write(&self.path)?;
        let (directory, name) = place.beside(&format!(".{run_id}.lock"));
        loop {
            if let Some(claim) = attempt(directory, &name, run_id)? {
                return Ok(claim);
            }
        }
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        // While it is still locked: nobody can have claimed the run by this file yet.
        let _ = fs::remove_file(&self.path);
    }
}

/// The claim, or nothing where the file went away meanwhile and must be made again.
fn attempt(
    directory: &TrustedDir,
    name: &OsStr,
    run_id: &str,
) -> Result<Option<Claim>, StoreError> {
    let path = &directory.path().join(name);
    let failed = |source| StoreError::Io {
        path: path.to_owned(),
        doing: "locking the run by",
        advice: "the directory of the store must be writable, on a file system that knows flock",
        source,
    };
    let mut file = match directory.file(name, Access::Create) {
        Ok(file) => file,
        Err(_) if remove_stale(directory, name) => return Ok(None),
        Err(Untrusted::Io { source, .. }) => return Err(failed(source)),
        Err(source) => {
            return Err(StoreError::Lock {
                id: run_id.to_owned(),
                source,
            });
        }
    };
    match flock(&file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => {}
        Err(rustix::io::Errno::WOULDBLOCK) => {
            let mut text = String::new();
            // The number is a courtesy: where it cannot be read, the refusal does without.
            let _ = file.read_to_string(&mut text);
            return Err(StoreError::Live {
                id: run_id.to_owned(),
                pid: text.trim().parse().ok(),
            });
        }
        Err(errno) => return Err(failed(errno.into())),
    }
    if !stands_at(&file, path).map_err(failed)? {
        return Ok(None);
    }
    file.set_len(0)
        .and_then(|()| writeln!(file, "{}", std::process::id()))
        .map_err(failed)?;
    Ok(Some(Claim {
        path: path.to_owned(),
        _file: file,
    }))
}

/// Whether the file that was locked is still the one at `path`: its holder removes it on release,
/// and a lock on a removed file would keep nobody out.
fn stands_at(file: &File, path: &Path) -> io::Result<bool> {
    let ours = file.metadata()?;
    match fs::metadata(path) {
        Ok(there) => Ok((there.dev(), there.ino()) == (ours.dev(), ours.ino())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

/// Removes the lock file of another user, where it is plain and no process has locked it.
fn remove_stale(directory: &TrustedDir, name: &OsStr) -> bool {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let Ok(file) = openat(directory, name, flags, Mode::empty()).map(File::from) else {
        return false;
    };
    let us = rustix::process::geteuid().as_raw();
    let stale = |about: fs::Metadata| about.is_file() && about.nlink() == 1 && about.uid() != us;
    file.metadata().is_ok_and(stale)
        && flock(&file, FlockOperation::NonBlockingLockExclusive).is_ok()
        && directory.remove(name).is_ok()
}
