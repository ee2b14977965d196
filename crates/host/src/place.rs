//! Paths of what fsdyno makes: each is resolved once, to a descriptor of a directory that no other
//! user can change and a name in it. What is there is used by its own descriptor.

use fsdyno_files::{TrustedDir, Untrusted, open_parent};
use rustix::fs::{AtFlags, Mode, OFlags, fstat, mkdirat, openat, statat, unlinkat};
use rustix::process::geteuid;
use std::ffi::OsStr;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

/// What to do about a directory that others can change.
pub const REMEDY: &str = "Another user could exchange what fsdyno makes there. Name a directory that \
                          only root and you can change, such as one in /var/tmp";

/// Refuses a work directory that another user could change: for images, mount points and scratch
/// directories. The path may be relative.
pub fn check_work_dir(path: &Path) -> Result<(), PlaceError> {
    TrustedDir::open(&std::path::absolute(path)?)?;
    Ok(())
}

/// A name in an open directory.
#[derive(Debug)]
pub(crate) struct Place {
    directory: OwnedFd,
    path: PathBuf,
}

/// The reason why a path is not used.
#[derive(Debug, thiserror::Error)]
pub enum PlaceError {
    /// Another user could exchange what is there.
    #[error("{0}. {REMEDY}")]
    Untrusted(#[from] Untrusted),
    #[error(transparent)]
    Io(#[from] io::Error),
}

impl From<PlaceError> for io::Error {
    fn from(error: PlaceError) -> Self {
        match error {
            PlaceError::Io(cause) => cause,
            PlaceError::Untrusted(_) => {
                Self::new(io::ErrorKind::PermissionDenied, error.to_string())
            }
        }
    }
}

impl Place {
    /// A name in a directory that no other user can change. It need not exist.
    pub(crate) fn trusted(path: &Path) -> Result<Self, PlaceError> {
        let (parent, name) = split(path)?;
        let parent = TrustedDir::open(&std::path::absolute(parent)?)?;
        Ok(Self {
            path: parent.path().join(name),
            directory: parent.into(),
        })
    }

    /// A name in a directory of the user's (`dir:PATH`), which only root must be able to trust: other
    /// users can lose only what is theirs.
    pub(crate) fn of_user(path: &Path) -> Result<Self, PlaceError> {
        if geteuid().is_root() {
            return Self::trusted(path);
        }
        let (parent, name) = split(path)?;
        let path = parent.canonicalize()?.join(name);
        let (directory, _) = open_parent(&path)?;
        Ok(Self { directory, path })
    }

    /// The path without symbolic links.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn name(&self) -> &OsStr {
        self.path.file_name().unwrap_or_default()
    }

    /// Whether something has the name.
    pub(crate) fn is_taken(&self) -> bool {
        statat(&self.directory, self.name(), AtFlags::SYMLINK_NOFOLLOW).is_ok()
    }

    /// Makes a file, which must not exist, with mode 0600.
    pub(crate) fn create(&self, flags: OFlags) -> rustix::io::Result<OwnedFd> {
        let flags = flags | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        openat(self, self.name(), flags, Mode::RUSR | Mode::WUSR)
    }

    /// Makes a directory, which must not exist, with mode 0700; returns it opened with `O_PATH`.
    pub(crate) fn create_dir(&self) -> rustix::io::Result<OwnedFd> {
        mkdirat(self, self.name(), Mode::RWXU)?;
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        openat(self, self.name(), flags, Mode::empty())
    }

    pub(crate) fn unlink(&self) -> rustix::io::Result<()> {
        unlinkat(self, self.name(), AtFlags::empty())
    }

    /// What is there; a symbolic link is not followed.
    pub(crate) fn open(&self, flags: OFlags) -> io::Result<OwnedFd> {
        let flags = flags | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        Ok(openat(self, self.name(), flags, Mode::empty())?)
    }
}

impl AsFd for Place {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.directory.as_fd()
    }
}

/// A file, by its place and its own descriptor: another file that gets its name is not used.
#[derive(Debug)]
pub struct HeldFile {
    path: PathBuf,
    held: OwnedFd,
}

impl HeldFile {
    pub(crate) fn new(path: PathBuf, held: OwnedFd) -> Self {
        Self { path, held }
    }

    /// The file at this path, in a directory that no other user can change.
    pub fn at(path: &Path) -> Result<Self, PlaceError> {
        let place = Place::trusted(path)?;
        let held = place.open(OFlags::PATH)?;
        Ok(Self::new(place.path, held))
    }

    /// Its path, without symbolic links.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Opens it to be used, and compares device and inode.
    pub(crate) fn open(&self, flags: OFlags) -> io::Result<OwnedFd> {
        let place = Place::trusted(&self.path)?;
        let opened = place.open(flags)?;
        let (held, found) = (fstat(&self.held)?, fstat(&opened)?);
        if (held.st_dev, held.st_ino) == (found.st_dev, found.st_ino) {
            return Ok(opened);
        }
        let why = "fsdyno did not make the file that has this name now";
        Err(io::Error::new(io::ErrorKind::PermissionDenied, why))
    }
}

impl AsFd for HeldFile {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.held.as_fd()
    }
}

fn split(path: &Path) -> io::Result<(&Path, &OsStr)> {
    let name = path
        .file_name()
        .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "the path names no file"))?;
    match path.parent() {
        Some(parent) if parent != Path::new("") => Ok((parent, name)),
        _ => Ok((Path::new("."), name)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    #[test]
    fn a_file_that_was_exchanged_is_not_opened() {
        let place = tempfile::tempdir().unwrap();
        let (path, other) = (place.path().join("file"), place.path().join("other"));
        std::fs::write(&path, "ours").unwrap();
        std::fs::write(&other, "precious").unwrap();
        let held = HeldFile::at(&path).unwrap();
        held.open(OFlags::RDWR).unwrap();
        std::fs::rename(&other, &path).unwrap();
        let why = held.open(OFlags::RDWR).unwrap_err().to_string();
        assert!(why.contains("did not make"), "{why}");
        std::fs::remove_file(&path).unwrap();
        symlink("/etc/passwd", &path).unwrap();
        assert!(held.open(OFlags::RDWR).is_err());
    }

    #[test]
    fn a_directory_that_others_can_change_is_refused_with_the_remedy() {
        let place = tempfile::tempdir().unwrap();
        let open = place.path().join("open");
        std::fs::create_dir(&open).unwrap();
        for (mode, trusted) in [(0o777, false), (0o1777, true), (0o755, true)] {
            std::fs::set_permissions(&open, std::fs::Permissions::from_mode(mode)).unwrap();
            match Place::trusted(&open.join("file")) {
                Ok(_) => assert!(trusted, "{mode:o}"),
                Err(error) => {
                    let message = error.to_string();
                    assert!(!trusted, "{mode:o}: {message}");
                    assert!(message.contains("chmod go-w"), "{message}");
                    assert!(message.contains("/var/tmp"), "{message}");
                }
            }
            let of_user = Place::of_user(&open.join("file")).is_ok();
            assert_eq!(of_user, trusted || !geteuid().is_root(), "{mode:o}");
        }
    }
}
