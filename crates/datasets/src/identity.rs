//! The digest of a user's dataset, and the check whether the dataset has changed since.
//!
//! The check for changes reads no file: it compares names, types, sizes, modes, times and inode
//! numbers.
//!
//! The digest is the same in all versions. Numbers in it are little-endian and unsigned: 32 bits for
//! a mode, 64 bits for everything else. A *text* is its length and its bytes.
//!
//! - `tar:FILE` and `trace:FILE`: SHA-256 of the bytes of the file.
//! - `tree:DIR`: SHA-256 over the entries, the root first. The names of a directory follow it, sorted
//!   by their bytes, each with everything below it. An entry is:
//!   1. one letter: `d` directory, `f` file, `h` further name of a file that came before, `l`
//!      symbolic link, `p` FIFO, `s` socket, `b` block device, `c` character device;
//!   2. its path below the root, as a text (empty for the root);
//!   3. the lower 12 bits of its mode;
//!   4. the number of its extended attributes; for each, sorted by name, name and value as texts;
//!   5. by its letter: `f` size and digest of its data; `h` the path of the first name, as a text;
//!      `l` the target, as a text; `b` and `c` the device number.
//! - `file:FILE`: the same over one entry, whose path is the name of the file. Symbolic links are
//!   followed.
//!
//! The digest of the data of a file is the SHA-256 (32 bytes) over its blocks of 4096 bytes, the last
//! one possibly shorter, each preceded by its offset. Blocks of zeros are left out. Owners and dates
//! are not part of the digest.

use crate::entry::{self, DEEPEST};
use crate::{DatasetError, survey};
use fsdyno_files::uninterrupted;
use fsdyno_model::names::hexadecimal;
use fsdyno_model::units::Bytes;
use fsdyno_model::{CancelToken, DatasetChoice, DatasetContent};
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::{self, CWD, FileType, Mode, OFlags, Stat};
use rustix::io::Errno;
use sha2::{Digest, Sha256};
use std::collections::HashMap;
use std::ffi::{CStr, CString, OsStr};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// The size of the pieces in which files are read; cancellation is checked between them.
const PIECE: usize = 1 << 20;

/// Blocks of this size that contain only zeros are not part of the digest of a file in a tree, so
/// that a hole and the same zeros on disk have the same digest.
const BLOCK: usize = 4096;

/// Receives the number of files and bytes read so far.
pub type Progress<'a> = &'a mut dyn FnMut(u64, Bytes);

/// A dataset of the user, with its content as of one reading.
#[derive(Debug, Clone)]
pub struct Identity {
    choice: DatasetChoice,
    content: DatasetContent,
    state: [u8; 32],
}

/// A dataset that has changed since it was read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "the dataset {dataset} changed during the run: it held {was}, and {now}; figures of the two \
     cannot be compared. Keep it unchanged and begin a new run"
)]
pub struct Changed {
    dataset: String,
    was: String,
    now: String,
}

impl Identity {
    /// Reads the whole dataset once; none for a generated one.
    pub fn read(
        choice: &DatasetChoice,
        stop: &CancelToken,
        progress: Progress<'_>,
    ) -> Result<Option<Self>, DatasetError> {
        if !choice.is_users() {
            return Ok(None);
        }
        let read = walk(choice, true, stop, progress)?;
        let again = walk(choice, false, stop, &mut |_, _| ())?;
        if read.state != again.state {
            return Err(DatasetError::Changed {
                dataset: choice.to_string(),
            });
        }
        Ok(Some(Self {
            choice: choice.clone(),
            state: read.state,
            content: DatasetContent {
                files: read.files,
                directories: read.directories,
                bytes: Bytes(read.bytes),
                sha256: hexadecimal(&read.content),
            },
        }))
    }

    pub fn choice(&self) -> &DatasetChoice {
        &self.choice
    }

    pub fn content(&self) -> &DatasetContent {
        &self.content
    }

