//! Visits the regular files and the directories of a tree without disturbing the measurement: no link
//! is followed, no other device entered, no access time changed, no data read.

use super::CacheError;
use fsdyno_model::CancelToken;
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags, Stat, fstat, openat, statat};
use rustix::io::Errno;
use rustix::path::Arg;
use std::ffi::OsStr;
use std::num::NonZero;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

/// The largest number of workers that visit a tree: the cost is that of system calls, and locks of
/// directories limit more workers.
const MAX_WORKERS: usize = 4;

/// Visits every regular file and every directory with an open descriptor and its attributes, by several
/// workers if there are several processors. Returns how many files and directories could not be opened. What
/// disappears meanwhile is passed over.
///
/// Memory holds only the names of directories still to be visited, not the whole tree.
pub(super) fn visit(
    top: &Path,
    stop: &CancelToken,
    each: impl Fn(&OwnedFd, &Stat) -> std::io::Result<()> + Sync,
) -> Result<u64, CacheError> {
    let at = |errno: Errno| CacheError::of(top, errno.into());
    let first = open_quietly(CWD, top, OFlags::empty()).map_err(at)?;
    let about = fstat(&first).map_err(at)?;
    if FileType::from_raw_mode(about.st_mode) == FileType::RegularFile {
        each(&first, &about).map_err(|cause| CacheError::of(top, cause))?;
        return Ok(0);
    }
    drop(first);
    let visit = Visit {
        device: about.st_dev,
        stop,
        each,
        queue: Mutex::new(Queue {
            pending: vec![top.to_owned()],
            open: 0,
            unopened: 0,
            error: None,
        }),
        changed: Condvar::new(),
    };
    let processors = thread::available_parallelism().map_or(1, NonZero::get);
    thread::scope(|scope| {
        for _ in 1..processors.min(MAX_WORKERS) {
            scope.spawn(|| visit.work());
        }
        visit.work();
    });
    let queue = visit
        .queue
        .into_inner()
        .unwrap_or_else(PoisonError::into_inner);
    queue.error.map_or(Ok(queue.unopened), Err)
}

/// A visit by several workers.
struct Visit<'a, F> {
    /// The device of the tree; others are not entered.
    device: u64,
    stop: &'a CancelToken,
    each: F,
    queue: Mutex<Queue>,
    /// A directory was added, or a worker has completed one.
    changed: Condvar,
}

/// The data that the workers share.
struct Queue {
    /// The directories still to be visited.
    pending: Vec<PathBuf>,
    /// The number of directories that are being visited. They may add others.
    open: usize,
    unopened: u64,
    /// The first error; it ends the visit.
    error: Option<CacheError>,
}

impl<F: Fn(&OwnedFd, &Stat) -> std::io::Result<()>> Visit<'_, F> {
    /// Visits directories until none is left.
    fn work(&self) {
        let mut queue = self.lock();
        while queue.error.is_none() {
            let Some(path) = queue.pending.pop() else {
                if queue.open == 0 {
                    break;
                }
                let woken = self.changed.wait(queue);
                queue = woken.unwrap_or_else(PoisonError::into_inner);
                continue;
            };
            queue.open += 1;
            drop(queue);
            let mut inner = Vec::new();
            let visited = self.directory(&path, &mut inner);
            queue = self.lock();
            queue.open -= 1;
            queue.pending.append(&mut inner);
            match visited {
                Ok(unopened) => queue.unopened += unopened,
                Err(error) => queue.error = Some(error),
            }
            self.changed.notify_all();
        }
    }

    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Visits the files of a directory and collects its directories. Returns how many could not be
    /// opened.
    fn directory(&self, path: &Path, inner: &mut Vec<PathBuf>) -> Result<u64, CacheError> {
        let at = |errno: Errno| CacheError::of(path, errno.into());
        let directory = match open_deep_directory(path) {
            Ok(directory) => directory,
            Err(Errno::NOENT | Errno::NOTDIR) => return Ok(0),
            Err(_) => return Ok(1),
        };
        let about = fstat(&directory).map_err(at)?;
        if about.st_dev != self.device {
            return Ok(0);
        }
        (self.each)(&directory, &about).map_err(|cause| CacheError::of(path, cause))?;
        let mut unopened = 0;
        let mut entries = Dir::new(directory).map_err(at)?;
        while let Some(entry) = entries.read() {
            if self.stop.requested() {
                return Err(CacheError::Stopped);
            }
            let entry = entry.map_err(at)?;
            let name = entry.file_name();
            if matches!(name.to_bytes(), b"." | b"..") {
                continue;
            }
            let inside = entries.fd().map_err(at)?;
            let child = || path.join(OsStr::from_bytes(name.to_bytes()));
            match kind(&entry, inside) {
                FileType::Directory => inner.push(child()),
                FileType::RegularFile => match open_quietly(inside, name, OFlags::empty()) {
                    Ok(file) => {
                        let about =
                            fstat(&file).map_err(|errno| CacheError::of(&child(), errno.into()))?;
                        (self.each)(&file, &about)
                            .map_err(|cause| CacheError::of(&child(), cause))?;
                    }
                    Err(Errno::NOENT) => {}
                    Err(_) => unopened += 1,
                },
                _ => {}
            }
        }
        Ok(unopened)
    }
}

/// The kind of an entry, queried where the directory does not return it.
fn kind(entry: &rustix::fs::DirEntry, directory: BorrowedFd<'_>) -> FileType {
    match entry.file_type() {
        FileType::Unknown => statat(directory, entry.file_name(), AtFlags::SYMLINK_NOFOLLOW)
            .map_or(FileType::Unknown, |about| {
                FileType::from_raw_mode(about.st_mode)
            }),
        known => known,
    }
}

/// The longest path that one system call takes: 4096 bytes with the terminating zero.
const STRIDE: usize = 4000;

/// Opens a directory, also deeper than `PATH_MAX`: in steps from directory to directory.
fn open_deep_directory(path: &Path) -> rustix::io::Result<OwnedFd> {
    let mut rest = path.as_os_str().as_bytes();
    let mut base: Option<OwnedFd> = None;
    let from = |base: &Option<OwnedFd>, rest| match base {
        Some(base) => open_quietly(base, rest, OFlags::DIRECTORY),
        None => open_quietly(CWD, rest, OFlags::DIRECTORY),
    };
    while rest.len() > STRIDE {
        let Some(truncated) = rest[..STRIDE].iter().rposition(|byte| *byte == b'/') else {
            break;
        };
        base = Some(from(&base, &rest[..truncated])?);
        rest = &rest[truncated + 1..];
    }
    from(&base, rest)
}

/// Opens for reading without a trace: not even its access time changes, where we may ask so
/// (owner or root).
fn open_quietly(
    directory: impl AsFd,
    path: impl Arg + Copy,
    flags: OFlags,
) -> rustix::io::Result<OwnedFd> {
    let flags = flags | OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    match openat(&directory, path, flags | OFlags::NOATIME, Mode::empty()) {
        Err(Errno::PERM) => openat(&directory, path, flags, Mode::empty()),
        result => result,
    }
}
