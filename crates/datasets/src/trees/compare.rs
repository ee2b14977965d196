//! Compares two trees, directory by directory. Memory use: the names of the open directories, and
//! the files with several names.

use super::{Comparison, TreeError};
use crate::entry::{self, DEEPEST};
use fsdyno_files::uninterrupted;
use fsdyno_model::{CancelToken, Capabilities};
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::{self, CWD, FileType, Mode, OFlags, Stat};
use rustix::io::Errno;
use std::cmp::Ordering;
use std::collections::HashMap;
use std::ffi::{CStr, CString, OsStr};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// The size of the pieces in which data is compared.
const PIECE: usize = 1 << 18;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options {
    /// Modification times of directories.
    pub directory_times: bool,
    pub owners: bool,
    pub xattrs: bool,
    /// The capabilities of the file system; other properties are not compared with an archive.
    pub stores: Capabilities,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            directory_times: true,
            owners: true,
            xattrs: true,
            stores: Capabilities::ALL,
        }
    }
}

/// Compares two trees in all properties that a copy keeps.
pub fn compare(a: &Path, b: &Path, stop: &CancelToken) -> Result<Comparison, TreeError> {
    compare_with(a, b, Options::default(), stop)
}

pub fn compare_with(
    a: &Path,
    b: &Path,
    options: Options,
    stop: &CancelToken,
) -> Result<Comparison, TreeError> {
    let sides = [Root::open(a)?, Root::open(b)?];
    let mut comparer = Comparer {
        roots: [a.to_owned(), b.to_owned()],
        devices: sides.each_ref().map(|side| side.stat.st_dev),
        at: PathBuf::new(),
        links: [HashMap::new(), HashMap::new()],
        buffers: [vec![0; PIECE].into(), vec![0; PIECE].into()],
        options,
        stop,
        found: Comparison::default(),
    };
    let [one, other] = sides;
    comparer.attributes(
        one.fd.as_fd(),
        other.fd.as_fd(),
        c".",
        &one.stat,
        &other.stat,
    )?;
    comparer.directories(&one.fd, &other.fd, 0)?;
    Ok(comparer.found)
}

struct Root {
    fd: OwnedFd,
    stat: Stat,
}

impl Root {
    fn open(path: &Path) -> Result<Self, TreeError> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let fd = fs::openat(CWD, path, flags, Mode::empty())
            .map_err(|errno| TreeError::io("open", path, errno))?;
        let stat = fs::fstat(&fd).map_err(|errno| TreeError::io("examine", path, errno))?;
        Ok(Self { fd, stat })
    }
}

type Inode = (u64, u64);

struct Comparer<'s> {
    roots: [PathBuf; 2],
    devices: [u64; 2],
    at: PathBuf,
    /// The corresponding file in the other tree of each file with several names, in both
    /// directions.
    links: [HashMap<Inode, Inode>; 2],
    buffers: [Box<[u8]>; 2],
    options: Options,
    stop: &'s CancelToken,
    found: Comparison,
}