    /// Whether it is unchanged; reads no file. None if the user cancelled.
    pub fn check(&self, stop: &CancelToken) -> Result<(), Changed> {
        let was = format!("{} files of {}", self.content.files, self.content.bytes);
        let changed = |now| Changed {
            dataset: self.choice.to_string(),
            was,
            now,
        };
        match walk(&self.choice, false, stop, &mut |_, _| ()) {
            Err(DatasetError::Stopped) => Ok(()),
            Ok(now) if now.state == self.state => Ok(()),
            Ok(now) if (now.files, now.bytes) == (self.content.files, self.content.bytes.0) => Err(
                changed("now has as many, of other names, dates or modes".to_owned()),
            ),
            Ok(now) => Err(changed(format!(
                "now holds {} files of {}",
                now.files,
                Bytes(now.bytes)
            ))),
            Err(error) => Err(changed(format!("now cannot be read: {error}"))),
        }
    }
}

/// The content of one file of the user that is not a dataset: a kernel.
pub fn file_content(path: &Path, stop: &CancelToken) -> Result<DatasetContent, DatasetError> {
    let read = walk(
        &DatasetChoice::Tar(path.to_owned()),
        true,
        stop,
        &mut |_, _| (),
    )?;
    Ok(DatasetContent {
        files: read.files,
        directories: 0,
        bytes: Bytes(read.bytes),
        sha256: hexadecimal(&read.content),
    })
}

struct Found {
    content: [u8; 32],
    state: [u8; 32],
    files: u64,
    directories: u64,
    bytes: u64,
}

fn walk(
    choice: &DatasetChoice,
    with_data: bool,
    stop: &CancelToken,
    progress: Progress<'_>,
) -> Result<Found, DatasetError> {
    let root = match choice {
        DatasetChoice::Generated(_) => Path::new(""),
        DatasetChoice::Tree(path)
        | DatasetChoice::Tar(path)
        | DatasetChoice::File(path)
        | DatasetChoice::Trace(path) => path,
    };
    let mut walk = Walk {
        root: root.to_owned(),
        at: Vec::new(),
        device: 0,
        with_data,
        stop,
        progress,
        linked: HashMap::new(),
        buffer: vec![0; if with_data { PIECE } else { 0 }],
        content: Sha256::new(),
        state: Sha256::new(),
        files: 0,
        directories: 0,
        bytes: 0,
    };
    match choice {
        DatasetChoice::Generated(_) => {}
        DatasetChoice::Tree(_) => walk.tree()?,
        DatasetChoice::Tar(_) | DatasetChoice::Trace(_) => walk.archive()?,
        DatasetChoice::File(_) => walk.single()?,
    }
    Ok(Found {
        content: walk.content.finalize().into(),
        state: walk.state.finalize().into(),
        files: walk.files,
        directories: walk.directories,
        bytes: walk.bytes,
    })
}

struct Walk<'a> {
    root: PathBuf,
    /// The path of the entry below the root.
    at: Vec<u8>,
    device: u64,
    with_data: bool,
    stop: &'a CancelToken,
    progress: Progress<'a>,
    /// Files with several names: the first of them.
    linked: HashMap<(u64, u64), Vec<u8>>,
    buffer: Vec<u8>,
    content: Sha256,
    state: Sha256,
    files: u64,
    directories: u64,
    bytes: u64,
}

