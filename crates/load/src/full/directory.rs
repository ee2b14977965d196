//! System calls below the root of the files, with the call that failed.

use fsdyno_files::{errno, uninterrupted};
use fsdyno_model::Bytes;
use rustix::fs::{AtFlags, Mode, OFlags, fsync, mkdirat, open, openat, renameat, syncfs, unlinkat};
use rustix::io::Errno;
use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;

/// An error of a system call.
#[derive(Debug, Clone, Copy)]
pub(super) struct Failed {
    pub call: &'static str,
    pub errno: Errno,
}

pub(super) fn calling<T>(call: &'static str, returned: Result<T, Errno>) -> Result<T, Failed> {
    returned.map_err(|errno| Failed { call, errno })
}

impl From<Failed> for io::Error {
    fn from(failed: Failed) -> Self {
        Self::other(format!("{}: {}", failed.call, errno::text(failed.errno)))
    }
}

/// The root of the files.
pub(super) struct Directory(OwnedFd);

impl Directory {
    pub fn open(root: &Path) -> io::Result<Self> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let opened = uninterrupted(|| open(root, flags, Mode::empty()));
        opened.map(Self).map_err(|errno| {
            io::Error::other(format!("open {}: {}", root.display(), errno::text(errno)))
        })
    }

    pub fn sync(&self) -> Result<(), Failed> {
        calling("syncfs", uninterrupted(|| syncfs(&self.0)))
    }

    pub fn available(&self) -> io::Result<Bytes> {
        let about = rustix::fs::fstatvfs(&self.0)?;
        Ok(Bytes(about.f_bavail.saturating_mul(about.f_frsize)))
    }

    pub fn mkdir(&self, path: &str) -> Result<(), Failed> {
        calling(
            "mkdir",
            uninterrupted(|| mkdirat(&self.0, path, Mode::RWXU)),
        )
    }

    pub fn create(&self, path: &str) -> Result<OwnedFd, Failed> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        let mode = Mode::RUSR | Mode::WUSR;
        calling("open", uninterrupted(|| openat(&self.0, path, flags, mode)))
    }

    pub fn open_file(&self, path: &str, flags: OFlags) -> Result<OwnedFd, Failed> {
        let flags = flags | OFlags::CLOEXEC;
        calling(
            "open",
            uninterrupted(|| openat(&self.0, path, flags, Mode::empty())),
        )
    }

    pub fn rename(&self, from: &str, to: &str) -> Result<(), Failed> {
        calling(
            "rename",
            uninterrupted(|| renameat(&self.0, from, &self.0, to)),
        )
    }

    pub fn unlink(&self, path: &str) -> Result<(), Failed> {
        calling(
            "unlink",
            uninterrupted(|| unlinkat(&self.0, path, AtFlags::empty())),
        )
    }

    pub fn sync_file(&self, path: &str) -> Result<(), Failed> {
        let file = self.open_file(path, OFlags::RDONLY)?;
        calling("fsync", uninterrupted(|| fsync(&file)))
    }

    pub fn sync_directory(&self, path: &str) -> Result<(), Failed> {
        let directory = self.open_file(path, OFlags::RDONLY | OFlags::DIRECTORY)?;
        calling("fsync", uninterrupted(|| fsync(&directory)))
    }
}
