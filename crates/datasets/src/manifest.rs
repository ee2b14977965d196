//! Writes the manifest of a tree to a recording: names, types, sizes, holes, links, modes, sizes of
//! extended attributes, extents, and compressibility from a sample. Contents stay in memory for a
//! moment, and are not written.

use crate::DatasetError;
use crate::entry::{self, DEEPEST};
use crate::fragmentation;
use fsdyno_files::uninterrupted;
use fsdyno_model::CancelToken;
use fsdyno_trace::{Entry, EntryKind, Hole, LinkTarget, MAX_HOLES, PathId, Writer, XattrSize};
use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{self, CWD, FileType, Stat};
use rustix::io::Errno;
use std::collections::{BTreeMap, HashMap};
use std::ffi::{CStr, CString, OsStr};
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Component, Path, PathBuf};

/// Blocks of a file whose compressibility is sampled.
const SAMPLED_BLOCKS: u64 = 8;

/// Bytes of a sampled block: that of a page and of most file systems.
const BLOCK: usize = 4096;

/// The results of a scan, in addition to the entries that it wrote.
#[derive(Debug, Default)]
pub struct Scanned {
    pub entries: u64,
    /// Bytes of all regular files.
    pub bytes: u64,
    /// The text of each symbolic link, by its path relative to the tree.
    pub links: BTreeMap<Vec<u8>, Vec<u8>>,
    /// The reason why the manifest is not complete, one sentence each.
    pub incomplete: Vec<String>,
}

/// Which manifest of a recording is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ManifestKind {
    /// At the start: everything that a replay needs to create the tree.
    Start,
    /// At the end: names, types, sizes and links. No file is opened.
    End,
}

/// Writes the entries of a tree. Symbolic links are not followed, and other file systems are not
/// entered.
pub fn scan<W: Write>(
    root: &Path,
    moment: ManifestKind,
    writer: &mut Writer<W>,
    stop: &CancelToken,
) -> Result<Scanned, DatasetError> {
    let opened = entry::open_directory(CWD, root);
    let directory = opened.map_err(|errno: Errno| DatasetError::io("open", root, errno))?;
    let stat = fs::fstat(&directory);
    let stat = stat.map_err(|errno: Errno| DatasetError::io("examine", root, errno))?;
    let mut scan = Scan {
        root,
        moment,
        device: stat.st_dev,
        at: PathBuf::new(),
        writer,
        found: Scanned::default(),
        names: HashMap::new(),
        compressor: zstd::bulk::Compressor::new(1).ok(),
        left_out: BTreeMap::new(),
        stop,
    };
    let xattrs = scan.xattrs(&directory, c".");
    scan.write(PathId::ROOT, EntryKind::Directory, &stat, xattrs)?;
    scan.directory(&directory, PathId::ROOT, 0)?;
    let mut found = scan.found;
    for (why, count) in scan.left_out {
        found
            .incomplete
            .push(format!("{count} entries are not in the manifest: {why}"));
    }
    Ok(found)
}

struct Scan<'s, W: Write> {
    root: &'s Path,
    moment: ManifestKind,
    device: u64,
    /// Path of the current entry, relative to the root.
    at: PathBuf,
    writer: &'s mut Writer<W>,
    found: Scanned,
    /// Files with several names, by inode number.
    names: HashMap<u64, PathId>,
    compressor: Option<zstd::bulk::Compressor<'static>>,
    /// Entries that are not in the manifest, by reason.
    left_out: BTreeMap<&'static str, u64>,
    stop: &'s CancelToken,
}

