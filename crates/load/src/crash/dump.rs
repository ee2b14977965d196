//! Reads the files of a recovered file system as a [`Tree`], and tries whether it can be used.

use fsdyno_crash::{DEVICE, Entry, EntryKind, Run, Source, SpecialKind, Tree, content};
use fsdyno_files::{errno, uninterrupted};
use rustix::fd::OwnedFd;
use rustix::fs::{
    AtFlags, Dir, FileType, Mode, OFlags, SeekFrom, Stat, fgetxattr, flistxattr, fstat, fsync,
    major, minor, mkdirat, open, openat, readlinkat, seek, statat, unlinkat,
};
use rustix::io::{Errno, pread, pwrite};
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::hash::{DefaultHasher, Hasher};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// The maximum depth of a directory that is read. A broken file system may have a loop.
const MAX_DEPTH: usize = 64;

/// The maximum number of names that are read of one directory.
const MAX_NAMES: usize = 10_000;

/// The approximate maximum size of a tree, bytes. A broken file system may show any number of
/// files.
const MAX_TREE_BYTES: usize = 4 << 20;

/// Roughly the bytes of an entry besides its path, and of a run.
const ENTRY: usize = 200;
const RUN: usize = 80;

/// The maximum size of the data that are read of a file, bytes; holes do not count.
const MAX_FILE_BYTES: u64 = 256 << 20;

/// Bytes of one read.
const CHUNK: usize = 256 << 10;

/// The name of the file that [`make_file`] makes.
const NEW_FILE: &str = "new file";

/// The attributes that are read.
const USER: &str = "user.";

/// Reads a tree. What cannot be read is recorded in its entries. With `exact`, also parts of units
/// and moved units are known ([`content::runs`]).
pub fn dump(root: &Path, exact: bool) -> Tree {
    let mut reader = Reader {
        entries: BTreeMap::new(),
        inodes: BTreeMap::new(),
        buffer: vec![0; CHUNK],
        room: MAX_TREE_BYTES,
        other: None,
        exact,
    };
    match open(root, DIRECTORY, Mode::empty()) {
        Ok(directory) => reader.enter("", &directory, 0),
        Err(error) => drop(
            reader
                .entries
                .insert(String::new(), unreadable(EntryKind::Directory, error)),
        ),
    }
    reader.number_inodes();
    Tree {
        entries: reader.entries,
        other: reader.other.map_or(0, |other| other.hash.finish()),
    }
}

const DIRECTORY: OFlags = OFlags::RDONLY
    .union(OFlags::DIRECTORY)
    .union(OFlags::NOFOLLOW)
    .union(OFlags::CLOEXEC);

struct Reader {
    entries: BTreeMap<String, Entry>,
    /// Device and inode of each path.
    inodes: BTreeMap<String, (u64, u64)>,
    buffer: Vec<u8>,
    /// The bytes that the tree may still take.
    room: usize,
    /// The bytes of no known source, if there are any.
    other: Option<OtherBytes>,
    exact: bool,
}

/// A hash of the bytes of no known source. It depends on the bytes and their places in the file, and
/// not on the reads that returned them: those follow the allocation of the file.
#[derive(Default)]
struct OtherBytes {
    hash: DefaultHasher,
    /// The end of the last bytes in their file.
    end: u64,
}

impl OtherBytes {
    fn add(&mut self, at: u64, bytes: &[u8]) {
        if at != self.end {
            self.hash.write_u64(at);
        }
        // SipHash is a hash of a stream: the division into calls does not count.
        self.hash.write(bytes);
        self.end = at + bytes.len() as u64;
    }
}

impl Reader {
    /// Adds an entry, as far as there is room for its runs.
    fn add(&mut self, path: String, mut entry: Entry) {
        let mut lists: Vec<&mut Vec<Run>> = entry.xattrs.values_mut().collect();
        if let EntryKind::File { runs, .. } = &mut entry.kind {
            lists.push(runs);
        }
        let mut whole = true;
        self.room = self.room.saturating_sub(ENTRY + path.len());
        for runs in lists {
            whole &= runs.len() * RUN <= self.room;
            runs.truncate(self.room / RUN);
            self.room -= runs.len() * RUN;
        }
        if !whole {
            note(&mut entry, Err(Errno::TOOBIG));
        }
        self.entries.insert(path, entry);
    }

