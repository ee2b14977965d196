//! An ordinary user fills a file system, uses it while it is full, and deletes all files.
//!
//! The content of every block names its file, its version and its place, so that
//! [`FullLife::verify`] finds what is damaged or gone. Content cannot be compressed.

use crate::command::become_user;
use crate::tool_run::User;
use fsdyno_datasets::seed::Seed;
use fsdyno_files::{errno, uninterrupted};
use fsdyno_model::{ActionOutcome, Bytes, FillSpeed, FullAction, FullDisk, Nanos};
use rustix::fs::{
    AtFlags, Mode, OFlags, fchmod, fdatasync, fsync, mkdirat, open, openat, renameat, syncfs,
    unlinkat,
};
use rustix::io::{Errno, pwrite, read, write};
use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

/// The user of the files: not root, which may use more of some file systems.
pub const USER: User = User {
    uid: 1000,
    gid: 1000,
};

const BLOCK: usize = 4096;

/// A write that fails may have changed a part of a block.
const SECTOR: usize = 512;

/// The bytes of a write call.
const PIECE: usize = 128 << 10;

/// The sizes of files: from this on, each of so many octaves as often as the others.
const SMALLEST: u64 = 1024;
const OCTAVES: u64 = 10;

const FILES_IN_DIRECTORY: u64 = 64;

/// The parts of the space that are filled between two syncs.
const PARTS: u64 = 128;

/// The most files of one block after the first error, and the most rounds of them.
const MAX_TOP_UP: u64 = 100_000;
const MAX_ROUNDS: u32 = 20;

const DATABASE: &str = "database";
const LOG: &str = "log";

/// The last block of the log has room for what is appended.
const DATABASE_BLOCKS: u64 = 4096;
const LOG_LENGTH: u64 = 60_000;
const APPENDED: u64 = 256;
const NOTE: u64 = 16 << 10;
const OVERWRITTEN: usize = 64;

/// How many seconds deleted space is waited for.
const PATIENCE: u32 = 30;

