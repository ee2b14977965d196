//! Creates the tree at the start of a recording.

use super::{Recording, equivalent, percent_of};
use crate::attributes::Lost;
use crate::content::{BUFFER, Content, Stream};
use crate::entry;
use crate::seed::Seed;
use crate::tree::lost_warnings;
use crate::work_dir::make_root;
use crate::{DatasetError, shown};
use fsdyno_model::{CancelToken, Capabilities, EntryKind as Stored, LeftOut, Warning, WarningKind};
use fsdyno_trace::{Entry, EntryKind, Hole, LinkTarget, PathId, Paths};
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::{self, AtFlags, FileType, Mode, OFlags, ResolveFlags};
use rustix::io::Errno;
use std::ffi::CString;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// The permission bits that are kept: no file of a recording becomes set-user-ID or set-group-ID.
const PERMISSIONS: u32 = 0o1777;

/// The text of a symbolic link: relative, so that it does not leave the tree.
pub fn link_text(paths: &Paths, link: PathId, target: &LinkTarget) -> Vec<u8> {
    match target {
        LinkTarget::Relative(text) => text.clone(),
        LinkTarget::Inside(path) => {
            let up = paths.depth(link).saturating_sub(1);
            let mut text = b"../".repeat(up);
            text.extend_from_slice(paths.path(*path).as_os_str().as_bytes());
            if text.is_empty() {
                text.push(b'.');
            }
            text
        }
        // Names of a length that a file system permits, which no file has.
        LinkTarget::Outside { length } => (1..=*length)
            .map(|at| {
                if at % 200 == 0 && at < *length {
                    b'/'
                } else {
                    b'~'
                }
            })
            .collect(),
    }
}

/// Creates the tree in a new directory.
pub(super) fn create(
    recording: &Recording,
    seed: Seed,
    to: &Path,
    stores: Capabilities,
    stop: &CancelToken,
) -> Result<Vec<Warning>, DatasetError> {
    let root = make_root(to)?;
    let mut creator = Creator {
        recording,
        seed,
        usual: recording.percent(),
        to,
        root,
        last: None,
        stores,
        buffer: vec![0; BUFFER].into(),
        lost: Lost::default(),
        left_out: LeftOut::default(),
        devices: 0,
        stop,
    };
    for entry in &recording.entries {
        stop.check()?;
        creator.entry(entry)?;
    }
    // At the end and from below: a directory may forbid to create anything in it.
    for entry in recording.entries.iter().rev() {
        if entry.kind == EntryKind::Directory {
            creator.finish_directory(entry)?;
        }
    }
    let mut warnings = lost_warnings(creator.lost);
    warnings.extend(creator.left_out.warning());
    if creator.devices > 0 {
        warnings.push(Warning::new(
            WarningKind::Entry,
            format!(
                "{} devices of the recording were created as FIFOs",
                creator.devices
            ),
            "a replay opens no device; operations on them may return other results",
        ));
    }
    Ok(warnings)
}

struct Creator<'a> {
    recording: &'a Recording,
    seed: Seed,
    /// The compressed size of files without a sample, percent.
    usual: u8,
    to: &'a Path,
    root: OwnedFd,
    /// The directory of the entry before.
    last: Option<(PathId, OwnedFd)>,
    stores: Capabilities,
    buffer: Box<[u8]>,
    lost: Lost,
    left_out: LeftOut,
    devices: u64,
    stop: &'a CancelToken,
}