    /// Reads a directory and all below it.
    fn enter(&mut self, path: &str, directory: &OwnedFd, depth: usize) {
        let mut entry = match fstat(directory) {
            Ok(about) => self.entry(path, &about, EntryKind::Directory),
            Err(error) => unreadable(EntryKind::Directory, error),
        };
        let xattrs = read_xattrs(directory, &mut self.buffer, self.exact, &mut entry.xattrs);
        note(&mut entry, xattrs);
        let mut names = Vec::new();
        let listed = names_in(directory, &mut names);
        note(&mut entry, listed);
        if depth >= MAX_DEPTH {
            note(&mut entry, Err(Errno::LOOP));
            names.clear();
        }
        let below = |name: &Vec<u8>| ENTRY + path.len() + name.len();
        if names.iter().map(below).sum::<usize>() > self.room {
            note(&mut entry, Err(Errno::TOOBIG));
            names.clear();
        }
        self.add(path.to_owned(), entry);
        names.sort();
        for name in names {
            let below = OsStr::from_bytes(&name).to_string_lossy();
            let below = if path.is_empty() {
                below.into_owned()
            } else {
                format!("{path}/{below}")
            };
            self.read(below, directory, OsStr::from_bytes(&name), depth);
        }
    }

    /// Reads an entry of a directory.
    fn read(&mut self, path: String, directory: &OwnedFd, name: &OsStr, depth: usize) {
        let about = match statat(directory, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(about) => about,
            Err(error) => {
                let entry = unreadable(EntryKind::Other, error);
                self.add(path, entry);
                return;
            }
        };
        let kind = FileType::from_raw_mode(about.st_mode);
        if kind == FileType::Directory {
            match openat(directory, name, DIRECTORY, Mode::empty()) {
                Ok(directory) => self.enter(&path, &directory, depth + 1),
                Err(error) => {
                    let mut entry = self.entry(&path, &about, EntryKind::Directory);
                    note(&mut entry, Err(error));
                    self.add(path, entry);
                }
            }
            return;
        }
        let mut entry = self.entry(&path, &about, EntryKind::Other);
        let read = match kind {
            FileType::RegularFile => self.file(directory, name, &about, &mut entry),
            FileType::Symlink => readlinkat(directory, name, Vec::new()).map(|text| {
                let text = text.to_string_lossy().into_owned();
                entry.kind = EntryKind::Symlink { text };
            }),
            FileType::Fifo => {
                let kind = SpecialKind::Fifo;
                entry.kind = EntryKind::Special { kind };
                Ok(())
            }
            FileType::CharacterDevice if (major(about.st_rdev), minor(about.st_rdev)) == DEVICE => {
                let kind = SpecialKind::Device;
                entry.kind = EntryKind::Special { kind };
                Ok(())
            }
            _ => Ok(()),
        };
        note(&mut entry, read);
        self.add(path, entry);
    }

    fn file(
        &mut self,
        directory: &OwnedFd,
        name: &OsStr,
        about: &Stat,
        entry: &mut Entry,
    ) -> Result<(), Errno> {
        let size = u64::try_from(about.st_size).unwrap_or_default();
        let mut runs = Vec::new();
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let read = openat(directory, name, flags, Mode::empty()).and_then(|file| {
            let xattrs = read_xattrs(&file, &mut self.buffer, self.exact, &mut entry.xattrs);
            self.read_runs(&file, size, &mut runs).and(xattrs)
        });
        entry.kind = EntryKind::File { size, runs };
        read
    }

