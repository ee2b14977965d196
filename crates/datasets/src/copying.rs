//! Copies a tree as `cp -a` does: names as bytes, links, holes, special files, attributes.
//!
//! These copies create datasets and are not timed. Measured copies are made by the engines.

use crate::DatasetError;
use crate::attributes::{Attributes, Lost};
use crate::entry;
use crate::survey::{self, is_sparse};
use crate::work_dir::make_root;
use fsdyno_files::uninterrupted;
use fsdyno_model::{CancelToken, Capabilities, EntryKind, LeftOut};
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::{self, AtFlags, FileType, Mode, OFlags, Stat};
use rustix::io::Errno;
use std::collections::HashMap;
use std::ffi::{CStr, OsStr};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// The size of the chunks in which data is copied. Cancellation is checked between them.
const PIECE: usize = 1 << 20;

/// The parts of an error: the verb, the side, and the reason.
type Failure = (&'static str, Side, Errno);

#[derive(Debug, Clone, Copy)]
enum Side {
    From,
    To,
}

/// A file with several names, of which one has been copied.
struct Linked {
    /// Its first name in the copy, from the root.
    path: PathBuf,
    /// The number of remaining names.
    left: u64,
}

/// Copies entries from one tree to another.
pub struct Copier<'s> {
    from: PathBuf,
    to: PathBuf,
    /// The path of both, below their roots.
    at: PathBuf,
    root: OwnedFd,
    device: u64,
    links: HashMap<(u64, u64), Linked>,
    buffer: Box<[u8]>,
    stop: &'s CancelToken,
    /// The capabilities of the copy's file system.
    stores: Capabilities,
    /// The attributes that could not be kept.
    pub lost: Lost,
    /// The entries that it cannot store.
    pub left_out: LeftOut,
}

/// A tree to copy, and the directory of its copy.
pub struct Roots {
    pub from: OwnedFd,
    pub to: OwnedFd,
    pub stat: Stat,
}

impl<'s> Copier<'s> {
    /// Opens the tree at `from`, and creates the directory `to` for its copy, on a file system with the
    /// capabilities `stores`.
    pub fn open(
        from: &Path,
        to: &Path,
        stores: Capabilities,
        stop: &'s CancelToken,
    ) -> Result<(Self, Roots), DatasetError> {
        let tree = survey::open_root(from)?;
        let stat = fs::fstat(&tree).map_err(|errno| DatasetError::io("examine", from, errno))?;
        let copy = make_root(to)?;
        let root = copy
            .try_clone()
            .map_err(|error| DatasetError::io("open", to, error))?;
        let copier = Self {
            from: from.to_owned(),
            to: to.to_owned(),
            at: PathBuf::new(),
            root,
            device: stat.st_dev,
            links: HashMap::new(),
            buffer: vec![0; PIECE].into(),
            stop,
            stores,
            lost: Lost::default(),
            left_out: LeftOut::default(),
        };
        let roots = Roots {
            from: tree,
            to: copy,
            stat,
        };
        Ok((copier, roots))
    }

    pub fn copy_directory_contents(
        &mut self,
        from: BorrowedFd<'_>,
        to: BorrowedFd<'_>,
    ) -> Result<(), DatasetError> {
        let path = self.from.join(&self.at);
        entry::each_name(
            from,
            |errno| DatasetError::io("list", &path, errno),
            |name| self.copy_entry(from, to, name),
        )
    }

    /// Copies one entry, including its contents.
    pub fn copy_entry(
        &mut self,
        from: BorrowedFd<'_>,
        to: BorrowedFd<'_>,
        name: &CStr,
    ) -> Result<(), DatasetError> {
        self.stop.check()?;
        self.at.push(OsStr::from_bytes(name.to_bytes()));
        let copied = self.copy_inode(from, to, name);
        self.at.pop();
        copied
    }

    fn copy_inode(
        &mut self,
        from: BorrowedFd<'_>,
        to: BorrowedFd<'_>,
        name: &CStr,
    ) -> Result<(), DatasetError> {
        let stat =
            entry::stat(from, name).map_err(|errno| self.failed(("examine", Side::From, errno)))?;
        let kind = entry::kind(&stat);
        let further =
            kind != FileType::Directory && self.links.contains_key(&(stat.st_dev, stat.st_ino));
        let wanted = match kind {
            _ if further => EntryKind::HardLink,
            FileType::RegularFile => EntryKind::File(entry::size(&stat)),
            FileType::Directory => EntryKind::Directory,
            FileType::Symlink => EntryKind::Symlink,
            _ => EntryKind::Special,
        };
        let mut can = self.stores.stores(wanted, name.to_bytes());
        if self.stores.case_folding && fs::statat(to, name, AtFlags::SYMLINK_NOFOLLOW).is_ok() {
            can = Err("an entry with the name of another in other case");
        }
        if let Err(what) = can {
            self.left_out.add(|| self.at.display().to_string(), what);
            return Ok(());
        }
        if kind == FileType::Directory {
            self.copy_directory(from, to, name, &stat)?;
        } else {
            if stat.st_nlink > 1 && self.link_to_copy(&stat, to, name)? {
                return Ok(());
            }
            self.create_entry(from, to, name, &stat)
                .map_err(|failure| self.failed(failure))?;
        }
        let attributes = Attributes::of(&stat, from, name)
            .map_err(|errno| self.failed(("read the attributes of", Side::From, errno)))?;
        let applied = attributes.apply(to, name, &self.stores, &mut self.lost);
        applied.map_err(|(operation, errno)| self.failed((operation, Side::To, errno)))
    }

