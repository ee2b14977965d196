//! Opens the file or block device that the user names for fsdyno's own mkfs or check, after proving
//! that it is not in use.

use crate::loops;
use rustix::fs::{Advice, FileType, Mode, OFlags, fadvise, fstat, fsync, open};
use rustix::io::Errno;
use rustix::ioctl::{NoArg, Opcode, ioctl};
use std::fs::File;
use std::io::{self, Seek, SeekFrom};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

/// The reason why a device was not opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// It is neither a regular file nor a block device.
    #[error("{} is {what}; a block device or an existing file (truncate -s SIZE FILE) is possible", path.display())]
    Kind { path: PathBuf, what: &'static str },
    #[error("{} is in use: {by}; unmount or detach it first", path.display())]
    InUse { path: PathBuf, by: String },
    /// It does not exist, or cannot be opened.
    #[error("cannot open {}: {source}{remedy}", path.display())]
    Refused {
        path: PathBuf,
        source: io::Error,
        remedy: &'static str,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    Format,
    Read,
}

/// Opens a block device or a file that is not in use, and returns its size in bytes.
///
/// A device is opened exclusively, which the kernel refuses if it, its disk or one of its
/// partitions is mounted, or is a member of another device. A file is refused while it backs a loop
/// device.
pub fn open_unused(path: &Path, purpose: Purpose) -> Result<(File, u64), OpenError> {
    let refused = |remedy| {
        move |source: io::Error| OpenError::Refused {
            path: path.to_owned(),
            source,
            remedy,
        }
    };
    // By its real path, so that the checked file is the opened one.
    let real = path.canonicalize().map_err(refused(
        "; it has to exist, with its size (truncate -s SIZE FILE)",
    ))?;
    let mut flags = OFlags::CLOEXEC | OFlags::NONBLOCK;
    flags |= match purpose {
        Purpose::Format => OFlags::RDWR,
        Purpose::Read => OFlags::RDONLY,
    };
    let is_device = std::fs::metadata(&real).is_ok_and(|of| kind(&of) == FileType::BlockDevice);
    if is_device {
        // The flag has no meaning for other files.
        flags |= OFlags::EXCL;
    }
    let opened = open(&real, flags, Mode::empty()).map_err(|errno| match errno {
        Errno::BUSY => OpenError::InUse {
            path: path.to_owned(),
            by: "the kernel refuses to open it exclusively (EBUSY), since it or a part of it is \
                 mounted, swap, or part of an array or pool"
                .to_owned(),
        },
        Errno::ISDIR => OpenError::Kind {
            path: path.to_owned(),
            what: "a directory",
        },
        Errno::ACCESS | Errno::PERM => refused("; only root may, or its owner")(errno.into()),
        _ => refused("")(errno.into()),
    })?;
    let what =
        match FileType::from_raw_mode(fstat(&opened).map_err(|e| refused("")(e.into()))?.st_mode) {
            FileType::BlockDevice if is_device => None,
            FileType::RegularFile => None,
            FileType::Directory => Some("a directory"),
            FileType::CharacterDevice => Some("a character device"),
            _ => Some("neither a file nor a block device"),
        };
    if let Some(what) = what {
        let path = path.to_owned();
        return Err(OpenError::Kind { path, what });
    }
    if !is_device {
        let devices = loops::devices_of(&real);
        if let Some(device) = devices.first() {
            return Err(OpenError::InUse {
                path: path.to_owned(),
                by: format!("it backs /dev/{device}"),
            });
        }
    }
    if is_device {
        forget_cache(&opened).map_err(|e| refused("")(e.into()))?;
    }
    let mut file = File::from(opened);
    let bytes = file.seek(SeekFrom::End(0)).map_err(refused(""))?;
    file.rewind().map_err(refused(""))?;
    Ok((file, bytes))
}

/// Writes back and drops the buffer cache of a device, so that programs read what is on it. Another file
/// is left as it is.
pub fn forget_cache_of(path: &Path) -> io::Result<()> {
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK;
    let opened = open(path, flags, Mode::empty())?;
    if FileType::from_raw_mode(fstat(&opened)?.st_mode) == FileType::BlockDevice {
        forget_cache(&opened)?;
    }
    Ok(())
}

/// Drops the buffer cache of a device. File systems cache their files separately. While another
/// process has the device open (a guard that holds its lock), the cache keeps the old contents of
/// blocks.
fn forget_cache(device: impl AsFd) -> rustix::io::Result<()> {
    /// `BLKFLSBUF` of `linux/fs.h`.
    const FLUSH_BUFFERS: Opcode = 0x1261;
    fsync(&device)?;
    // SAFETY: the call takes no argument.
    match unsafe { ioctl(&device, NoArg::<FLUSH_BUFFERS>::new()) } {
        // Needs root; drops all unreferenced pages.
        Err(Errno::ACCESS | Errno::PERM) => fadvise(&device, 0, None, Advice::DontNeed),
        result => result,
    }
}

fn kind(of: &std::fs::Metadata) -> FileType {
    use std::os::unix::fs::MetadataExt;
    FileType::from_raw_mode(of.mode())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_opened_with_its_size_and_what_is_none_is_refused_by_name() {
        let here = tempfile::tempdir().unwrap();
        let file = here.path().join("image");
        File::create(&file).unwrap().set_len(12_345).unwrap();
        let (_, bytes) = open_unused(&file, Purpose::Format).unwrap();
        assert_eq!(bytes, 12_345);
        for (path, words) in [
            (here.path(), "is a directory"),
            (&here.path().join("none"), "truncate -s SIZE"),
            (Path::new("/dev/null"), "is a character device"),
        ] {
            let refused = open_unused(path, Purpose::Format).unwrap_err().to_string();
            assert!(refused.contains(words), "{refused}");
            assert!(refused.contains(&path.display().to_string()), "{refused}");
        }
    }
}
