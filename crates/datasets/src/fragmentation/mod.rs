//! Counts the extents of the files of a tree, from the file system's own map of each file
//! (`FIEMAP`). No data is read, and access times do not change if the system permits that.
//!
//! An extent here is a run of a file that is contiguous on the device, by the rule of `filefrag`:
//! see `runs.rs`. The figures are those of the file system. A pool of several devices reports
//! offsets in its own address space. It reports compressed data in pieces (at most 128 KiB on
//! Btrfs), each of which counts.
//!
//! Counting loads names, inodes and extent maps into memory. Run it untimed, before the cache state
//! is set.

mod extents;
mod runs;

use crate::entry::{DEEPEST, kind, size};
use extents::Map;
use fsdyno_model::{Bytes, CancelToken, Cancelled, Fragmentation};
use runs::Runs;
use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{self, CWD, FileType, Mode, OFlags, RawDir};
use rustix::io::Errno;
use std::ffi::{CStr, OsStr};
use std::mem::MaybeUninit;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Counts the extents of all regular files of at least `floor` bytes below a directory. A file with
/// several names counts under each name. Symbolic links are not followed, and other file systems
/// are not entered. Memory does not grow with the number of files.
///
/// Failures are reported as [`Fragmentation::unavailable`], with the reason.
///
/// # Errors
/// Only if the user cancelled.
pub fn count(root: &Path, floor: Bytes, stop: &CancelToken) -> Result<Fragmentation, Cancelled> {
    let mut counter = Counter {
        floor: floor.0,
        device: 0,
        at: root.to_owned(),
        map: Map::new(),
        found: Fragmentation {
            floor,
            ..Fragmentation::default()
        },
        stop,
    };
    match counter.root(root) {
        Ok(()) => Ok(counter.found),
        Err(End::Stopped) => Err(Cancelled),
        Err(End::Unavailable(reason)) => Ok(Fragmentation::not_available(floor, reason)),
    }
}

/// The extents of one file of that size, by the same rule. None if the file system has no map.
pub fn count_file(file: impl AsFd, size: u64) -> Option<u64> {
    let mut found = Fragmentation::default();
    let mut runs = Runs::new(&mut found, size);
    Map::new()
        .each(file, || false, |extent| runs.add(extent))
        .ok()?;
    runs.end();
    Some(found.extents)
}

/// Why a count ended early.
enum End {
    Stopped,
    Unavailable(String),
}

impl From<Cancelled> for End {
    fn from(_: Cancelled) -> Self {
        Self::Stopped
    }
}

struct Counter<'s> {
    floor: u64,
    /// The file system of the root.
    device: u64,
    /// Its path, for messages.
    at: PathBuf,
    map: Map,
    found: Fragmentation,
    stop: &'s CancelToken,
}