    fn copy_directory(
        &mut self,
        from: BorrowedFd<'_>,
        to: BorrowedFd<'_>,
        name: &CStr,
        stat: &Stat,
    ) -> Result<(), DatasetError> {
        fs::mkdirat(to, name, Mode::RWXU)
            .map_err(|errno| self.failed(("make directory", Side::To, errno)))?;
        if stat.st_dev != self.device {
            return Ok(());
        }
        let from = entry::open_directory(from, name)
            .map_err(|errno| self.failed(("open", Side::From, errno)))?;
        let to = entry::open_directory(to, name)
            .map_err(|errno| self.failed(("open", Side::To, errno)))?;
        self.copy_directory_contents(from.as_fd(), to.as_fd())
    }

    /// Links to the copy of a file that was copied under another name; returns false if it was not.
    fn link_to_copy(
        &mut self,
        stat: &Stat,
        to: BorrowedFd<'_>,
        name: &CStr,
    ) -> Result<bool, DatasetError> {
        let Some(linked) = self.links.get_mut(&(stat.st_dev, stat.st_ino)) else {
            #[expect(clippy::useless_conversion, reason = "32 bits wide on some machines")]
            let left = u64::from(stat.st_nlink) - 1;
            self.links.insert(
                (stat.st_dev, stat.st_ino),
                Linked {
                    path: self.at.clone(),
                    left,
                },
            );
            return Ok(false);
        };
        linked.left -= 1;
        let all_met = linked.left == 0;
        let made = fs::linkat(&self.root, &linked.path, to, name, AtFlags::empty());
        if all_met {
            self.links.remove(&(stat.st_dev, stat.st_ino));
        }
        made.map_err(|errno| self.failed(("link", Side::To, errno)))?;
        Ok(true)
    }

    fn create_entry(
        &mut self,
        from: BorrowedFd<'_>,
        to: BorrowedFd<'_>,
        name: &CStr,
        stat: &Stat,
    ) -> Result<(), Failure> {
        let make_failed = |errno| ("make", Side::To, errno);
        match entry::kind(stat) {
            FileType::RegularFile => self.copy_data(from, to, name),
            FileType::Symlink => {
                let target = fs::readlinkat(from, name, Vec::new())
                    .map_err(|errno| ("read the link", Side::From, errno))?;
                fs::symlinkat(target.as_c_str(), to, name).map_err(make_failed)
            }
            kind => {
                let mode = Mode::RUSR | Mode::WUSR;
                fs::mknodat(to, name, kind, mode, stat.st_rdev).map_err(make_failed)
            }
        }
    }

    fn copy_data(
        &mut self,
        from: BorrowedFd<'_>,
        to: BorrowedFd<'_>,
        name: &CStr,
    ) -> Result<(), Failure> {
        let read_failed = |errno| ("read", Side::From, errno);
        let from = entry::open_file(from, name).map_err(|errno| ("open", Side::From, errno))?;
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        let to = fs::openat(to, name, flags, Mode::RUSR | Mode::WUSR)
            .map_err(|errno| ("make", Side::To, errno))?;
        let stat = fs::fstat(&from).map_err(read_failed)?;
        if !is_sparse(&stat) {
            return self.copy_range(&from, &to, 0, u64::MAX);
        }
        let size = entry::size(&stat);
        entry::each_data_range(&from, size, read_failed, |start, end| {
            self.copy_range(&from, &to, start, end)
        })?;
        fs::ftruncate(&to, size).map_err(|errno| ("write to", Side::To, errno))
    }

    /// Copies the bytes from `at` to `end`, or to the end of the file.
    fn copy_range(
        &mut self,
        from: &OwnedFd,
        to: &OwnedFd,
        mut at: u64,
        end: u64,
    ) -> Result<(), Failure> {
        while at < end {
            if self.stop.requested() {
                return Err(("read", Side::From, Errno::INTR));
            }
            let most = usize::try_from(end - at).unwrap_or(PIECE).min(PIECE);
            let length = uninterrupted(|| rustix::io::pread(from, &mut self.buffer[..most], at))
                .map_err(|errno| ("read", Side::From, errno))?;
            if length == 0 {
                break;
            }
            entry::write_all(to, &self.buffer[..length], at)
                .map_err(|errno| ("write to", Side::To, errno))?;
            at += length as u64;
        }
        Ok(())
    }

    fn failed(&self, (operation, side, errno): Failure) -> DatasetError {
        if errno == Errno::INTR && self.stop.requested() {
            return DatasetError::Stopped;
        }
        let root = match side {
            Side::From => &self.from,
            Side::To => &self.to,
        };
        DatasetError::io(operation, root.join(&self.at), errno)
    }
}