impl Walk<'_> {
    fn io(&self, operation: &'static str) -> impl Fn(Errno) -> DatasetError + use<> {
        let path = self.root.join(OsStr::from_bytes(&self.at));
        move |errno| DatasetError::io(operation, &path, errno)
    }

    fn tree(&mut self) -> Result<(), DatasetError> {
        let root = survey::open_root(&self.root)?;
        let stat = fs::fstat(&root).map_err(self.io("examine"))?;
        self.device = stat.st_dev;
        self.note(b'd', &stat, root.as_fd(), c".")?;
        self.directory(&root, 0)
    }

    /// The file by its own name, as in the tree.
    fn single(&mut self) -> Result<(), DatasetError> {
        let whole = self.root.canonicalize();
        let whole = whole.map_err(|error| DatasetError::io("find", &self.root, error))?;
        let (Some(parent), Some(name)) = (whole.parent(), whole.file_name()) else {
            return Err(self.io("find")(Errno::INVAL));
        };
        let directory = survey::open_root(parent)?;
        // A path from a directory contains no zero byte.
        let name = CString::new(name.as_bytes()).unwrap_or_default();
        parent.clone_into(&mut self.root);
        self.entry(directory.as_fd(), &name, 0)
    }

    /// An archive or a recording: the bytes of its file, with any compression.
    fn archive(&mut self) -> Result<(), DatasetError> {
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = fs::openat(CWD, &self.root, flags, Mode::empty()).map_err(self.io("open"))?;
        let stat = fs::fstat(&file).map_err(self.io("examine"))?;
        if entry::kind(&stat) != FileType::RegularFile {
            return Err(DatasetError::WrongKind {
                path: self.root.clone(),
                is: "no regular file",
                wanted: "a file",
                remedy: "for a directory write tree:DIR",
            });
        }
        self.note_state(b'f', &stat);
        (self.files, self.bytes) = (1, entry::size(&stat));
        let mut at = 0;
        while self.with_data {
            self.stop.check()?;
            let length = fs_pread(&file, &mut self.buffer, at).map_err(self.io("read"))?;
            if length == 0 {
                break;
            }
            self.content.update(&self.buffer[..length]);
            at += length as u64;
            (self.progress)(0, Bytes(at));
        }
        Ok(())
    }

    fn directory(&mut self, directory: &OwnedFd, depth: usize) -> Result<(), DatasetError> {
        for name in entry::names(directory).map_err(self.io("list"))? {
            let length = self.at.len();
            if length > 0 {
                self.at.push(b'/');
            }
            self.entry(directory.as_fd(), &name, depth)?;
            self.at.truncate(length);
        }
        Ok(())
    }

    /// One entry with its contents. Its name is appended to the path.
    fn entry(
        &mut self,
        directory: BorrowedFd<'_>,
        name: &CStr,
        depth: usize,
    ) -> Result<(), DatasetError> {
        self.stop.check()?;
        self.at.extend_from_slice(name.to_bytes());
        let stat = entry::stat(directory, name).map_err(self.io("examine"))?;
        match entry::kind(&stat) {
            FileType::Directory => {
                self.directories += 1;
                self.note(b'd', &stat, directory, name)?;
                if stat.st_dev != self.device {
                    // Another file system: it is treated as empty.
                    return Ok(());
                }
                if depth >= DEEPEST {
                    return Err(self.io("enter")(Errno::LOOP));
                }
                let below = entry::open_directory(directory, name).map_err(self.io("open"))?;
                return self.directory(&below, depth + 1);
            }
            FileType::RegularFile => return self.file(directory, name, &stat),
            FileType::Symlink => {
                self.note(b'l', &stat, directory, name)?;
                let target = fs::readlinkat(directory, name, Vec::new());
                let target = target.map_err(self.io("read the link"))?;
                self.text(target.to_bytes());
            }
            FileType::Fifo => self.note(b'p', &stat, directory, name)?,
            FileType::Socket => self.note(b's', &stat, directory, name)?,
            kind => {
                let letter = if kind == FileType::BlockDevice {
                    b'b'
                } else {
                    b'c'
                };
                self.note(letter, &stat, directory, name)?;
                self.content.update(stat.st_rdev.to_le_bytes());
            }
        }
        self.files += 1;
        Ok(())
    }

    fn file(
        &mut self,
        directory: BorrowedFd<'_>,
        name: &CStr,
        stat: &Stat,
    ) -> Result<(), DatasetError> {
        self.files += 1;
        if stat.st_nlink > 1 {
            let first = self.linked.get(&(stat.st_dev, stat.st_ino)).cloned();
            if let Some(first) = first {
                self.note(b'h', stat, directory, name)?;
                self.text(&first);
                return Ok(());
            }
            self.linked
                .insert((stat.st_dev, stat.st_ino), self.at.clone());
        }
        self.note(b'f', stat, directory, name)?;
        let size = entry::size(stat);
        self.content.update(size.to_le_bytes());
        if self.with_data {
            let file = entry::open_file(directory, name).map_err(self.io("open"))?;
            let data = self.data(&file, size)?;
            self.content.update(data);
        }
        self.bytes = self.bytes.saturating_add(size);
        (self.progress)(self.files, Bytes(self.bytes));
        Ok(())
    }

    /// The digest of the blocks of a file that contain a nonzero byte, each after its offset. Holes
    /// are not read.
    fn data(&mut self, file: &OwnedFd, size: u64) -> Result<[u8; 32], DatasetError> {
        let ranges = entry::data_ranges(file, size).map_err(self.io("read"))?;
        let mut digest = Sha256::new();
        let block_length = BLOCK as u64;
        let mut at = 0;
        for (start, end) in ranges {
            at = at.max(start / block_length * block_length);
            while at < end {
                self.stop.check()?;
                let left = end.next_multiple_of(block_length) - at;
                let wanted = usize::try_from(left).map_or(PIECE, |left| left.min(PIECE));
                let buffer = &mut self.buffer[..wanted];
                let length = full_pread(file, buffer, at);
                let length = length.map_err(self.io("read"))?;
                if length == 0 {
                    break;
                }
                let blocks = self.buffer[..length].chunks(BLOCK);
                for (offset, block) in (at..).step_by(BLOCK).zip(blocks) {
                    if block.iter().any(|byte| *byte != 0) {
                        digest.update(offset.to_le_bytes());
                        digest.update(block);
                    }
                }
                at += (length as u64).next_multiple_of(block_length);
                (self.progress)(self.files, Bytes(self.bytes + at.min(size)));
            }
        }
        Ok(digest.finalize().into())
    }

    /// Type, path, mode and extended attributes; for the check for changes, also the properties
    /// that a change of the data modifies.
    fn note(
        &mut self,
        letter: u8,
        stat: &Stat,
        directory: BorrowedFd<'_>,
        name: &CStr,
    ) -> Result<(), DatasetError> {
        self.note_state(letter, stat);
        if !self.with_data {
            return Ok(());
        }
        let xattrs = entry::xattrs(directory, name);
        let xattrs = xattrs.map_err(self.io("read the attributes of"))?;
        self.content.update([letter]);
        self.content.update((self.at.len() as u64).to_le_bytes());
        self.content.update(&self.at);
        self.content.update((stat.st_mode & 0o7777).to_le_bytes());
        self.content.update((xattrs.len() as u64).to_le_bytes());
        for (key, value) in xattrs {
            self.text(key.as_bytes());
            self.text(&value);
        }
        Ok(())
    }

    fn note_state(&mut self, letter: u8, stat: &Stat) {
        self.state.update([letter]);
        self.state.update((self.at.len() as u64).to_le_bytes());
        self.state.update(&self.at);
        self.state.update(stat.st_mode.to_le_bytes());
        self.state.update(stat.st_ino.to_le_bytes());
        // The time of a directory is that of its last change of names: the names are compared.
        if letter != b'd' {
            self.state.update(stat.st_size.to_le_bytes());
            self.state.update(stat.st_mtime.to_le_bytes());
            self.state.update(stat.st_mtime_nsec.to_le_bytes());
        }
    }

    fn text(&mut self, text: &[u8]) {
        self.content.update((text.len() as u64).to_le_bytes());
        self.content.update(text);
    }
}

fn fs_pread(file: &OwnedFd, buffer: &mut [u8], at: u64) -> rustix::io::Result<usize> {
    uninterrupted(|| rustix::io::pread(file, &mut *buffer, at))
}

/// Fills the buffer, unless the file ends.
fn full_pread(file: &OwnedFd, buffer: &mut [u8], at: u64) -> rustix::io::Result<usize> {
    let mut filled = 0;
    while filled < buffer.len() {
        match fs_pread(file, &mut buffer[filled..], at + filled as u64)? {
            0 => break,
            length => filled += length,
        }
    }
    Ok(filled)
}

#[cfg(test)]
#[path = "identity_tests.rs"]
mod tests;
