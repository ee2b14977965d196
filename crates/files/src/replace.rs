//! Writes a file whole, or not at all: into a new file of the same directory, then by a rename.

use crate::trusted::open_output_dir;
use rustix::fs::{AtFlags, FileType, Mode, OFlags, RenameFlags, Stat};
use rustix::fs::{CWD, fstat, linkat, openat, renameat_with, statat, unlinkat};
use rustix::io::Errno;
use rustix::process::geteuid;
use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Write as _};
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::path::Path;

/// What becomes of a file that is already there.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Existing {
    /// It stays, and the call fails with [`io::ErrorKind::AlreadyExists`].
    #[default]
    Keep,
    /// It is replaced. Its mode is kept. A symbolic link is replaced itself, never its target.
    Replace,
}

/// Writes `bytes` to `path`, whole or not at all.
///
/// `mode` is that of a new file, before the umask. A planted name or symbolic link is never written
/// through. A character device or pipe (`/dev/stdout`) is written to directly.
pub fn replace(path: &Path, bytes: &[u8], mode: u32, existing: Existing) -> io::Result<()> {
    let name = path.file_name().ok_or(Errno::INVAL)?;
    let parent = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    let dir = open_output_dir(parent)?;
    let mut mode = Mode::from_raw_mode(mode);
    match statat(&dir, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(stat) => match FileType::from_raw_mode(stat.st_mode) {
            // One that another user planted may never have a reader.
            FileType::Fifo if stat.st_uid != geteuid().as_raw() => return Err(Errno::PERM.into()),
            FileType::CharacterDevice | FileType::Fifo => return write_to(&dir, name, bytes),
            FileType::RegularFile | FileType::Symlink if existing == Existing::Keep => {
                return Err(Errno::EXIST.into());
            }
            FileType::RegularFile => mode = Mode::from_raw_mode(stat.st_mode),
            // A link of another user could lead to a device that only root can write.
            FileType::Symlink if is_own(&stat) && is_stream(path) => {
                return write_to(&dir, name, bytes);
            }
            FileType::Symlink => {}
            FileType::Directory => return Err(Errno::ISDIR.into()),
            _ => return Err(Errno::INVAL.into()),
        },
        Err(Errno::NOENT) => {}
        Err(errno) => return Err(errno.into()),
    }
    if existing == Existing::Keep
        && let Some(created) = create_unnamed(&dir, name, bytes, mode)
    {
        return created;
    }
    let (part, mut file) = create_part(&dir, mode)?;
    let rename = match existing {
        Existing::Keep => RenameFlags::NOREPLACE,
        Existing::Replace => RenameFlags::empty(),
    };
    let written = file.write_all(bytes).and_then(|()| file.sync_all());
    let placed = written.and_then(|()| {
        renameat_with(&dir, part.as_str(), &dir, name, rename).map_err(io::Error::from)
    });
    if placed.is_err() {
        // The error above is the one to report.
        let _ = unlinkat(&dir, part.as_str(), AtFlags::empty());
    }
    placed
}

/// Writes a file without a name, and gives it the name at the end: SIGKILL leaves nothing. None if
/// the file system has no such files (open(2), `O_TMPFILE`) or `/proc` is missing.
fn create_unnamed(dir: &OwnedFd, name: &OsStr, bytes: &[u8], mode: Mode) -> Option<io::Result<()>> {
    let flags = OFlags::WRONLY | OFlags::TMPFILE | OFlags::CLOEXEC;
    let mut file = File::from(openat(dir, ".", flags, mode).ok()?);
    let written = file.write_all(bytes).and_then(|()| file.sync_all());
    if written.is_err() {
        return Some(written);
    }
    let unnamed = format!("/proc/self/fd/{}", file.as_raw_fd());
    match linkat(CWD, unnamed, dir, name, AtFlags::SYMLINK_FOLLOW) {
        Err(Errno::NOENT) => None,
        linked => Some(linked.map_err(io::Error::from)),
    }
}

/// A new file in the directory, under a name that nothing has.
pub(crate) fn create_part(dir: &OwnedFd, mode: Mode) -> io::Result<(String, File)> {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    for number in 0_u32.. {
        let part = format!(".fsdyno-{}-{number}.part", std::process::id());
        match openat(dir, part.as_str(), flags, mode) {
            Ok(fd) => return Ok((part, fd.into())),
            Err(Errno::EXIST) => {}
            Err(errno) => return Err(errno.into()),
        }
    }
    Err(Errno::EXIST.into())
}

fn is_own(stat: &Stat) -> bool {
    stat.st_uid == 0 || stat.st_uid == geteuid().as_raw()
}

/// Whether a link leads to a terminal or pipe: `/dev/stdout` leads to `/proc/self/fd/1`.
fn is_stream(path: &Path) -> bool {
    path.metadata().is_ok_and(|about| {
        use std::os::unix::fs::FileTypeExt as _;
        about.file_type().is_char_device() || about.file_type().is_fifo()
    })
}

/// Writes to a stream. It is never made where it is missing.
fn write_to(dir: &OwnedFd, name: &OsStr, bytes: &[u8]) -> io::Result<()> {
    let flags = OFlags::WRONLY | OFlags::NOCTTY | OFlags::CLOEXEC;
    let file = openat(dir, name, flags, Mode::empty())?;
    match FileType::from_raw_mode(fstat(&file)?.st_mode) {
        FileType::CharacterDevice | FileType::Fifo => File::from(file).write_all(bytes),
        _ => Err(Errno::INVAL.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn a_planted_link_is_replaced_and_its_target_is_not_touched() {
        let place = tempfile::tempdir().unwrap();
        let (target, path) = (place.path().join("target"), place.path().join("report"));
        std::fs::write(&target, "precious").unwrap();
        symlink(&target, &path).unwrap();
        let kept = replace(&path, b"new", 0o644, Existing::Keep).unwrap_err();
        assert_eq!(kept.kind(), io::ErrorKind::AlreadyExists);
        replace(&path, b"new", 0o644, Existing::Replace).unwrap();
        assert_eq!(std::fs::read_to_string(&target).unwrap(), "precious");
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "new");
        assert!(!path.is_symlink());
    }

    #[test]
    fn a_failed_write_leaves_what_was_there_and_no_part() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("report");
        replace(&path, b"one", 0o644, Existing::Keep).unwrap();
        assert!(replace(&path, b"two", 0o644, Existing::Keep).is_err());
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "one");
        replace(&path, b"two", 0o644, Existing::Replace).unwrap();
        assert_eq!(std::fs::read_dir(place.path()).unwrap().count(), 1);
        assert!(replace(place.path(), b"x", 0o644, Existing::Replace).is_err());
        let full = replace(Path::new("/dev/full"), b"x", 0o644, Existing::Keep).unwrap_err();
        assert_eq!(full.kind(), io::ErrorKind::StorageFull);
    }
}