    /// The sources of the data of a file. Holes are zeros and are not read.
    fn read_runs(&mut self, file: &OwnedFd, size: u64, runs: &mut Vec<Run>) -> Result<(), Errno> {
        let mut at = 0;
        let mut total = 0;
        while at < size {
            // A small file is read as a whole: one call, and nothing depends on its holes.
            let (data, end) = if size <= CHUNK as u64 {
                (0, size)
            } else {
                extent(file, at, size)?
            };
            add(runs, (data > at).then(|| zeros(at, data - at)));
            at = data;
            while at < end {
                let most = (end - at).min(self.buffer.len() as u64);
                let part = &mut self.buffer[..usize::try_from(most).unwrap_or_default()];
                let count = match uninterrupted(|| pread(file, &mut *part, at))? {
                    0 => return Ok(()),
                    count => count,
                };
                let found = content::runs(at, &part[..count], self.exact);
                for run in found.iter().filter(|run| run.source == Source::Other) {
                    let within =
                        |offset: u64| usize::try_from(offset - at).unwrap_or(count).min(count);
                    let end = within(run.offset + run.length);
                    let bytes = &part[within(run.offset)..end];
                    self.other.get_or_insert_default().add(run.offset, bytes);
                }
                add(runs, found);
                at += count as u64;
                total += count as u64;
                if total > MAX_FILE_BYTES {
                    return Err(Errno::FBIG);
                }
            }
        }
        Ok(())
    }

    fn entry(&mut self, path: &str, about: &Stat, kind: EntryKind) -> Entry {
        let inode = (about.st_dev, about.st_ino);
        self.inodes.insert(path.to_owned(), inode);
        let file = FileType::from_raw_mode(about.st_mode);
        Entry {
            kind,
            mode: (file != FileType::Symlink).then_some(about.st_mode & 0o7777),
            #[expect(
                clippy::useless_conversion,
                reason = "its width depends on the machine"
            )]
            links: (file != FileType::Directory).then(|| about.st_nlink.into()),
            inode: 0,
            xattrs: BTreeMap::new(),
            unreadable: None,
        }
    }

    /// Gives equal inodes equal numbers, in the order of paths.
    fn number_inodes(&mut self) {
        let mut numbers = BTreeMap::new();
        let mut next = 0;
        for (path, entry) in &mut self.entries {
            let number = match self.inodes.get(path) {
                Some(inode) => *numbers.entry(*inode).or_insert(next),
                None => next,
            };
            entry.inode = number;
            next = next.max(number + 1);
        }
    }
}

fn unreadable(kind: EntryKind, error: Errno) -> Entry {
    Entry {
        kind,
        mode: None,
        links: None,
        inode: 0,
        xattrs: BTreeMap::new(),
        unreadable: Some(errno::name(error).to_owned()),
    }
}

/// Records the first failure of an entry.
fn note(entry: &mut Entry, result: Result<(), Errno>) {
    if let Err(error) = result
        && entry.unreadable.is_none()
    {
        entry.unreadable = Some(errno::name(error).to_owned());
    }
}

/// The names in a directory, as far as they can be read.
fn names_in(directory: &OwnedFd, names: &mut Vec<Vec<u8>>) -> Result<(), Errno> {
    for entry in Dir::read_from(directory)? {
        let entry = entry?;
        let name = entry.file_name().to_bytes();
        if !matches!(name, b"." | b"..") {
            names.push(name.to_vec());
        }
        if names.len() >= MAX_NAMES {
            return Err(Errno::TOOBIG);
        }
    }
    Ok(())
}

fn read_xattrs(
    file: &OwnedFd,
    value: &mut [u8],
    exact: bool,
    xattrs: &mut BTreeMap<String, Vec<Run>>,
) -> Result<(), Errno> {
    let mut names = [0; 4096];
    let length = match flistxattr(file, &mut names) {
        // It has no attributes.
        Err(Errno::OPNOTSUPP) => return Ok(()),
        length => length?,
    };
    for name in names[..length].split(|byte| *byte == 0) {
        let name = String::from_utf8_lossy(name);
        if !name.starts_with(USER) {
            continue;
        }
        let length = fgetxattr(file, name.as_ref(), &mut *value)?;
        xattrs.insert(name.into_owned(), content::runs(0, &value[..length], exact));
    }
    Ok(())
}

