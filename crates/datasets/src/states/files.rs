//! Numbered files below a separate directory: created, extended, truncated and removed by number.
//!
//! Only their totals are kept here. The caller knows which numbers exist.

use super::error::StateError;
use super::progress::ProgressReporter;
use super::space::Space;
use crate::content::{BUFFER, Content, Stream};
use crate::fragmentation;
use crate::seed::Seed;
use fsdyno_files::uninterrupted;
use fsdyno_model::{Bytes, CancelToken, Fragmentation};
use rustix::fd::OwnedFd;
use rustix::fs::{self, AtFlags, CWD, Mode, OFlags};
use rustix::io::write;
use std::path::{Path, PathBuf};

/// Neighbours in number are in different directories, as files of different users do: some file
/// systems place them by their directory.
const DIRECTORIES: u32 = 32;

/// How many bytes are written before the file system is synced. After a cancellation the unmount
/// writes at most this much.
const HELD_BACK: u64 = 64 << 20;

pub(super) struct Files<'a> {
    root: PathBuf,
    directories: Vec<OwnedFd>,
    buffer: Box<[u8]>,
    seed: Seed,
    stop: &'a CancelToken,
    progress: ProgressReporter<'a>,
    /// Bytes written since the last sync.
    unwritten: u64,
    next: u32,
    /// The number of existing files.
    pub(super) count: u64,
    /// The bytes in the existing files.
    pub(super) held: u64,
    /// All bytes written so far.
    pub(super) written: u64,
}

impl<'a> Files<'a> {
    /// Creates the directory that holds them. Other users have no access to it.
    pub(super) fn make(
        root: &Path,
        seed: Seed,
        stop: &'a CancelToken,
        progress: ProgressReporter<'a>,
    ) -> Result<Self, StateError> {
        let made = |path: &Path| {
            fs::mkdir(path, Mode::RWXU).map_err(|e| StateError::io("make directory", path, e))
        };
        made(root)?;
        let directories = (0..DIRECTORIES).map(|number| {
            let path = root.join(format!("{number:02}"));
            made(&path)?;
            let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            fs::openat(CWD, &path, flags, Mode::empty())
                .map_err(|e| StateError::io("open directory", &path, e))
        });
        Ok(Self {
            directories: directories.collect::<Result<_, _>>()?,
            root: root.to_owned(),
            buffer: vec![0; BUFFER].into(),
            seed,
            stop,
            progress,
            unwritten: 0,
            next: 0,
            count: 0,
            held: 0,
            written: 0,
        })
    }

    /// This many bytes will be written from now on.
    pub(super) fn expect(&mut self, bytes: u64) {
        self.progress.expect(bytes);
    }

    pub(super) fn next_number(&mut self) -> u32 {
        self.next += 1;
        self.next - 1
    }

    /// Sets the next number, if the caller has numbered files itself.
    pub(super) fn number_from(&mut self, next: u32) {
        self.next = self.next.max(next);
    }

    /// The space of the file system, after everything is written and freed.
    pub(super) fn space(&self) -> Result<Space, StateError> {
        self.stop.check()?;
        Space::settled(&self.directories[0])
            .map_err(|e| StateError::io("sync and examine", &self.root, e))
    }

    /// The fragmentation of the files of at least two blocks.
    pub(super) fn fragmentation(&self) -> Result<Fragmentation, StateError> {
        Ok(fragmentation::count(&self.root, Bytes(8192), self.stop)?)
    }

    /// The error that the file system did not reach the requested state.
    pub(super) fn not_reached(&self, permille: u32, space: &Space) -> StateError {
        StateError::NotReached {
            path: self.root.clone(),
            requested: f64::from(permille) / 10.0,
            percent: space.percent(),
            inodes_left: space.inodes_left,
        }
    }

