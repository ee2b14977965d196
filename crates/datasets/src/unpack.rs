//! Unpacks an archive like `tar -x`, untimed, and never outside of its target: every component of
//! every path is opened without following symbolic links.

use crate::attributes::{Attributes, Lost};
use crate::entry;
use crate::member::{Member, MemberKind, components, split};
use crate::{DatasetError, packed};
use fsdyno_model::{CancelToken, Capabilities, LeftOut, Warning};
use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{self, AtFlags, FileType, Mode, OFlags, Timespec};
use rustix::io::Errno;
use std::ffi::{CString, OsStr};
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// A hole of a file that was stored without its holes.
const HOLE: usize = 4096;

/// Unpacks `archive` into the directory `to`, open as `root`.
pub fn unpack(
    archive: &Path,
    to: &Path,
    root: &OwnedFd,
    stores: Capabilities,
    stop: &CancelToken,
) -> Result<Vec<Warning>, DatasetError> {
    let mut unpacker = Unpacker {
        to,
        root,
        parent: None,
        directories: Vec::new(),
        buffer: vec![0; 1 << 20].into(),
        stores,
        lost: Lost::default(),
        left_out: LeftOut::default(),
        stop,
    };
    packed::each_member(archive, u64::MAX, stop, |member, entry| {
        unpacker
            .member(member, entry)
            .map_err(|failure| match failure {
                Failure::Here(error) => error,
                Failure::Damaged(member, error) => {
                    packed::damaged(archive, Some(member), error, stop)
                }
            })
    })?;
    unpacker.finish()
}

enum Failure {
    /// The target directory.
    Here(DatasetError),
    /// The path in the archive.
    Damaged(PathBuf, io::Error),
}

struct Unpacker<'a> {
    to: &'a Path,
    root: &'a OwnedFd,
    /// The directory of the last member, which is usually that of the next.
    parent: Option<(Vec<u8>, OwnedFd)>,
    /// Directories get their mode and times after all their entries.
    directories: Vec<(Vec<u8>, Attributes)>,
    buffer: Box<[u8]>,
    stores: Capabilities,
    lost: Lost,
    left_out: LeftOut,
    stop: &'a CancelToken,
}