/// The next data from `at` on; without any, the end of the file.
fn extent(file: &OwnedFd, at: u64, size: u64) -> Result<(u64, u64), Errno> {
    let data = match seek(file, SeekFrom::Data(at)) {
        Ok(data) => data.clamp(at, size),
        Err(Errno::NXIO) => return Ok((size, size)),
        // Holes are not known.
        Err(Errno::INVAL | Errno::OPNOTSUPP) => return Ok((at, size)),
        Err(error) => return Err(error),
    };
    let hole = seek(file, SeekFrom::Hole(data)).unwrap_or(size);
    Ok((data, hole.clamp(data, size)))
}

fn zeros(offset: u64, length: u64) -> Run {
    Run {
        offset,
        length,
        source: Source::Zeros,
    }
}

/// Adds runs after the others; equal neighbours become one.
fn add(runs: &mut Vec<Run>, more: impl IntoIterator<Item = Run>) {
    for run in more {
        match runs.last_mut() {
            Some(last)
                if last.source == run.source
                    && last.offset + last.length == run.offset
                    && !matches!(run.source, Source::Bytes(_)) =>
            {
                last.length += run.length;
            }
            _ => runs.push(run),
        }
    }
}

/// Makes a file in the root, with data that are durable; returns the name of the errno if that
/// fails.
pub fn make_file(root: &Path) -> Option<String> {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::CLOEXEC;
    let made = open(root, DIRECTORY, Mode::empty()).and_then(|root| {
        let file = openat(&root, NEW_FILE, flags, Mode::from(0o644))?;
        uninterrupted(|| pwrite(&file, &[1; 4096], 0))?;
        fsync(&file)
    });
    made.err().map(|error| errno::name(error).to_owned())
}

/// Deletes all files of a tree, then creates and deletes files of the same names. Names in `kept`
/// stay: those that a new file system has. Returns the first failure as text.
pub fn try_use(root: &Path, tree: &Tree, kept: &BTreeSet<String>) -> Option<String> {
    let root = match open(root, DIRECTORY, Mode::empty()) {
        Ok(root) => root,
        Err(error) => return Some(failure("open the root", "", error)),
    };
    // Names that were not read cannot be deleted.
    let mut entries = tree.entries.values();
    if entries.any(|entry| entry.unreadable.as_deref() == Some(errno::name(Errno::TOOBIG))) {
        return None;
    }
    let used = |path: &&String| !path.is_empty() && !kept.contains(*path);
    let paths: Vec<&String> = tree.entries.keys().filter(used).collect();
    let directory = |path: &&String| tree.entries[*path].kind == EntryKind::Directory;
    let remove = |act: &str| {
        // The entries of a directory come after the directory.
        paths.iter().rev().find_map(|path| {
            let flags = if directory(path) {
                AtFlags::REMOVEDIR
            } else {
                AtFlags::empty()
            };
            let removed = unlinkat(&root, path.as_str(), flags);
            removed.err().map(|error| failure(act, path, error))
        })
    };
    let create = || {
        paths.iter().find_map(|path| {
            let created = if directory(path) {
                mkdirat(&root, path.as_str(), Mode::from(0o755))
            } else {
                let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
                openat(&root, path.as_str(), flags, Mode::from(0o644)).map(drop)
            };
            let created = created.err();
            created.map(|error| failure("create anew", path, error))
        })
    };
    let left = || {
        let mut names = Vec::new();
        if let Err(error) = names_in(&root, &mut names) {
            return Some(failure("list the root", "", error));
        }
        let name = |name: &Vec<u8>| String::from_utf8_lossy(name).into_owned();
        let left = names.iter().map(name).find(|name| !kept.contains(name));
        left.map(|name| format!("{name} is there after everything was deleted"))
    };
    remove("delete")
        .or_else(left)
        .or_else(create)
        .or_else(|| remove("delete again"))
        .or_else(left)
}

