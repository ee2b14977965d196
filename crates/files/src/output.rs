//! A file that is written as a stream and gets its name when it is complete.

use crate::replace::{Existing, create_part};
use crate::trusted::open_output_dir;
use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, RenameFlags};
use rustix::fs::{linkat, openat, renameat_with, statat, unlinkat};
use rustix::io::Errno;
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::path::Path;

/// A new file without its name. [`Output::commit`] gives it the name; without that nothing is left.
#[derive(Debug)]
pub struct Output {
    dir: OwnedFd,
    name: OsString,
    file: File,
    /// Its temporary name. None for a file that has no name yet (open(2), `O_TMPFILE`).
    part: Option<String>,
    existing: Existing,
}

impl Output {
    /// Creates the file. `mode` is before the umask.
    ///
    /// # Errors
    /// [`io::ErrorKind::AlreadyExists`] if the name exists and is to be kept; EINVAL if it is no
    /// regular file or symbolic link.
    pub fn create(path: &Path, mode: u32, existing: Existing) -> io::Result<Self> {
        let name = path.file_name().ok_or(Errno::INVAL)?.to_owned();
        let parent = match path.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent,
            _ => Path::new("."),
        };
        let dir = open_output_dir(parent)?;
        match statat(&dir, &name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => match FileType::from_raw_mode(stat.st_mode) {
                FileType::RegularFile | FileType::Symlink if existing == Existing::Replace => {}
                FileType::RegularFile | FileType::Symlink => return Err(Errno::EXIST.into()),
                FileType::Directory => return Err(Errno::ISDIR.into()),
                _ => return Err(Errno::INVAL.into()),
            },
            Err(Errno::NOENT) => {}
            Err(errno) => return Err(errno.into()),
        }
        let mode = Mode::from_raw_mode(mode);
        let flags = OFlags::WRONLY | OFlags::TMPFILE | OFlags::CLOEXEC;
        let unnamed = openat(&dir, ".", flags, mode).ok();
        let unnamed = unnamed.filter(|_| Path::new("/proc/self/fd").exists());
        let (part, file) = if let Some(file) = unnamed {
            (None, file.into())
        } else {
            let (part, file) = create_part(&dir, mode)?;
            (Some(part), file)
        };
        Ok(Self {
            dir,
            name,
            file,
            part,
            existing,
        })
    }

    /// Writes the file back, and gives it its name.
    pub fn commit(mut self) -> io::Result<()> {
        self.file.sync_all()?;
        let rename = match self.existing {
            Existing::Keep => RenameFlags::NOREPLACE,
            Existing::Replace => RenameFlags::empty(),
        };
        let part = match self.part.take() {
            Some(part) => part,
            None => self.link()?,
        };
        let renamed = renameat_with(&self.dir, part.as_str(), &self.dir, &self.name, rename);
        if renamed.is_err() {
            self.part = Some(part);
        }
        Ok(renamed?)
    }

    /// Gives a file without a name a temporary one.
    fn link(&self) -> io::Result<String> {
        let unnamed = format!("/proc/self/fd/{}", self.file.as_raw_fd());
        for number in 0_u32.. {
            let part = format!(".fsdyno-{}-{number}.part", std::process::id());
            match linkat(CWD, &unnamed, &self.dir, &part, AtFlags::SYMLINK_FOLLOW) {
                Ok(()) => return Ok(part),
                Err(Errno::EXIST) => {}
                Err(errno) => return Err(errno.into()),
            }
        }
        Err(Errno::EXIST.into())
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Drop for Output {
    fn drop(&mut self) {
        if let Some(part) = &self.part {
            // An error here cannot be handled.
            let _ = unlinkat(&self.dir, part.as_str(), AtFlags::empty());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_gets_its_name_when_it_is_whole() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("out");
        let names = || std::fs::read_dir(place.path()).unwrap().count();
        let mut output = Output::create(&path, 0o644, Existing::Keep).unwrap();
        output.write_all(b"one").unwrap();
        assert!(!path.exists());
        output.commit().unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"one");
        let kept = Output::create(&path, 0o644, Existing::Keep).unwrap_err();
        assert_eq!(kept.kind(), io::ErrorKind::AlreadyExists);
        let mut output = Output::create(&path, 0o644, Existing::Replace).unwrap();
        output.write_all(b"two").unwrap();
        drop(output);
        assert_eq!(
            (std::fs::read(&path).unwrap(), names()),
            (b"one".to_vec(), 1)
        );
        let mut output = Output::create(&path, 0o644, Existing::Replace).unwrap();
        output.write_all(b"two").unwrap();
        output.commit().unwrap();
        assert_eq!(
            (std::fs::read(&path).unwrap(), names()),
            (b"two".to_vec(), 1)
        );
        // Another process created it meanwhile.
        let late = place.path().join("late");
        let output = Output::create(&late, 0o644, Existing::Keep).unwrap();
        std::fs::write(&late, "first").unwrap();
        assert!(output.commit().is_err());
        assert_eq!(
            (std::fs::read(&late).unwrap(), names()),
            (b"first".to_vec(), 2)
        );
        assert!(Output::create(place.path(), 0o644, Existing::Replace).is_err());
    }
}