impl<W: Write> Scan<'_, W> {
    fn directory(
        &mut self,
        directory: &OwnedFd,
        id: PathId,
        depth: usize,
    ) -> Result<(), DatasetError> {
        let mut names: Vec<CString> = Vec::new();
        let listed = entry::each_name(
            directory,
            |errno| errno,
            |name| {
                names.push(name.to_owned());
                Ok::<(), Errno>(())
            },
        );
        if listed.is_err() {
            self.leave_out("a directory cannot be read");
        }
        // Equal trees have equal manifests.
        names.sort();
        for name in names {
            self.stop.check()?;
            self.at.push(OsStr::from_bytes(name.to_bytes()));
            self.entry(directory, id, &name, depth)?;
            self.at.pop();
        }
        Ok(())
    }

    fn entry(
        &mut self,
        above: &OwnedFd,
        parent: PathId,
        name: &CStr,
        depth: usize,
    ) -> Result<(), DatasetError> {
        let Ok(stat) = entry::stat(above, name) else {
            self.leave_out("they disappeared, or cannot be examined");
            return Ok(());
        };
        let path = match self.writer.name(parent, name.to_bytes()) {
            Ok(path) => path,
            Err(error) if error.kind() == io::ErrorKind::InvalidInput => {
                self.leave_out("their path is too long");
                return Ok(());
            }
            Err(error) => return Err(self.failed(error)),
        };
        let xattrs = self.xattrs(above, name);
        let kind = match entry::kind(&stat) {
            FileType::Directory => {
                self.write(path, EntryKind::Directory, &stat, xattrs)?;
                return self.subdirectory(above, path, name, &stat, depth);
            }
            FileType::RegularFile => {
                if stat.st_nlink > 1
                    && let Some(first) = self.names.get(&stat.st_ino)
                {
                    return self.write(path, EntryKind::HardLink { to: *first }, &stat, xattrs);
                }
                self.file(above, name, &stat)
            }
            FileType::Symlink => {
                let Ok(text) = fs::readlinkat(above, name, Vec::new()) else {
                    self.leave_out("they disappeared, or cannot be examined");
                    return Ok(());
                };
                let target = self.link(text.to_bytes())?;
                EntryKind::Symlink { target }
            }
            FileType::Fifo => EntryKind::Fifo,
            FileType::Socket => EntryKind::Socket,
            _ => EntryKind::Device,
        };
        if stat.st_nlink > 1 && matches!(kind, EntryKind::File { .. }) {
            self.names.insert(stat.st_ino, path);
        }
        self.write(path, kind, &stat, xattrs)
    }

    fn subdirectory(
        &mut self,
        above: &OwnedFd,
        path: PathId,
        name: &CStr,
        stat: &Stat,
        depth: usize,
    ) -> Result<(), DatasetError> {
        if stat.st_dev != self.device {
            self.leave_out("they are mount points, whose content is not recorded");
        } else if depth >= DEEPEST {
            self.leave_out("they nest too deep");
        } else {
            match entry::open_directory(above, name) {
                Ok(directory) => return self.directory(&directory, path, depth + 1),
                Err(_) => self.leave_out("a directory cannot be read"),
            }
        }
        Ok(())
    }

    fn file(&mut self, above: &OwnedFd, name: &CStr, stat: &Stat) -> EntryKind {
        let size = entry::size(stat);
        self.found.bytes += size;
        let mut holes = Vec::new();
        let mut compressed_permille = None;
        let mut extents = None;
        if size > 0
            && self.moment == ManifestKind::Start
            && let Ok(file) = entry::open_file(above, name)
        {
            // The whole file where the file system does not report holes.
            let ranges = entry::data_ranges(&file, size).unwrap_or_else(|_| vec![(0, size)]);
            // A file without holes has one range. More holes than the most become data.
            let mut end = 0;
            for (from, to) in &ranges {
                if *from > end && holes.len() < MAX_HOLES {
                    holes.push(Hole {
                        offset: end,
                        length: from - end,
                    });
                }
                end = *to;
            }
            if end < size && holes.len() < MAX_HOLES {
                holes.push(Hole {
                    offset: end,
                    length: size - end,
                });
            }
            extents =
                fragmentation::count_file(&file, size).and_then(|count| u32::try_from(count).ok());
            compressed_permille = self.sample(&file, &ranges);
        }
        EntryKind::File {
            size,
            holes,
            extents,
            compressed_permille,
        }
    }

    /// Compressed size of up to 8 blocks at equal distances, in thousandths.
    fn sample(&mut self, file: &OwnedFd, ranges: &[(u64, u64)]) -> Option<u16> {
        let compressor = self.compressor.as_mut()?;
        let data: u64 = ranges.iter().map(|(from, to)| to - from).sum();
        let blocks = data.div_ceil(BLOCK as u64).min(SAMPLED_BLOCKS);
        let (mut raw, mut packed) = (0, 0);
        for number in 0..blocks {
            // The place in the data, then in the file.
            let mut at = data / blocks * number;
            let (from, to) = ranges.iter().find(|(from, to)| {
                let inside = at < to - from;
                if !inside {
                    at -= to - from;
                }
                inside
            })?;
            let length = (to - from - at).min(BLOCK as u64);
            let mut block = vec![0; usize::try_from(length).ok()?];
            let read = uninterrupted(|| rustix::io::pread(file, &mut block, from + at)).ok()?;
            let block = &block[..read];
            raw += block.len();
            packed += compressor.compress(block).ok()?.len().min(block.len());
        }
        (raw > 0).then(|| u16::try_from(packed * 1000 / raw).unwrap_or(1000))
    }

    /// Classifies a symbolic link, and keeps its text for the tracker.
    fn link(&mut self, text: &[u8]) -> Result<LinkTarget, DatasetError> {
        let path = self.at.as_os_str().as_bytes().to_vec();
        self.found.links.insert(path, text.to_vec());
        link_target(self.writer, self.root, &self.at, text).map_err(|error| self.failed(error))
    }

    fn write(
        &mut self,
        path: PathId,
        kind: EntryKind,
        stat: &Stat,
        xattrs: Vec<XattrSize>,
    ) -> Result<(), DatasetError> {
        let mode = stat.st_mode & 0o7777;
        let entry = Entry {
            path,
            mode,
            kind,
            xattrs,
        };
        let written = match self.moment {
            ManifestKind::Start => self.writer.entry(entry),
            ManifestKind::End => self.writer.last_entry(entry),
        };
        match written {
            Ok(()) => self.found.entries += 1,
            Err(error) if error.kind() == io::ErrorKind::InvalidInput => {
                self.leave_out("the format cannot express them");
            }
            Err(error) => return Err(self.failed(error)),
        }
        Ok(())
    }

    fn xattrs(&self, parent: impl AsFd, name: &CStr) -> Vec<XattrSize> {
        if self.moment == ManifestKind::End {
            return Vec::new();
        }
        let list = entry::xattrs(parent, name).unwrap_or_default();
        let sizes = list.into_iter().filter_map(|(name, value)| {
            Some(XattrSize {
                name: name.into_string().ok()?,
                size: u32::try_from(value.len()).ok()?,
            })
        });
        sizes.collect()
    }

    fn leave_out(&mut self, why: &'static str) {
        *self.left_out.entry(why).or_default() += 1;
    }

    fn failed(&self, error: io::Error) -> DatasetError {
        DatasetError::io("record", self.root.join(&self.at), error)
    }
}