    /// Creates a file. If there is no space for all of it, it is removed.
    pub(super) fn create(&mut self, number: u32, size: u64) -> Result<(), StateError> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        let file = self.open(number, flags)?;
        self.count += 1;
        let result = self.write_content(&file, number, 0, size);
        drop(file);
        if result.is_err() {
            // The reported error is that of the write, not of the removal.
            let _ = self.remove(number, 0);
        }
        result
    }

    /// Extends a file. If there is no space for all of it, the file is truncated to its old size.
    pub(super) fn append(&mut self, number: u32, from: u64, bytes: u64) -> Result<(), StateError> {
        let file = self.open(number, OFlags::WRONLY | OFlags::APPEND | OFlags::CLOEXEC)?;
        let result = self.write_content(&file, number, from, bytes);
        if result.is_err() {
            let _ = fs::ftruncate(&file, from);
        }
        result
    }

    pub(super) fn truncate(&mut self, number: u32, from: u64, to: u64) -> Result<(), StateError> {
        let file = self.open(number, OFlags::WRONLY | OFlags::CLOEXEC)?;
        fs::ftruncate(&file, to).map_err(|e| StateError::io("truncate", &self.path(number), e))?;
        self.held -= from - to;
        Ok(())
    }

    /// Frees the space that the file system preallocated after the end of a file. Otherwise the
    /// next unmount would free it, and reduce the utilisation.
    pub(super) fn trim(&mut self, number: u32, size: u64) -> Result<(), StateError> {
        self.truncate(number, size, size)
    }

    pub(super) fn remove(&mut self, number: u32, size: u64) -> Result<(), StateError> {
        self.stop.check()?;
        fs::unlinkat(self.directory(number), name(number), AtFlags::empty())
            .map_err(|e| StateError::io("remove", &self.path(number), e))?;
        self.count -= 1;
        self.held -= size;
        Ok(())
    }

    fn directory(&self, number: u32) -> &OwnedFd {
        &self.directories[(number % DIRECTORIES) as usize]
    }

    fn path(&self, number: u32) -> PathBuf {
        let directory = format!("{:02}", number % DIRECTORIES);
        self.root.join(directory).join(name(number))
    }

    fn open(&self, number: u32, flags: OFlags) -> Result<OwnedFd, StateError> {
        self.stop.check()?;
        let mode = Mode::RUSR | Mode::WUSR;
        fs::openat(self.directory(number), name(number), flags, mode)
            .map_err(|e| StateError::io("open", &self.path(number), e))
    }

    /// Writes content that occurs nowhere else. It counts as held only after all of it is written.
    fn write_content(
        &mut self,
        file: &OwnedFd,
        number: u32,
        from: u64,
        bytes: u64,
    ) -> Result<(), StateError> {
        let seed = self.seed.at(u64::from(number)).at(from);
        let content = Content::Binary { percent: 100 };
        let mut stream = Stream::new(content, seed, bytes, &mut self.buffer);
        let mut failed = None;
        'pieces: while let Some(mut piece) = stream.next_piece() {
            while !piece.is_empty() {
                self.stop.check()?;
                match uninterrupted(|| write(file, piece)) {
                    Ok(written) => {
                        self.progress.wrote(written as u64);
                        piece = &piece[written..];
                    }
                    Err(errno) => {
                        failed = Some(errno);
                        break 'pieces;
                    }
                }
            }
        }
        if let Some(errno) = failed {
            return Err(StateError::io("write to", &self.path(number), errno));
        }
        self.held += bytes;
        self.written += bytes;
        self.unwritten += bytes;
        if self.unwritten >= HELD_BACK {
            self.unwritten = 0;
            fs::syncfs(&self.directories[0]).map_err(|e| StateError::io("sync", &self.root, e))?;
        }
        Ok(())
    }
}

fn name(number: u32) -> String {
    format!("{number:07}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_made_grown_truncated_and_removed_and_counted() {
        let place = tempfile::tempdir().unwrap();
        let root = place.path().join("state");
        let stop = CancelToken::new();
        let mut ignored = |_| {};
        let reporter = ProgressReporter::new(&mut ignored);
        let mut files = Files::make(&root, Seed::new(1), &stop, reporter).unwrap();
        files.create(40, 10_000).unwrap();
        files.create(41, 0).unwrap();
        files.append(40, 10_000, 5000).unwrap();
        let path = root.join("08/0000040");
        assert_eq!(path.metadata().unwrap().len(), 15_000);
        files.truncate(40, 15_000, 1).unwrap();
        assert_eq!((files.count, files.held), (2, 1));
        files.remove(40, 1).unwrap();
        assert!(!path.exists());
        assert_eq!((files.count, files.held, files.written), (1, 0, 15_000));
        let mut ignored = |_| {};
        let reporter = ProgressReporter::new(&mut ignored);
        let again = Files::make(&root, Seed::new(1), &stop, reporter)
            .err()
            .unwrap();
        assert!(again.to_string().contains("created here before"), "{again}");
        stop.request();
        assert!(matches!(files.create(50, 1), Err(StateError::Stopped)));
    }
}