fn failure(act: &str, path: &str, error: Errno) -> String {
    let gap = if path.is_empty() { "" } else { " " };
    format!("cannot {act}{gap}{path}: {}", errno::name(error))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::{self, File};
    use std::os::unix::fs::FileExt;

    #[test]
    fn a_large_sparse_file_is_its_data_between_zeros() {
        let folder = tempfile::tempdir().unwrap();
        let file = File::create(folder.path().join("f")).unwrap();
        let mut written = vec![0; 8192];
        content::fill(9, 1 << 30, &mut written);
        file.write_all_at(&written, 1 << 30).unwrap();
        file.set_len(3 << 30).unwrap();
        let tree = dump(folder.path(), false);
        let EntryKind::File { size, runs } = &tree.entries["f"].kind else {
            panic!("no file");
        };
        assert_eq!(*size, 3 << 30);
        let data = Run {
            offset: 1 << 30,
            length: 8192,
            source: Source::Operation(9),
        };
        let after = (1 << 30) + 8192;
        assert_eq!(
            *runs,
            [zeros(0, 1 << 30), data, zeros(after, (3 << 30) - after)]
        );
    }

    #[test]
    fn other_bytes_have_one_hash_however_they_are_read() {
        let bytes: Vec<u8> = (1..=200).collect();
        let hash = |parts: &[(u64, &[u8])]| {
            let mut other = OtherBytes::default();
            for (at, part) in parts {
                other.add(*at, part);
            }
            other.hash.finish()
        };
        let whole = hash(&[(4096, &bytes)]);
        let (one, two) = bytes.split_at(77);
        assert_eq!(hash(&[(4096, one), (4096 + 77, two)]), whole);
        assert_ne!(hash(&[(4096, one), (8192, two)]), whole);
        assert_ne!(hash(&[(0, &bytes)]), whole);
    }

    #[test]
    fn only_attributes_that_a_document_promises_are_read() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        fs::create_dir_all(root.join("A/B")).unwrap();
        fs::write(root.join("A/f"), vec![7; 8192]).unwrap();
        std::os::unix::fs::symlink("f", root.join("A/s")).unwrap();
        let before = dump(root, false);
        let directory = &before.entries["A"];
        assert!(directory.links.is_none() && directory.mode.is_some());
        assert_eq!(before.entries["A/s"].mode, None);
        // Blocks behind the end, and other times.
        let file = File::options().write(true).open(root.join("A/f")).unwrap();
        let kept = rustix::fs::FallocateFlags::KEEP_SIZE;
        // The file system of the test may not preallocate.
        let _ = rustix::fs::fallocate(&file, kept, 8192, 1 << 16);
        file.set_modified(std::time::UNIX_EPOCH).unwrap();
        fs::create_dir(root.join("A/B/C")).unwrap();
        fs::remove_dir(root.join("A/B/C")).unwrap();
        assert_eq!(dump(root, false), before);
    }

    #[test]
    fn a_tree_that_is_too_large_is_read_in_part() {
        let folder = tempfile::tempdir().unwrap();
        let mut bytes = vec![0; 1 << 20];
        for (number, unit) in (0..).zip(bytes.chunks_mut(16)) {
            unit.fill(u8::from(number % 2 == 0));
        }
        for name in ["a", "b"] {
            fs::write(folder.path().join(name), &bytes).unwrap();
        }
        let tree = dump(folder.path(), false);
        assert!(serde_json::to_vec(&tree).unwrap().len() < 2 * MAX_TREE_BYTES);
        for name in ["a", "b"] {
            assert_eq!(tree.entries[name].unreadable.as_deref(), Some("E2BIG"));
        }
    }

    #[test]
    fn a_tree_is_deleted_and_its_names_are_used_again() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        fs::create_dir_all(root.join("A/B")).unwrap();
        fs::create_dir(root.join("lost")).unwrap();
        fs::write(root.join("A/B/f"), "text").unwrap();
        fs::hard_link(root.join("A/B/f"), root.join("g")).unwrap();
        let kept = BTreeSet::from(["lost".to_owned()]);
        let tree = dump(root, false);
        assert_eq!(try_use(root, &tree, &kept), None);
        assert_eq!(
            dump(root, false).entries.keys().collect::<Vec<_>>(),
            ["", "lost"]
        );
        let failure = try_use(root, &tree, &kept).unwrap();
        assert_eq!(failure, "cannot delete g: ENOENT");
        fs::write(root.join("more"), "").unwrap();
        let failure =
            try_use(root, &dump(folder.path().join("A").as_path(), false), &kept).unwrap();
        assert_eq!(failure, "more is there after everything was deleted");
    }
}