impl Unpacker<'_> {
    fn member(&mut self, member: Member, data: &mut impl Read) -> Result<(), Failure> {
        if let Err(what) = self.stores.stores(member.kind.entry(), &member.path) {
            let path = || member.shown_path().display().to_string();
            self.left_out.add(path, what);
            return Ok(());
        }
        let here = self.to.join(OsStr::from_bytes(&member.path));
        let attributes = attributes(&member);
        if member.kind == MemberKind::Directory {
            self.enter(&member.path)
                .map_err(|errno| failed("make directory", &here, errno))?;
            self.directories.push((member.path, attributes));
            return Ok(());
        }
        let (directory, name) = split(&member.path);
        self.enter(directory)
            .map_err(|errno| failed("make the directory of", &here, errno))?;
        let Some((_, parent)) = self.parent.take() else {
            return Ok(());
        };
        let made = self.make(&member, name, &parent, &here, data);
        if made.is_ok() && !matches!(member.kind, MemberKind::HardLink(_)) {
            attributes
                .apply(
                    parent.as_fd(),
                    name_of(name).as_c_str(),
                    &self.stores,
                    &mut self.lost,
                )
                .map_err(|(operation, errno)| failed(operation, &here, errno))?;
        }
        self.parent = Some((directory.to_vec(), parent));
        made
    }

    fn make(
        &mut self,
        member: &Member,
        name: &[u8],
        parent: &OwnedFd,
        here: &Path,
        data: &mut impl Read,
    ) -> Result<(), Failure> {
        // A later member replaces an earlier one, as in `tar -x`.
        match fs::unlinkat(parent, name, AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => {}
            Err(errno) => return Err(failed("replace", here, errno)),
        }
        let mode = Mode::RUSR | Mode::WUSR;
        let node = |kind, device| fs::mknodat(parent, name, kind, mode, device);
        let done = match &member.kind {
            MemberKind::File { sparse, .. } => {
                return self.data(member, name, parent, here, data, *sparse);
            }
            // Directories are made by their paths.
            MemberKind::Directory => Ok(()),
            MemberKind::Symlink(target) => fs::symlinkat(target.as_slice(), parent, name),
            MemberKind::HardLink(target) => self.link(target, parent, name),
            MemberKind::Fifo => node(FileType::Fifo, 0),
            MemberKind::Device { block, number } => node(
                if *block {
                    FileType::BlockDevice
                } else {
                    FileType::CharacterDevice
                },
                fs::makedev(number.0, number.1),
            ),
        };
        done.map_err(|errno| failed("make", here, errno))
    }

    fn link(&self, target: &[u8], parent: &OwnedFd, name: &[u8]) -> rustix::io::Result<()> {
        let (directory, target) = split(target);
        let from = self.walk(directory, false)?;
        fs::linkat(&from, target, parent, name, AtFlags::empty())
    }

    fn data(
        &mut self,
        member: &Member,
        name: &[u8],
        parent: &OwnedFd,
        here: &Path,
        data: &mut impl Read,
        sparse: bool,
    ) -> Result<(), Failure> {
        let write_failed = |errno| failed("write to", here, errno);
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        let file = fs::openat(parent, name, flags, Mode::RUSR | Mode::WUSR)
            .map_err(|errno| failed("make", here, errno))?;
        let mut at = 0;
        loop {
            if self.stop.requested() {
                return Err(Failure::Here(DatasetError::Stopped));
            }
            let length = entry::fill(&mut self.buffer, |rest| data.read(rest))
                .map_err(|error| Failure::Damaged(member.shown_path(), error))?;
            if length == 0 {
                break;
            }
            let step = if sparse { HOLE } else { length };
            for piece in self.buffer[..length].chunks(step) {
                if !sparse || piece.iter().any(|byte| *byte != 0) {
                    entry::write_all(&file, piece, at).map_err(write_failed)?;
                }
                at += piece.len() as u64;
            }
        }
        if sparse {
            fs::ftruncate(&file, at).map_err(write_failed)?;
        }
        Ok(())
    }

    /// Makes `directory` the parent of the next members; creates missing directories.
    fn enter(&mut self, directory: &[u8]) -> rustix::io::Result<()> {
        if self
            .parent
            .as_ref()
            .is_some_and(|(path, _)| path == directory)
        {
            return Ok(());
        }
        self.parent = Some((directory.to_vec(), self.walk(directory, true)?));
        Ok(())
    }

    /// Opens a directory, component by component.
    fn walk(&self, directory: &[u8], make: bool) -> rustix::io::Result<OwnedFd> {
        let mut at = entry::open_directory(self.root, c".")?;
        for part in components(directory) {
            at = match entry::open_directory(&at, part) {
                Err(Errno::NOENT) if make => {
                    // The default mode of `mkdir`, for directories without a member.
                    fs::mkdirat(&at, part, Mode::from_raw_mode(0o755))?;
                    entry::open_directory(&at, part)?
                }
                opened => opened?,
            };
        }
        Ok(at)
    }

    /// Gives directories their attributes, innermost first.
    fn finish(mut self) -> Result<Vec<Warning>, DatasetError> {
        let directories = std::mem::take(&mut self.directories);
        for (path, attributes) in directories.into_iter().rev() {
            let here = self.to.join(OsStr::from_bytes(&path));
            let directory = self
                .walk(&path, false)
                .map_err(|errno| DatasetError::io("open", &here, errno))?;
            attributes
                .apply(directory.as_fd(), c".", &self.stores, &mut self.lost)
                .map_err(|(operation, errno)| DatasetError::io(operation, &here, errno))?;
        }
        Ok(self.left_out.warning().into_iter().collect())
    }
}

fn failed(operation: &'static str, here: &Path, errno: Errno) -> Failure {
    Failure::Here(DatasetError::io(operation, here, errno))
}

fn attributes(member: &Member) -> Attributes {
    let modified = Timespec {
        tv_sec: member.modified.0,
        tv_nsec: i64::from(member.modified.1),
    };
    Attributes {
        kind: match member.kind {
            MemberKind::Symlink(_) => FileType::Symlink,
            _ => FileType::RegularFile,
        },
        mode: member.mode,
        owner: member.owner,
        group: member.group,
        accessed: modified,
        modified,
        xattrs: Vec::new(),
    }
}

fn name_of(name: &[u8]) -> CString {
    // The path of a member was checked to contain no zero byte.
    CString::new(name).unwrap_or_default()
}
