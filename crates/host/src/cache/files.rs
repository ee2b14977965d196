//! Visits the regular files of a tree without disturbing the measurement: no link is followed, no
//! other device entered, no access time changed, no data read.

use super::CacheError;
use fsdyno_model::CancelToken;
use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{CWD, Dir, FileType, Mode, OFlags, Stat, fstat, openat};
use rustix::io::Errno;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Visits every regular file with an open descriptor and its attributes. Returns how many files
/// and directories could not be opened. What disappears meanwhile is passed over.
///
/// Memory holds only the names of directories still to be visited, not the whole tree.
pub(super) fn visit(
    top: &Path,
    stop: &CancelToken,
    mut each: impl FnMut(&OwnedFd, &Stat) -> std::io::Result<()>,
) -> Result<u64, CacheError> {
    let at = |path: &Path, errno: Errno| CacheError::Path {
        path: path.to_owned(),
        cause: errno.into(),
    };
    let first = open_quietly(CWD, top, OFlags::empty()).map_err(|errno| at(top, errno))?;
    let about = fstat(&first).map_err(|errno| at(top, errno))?;
    let mut each = |file: &OwnedFd, about: &Stat, path: &Path| {
        each(file, about).map_err(|cause| CacheError::Path {
            path: path.to_owned(),
            cause,
        })
    };
    if FileType::from_raw_mode(about.st_mode) == FileType::RegularFile {
        each(&first, &about, top)?;
        return Ok(0);
    }
    drop(first);
    let device = about.st_dev;
    let mut unopened = 0;
    let mut pending: Vec<PathBuf> = vec![top.to_owned()];
    while let Some(path) = pending.pop() {
        let directory = match open_however_deep(&path, OFlags::DIRECTORY) {
            Ok(directory) => directory,
            Err(Errno::NOENT | Errno::NOTDIR) => continue,
            Err(_) => {
                unopened += 1;
                continue;
            }
        };
        if fstat(&directory).map_err(|errno| at(&path, errno))?.st_dev != device {
            continue;
        }
        let entries = Dir::new(directory).map_err(|errno| at(&path, errno))?;
        for entry in entries {
            if stop.requested() {
                return Err(CacheError::Stopped);
            }
            let entry = entry.map_err(|errno| at(&path, errno))?;
            let name = entry.file_name();
            if matches!(name.to_bytes(), b"." | b"..") {
                continue;
            }
            let child = path.join(OsStr::from_bytes(name.to_bytes()));
            match kind(&entry, &child) {
                FileType::Directory => pending.push(child),
                FileType::RegularFile => match open_however_deep(&child, OFlags::empty()) {
                    Ok(file) => {
                        let about = fstat(&file).map_err(|errno| at(&child, errno))?;
                        each(&file, &about, &child)?;
                    }
                    Err(Errno::NOENT) => {}
                    Err(_) => unopened += 1,
                },
                _ => {}
            }
        }
    }
    Ok(unopened)
}

/// The kind of an entry, queried where the directory does not return it.
fn kind(entry: &rustix::fs::DirEntry, path: &Path) -> FileType {
    match entry.file_type() {
        FileType::Unknown => rustix::fs::lstat(path).map_or(FileType::Unknown, |about| {
            FileType::from_raw_mode(about.st_mode)
        }),
        known => known,
    }
}

/// The longest path that one system call takes: 4096 bytes with the terminating zero.
const STRIDE: usize = 4000;

/// Opens a file deeper than `PATH_MAX`, in steps from directory to directory.
fn open_however_deep(path: &Path, flags: OFlags) -> rustix::io::Result<OwnedFd> {
    let mut rest = path.as_os_str().as_bytes();
    let mut base: Option<OwnedFd> = None;
    let from = |base: &Option<OwnedFd>, rest: &[u8], flags| {
        let path = Path::new(OsStr::from_bytes(rest));
        match base {
            Some(base) => open_quietly(base, path, flags),
            None => open_quietly(CWD, path, flags),
        }
    };
    while rest.len() > STRIDE {
        let Some(truncated) = rest[..STRIDE].iter().rposition(|byte| *byte == b'/') else {
            break;
        };
        base = Some(from(&base, &rest[..truncated], OFlags::DIRECTORY)?);
        rest = &rest[truncated + 1..];
    }
    from(&base, rest, flags)
}

/// Opens for reading without a trace: not even its access time changes, where we may ask so
/// (owner or root).
fn open_quietly(directory: impl AsFd, path: &Path, flags: OFlags) -> rustix::io::Result<OwnedFd> {
    let flags = flags | OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    match openat(&directory, path, flags | OFlags::NOATIME, Mode::empty()) {
        Err(Errno::PERM) => openat(&directory, path, flags, Mode::empty()),
        result => result,
    }
}