impl Creator<'_> {
    fn failed(&self, operation: &'static str, path: PathId, errno: Errno) -> DatasetError {
        if self.stop.requested() {
            return DatasetError::Stopped;
        }
        let path = self.to.join(self.recording.paths.path(path));
        DatasetError::io(operation, path, errno)
    }

    fn directory(&self, path: PathId) -> Result<OwnedFd, DatasetError> {
        let text = self.recording.paths.path(path);
        let text = if text.as_os_str().is_empty() {
            Path::new(".")
        } else {
            &text
        };
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        // The tree is new, and all directories of the recording are directories in it.
        let within = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
        fs::openat2(&self.root, text, flags, Mode::empty(), within)
            .map_err(|errno| self.failed("open directory", path, errno))
    }

    fn entry(&mut self, entry: &Entry) -> Result<(), DatasetError> {
        let Some(above) = self.recording.paths.parent(entry.path) else {
            return Ok(());
        };
        let directory = match self.last.take() {
            Some((path, directory)) if path == above => directory,
            _ => match self.directory(above) {
                Ok(directory) => directory,
                // It was left out.
                Err(error) if self.left_out.count() > 0 && error.errno() == Some(libc::ENOENT) => {
                    return Ok(());
                }
                Err(error) => return Err(error),
            },
        };
        let made = self.make(entry, directory.as_fd());
        self.last = Some((above, directory));
        made
    }

    fn make(&mut self, entry: &Entry, directory: BorrowedFd<'_>) -> Result<(), DatasetError> {
        let paths = &self.recording.paths;
        let name = CString::new(paths.name(entry.path)).unwrap_or_default();
        let kind = match &entry.kind {
            EntryKind::Directory => Stored::Directory,
            EntryKind::File { size, .. } => Stored::File(*size),
            EntryKind::HardLink { .. } => Stored::HardLink,
            EntryKind::Symlink { .. } => Stored::Symlink,
            EntryKind::Fifo | EntryKind::Socket | EntryKind::Device => Stored::Special,
        };
        let mut can = self.stores.stores(kind, name.to_bytes());
        if self.stores.case_folding && entry::stat(directory, &name).is_ok() {
            can = Err("an entry with the name of another in other case");
        }
        if let Err(what) = can {
            let path = paths.path(entry.path);
            self.left_out.add(|| shown(&path), what);
            return Ok(());
        }
        let failed = |operation| move |errno| (operation, errno);
        let made = match &entry.kind {
            EntryKind::Directory => {
                fs::mkdirat(directory, &name, Mode::RWXU).map_err(failed("make directory"))
            }
            EntryKind::File {
                size,
                holes,
                compressed_permille,
                ..
            } => {
                let percent = compressed_permille.map_or(self.usual, |p| percent_of(p.into()));
                self.file(directory, &name, entry, *size, holes, percent)
            }
            EntryKind::HardLink { to } => {
                let (from, flags) = (paths.path(*to), AtFlags::empty());
                match fs::linkat(&self.root, &from, directory, &name, flags) {
                    // The file was left out.
                    Err(Errno::NOENT) if self.left_out.count() > 0 => Ok(()),
                    linked => linked.map_err(failed("link")),
                }
            }
            EntryKind::Symlink { target } => {
                let text = link_text(paths, entry.path, target);
                fs::symlinkat(text.as_slice(), directory, &name).map_err(failed("link"))
            }
            EntryKind::Fifo | EntryKind::Device => {
                self.devices += u64::from(entry.kind == EntryKind::Device);
                fs::mknodat(directory, &name, FileType::Fifo, Mode::RWXU, 0).map_err(failed("make"))
            }
            EntryKind::Socket => fs::mknodat(directory, &name, FileType::Socket, Mode::RWXU, 0)
                .map_err(failed("make")),
        };
        made.map_err(|(operation, errno)| self.failed(operation, entry.path, errno))?;
        if matches!(
            entry.kind,
            EntryKind::Directory | EntryKind::HardLink { .. }
        ) {
            return Ok(());
        }
        self.attributes(entry, directory, &name)
    }

    /// Extended attributes and permissions.
    fn attributes(
        &mut self,
        entry: &Entry,
        directory: BorrowedFd<'_>,
        name: &CString,
    ) -> Result<(), DatasetError> {
        let mut all_set = true;
        for xattr in &entry.xattrs {
            let name_of = CString::new(xattr.name.as_bytes()).unwrap_or_default();
            let size = xattr.size as usize;
            let value = equivalent(&xattr.name, size, entry.mode);
            let one = (name_of, value.unwrap_or_else(|| vec![b'x'; size]));
            // Not every file system has room, and some name spaces need rights.
            all_set &= entry::set_xattr(directory, name, &one).is_ok();
        }
        self.lost.xattrs += u64::from(!all_set);
        let symlink = matches!(entry.kind, EntryKind::Symlink { .. });
        if !symlink && self.stores.owners {
            let mode = Mode::from_raw_mode(entry.mode & PERMISSIONS);
            fs::chmodat(directory, name, mode, AtFlags::empty())
                .map_err(|errno| self.failed("set the mode of", entry.path, errno))?;
        }
        Ok(())
    }

    fn finish_directory(&mut self, entry: &Entry) -> Result<(), DatasetError> {
        let directory = match self.directory(entry.path) {
            Ok(directory) => directory,
            Err(error) if self.left_out.count() > 0 && error.errno() == Some(libc::ENOENT) => {
                return Ok(());
            }
            Err(error) => return Err(error),
        };
        self.attributes(entry, directory.as_fd(), &CString::from(c"."))
    }

    fn file(
        &mut self,
        directory: BorrowedFd<'_>,
        name: &CString,
        entry: &Entry,
        size: u64,
        holes: &[Hole],
        percent: u8,
    ) -> Result<(), (&'static str, Errno)> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        let file = fs::openat(directory, name, flags, Mode::RUSR | Mode::WUSR)
            .map_err(|errno| ("make", errno))?;
        let seed = self.seed.at(entry.path.0.into());
        let mut at = 0;
        let ends = holes
            .iter()
            .map(|hole| (hole.offset, hole.offset + hole.length));
        for (start, end) in ends.chain([(size, size)]) {
            let content = Content::Binary { percent };
            let mut stream = Stream::new(content, seed.at(at), start - at, &mut self.buffer);
            while let Some(piece) = stream.next_piece() {
                if self.stop.requested() {
                    return Err(("write to", Errno::INTR));
                }
                entry::write_all(&file, piece, at).map_err(|errno| ("write to", errno))?;
                at += piece.len() as u64;
            }
            at = end;
        }
        fs::ftruncate(&file, size).map_err(|errno| ("set the size of", errno))
    }
}