impl Comparer<'_> {
    fn directories(&mut self, a: &OwnedFd, b: &OwnedFd, depth: usize) -> Result<(), TreeError> {
        let (names_a, names_b) = (self.names(a, 0)?, self.names(b, 1)?);
        let (mut left, mut right) = (names_a.iter().peekable(), names_b.iter().peekable());
        loop {
            let order = match (left.peek(), right.peek()) {
                (Some(one), Some(other)) => one.cmp(other),
                (Some(_), None) => Ordering::Less,
                (None, Some(_)) => Ordering::Greater,
                (None, None) => return Ok(()),
            };
            let one = if order == Ordering::Greater {
                None
            } else {
                left.next()
            };
            let other = if order == Ordering::Less {
                None
            } else {
                right.next()
            };
            let Some(name) = one.or(other) else {
                return Ok(());
            };
            self.at.push(OsStr::from_bytes(name.to_bytes()));
            let compared = match order {
                Ordering::Equal => self.entries(a, b, name, depth),
                Ordering::Less => {
                    self.found.differ(&self.at, "only in the first tree");
                    Ok(())
                }
                Ordering::Greater => {
                    self.found.differ(&self.at, "only in the second tree");
                    Ok(())
                }
            };
            self.at.pop();
            compared?;
        }
    }

    fn names(&self, directory: &OwnedFd, side: usize) -> Result<Vec<CString>, TreeError> {
        entry::names(directory).map_err(|errno| self.failed("list", side, errno))
    }

    fn entries(
        &mut self,
        a: &OwnedFd,
        b: &OwnedFd,
        name: &CStr,
        depth: usize,
    ) -> Result<(), TreeError> {
        self.stop.check()?;
        let stat_a = entry::stat(a, name).map_err(|errno| self.failed("examine", 0, errno))?;
        let stat_b = entry::stat(b, name).map_err(|errno| self.failed("examine", 1, errno))?;
        let kind = entry::kind(&stat_a);
        if kind == FileType::Directory {
            self.found.directories += 1;
        } else {
            self.found.files += 1;
        }
        if kind != entry::kind(&stat_b) {
            let what = format!("{} against {}", word(kind), word(entry::kind(&stat_b)));
            self.found.differ(&self.at, what);
            return Ok(());
        }
        self.attributes(a.as_fd(), b.as_fd(), name, &stat_a, &stat_b)?;
        match kind {
            FileType::Directory => {
                let mounted = [stat_a.st_dev, stat_b.st_dev] != self.devices;
                if mounted {
                    return Ok(());
                }
                if depth >= DEEPEST {
                    return Err(self.failed("descend below", 0, Errno::NAMETOOLONG));
                }
                let below_a = entry::open_directory(a, name)
                    .map_err(|errno| self.failed("open", 0, errno))?;
                let below_b = entry::open_directory(b, name)
                    .map_err(|errno| self.failed("open", 1, errno))?;
                self.directories(&below_a, &below_b, depth + 1)
            }
            FileType::RegularFile => {
                if self.links(&stat_a, &stat_b) {
                    return Ok(());
                }
                self.data(a, b, name, &stat_a, &stat_b)
            }
            FileType::Symlink => self.targets(a, b, name),
            FileType::BlockDevice | FileType::CharacterDevice => {
                if stat_a.st_rdev != stat_b.st_rdev {
                    self.found.differ(&self.at, "device number differs");
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn attributes(
        &mut self,
        a: BorrowedFd<'_>,
        b: BorrowedFd<'_>,
        name: &CStr,
        stat_a: &Stat,
        stat_b: &Stat,
    ) -> Result<(), TreeError> {
        if stat_a.st_mode & 0o7777 != stat_b.st_mode & 0o7777 {
            let (one, other) = (stat_a.st_mode & 0o7777, stat_b.st_mode & 0o7777);
            self.found
                .differ(&self.at, format!("mode {one:04o} against {other:04o}"));
        }
        let owner = |stat: &Stat| (stat.st_uid, stat.st_gid);
        if self.options.owners && owner(stat_a) != owner(stat_b) {
            let (one, other) = (owner(stat_a), owner(stat_b));
            let what = format!("owner {}:{} against {}:{}", one.0, one.1, other.0, other.1);
            self.found.differ(&self.at, what);
        }
        let time = |stat: &Stat| (stat.st_mtime, stat.st_mtime_nsec);
        let timed = self.options.directory_times || entry::kind(stat_a) != FileType::Directory;
        if timed && time(stat_a) != time(stat_b) {
            let (one, other) = (time(stat_a), time(stat_b));
            let what = format!(
                "changed at {}.{:09} against {}.{:09}",
                one.0, one.1, other.0, other.1
            );
            self.found.differ(&self.at, what);
        }
        if self.options.xattrs {
            let one = entry::xattrs(a, name)
                .map_err(|errno| self.failed("read the attributes of", 0, errno))?;
            let other = entry::xattrs(b, name)
                .map_err(|errno| self.failed("read the attributes of", 1, errno))?;
            if one != other {
                self.found.differ(&self.at, "extended attributes differ");
            }
        }
        Ok(())
    }

    /// Compares the structure of hard links; returns true if the data has already been compared
    /// under another name.
    fn links(&mut self, stat_a: &Stat, stat_b: &Stat) -> bool {
        if stat_a.st_nlink < 2 && stat_b.st_nlink < 2 {
            return false;
        }
        let (a, b) = (
            (stat_a.st_dev, stat_a.st_ino),
            (stat_b.st_dev, stat_b.st_ino),
        );
        let met = [
            self.links[0].get(&a).copied(),
            self.links[1].get(&b).copied(),
        ];
        match met {
            [None, None] => {
                self.links[0].insert(a, b);
                self.links[1].insert(b, a);
                false
            }
            [Some(of_a), Some(of_b)] if of_a == b && of_b == a => true,
            _ => {
                self.found.differ(&self.at, "is a hard link of other files");
                false
            }
        }
    }

    fn targets(&mut self, a: &OwnedFd, b: &OwnedFd, name: &CStr) -> Result<(), TreeError> {
        let one = fs::readlinkat(a, name, Vec::new())
            .map_err(|errno| self.failed("read the link", 0, errno))?;
        let other = fs::readlinkat(b, name, Vec::new())
            .map_err(|errno| self.failed("read the link", 1, errno))?;
        if one != other {
            self.found
                .differ(&self.at, "the symbolic links point to different targets");
        }
        Ok(())
    }

    fn data(
        &mut self,
        a: &OwnedFd,
        b: &OwnedFd,
        name: &CStr,
        stat_a: &Stat,
        stat_b: &Stat,
    ) -> Result<(), TreeError> {
        let (size_a, size_b) = (entry::size(stat_a), entry::size(stat_b));
        if size_a != size_b {
            self.found
                .differ(&self.at, format!("{size_a} bytes against {size_b}"));
            return Ok(());
        }
        let file_a = entry::open_file(a, name).map_err(|errno| self.failed("open", 0, errno))?;
        let file_b = entry::open_file(b, name).map_err(|errno| self.failed("open", 1, errno))?;
        let mut at = 0;
        loop {
            self.stop.check()?;
            let [buffer_a, buffer_b] = &mut self.buffers;
            let read = |file: &OwnedFd, rest: &mut [u8]| {
                uninterrupted(|| rustix::io::read(file, &mut *rest))
            };
            let length_a = entry::fill(buffer_a, |rest| read(&file_a, rest));
            let length_b = entry::fill(buffer_b, |rest| read(&file_b, rest));
            let length_a = length_a.map_err(|errno| self.failed("read", 0, errno))?;
            let length_b = length_b.map_err(|errno| self.failed("read", 1, errno))?;
            let (one, other) = (&self.buffers[0][..length_a], &self.buffers[1][..length_b]);
            if one != other {
                let same = one.iter().zip(other).take_while(|(x, y)| x == y).count();
                let what = format!("content differs from byte {}", at + same as u64);
                self.found.differ(&self.at, what);
                return Ok(());
            }
            at += length_a as u64;
            self.found.bytes.0 += length_a as u64;
            if length_a < PIECE {
                return Ok(());
            }
        }
    }

    fn failed(&self, operation: &'static str, side: usize, errno: Errno) -> TreeError {
        TreeError::io(operation, self.roots[side].join(&self.at), errno)
    }
}

pub(super) fn word(kind: FileType) -> &'static str {
    match kind {
        FileType::RegularFile => "a file",
        FileType::Directory => "a directory",
        FileType::Symlink => "a symbolic link",
        FileType::Fifo => "a fifo",
        FileType::Socket => "a socket",
        FileType::CharacterDevice => "a character device",
        FileType::BlockDevice => "a block device",
        FileType::Unknown => "something unknown",
    }
}

#[cfg(test)]
#[path = "compare_tests.rs"]
mod tests;
