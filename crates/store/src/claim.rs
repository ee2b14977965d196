//! The lock of a live run: at most one process works on a run.
//!
//! The lock is the file `STORE.RUN.lock` next to the store, locked with `flock(2)`. The kernel
//! releases the lock when its holder exits, even after SIGKILL, so a killed run can be resumed at
//! once. A lock file of a killed process is unlocked; the next process reuses it. The directory
//! must be writable only by the user, and the lock must be a regular file of the user.

use crate::place::{Place, with_ending};
use crate::resolve::check_id;
use crate::{Store, StoreError};
use fsdyno_files::{Access, TrustedDir, Untrusted, flock};
use rustix::fs::{FlockOperation, Mode, OFlags, openat};
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

/// The lock of a run, released on drop.
#[derive(Debug)]
#[must_use = "the run is claimed only as long as this lives"]
pub struct Claim {
    path: PathBuf,
    // Keeps the lock.
    _file: File,
}

impl Store {
    /// Locks a run for this process; an error if another process works on it.
    pub fn claim(&self, run_id: &str) -> Result<Claim, StoreError> {
        check_id(run_id)?;
        let place = Place::to_write(&self.path)?;
        let (directory, name) = place.sibling(&format!(".{run_id}.lock"));
        loop {
            if let Some(claim) = attempt(directory, &name, run_id)? {
                return Ok(claim);
            }
        }
    }

    /// Whether a process works on the run. A run without an end that no process works on was
    /// killed.
    pub fn is_claimed(&self, run_id: &str) -> bool {
        is_claimed(&self.path, run_id)
    }
}

/// Whether a process works on a run of the store at this path.
pub(crate) fn is_claimed(store: &Path, run_id: &str) -> bool {
    let file = with_ending(store, &format!(".{run_id}.lock"));
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let Ok(file) = rustix::fs::open(&file, flags, Mode::empty()) else {
        return false;
    };
    // A shared lock is refused while the holder has its exclusive one. It ends with this call.
    flock(&file, FlockOperation::NonBlockingLockShared) == Err(rustix::io::Errno::WOULDBLOCK)
}

impl Drop for Claim {
    fn drop(&mut self) {
        // The lock is still held here, so no other process can own this file.
        let _ = fs::remove_file(&self.path);
    }
}

/// Tries once to lock the run; `None` if the file was removed meanwhile and must be created again.
fn attempt(
    directory: &TrustedDir,
    name: &OsStr,
    run_id: &str,
) -> Result<Option<Claim>, StoreError> {
    let path = &directory.path().join(name);
    let failed = |source| StoreError::Io {
        path: path.to_owned(),
        operation: "locking the run by",
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
            // The process number is optional: an unreadable file gives an error without it.
            let _ = file.read_to_string(&mut text);
            return Err(StoreError::RunInProgress {
                id: run_id.to_owned(),
                pid: text.trim().parse().ok(),
            });
        }
        Err(errno) => return Err(failed(errno.into())),
    }
    if !is_at(&file, path).map_err(failed)? {
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

/// Whether `path` still names the locked file. The holder removes the file on release, and a lock
/// on a removed file excludes nobody.
fn is_at(file: &File, path: &Path) -> io::Result<bool> {
    let ours = file.metadata()?;
    match fs::metadata(path) {
        Ok(there) => Ok((there.dev(), there.ino()) == (ours.dev(), ours.ino())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

/// Removes the lock file of another user if it is a regular file and no process holds the lock.
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