/// What a recording keeps of the text of a symbolic link at a path of the tree.
///
/// # Errors
/// Errors of writing to the output.
pub fn link_target<W: Write>(
    writer: &mut Writer<W>,
    root: &Path,
    link: &Path,
    text: &[u8],
) -> io::Result<LinkTarget> {
    let outside = LinkTarget::Outside {
        length: u32::try_from(text.len().clamp(1, 4095)).unwrap_or(1),
    };
    let target = Path::new(OsStr::from_bytes(text));
    let inside = if target.is_absolute() {
        let inside = target.strip_prefix(root).ok().map(Path::to_owned);
        // Links in a tree for chroot lead from its root.
        inside.or_else(|| {
            let below = target.strip_prefix("/").ok()?;
            root.join(below)
                .symlink_metadata()
                .ok()
                .map(|_| below.to_owned())
        })
    } else {
        if fsdyno_trace::stays_inside(text, link.components().count().saturating_sub(1)) {
            return Ok(LinkTarget::Relative(text.to_vec()));
        }
        None
    };
    let plain = |path: &PathBuf| {
        path.components()
            .all(|part| matches!(part, Component::Normal(_)))
    };
    match inside.filter(plain) {
        Some(path) => match writer.path(&path) {
            Ok(path) => Ok(LinkTarget::Inside(path)),
            Err(error) if error.kind() == io::ErrorKind::InvalidInput => Ok(outside),
            Err(error) => Err(error),
        },
        None => Ok(outside),
    }
}