impl Counter<'_> {
    fn root(&mut self, root: &Path) -> Result<(), End> {
        let directory = open(CWD, root, OFlags::DIRECTORY).map_err(|e| self.failed("open", e))?;
        let about = fs::fstat(&directory).map_err(|e| self.failed("stat", e))?;
        self.device = about.st_dev;
        self.directory(&directory, 0)
    }

    fn directory(&mut self, directory: &OwnedFd, depth: usize) -> Result<(), End> {
        if depth > DEEPEST {
            let reason = format!(
                "directories nest deeper than {DEEPEST} levels below {}",
                self.at.display()
            );
            return Err(End::Unavailable(reason));
        }
        let mut buffer = vec![MaybeUninit::uninit(); 16_384];
        let mut entries = RawDir::new(directory, &mut buffer);
        while let Some(entry) = entries.next() {
            self.stop.check()?;
            let entry = entry.map_err(|e| self.failed("list", e))?;
            let name = entry.file_name();
            if matches!(name.to_bytes(), b"." | b"..") {
                continue;
            }
            self.at.push(OsStr::from_bytes(name.to_bytes()));
            self.entry(directory, name, entry.file_type(), depth)?;
            self.at.pop();
        }
        Ok(())
    }

    fn entry(
        &mut self,
        above: &OwnedFd,
        name: &CStr,
        reported: FileType,
        depth: usize,
    ) -> Result<(), End> {
        let what = match reported {
            // Some file systems do not set the kind in a directory entry (readdir(3)).
            FileType::Unknown => crate::entry::stat(above, name).map(|stat| kind(&stat)),
            known => Ok(known),
        };
        let flags = match what.map_err(|e| self.failed("stat", e))? {
            FileType::Directory => OFlags::DIRECTORY,
            // If a FIFO has replaced it, the open must not wait for a writer.
            FileType::RegularFile => OFlags::NONBLOCK,
            _ => return Ok(()),
        };
        let opened = open(above, name, flags).map_err(|e| self.failed("open", e))?;
        let about = fs::fstat(&opened).map_err(|e| self.failed("stat", e))?;
        if flags == OFlags::DIRECTORY {
            if about.st_dev == self.device {
                self.directory(&opened, depth + 1)?;
            }
            return Ok(());
        }
        let size = size(&about);
        if size < self.floor {
            return Ok(());
        }
        self.file(&opened, size)
    }

    fn file(&mut self, file: &OwnedFd, size: u64) -> Result<(), End> {
        let mut runs = Runs::new(&mut self.found, size);
        let stop = self.stop;
        let complete = self
            .map
            .each(file, || stop.requested(), |extent| runs.add(extent));
        match complete {
            Ok(true) => {
                runs.end();
                Ok(())
            }
            Ok(false) => Err(End::Stopped),
            // EOPNOTSUPP if the file system has no such map; ENOTTY and ENOSYS if it is not a
            // kernel file system.
            Err(errno @ (Errno::OPNOTSUPP | Errno::NOTTY | Errno::NOSYS)) => {
                let reason =
                    format!("the file system reports no map of its files (FIEMAP: {errno})");
                Err(End::Unavailable(reason))
            }
            Err(errno) => Err(self.failed("map the extents of", errno)),
        }
    }

    fn failed(&self, operation: &str, errno: Errno) -> End {
        End::Unavailable(format!("cannot {operation} {}: {errno}", self.at.display()))
    }
}

/// Opens for reading, without access time updates if permitted (owner or root), and without
/// following a symbolic link.
fn open(
    above: impl AsFd,
    name: impl rustix::path::Arg + Copy,
    flags: OFlags,
) -> rustix::io::Result<OwnedFd> {
    let flags = flags | OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    match fs::openat(&above, name, flags | OFlags::NOATIME, Mode::empty()) {
        Err(Errno::PERM) => fs::openat(&above, name, flags, Mode::empty()),
        result => result,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counting_can_be_cancelled_and_reports_why_it_is_impossible() {
        let work_dir = tempfile::tempdir().unwrap();
        std::fs::write(work_dir.path().join("file"), "x").unwrap();
        let stop = CancelToken::new();
        let missing = count(&work_dir.path().join("none"), Bytes(0), &stop).unwrap();
        let reason = missing.unavailable.unwrap();
        assert!(
            reason.contains("none") && reason.contains("No such file"),
            "{reason}"
        );
        stop.request();
        let stopped = count(work_dir.path(), Bytes(0), &stop);
        assert!(stopped.is_err(), "{stopped:?}");
    }

    #[test]
    fn directories_too_deep_to_hold_open_are_reported() {
        let work_dir = tempfile::tempdir().unwrap();
        let mut directory = open(CWD, work_dir.path(), OFlags::DIRECTORY).unwrap();
        for _ in 0..DEEPEST + 2 {
            fs::mkdirat(&directory, "d", Mode::RWXU).unwrap();
            directory = open(&directory, "d", OFlags::DIRECTORY).unwrap();
        }
        let reason = count(work_dir.path(), Bytes(0), &CancelToken::new())
            .unwrap()
            .unavailable;
        assert!(reason.unwrap().contains("deeper"));
    }
}
