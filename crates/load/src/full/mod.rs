//! An ordinary user fills a file system, uses it while it is full, and deletes all files.
//!
//! The content of every block names its file, its version and its place, so that
//! [`FullLife::verify`] finds what is damaged or gone. Content cannot be compressed.

mod actions;
mod directory;
mod known;

use crate::command::become_user;
use crate::tool_run::User;
use directory::{Directory, Failed, calling};
use fsdyno_datasets::seed::Seed;
use fsdyno_files::{errno, uninterrupted};
use fsdyno_model::{Bytes, FillLevel, FillSpeed, FullDisk, Nanos};
use known::{Durability, Known, content};
use rustix::fs::{OFlags, fsync};
use rustix::io::write;
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

/// The changes before a file system stops, and the size of the files that they store.
const CHANGES: u32 = 16;
const CHANGED: u64 = 64 << 10;

/// How often a small file is saved at each level.
const SAVES: u32 = 16;

/// How many seconds deleted space is waited for.
const PATIENCE: u32 = 30;

/// Works as [`USER`] in a thread of its own.
pub fn as_user(work: impl FnOnce() -> io::Result<()> + Send) -> io::Result<()> {
    thread::scope(|scope| {
        let worker = scope.spawn(|| become_user(USER).and_then(|()| work()));
        worker
            .join()
            .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

/// The life of one file system.
#[derive(Debug)]
pub struct FullLife {
    seed: Seed,
    known: Vec<Known>,
    next: u64,
    /// The quota of the user, if there is one.
    quota: Option<Bytes>,
    pub report: FullDisk,
}

impl FullLife {
    pub fn new(seed: u64, quota: Option<Bytes>) -> Self {
        Self {
            seed: Seed::new(seed).part("full"),
            known: Vec::new(),
            next: 0,
            quota,
            report: FullDisk {
                seed,
                ..FullDisk::default()
            },
        }
    }

    /// Makes a database, a log and notes; then fills the rest.
    pub fn fill(&mut self, root: &Path) -> io::Result<()> {
        let directory = Directory::open(root)?;
        directory.sync()?;
        self.report.available = directory.available()?;
        self.make_known(&directory)?;
        let began = Instant::now();
        let mut steps = vec![(0, Nanos(0))];
        let sizes = self.seed.part("sizes");
        let part = (self.room() / PARTS).max(1);
        let mut total = 0;
        let mut saving = Duration::ZERO;
        let mut levels = FullDisk::LEVELS.into_iter().peekable();
        let refused = loop {
            if let Some(percent) = levels.next_if(|percent| self.is_filled(&directory, *percent)) {
                let before = Instant::now();
                self.save_at(&directory, percent);
                saving += before.elapsed();
            }
            let size = size_of(sizes.at(self.next));
            let (length, written) = self.add(&directory, size);
            total += length;
            let last = steps.last().map_or(0, |(bytes, _)| *bytes);
            let mut failed = written.err();
            if total - last >= part || failed.is_some() {
                let synced = self.sync(&directory);
                failed = failed.or(synced.err());
                steps.push((total, Nanos::from(began.elapsed().saturating_sub(saving))));
            }
            if let Some(failed) = failed {
                break failed;
            }
        };
        refused.call.clone_into(&mut self.report.refused_by);
        self.report.refused_with = errno::text(refused.errno);
        self.report.speed = bands(&steps);
        self.top_up(&directory);
        self.report.stored = Bytes(self.known.iter().map(Known::length).sum());
        self.report.said_available = directory.available()?;
        Ok(())
    }

    /// What the user can fill.
    fn room(&self) -> u64 {
        let available = self.report.available.0;
        self.quota.map_or(available, |quota| quota.0.min(available))
    }

    /// Whether this share of it is used.
    fn is_filled(&self, directory: &Directory, percent: u32) -> bool {
        let all = self.report.available.0;
        let left = directory.available().map_or(all, |left| left.0);
        all.saturating_sub(left) / 100 >= self.room() / 10_000 * u64::from(percent)
    }

    /// Saves a small file some times, and removes it.
    fn save_at(&mut self, directory: &Directory, percent: u32) {
        let mut done = self.sync(directory);
        let (path, new) = ("notes/saved", "notes/saved.new");
        let began = Instant::now();
        for _ in 0..SAVES {
            if done.is_err() {
                break;
            }
            done = self.save(directory, new, (self.next, 0), path);
        }
        self.report.levels.push(FillLevel {
            percent,
            error: done.err().map(|failed| errno::text(failed.errno)),
            ns: Nanos::from(began.elapsed()),
        });
        for path in [path, new] {
            // Either may not exist.
            let _ = directory.unlink(path);
        }
    }

    /// Writes this content of a small file under a new name, and renames it over the file.
    fn save(
        &self,
        directory: &Directory,
        new: &str,
        version: (u64, u32),
        path: &str,
    ) -> Result<(), Failed> {
        let file = directory.create(new)?;
        self.write(&file, version, (0, NOTE)).1?;
        calling("fsync", uninterrupted(|| fsync(&file)))?;
        directory.rename(new, path)?;
        directory.sync_directory("notes")
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
        let file = match directory.create(&path) {
            Ok(file) => file,
            Err(failed) => return (0, Err(failed)),
        };
        let (length, written) = self.write(&file, (number, 0), (0, size));
        self.known.push(Known::new(path, number, length));
        (length, written)
    }

    /// Writes this content of a file from an offset to an end; returns how much was written.
    fn write(
        &self,
        file: &OwnedFd,
        version: (u64, u32),
        (from, to): (u64, u64),
    ) -> (u64, Result<(), Failed>) {
        let mut buffer = vec![0; PIECE];
        let mut at = from;
        while at < to {
            let piece = usize::try_from(to - at).map_or(PIECE, |rest| rest.min(PIECE));
            content(self.seed, version, at, &mut buffer[..piece]);
            match calling("write", uninterrupted(|| write(file, &buffer[..piece]))) {
                Ok(count) => at += count as u64,
                Err(failed) => return (at - from, Err(failed)),
            }
        }
        (at - from, Ok(()))
    }

    /// Syncs the file system: what was written before is durable, or an error was reported.
    fn sync(&mut self, directory: &Directory) -> Result<(), Failed> {
        let synced = directory.sync();
        let reached = Durability::after(&synced);
        let written = self.known.iter_mut();
        for one in written.filter(|one| one.durability == Durability::Written) {
            one.durability = reached;
        }
        synced
    }

    /// Stores what can be stored; then deletes files and stores others, every second of which is synced.
    /// The last one that is deleted is open, and returned.
    pub fn change(&mut self, root: &Path) -> io::Result<Option<OwnedFd>> {
        let directory = Directory::open(root)?;
        self.top_up(&directory);
        let mut open = None;
        for change in 0..CHANGES {
            let is_large = |one: &Known| one.path.starts_with("fill/") && one.length() >= CHANGED;
            if let Some(at) = self.known.iter().rposition(is_large) {
                let path = self.known.remove(at).path;
                open = Some(directory.open_file(&path, OFlags::RDONLY)?);
                directory.unlink(&path)?;
            }
            let path = format!("notes/change {change}");
            let (_, written) = self.add_at(&directory, path.clone(), CHANGED);
            let is_synced = change % 2 == 0
                && written
                    .and_then(|()| directory.sync_file(&path))
                    .and_then(|()| directory.sync_directory("notes"))
                    .is_ok();
            if !is_synced {
                self.known.retain(|one| one.path != path);
            } else if let Some(one) = self.of(&path) {
                one.durability = Durability::Synced;
            }
        }
        Ok(open)
    }

    /// Stores more than the quota, notes the error, and removes what was stored.
    pub fn exceed(&mut self, root: &Path) -> io::Result<()> {
        let directory = Directory::open(root)?;
        let path = "notes/more";
        let (_, written) = self.add_at(&directory, path.to_owned(), self.room());
        let written = written.and_then(|()| self.sync(&directory));
        let used = self.report.quota.get_or_insert_default();
        used.refused_with = written.err().map(|failed| errno::text(failed.errno));
        self.known.retain(|one| one.path != path);
        // It may not exist.
        let _ = directory.unlink(path);
        Ok(())
    }

    /// Counts the files that are damaged or gone.
    pub fn verify(&mut self, root: &Path) -> io::Result<()> {
        let directory = Directory::open(root)?;
        for one in &self.known {
            let Some(fault) = one.fault(self.seed, &directory) else {
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
        directory.sync()?;
        thread::sleep(settling);
        directory.sync()?;
        self.report.emptied = Some(directory.available()?);
        Ok(())
    }
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

#[cfg(test)]
mod tests {
    use super::*;
    use fsdyno_model::ActionOutcome;
    use rustix::io::pwrite;

    /// A directory with the known files and one that fills, after everything was tried.
    fn used() -> (tempfile::TempDir, FullLife) {
        let root = tempfile::tempdir().unwrap();
        let directory = Directory::open(root.path()).unwrap();
        let mut life = FullLife::new(1, None);
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
        content(life.seed, (number, 0), block * BLOCK as u64, &mut old);
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
    fn without_a_quota_more_than_it_is_stored_and_removed() {
        let (root, mut life) = used();
        life.report.available = Bytes(100_000);
        life.exceed(root.path()).unwrap();
        assert_eq!(life.report.quota.take().unwrap().refused_with, None);
        assert!(!root.path().join("notes/more").exists());
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
        assert_eq!(life.slowdown(99), Some(1.0));
    }
}
