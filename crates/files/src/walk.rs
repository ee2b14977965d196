//! Directories that are reached without following a symbolic link on the way.

use rustix::fs::{CWD, Mode, OFlags, openat};
use rustix::io::Errno;
use std::ffi::OsStr;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Component, Path};

/// Opens the directory that contains a path, and the last part of the path. No part is followed where
/// it is a symbolic link: `ENOTDIR`. The path must be absolute, without `..`.
///
/// The descriptor is opened with `O_PATH`: it serves the `*at` calls and `/proc/self/fd`.
pub fn open_parent(path: &Path) -> io::Result<(OwnedFd, &OsStr)> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
        return Err(Errno::INVAL.into());
    };
    let mut parts = parent.components();
    if parts.next() != Some(Component::RootDir) {
        return Err(Errno::INVAL.into());
    }
    let mut directory = openat(CWD, "/", flags, Mode::empty())?;
    for part in parts {
        let Component::Normal(part) = part else {
            return Err(Errno::INVAL.into());
        };
        directory = openat(&directory, part, flags, Mode::empty())?;
    }
    Ok((directory, name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn no_link_on_the_way_is_followed() {
        let place = tempfile::tempdir().unwrap();
        let place = place.path().canonicalize().unwrap();
        std::fs::create_dir(place.join("real")).unwrap();
        symlink(place.join("real"), place.join("link")).unwrap();
        let inside = place.join("real/file");
        let (_, name) = open_parent(&inside).unwrap();
        assert_eq!(name, "file");
        // The last part is not looked at.
        open_parent(&place.join("link")).unwrap();
        let error = open_parent(&place.join("link/file")).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::NotADirectory);
        let missing = open_parent(&place.join("none/file")).unwrap_err();
        assert_eq!(missing.kind(), io::ErrorKind::NotFound);
        for bad in ["file", "/", "/tmp/../etc/passwd"] {
            assert!(open_parent(Path::new(bad)).is_err(), "{bad}");
        }
    }
}