/// Works as [`USER`] in a thread of its own.
pub fn as_user<T: Send>(work: impl FnOnce() -> T + Send) -> io::Result<T> {
    thread::scope(|scope| {
        let worker = scope.spawn(|| become_user(USER).map(|()| work()));
        worker
            .join()
            .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

/// An error of a system call.
#[derive(Debug, Clone, Copy)]
struct Failed {
    call: &'static str,
    errno: Errno,
}

fn calling<T>(call: &'static str, returned: Result<T, Errno>) -> Result<T, Failed> {
    returned.map_err(|errno| Failed { call, errno })
}

/// Whether what was written must still be there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Durability {
    /// Not synced yet.
    Written,
    /// A later sync succeeded.
    Synced,
    /// A later sync failed.
    Doubtful,
}

/// A file, and what it may contain.
#[derive(Debug)]
struct Known {
    /// Below the root.
    path: String,
    /// The number that its content names.
    number: u64,
    /// Its versions and lengths, each of which is right.
    allowed: Vec<(u32, u64)>,
    /// Blocks that may also have version 1, and whether they must.
    overwritten: BTreeSet<u64>,
    must_be_new: bool,
    durability: Durability,
}

/// The life of one file system.
#[derive(Debug)]
pub struct FullLife {
    seed: Seed,
    known: Vec<Known>,
    next: u64,
    pub report: FullDisk,
}

impl FullLife {
    pub fn new(seed: u64) -> Self {
        Self {
            seed: Seed::new(seed).part("full"),
            known: Vec::new(),
            next: 0,
            report: FullDisk {
                seed,
                ..FullDisk::default()
            },
        }
    }

    /// Makes a database, a log and notes; then fills the rest.
    pub fn fill(&mut self, root: &Path) -> io::Result<()> {
        let directory = Directory::open(root)?;
        directory.sync().map_err(broken)?;
        self.report.available = directory.available()?;
        self.make_known(&directory).map_err(broken)?;
        let began = Instant::now();
        let mut steps = vec![(0, Nanos(0))];
        let sizes = self.seed.part("sizes");
        let part = (self.report.available.0 / PARTS).max(1);
        let mut total = 0;
        let refused = loop {
            let size = size_of(sizes.at(self.next));
            let (length, written) = self.add(&directory, size);
            total += length;
            let last = steps.last().map_or(0, |(bytes, _)| *bytes);
            let mut failed = written.err();
            if total - last >= part || failed.is_some() {
                let synced = self.sync(&directory);
                failed = failed.or(synced.err());
                steps.push((total, Nanos::from(began.elapsed())));
            }
            if let Some(failed) = failed {
                break failed;
            }
        };
        refused.call.clone_into(&mut self.report.refused_by);
        self.report.refused_with = errno::text(refused.errno);
        self.report.speed = bands(&steps);
        self.top_up(&directory);
        let known = self.known.iter();
        let lengths = known.filter_map(|one| one.allowed.first().map(|(_, length)| length));
        self.report.stored = Bytes(lengths.sum());
        self.report.said_available = directory.available()?;
        Ok(())
    }

    fn make_known(&mut self, directory: &Directory) -> Result<(), Failed> {
        directory.mkdir("notes")?;
        directory.mkdir("fill")?;
        let mut files = vec![
            (DATABASE.to_owned(), DATABASE_BLOCKS * BLOCK as u64),
            (LOG.to_owned(), LOG_LENGTH),
        ];
        files.extend((0..4).map(|note| (format!("notes/{note}"), NOTE)));
        for (path, size) in files {
            self.add_at(directory, path, size).1?;
        }
        self.next = FILES_IN_DIRECTORY;
        self.sync(directory)
    }

    /// Stores files of one block until none can be stored, also after a sync.
    fn top_up(&mut self, directory: &Directory) {
        let mut added = 0;
        for _ in 0..MAX_ROUNDS {
            let before = added;
            while added < MAX_TOP_UP && self.add(directory, BLOCK as u64).1.is_ok() {
                added += 1;
            }
            let synced = self.sync(directory);
            if added == before || synced.is_err() {
                return;
            }
        }
    }

    /// Adds a file to those that fill; returns its length.
    fn add(&mut self, directory: &Directory, size: u64) -> (u64, Result<(), Failed>) {
        let parent = self.next / FILES_IN_DIRECTORY;
        if self.next.is_multiple_of(FILES_IN_DIRECTORY) {
            let made = directory.mkdir(&format!("fill/{parent}"));
            if made.is_err() {
                return (0, made);
            }
        }
        self.add_at(directory, format!("fill/{parent}/{}", self.next), size)
    }

    fn add_at(
        &mut self,
        directory: &Directory,
        path: String,
        size: u64,
    ) -> (u64, Result<(), Failed>) {
        let number = self.next;
        self.next += 1;
        let file = match directory.create(&path, OFlags::empty()) {
            Ok(file) => file,
            Err(failed) => return (0, Err(failed)),
        };
        let (length, written) = self.write(&file, (number, 0), (0, size));
        self.known.push(Known {
            path,
            number,
            allowed: vec![(0, length)],
            overwritten: BTreeSet::new(),
            must_be_new: false,
            durability: Durability::Written,
        });
        (length, written)
    }

    /// Writes this content of a file from an offset to an end; returns how much was written.
    fn write(
        &self,
        file: &OwnedFd,
        content: (u64, u32),
        (from, to): (u64, u64),
    ) -> (u64, Result<(), Failed>) {
        let mut buffer = vec![0; PIECE];
        let mut at = from;
        while at < to {
            let piece = usize::try_from(to - at).map_or(PIECE, |rest| rest.min(PIECE));
            self.content(content, at, &mut buffer[..piece]);
            match calling("write", uninterrupted(|| write(file, &buffer[..piece]))) {
                Ok(count) => at += count as u64,
                Err(failed) => return (at - from, Err(failed)),
            }
        }
        (at - from, Ok(()))
    }

    /// Fills `into` with the content of a version of a file from `at` on.
    fn content(&self, (number, version): (u64, u32), at: u64, into: &mut [u8]) {
        let of_version = self.seed.at(number).at(version.into());
        let (mut at, mut rest) = (at, into);
        while !rest.is_empty() {
            let within = usize::try_from(at % BLOCK as u64).unwrap_or_default();
            let count = rest.len().min(BLOCK - within);
            let (now, later) = rest.split_at_mut(count);
            let words = of_version.at(at / BLOCK as u64);
            let mut block = [0; BLOCK];
            for (index, word) in (0..).zip(block.chunks_exact_mut(8)) {
                word.copy_from_slice(&words.at(index).value().to_le_bytes());
            }
            now.copy_from_slice(&block[within..within + count]);
            rest = later;
            at += count as u64;
        }
    }

    /// Syncs the file system: what was written before is durable, or an error was reported.
    fn sync(&mut self, directory: &Directory) -> Result<(), Failed> {
        let synced = directory.sync();
        let reached = match synced {
            Ok(()) => Durability::Synced,
            Err(_) => Durability::Doubtful,
        };
        let written = self.known.iter_mut();
        for one in written.filter(|one| one.durability == Durability::Written) {
            one.durability = reached;
        }
        synced
    }

    /// Does everything that a user tries on a full file system.
    pub fn use_full(&mut self, root: &Path) -> io::Result<()> {
        let directory = Directory::open(root)?;
        let mut freed = 0;
        for action in FullAction::ALL {
            let done = match action {
                FullAction::Overwrite => self.overwrite(&directory),
                FullAction::Append => self.append(&directory),
                FullAction::Rename => self.rename(&directory),
                FullAction::Chmod => chmod(&directory),
                FullAction::Create => self.create_empty(&directory),
                FullAction::SaveByRename => self.save_by_rename(&directory),
                FullAction::SaveInPlace => {
                    let done = self.save_in_place(&directory);
                    self.report.actions.push(done);
                    continue;
                }
                FullAction::Delete => {
                    let first = FullDisk::DELETED[0];
                    self.delete(&directory, first, &mut freed)
                }
            };
            self.report.actions.push(ActionOutcome {
                action,
                error: done.err().map(|failed| errno::text(failed.errno)),
                content_gone: false,
            });
        }
        if freed > 0 {
            self.make_room(&directory, freed);
        }
        // Its error is known: it concerns what was written since the last one.
        let _ = self.sync(&directory);
        Ok(())
    }

    fn of(&mut self, path: &str) -> Option<&mut Known> {
        self.known.iter_mut().find(|one| one.path == path)
    }

    fn overwrite(&mut self, directory: &Directory) -> Result<(), Failed> {
        let places = self.seed.part("overwritten");
        let mut blocks = BTreeSet::new();
        let mut draw = 0;
        while blocks.len() < OVERWRITTEN {
            blocks.insert(places.at(draw).below(DATABASE_BLOCKS));
            draw += 1;
        }
        let Some(number) = self.of(DATABASE).map(|one| one.number) else {
            return Ok(());
        };
        let file = directory.open_file(DATABASE, OFlags::WRONLY)?;
        let written = blocks.iter().try_for_each(|block| {
            let at = block * BLOCK as u64;
            let mut content = [0; BLOCK];
            self.content((number, 1), at, &mut content);
            match calling("write", uninterrupted(|| pwrite(&file, &content, at)))? {
                BLOCK => Ok(()),
                // What follows a short write would have failed.
                _ => Err(Failed {
                    call: "write",
                    errno: Errno::NOSPC,
                }),
            }
        });
        let done = written.and_then(|()| calling("fdatasync", uninterrupted(|| fdatasync(&file))));
        if let Some(one) = self.of(DATABASE) {
            one.overwritten = blocks;
            one.must_be_new = done.is_ok();
        }
        done
    }

    fn append(&mut self, directory: &Directory) -> Result<(), Failed> {
        let Some(number) = self.of(LOG).map(|one| one.number) else {
            return Ok(());
        };
        let file = directory.open_file(LOG, OFlags::WRONLY | OFlags::APPEND)?;
        let end = LOG_LENGTH + APPENDED;
        let (length, written) = self.write(&file, (number, 0), (LOG_LENGTH, end));
        let done = written.and_then(|()| calling("fsync", uninterrupted(|| fsync(&file))));
        if let Some(one) = self.of(LOG) {
            match done {
                Ok(()) => one.allowed = vec![(0, end)],
                Err(_) => one.allowed.push((0, LOG_LENGTH + length)),
            }
        }
        done
    }

    fn rename(&mut self, directory: &Directory) -> Result<(), Failed> {
        let (from, to) = ("notes/3", "notes/renamed");
        directory.rename(from, to)?;
        let done = directory.sync_directory("notes");
        if let Some(one) = self.of(from) {
            to.clone_into(&mut one.path);
            if done.is_err() {
                one.durability = Durability::Doubtful;
            }
        }
        done
    }

    fn create_empty(&mut self, directory: &Directory) -> Result<(), Failed> {
        let path = "notes/empty";
        let file = directory.create(path, OFlags::empty())?;
        let done = calling("fsync", uninterrupted(|| fsync(&file)));
        self.known.push(Known {
            path: path.to_owned(),
            number: 0,
            allowed: vec![(0, 0)],
            overwritten: BTreeSet::new(),
            must_be_new: false,
            durability: match done {
                Ok(()) => Durability::Synced,
                Err(_) => Durability::Doubtful,
            },
        });
        done
    }

    fn save_by_rename(&mut self, directory: &Directory) -> Result<(), Failed> {
        let (path, new) = ("notes/0", "notes/0.new");
        let Some(number) = self.of(path).map(|one| one.number) else {
            return Ok(());
        };
        let saved = directory
            .create(new, OFlags::empty())
            .and_then(|file| {
                self.write(&file, (number, 1), (0, NOTE)).1?;
                calling("fsync", uninterrupted(|| fsync(&file)))
            })
            .and_then(|()| directory.rename(new, path));
        if saved.is_err() {
            // A program tells its user, and removes what it could not write.
            let _ = directory.unlink(new);
            return saved;
        }
        let done = directory.sync_directory("notes");
        if let Some(one) = self.of(path) {
            match done {
                Ok(()) => one.allowed = vec![(1, NOTE)],
                Err(_) => one.allowed.push((1, NOTE)),
            }
        }
        done
    }

    fn save_in_place(&mut self, directory: &Directory) -> ActionOutcome {
        let path = "notes/1";
        let number = self.of(path).map_or(0, |one| one.number);
        let opened = directory.open_file(path, OFlags::WRONLY | OFlags::TRUNC);
        let done = opened.and_then(|file| {
            self.write(&file, (number, 1), (0, NOTE)).1?;
            calling("fsync", uninterrupted(|| fsync(&file)))
        });
        let mut content_gone = false;
        if let Some(at) = self.known.iter().position(|one| one.path == path) {
            if done.is_ok() {
                self.known[at].allowed = vec![(1, NOTE)];
            } else {
                let one = self.known.remove(at);
                content_gone = self.fault(directory, &one).is_some();
            }
        }
        ActionOutcome {
            action: FullAction::SaveInPlace,
            error: done.err().map(|failed| errno::text(failed.errno)),
            content_gone,
        }
    }

    /// Deletes files until so many per cent of what was stored are deleted.
    fn delete(
        &mut self,
        directory: &Directory,
        percent: u32,
        freed: &mut u64,
    ) -> Result<(), Failed> {
        let wanted = self.report.stored.0 / 100 * u64::from(percent);
        let is_filler = |one: &Known| one.path.starts_with("fill/");
        let fillers = self.known.iter().filter(|one| is_filler(one)).count();
        let skipped = self.seed.part("deleted").below(fillers as u64 / 2);
        let candidates = self.known.iter().filter(|one| is_filler(one));
        let candidates = candidates.skip(usize::try_from(skipped).unwrap_or_default());
        let (mut gone, mut done) = (BTreeSet::new(), Ok(()));
        for one in candidates {
            if *freed >= wanted {
                break;
            }
            done = directory.unlink(&one.path);
            if done.is_err() {
                break;
            }
            *freed += one.allowed.first().map_or(0, |(_, length)| *length);
            gone.insert(one.number);
        }
        self.known
            .retain(|one| !is_filler(one) || !gone.contains(&one.number));
        done
    }

    /// Deletes more and more until half of what is deleted can be written again.
    fn make_room(&mut self, directory: &Directory, mut freed: u64) {
        for percent in FullDisk::DELETED {
            let deleted = self.delete(directory, percent, &mut freed);
            self.report.deleted_percent = percent;
            self.report.room_after_seconds = self.reuse(directory, freed / 2);
            if self.report.room_after_seconds.is_some() || deleted.is_err() {
                return;
            }
        }
    }

    /// After how many seconds so much could be written again; none if it could not be.
    fn reuse(&mut self, directory: &Directory, size: u64) -> Option<u32> {
        for seconds in 0..=PATIENCE {
            if seconds > 0 {
                let _ = self.sync(directory);
                thread::sleep(Duration::from_secs(1));
            }
            let path = format!("again {} {seconds}", self.report.deleted_percent);
            let before = self.known.len();
            let (_, written) = self.add_at(directory, path.clone(), size);
            if written.and_then(|()| self.sync(directory)).is_ok() {
                return Some(seconds);
            }
            self.known.truncate(before);
            let _ = directory.unlink(&path);
        }
        None
    }

    /// Counts the files that are damaged or gone.
    pub fn verify(&mut self, root: &Path) -> io::Result<()> {
        let directory = Directory::open(root)?;
        for one in &self.known {
            let Some(fault) = self.fault(&directory, one) else {
                continue;
            };
            if one.durability == Durability::Synced {
                self.report.lost += 1;
                let what = || format!("`{}`: {fault}", one.path);
                self.report.lost_first.get_or_insert_with(what);
            } else {
                self.report.unsynced += 1;
            }
        }
        Ok(())
    }

    /// What is wrong with a file; none if it has an allowed content.
    fn fault(&self, directory: &Directory, known: &Known) -> Option<String> {
        let file = match directory.open_file(&known.path, OFlags::RDONLY) {
            Ok(file) => file,
            Err(failed) => return Some(errno::text(failed.errno)),
        };
        let mut found = Vec::new();
        let mut buffer = vec![0; PIECE];
        loop {
            match calling("read", uninterrupted(|| read(&file, &mut buffer))) {
                Ok(0) => break,
                Ok(count) => found.extend_from_slice(&buffer[..count]),
                Err(failed) => return Some(errno::text(failed.errno)),
            }
        }
        let length = found.len() as u64;
        if !known.allowed.iter().any(|(_, allowed)| *allowed == length) {
            let of = known.allowed.first().map_or(0, |(_, length)| *length);
            return Some(format!("{length} bytes, not {of}"));
        }
        let wrong = known.allowed.iter().map(|(version, length)| {
            let all = (0..length.div_ceil(BLOCK as u64)).zip(found.chunks(BLOCK));
            let mut wrong = all.filter(|(block, bytes)| {
                let right = |version| {
                    let mut right = [0; BLOCK];
                    let at = block * BLOCK as u64;
                    self.content((known.number, version), at, &mut right[..bytes.len()]);
                    right
                };
                let is_overwritten = known.overwritten.contains(block);
                let old = right(*version);
                let new = if is_overwritten { right(1) } else { old };
                let sectors = bytes
                    .chunks(SECTOR)
                    .zip(old.chunks(SECTOR).zip(new.chunks(SECTOR)));
                !sectors.into_iter().all(|(found, (old, new))| {
                    let may_be_old = !(is_overwritten && known.must_be_new);
                    new.starts_with(found) || (may_be_old && old.starts_with(found))
                })
            });
            (*length == found.len() as u64).then(|| wrong.next().map(|(block, _)| block))
        });
        let wrong: Vec<Option<u64>> = wrong.flatten().collect();
        if wrong.contains(&None) {
            return None;
        }
        let block = wrong.into_iter().flatten().next().unwrap_or_default();
        Some(format!("other content in its block {block}"))
    }

    /// Deletes all files, waits, and notes what can be written then.
    pub fn empty(&mut self, root: &Path, settling: Duration) -> io::Result<()> {
        for entry in fs::read_dir(root)? {
            let path = entry?.path();
            if path.is_dir() {
                fs::remove_dir_all(&path)?;
            } else {
                fs::remove_file(&path)?;
            }
        }
        let directory = Directory::open(root)?;
        directory.sync().map_err(broken)?;
        thread::sleep(settling);
        directory.sync().map_err(broken)?;
        self.report.emptied = Some(directory.available()?);
        Ok(())
    }
}

fn chmod(directory: &Directory) -> Result<(), Failed> {
    let file = directory.open_file("notes/2", OFlags::RDONLY)?;
    calling(
        "fchmod",
        uninterrupted(|| fchmod(&file, Mode::RUSR | Mode::WUSR)),
    )?;
    calling("fsync", uninterrupted(|| fsync(&file)))
}

fn size_of(seed: Seed) -> u64 {
    let octave = SMALLEST << seed.part("octave").below(OCTAVES);
    octave + seed.part("size").below(octave)
}

/// The speed in each band; a step belongs to the band in which it began.
fn bands(steps: &[(u64, Nanos)]) -> Vec<FillSpeed> {
    let total = steps.last().map_or(0, |(bytes, _)| *bytes);
    let ends = FullDisk::BANDS.into_iter().skip(1).chain([101]);
    let bands = FullDisk::BANDS.into_iter().zip(ends);
    bands
        .map(|(from, to)| {
            let of_band = steps.windows(2).filter(|pair| {
                let percent = pair[0].0 * 100 / total.max(1);
                (u64::from(from)..u64::from(to)).contains(&percent)
            });
            let (mut bytes, mut ns) = (0, 0);
            for pair in of_band {
                bytes += pair[1].0 - pair[0].0;
                ns += pair[1].1.0 - pair[0].1.0;
            }
            FillSpeed {
                from_percent: from,
                bytes: Bytes(bytes),
                ns: Nanos(ns),
            }
        })
        .collect()
}

fn broken(failed: Failed) -> io::Error {
    io::Error::other(format!("{}: {}", failed.call, errno::text(failed.errno)))
}

/// The root of the files.
struct Directory(OwnedFd);

impl Directory {
    fn open(root: &Path) -> io::Result<Self> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let opened = uninterrupted(|| open(root, flags, Mode::empty()));
        opened.map(Self).map_err(|errno| {
            io::Error::other(format!("open {}: {}", root.display(), errno::text(errno)))
        })
    }

    fn sync(&self) -> Result<(), Failed> {
        calling("syncfs", uninterrupted(|| syncfs(&self.0)))
    }

    fn available(&self) -> io::Result<Bytes> {
        let about = rustix::fs::fstatvfs(&self.0)?;
        Ok(Bytes(about.f_bavail.saturating_mul(about.f_frsize)))
    }

    fn mkdir(&self, path: &str) -> Result<(), Failed> {
        calling(
            "mkdir",
            uninterrupted(|| mkdirat(&self.0, path, Mode::RWXU)),
        )
    }

    fn create(&self, path: &str, flags: OFlags) -> Result<OwnedFd, Failed> {
        let flags = flags | OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        let mode = Mode::RUSR | Mode::WUSR;
        calling("open", uninterrupted(|| openat(&self.0, path, flags, mode)))
    }

    fn open_file(&self, path: &str, flags: OFlags) -> Result<OwnedFd, Failed> {
        let flags = flags | OFlags::CLOEXEC;
        calling(
            "open",
            uninterrupted(|| openat(&self.0, path, flags, Mode::empty())),
        )
    }

    fn rename(&self, from: &str, to: &str) -> Result<(), Failed> {
        calling(
            "rename",
            uninterrupted(|| renameat(&self.0, from, &self.0, to)),
        )
    }

    fn unlink(&self, path: &str) -> Result<(), Failed> {
        calling(
            "unlink",
            uninterrupted(|| unlinkat(&self.0, path, AtFlags::empty())),
        )
    }

    fn sync_directory(&self, path: &str) -> Result<(), Failed> {
        let directory = self.open_file(path, OFlags::RDONLY | OFlags::DIRECTORY)?;
        calling("fsync", uninterrupted(|| fsync(&directory)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A directory with the known files and one that fills, after everything was tried.
    fn used() -> (tempfile::TempDir, FullLife) {
        let root = tempfile::tempdir().unwrap();
        let directory = Directory::open(root.path()).unwrap();
        let mut life = FullLife::new(1);
        life.make_known(&directory).unwrap();
        life.add(&directory, 100_000).1.unwrap();
        life.sync(&directory).unwrap();
        life.report.stored = Bytes(20_000_000);
        life.use_full(root.path()).unwrap();
        (root, life)
    }

    #[test]
    fn where_there_is_room_everything_succeeds_and_nothing_is_lost() {
        let (root, mut life) = used();
        let actions = life.report.actions.iter();
        let failed: Vec<&ActionOutcome> = actions.filter(|one| one.error.is_some()).collect();
        assert_eq!(failed, Vec::<&ActionOutcome>::new());
        assert_eq!(life.report.room_after_seconds, Some(0));
        life.verify(root.path()).unwrap();
        assert_eq!((life.report.lost, life.report.unsynced), (0, 0));
        life.empty(root.path(), Duration::ZERO).unwrap();
        assert_eq!(fs::read_dir(root.path()).unwrap().count(), 0);
    }

    #[test]
    fn every_damage_of_a_synced_file_is_found() {
        let (root, mut life) = used();
        let path = |name: &str| root.path().join(name);
        // An old block where the new one was acknowledged.
        let known = life.of(DATABASE).unwrap();
        let (number, block) = (known.number, *known.overwritten.first().unwrap());
        let mut old = [0; BLOCK];
        life.content((number, 0), block * BLOCK as u64, &mut old);
        let file = fs::OpenOptions::new().write(true).open(path(DATABASE));
        pwrite(file.unwrap(), &old, block * BLOCK as u64).unwrap();
        // The log without what was appended, a note with other bytes, and one that is gone.
        let log = fs::OpenOptions::new().write(true).open(path(LOG)).unwrap();
        log.set_len(LOG_LENGTH).unwrap();
        fs::write(path("notes/2"), vec![0; 16 << 10]).unwrap();
        fs::remove_file(path("notes/renamed")).unwrap();
        life.verify(root.path()).unwrap();
        assert_eq!((life.report.lost, life.report.unsynced), (4, 0));
        let first = format!("`database`: other content in its block {block}");
        assert_eq!(life.report.lost_first, Some(first));
    }

    #[test]
    fn a_band_has_the_steps_that_begin_in_it() {
        let steps: Vec<(u64, Nanos)> = (0..=100).map(|at| (at * 10, Nanos(at * 2))).collect();
        let bytes: Vec<u64> = bands(&steps).iter().map(|band| band.bytes.0).collect();
        assert_eq!(bytes, [500, 400, 50, 40, 10]);
        let life = FullDisk {
            speed: bands(&steps),
            ..FullDisk::default()
        };
        assert_eq!(life.slowdown(), Some(1.0));
    }
}
