//! Timed direct I/O: requests to a device or a file past the page cache, many at a time, each with
//! its time.
//!
//! A device is opened for reading only, so the kernel refuses every write to it. Writes go to a
//! scratch file that has no name any more.

use crate::place::Place;
use fsdyno_files::uninterrupted;
use fsdyno_model::CancelToken;
use io_uring::{IoUring, opcode, types};
use rustix::fs::{FileType, Mode, OFlags, fdatasync, fstat, open};
use rustix::io::{Errno, pread, pwrite};
use std::fs::File;
use std::io::{self, Seek, SeekFrom};
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Alignment of buffers, offsets and lengths: the largest logical block of a device.
pub const ALIGNMENT: u64 = 4096;

/// Requests that a ring holds.
const MAX_IN_FLIGHT: usize = 256;

/// Interval between checks for cancellation during a pause.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    Read,
    /// Writes; refused by a device.
    Write,
    /// Makes everything written durable.
    Flush,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DirectRequest {
    pub action: Action,
    /// First byte.
    pub at: u64,
    pub bytes: u64,
}

/// Submission and completion of a request, in nanoseconds since it was opened.
pub type DirectTime = (u64, u64);

/// The reason why direct I/O failed.
#[derive(Debug, thiserror::Error)]
pub enum DirectError {
    #[error("cannot open {} for direct I/O: {cause}{}", path.display(), advice(cause))]
    Open {
        path: PathBuf,
        #[source]
        cause: io::Error,
    },
    /// It is neither a device nor a regular file.
    #[error("{} is neither a block device nor a regular file", .0.display())]
    Kind(PathBuf),
    /// The kernel has no `io_uring`, or refuses it.
    #[error(
        "cannot set up io_uring: {0}. It keeps many requests in flight. Allow it: \
         sysctl kernel.io_uring_disabled=0"
    )]
    Ring(#[source] io::Error),
    #[error("cannot {attempt} {bytes} bytes at {at} of {}: {cause}", path.display())]
    Request {
        path: PathBuf,
        attempt: &'static str,
        at: u64,
        bytes: u64,
        #[source]
        cause: io::Error,
    },
    #[error("interrupted")]
    Stopped,
}

/// The remedy for a path that cannot be opened.
fn advice(cause: &io::Error) -> &'static str {
    match Errno::from_io_error(cause) {
        Some(Errno::INVAL) => ". This file system has no direct I/O: use a file on another one",
        Some(Errno::ACCESS) => ". Run it as root, or as a user who may read it",
        Some(Errno::PERM) => ". A container may forbid the device: run it outside, or allow it",
        Some(Errno::EXIST) => ". Name a file that does not exist: it is created and removed",
        _ => "",
    }
}

/// A device or a file, opened for direct I/O.
pub struct DirectFile {
    /// Created with the first requests in parallel. Before the buffers, so that it is dropped first.
    ring: Option<IoUring>,
    file: OwnedFd,
    path: PathBuf,
    size: u64,
    writable: bool,
    buffers: Buffers,
    epoch: Instant,
    stop: CancelToken,
}

impl DirectFile {
    /// Opens a device or a file for reading. Nothing can be written through it.
    pub fn open_read_only(path: &Path, stop: &CancelToken) -> Result<Self, DirectError> {
        let flags = OFlags::RDONLY | OFlags::DIRECT | OFlags::CLOEXEC | OFlags::NONBLOCK;
        let failed = |cause: io::Error| DirectError::Open {
            path: path.to_owned(),
            cause,
        };
        let file = open(path, flags, Mode::empty()).map_err(|errno| failed(errno.into()))?;
        let facts = fstat(&file).map_err(|errno| failed(errno.into()))?;
        let kind = FileType::from_raw_mode(facts.st_mode);
        if !matches!(kind, FileType::BlockDevice | FileType::RegularFile) {
            return Err(DirectError::Kind(path.to_owned()));
        }
        // The size of a device is the position of its end.
        let mut end = File::from(file.try_clone().map_err(failed)?);
        let size = end.seek(SeekFrom::End(0)).map_err(failed)?;
        Ok(Self::of(file, path, size, false, stop))
    }

    /// Creates a scratch file of this size and writes it once, so that its blocks are allocated.
    pub fn create_scratch(path: &Path, size: u64, stop: &CancelToken) -> Result<Self, DirectError> {
        let mut scratch = Self::empty_scratch(path, size, stop)?;
        scratch.fill()?;
        Ok(scratch)
    }

    /// Creates a scratch file of this size that is not written yet. Its name is removed at once: the
    /// file is gone however this process ends.
    pub fn empty_scratch(path: &Path, size: u64, stop: &CancelToken) -> Result<Self, DirectError> {
        let failed = |cause: io::Error| DirectError::Open {
            path: path.to_owned(),
            cause,
        };
        let place = Place::trusted(path).map_err(|error| failed(error.into()))?;
        let file = place.create(OFlags::RDWR | OFlags::DIRECT);
        let file = file.map_err(|errno| failed(errno.into()))?;
        place.unlink().map_err(|errno| failed(errno.into()))?;
        Ok(Self::of(file, path, size, true, stop))
    }

    /// Writes the whole scratch file once, so that its blocks are allocated.
    pub fn fill(&mut self) -> Result<(), DirectError> {
        const PIECE: u64 = 1 << 20;
        let pieces: Vec<DirectRequest> = (0..self.size / PIECE)
            .map(|piece| DirectRequest {
                action: Action::Write,
                at: piece * PIECE,
                bytes: PIECE,
            })
            .collect();
        self.run(&pieces, 1)?;
        let flush = DirectRequest {
            action: Action::Flush,
            at: 0,
            bytes: 0,
        };
        self.run(&[flush], 1)?;
        Ok(())
    }

    fn of(file: OwnedFd, path: &Path, size: u64, writable: bool, stop: &CancelToken) -> Self {
        Self {
            ring: None,
            file,
            path: path.to_owned(),
            size,
            writable,
            buffers: Buffers::default(),
            epoch: Instant::now(),
            stop: stop.clone(),
        }
    }

    /// Size in bytes.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// Nanoseconds since it was opened.
    pub fn now(&self) -> u64 {
        u64::try_from(self.epoch.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }

    /// Waits, unless the user cancels.
    pub fn pause(&self, ns: u64) -> Result<(), DirectError> {
        let until = Instant::now() + Duration::from_nanos(ns);
        loop {
            let left = until.saturating_duration_since(Instant::now());
            if self.stop.requested() {
                return Err(DirectError::Stopped);
            }
            if left.is_zero() {
                return Ok(());
            }
            std::thread::sleep(left.min(POLL_INTERVAL));
        }
    }

    /// Sends requests in order, `depth` of them at a time, and returns their times in this order.
    pub fn run(
        &mut self,
        requests: &[DirectRequest],
        depth: usize,
    ) -> Result<Vec<DirectTime>, DirectError> {
        let longest = requests.iter().map(|one| one.bytes).max().unwrap_or(0);
        let depth = depth.clamp(1, MAX_IN_FLIGHT).min(requests.len().max(1));
        for request in requests {
            if request.action != Action::Read && !self.writable {
                return Err(self.failed(request, Errno::ROFS.into()));
            }
        }
        let mut buffers = std::mem::take(&mut self.buffers);
        buffers.reserve(depth, longest);
        let times = if depth == 1 {
            self.run_alone(requests, &mut buffers)
        } else {
            // One ring for all requests: its kernel threads are started once.
            let ring = self.ring.take().map_or_else(ring, Ok);
            ring.and_then(|mut ring| {
                let times = self.run_queued(requests, depth, &mut buffers, &mut ring);
                self.ring = Some(ring);
                times
            })
        };
        self.buffers = buffers;
        times
    }

    /// One request after the other.
    fn run_alone(
        &self,
        requests: &[DirectRequest],
        buffers: &mut Buffers,
    ) -> Result<Vec<DirectTime>, DirectError> {
        let mut times = Vec::with_capacity(requests.len());
        for request in requests {
            if self.stop.requested() {
                return Err(DirectError::Stopped);
            }
            let length = usize::try_from(request.bytes).unwrap_or(usize::MAX);
            let buffer = &mut buffers.slot(0)[..length];
            let began = self.now();
            let moved = match request.action {
                Action::Read => uninterrupted(|| pread(&self.file, &mut *buffer, request.at)),
                Action::Write => uninterrupted(|| pwrite(&self.file, &*buffer, request.at)),
                Action::Flush => fdatasync(&self.file).map(|()| length),
            };
            let moved = moved.map_err(|errno| self.failed(request, errno.into()))?;
            if moved != length {
                return Err(self.failed(request, short()));
            }
            times.push((began, self.now()));
        }
        Ok(times)
    }

    /// Several requests at a time.
    fn run_queued(
        &self,
        requests: &[DirectRequest],
        depth: usize,
        buffers: &mut Buffers,
        ring: &mut IoUring,
    ) -> Result<Vec<DirectTime>, DirectError> {
        // On return no request is in flight.
        let mut times = vec![(0, 0); requests.len()];
        let mut free: Vec<usize> = (0..depth).collect();
        let mut slots = vec![0; requests.len()];
        let (mut sent, mut in_flight) = (0, 0);
        let mut failure = None;
        loop {
            let stopping = failure.is_some();
            while !stopping
                && sent < requests.len()
                && let Some(slot) = free.pop()
            {
                let entry = self.entry(&requests[sent], buffers.slot(slot), sent as u64);
                // SAFETY: the buffer of this slot is used by this request alone until it completes,
                // and it is as long as the request.
                let pushed = unsafe { ring.submission().push(&entry) };
                if pushed.is_err() {
                    free.push(slot);
                    break;
                }
                slots[sent] = slot;
                times[sent].0 = self.now();
                sent += 1;
                in_flight += 1;
            }
            if in_flight == 0 {
                break;
            }
            if let Err(error) = uninterrupted(|| ring.submit_and_wait(1)) {
                failure = failure.or(Some(DirectError::Ring(error)));
            }
            let now = self.now();
            for ended in ring.completion() {
                let number = usize::try_from(ended.user_data()).unwrap_or_default();
                times[number].1 = now;
                free.push(slots[number]);
                in_flight -= 1;
                let request = &requests[number];
                match u64::try_from(ended.result()) {
                    Ok(moved) if moved == request.bytes => {}
                    Ok(_) => failure = failure.or(Some(self.failed(request, short()))),
                    Err(_) => {
                        let cause = io::Error::from_raw_os_error(-ended.result());
                        failure = failure.or(Some(self.failed(request, cause)));
                    }
                }
            }
            if self.stop.requested() {
                failure = failure.or(Some(DirectError::Stopped));
            }
        }
        failure.map_or(Ok(times), Err)
    }

    fn entry(
        &self,
        request: &DirectRequest,
        buffer: &mut [u8],
        number: u64,
    ) -> io_uring::squeue::Entry {
        let file = types::Fd(self.file.as_raw_fd());
        let length = u32::try_from(request.bytes).unwrap_or(u32::MAX);
        let entry = match request.action {
            Action::Read => opcode::Read::new(file, buffer.as_mut_ptr(), length)
                .offset(request.at)
                .build(),
            Action::Write => opcode::Write::new(file, buffer.as_ptr(), length)
                .offset(request.at)
                .build(),
            Action::Flush => opcode::Fsync::new(file)
                .flags(types::FsyncFlags::DATASYNC)
                .build(),
        };
        entry.user_data(number)
    }

    fn failed(&self, request: &DirectRequest, cause: io::Error) -> DirectError {
        DirectError::Request {
            path: self.path.clone(),
            attempt: match request.action {
                Action::Read => "read",
                Action::Write => "write",
                Action::Flush => "flush",
            },
            at: request.at,
            bytes: request.bytes,
            cause,
        }
    }
}

/// A ring that keeps the most requests in flight.
fn ring() -> Result<IoUring, DirectError> {
    let entries = u32::try_from(MAX_IN_FLIGHT).unwrap_or(1);
    let ring = IoUring::new(entries).map_err(DirectError::Ring)?;
    // The kernel reads a file without asynchronous direct I/O, such as one of FUSE, in threads. Its
    // default is four for each processor (io_uring_register_iowq_max_workers(3)), which would limit
    // the depth. A kernel before 5.15 cannot raise it.
    let _ = ring
        .submitter()
        .register_iowq_max_workers(&mut [entries, 0]);
    Ok(ring)
}

/// Fewer bytes than requested.
fn short() -> io::Error {
    io::Error::new(io::ErrorKind::UnexpectedEof, "less than was requested")
}

/// Aligned buffers of equal length.
#[derive(Debug, Default)]
struct Buffers {
    memory: Vec<u8>,
    /// Bytes of a slot, a multiple of the alignment.
    each: usize,
}

impl Buffers {
    /// Makes room for so many buffers of so many bytes.
    fn reserve(&mut self, count: usize, bytes: u64) {
        let alignment = usize::try_from(ALIGNMENT).unwrap_or(4096);
        let bytes = usize::try_from(bytes).unwrap_or(usize::MAX);
        self.each = bytes.max(1).next_multiple_of(alignment);
        let all = count * self.each + alignment;
        if self.memory.len() < all {
            // Content that no disk compresses or skips. It also touches the pages.
            let byte = |at: usize| (at.wrapping_mul(0x9e37_79b9) >> 11).to_le_bytes()[0];
            self.memory = (0..all).map(byte).collect();
        }
    }

    fn slot(&mut self, slot: usize) -> &mut [u8] {
        let alignment = usize::try_from(ALIGNMENT).unwrap_or(4096);
        let first = self.memory.as_ptr().align_offset(alignment);
        let from = first + slot * self.each;
        &mut self.memory[from..from + self.each]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(at: u64, bytes: u64) -> DirectRequest {
        DirectRequest {
            action: Action::Read,
            at,
            bytes,
        }
    }

    /// A file of a mebibyte on a file system with direct I/O.
    fn file() -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        let path = folder.path().join("disk");
        std::fs::write(&path, vec![7; 1 << 20]).unwrap();
        (folder, path)
    }

    #[test]
    fn reads_have_times_in_their_order_at_any_depth() {
        let (_folder, path) = file();
        let mut file = DirectFile::open_read_only(&path, &CancelToken::new()).unwrap();
        assert_eq!(file.size(), 1 << 20);
        let reads: Vec<DirectRequest> = (0..64).map(|n| read(n * 16_384, 16_384)).collect();
        for depth in [1, 8, 1000] {
            let times = file.run(&reads, depth).unwrap();
            assert_eq!(times.len(), 64);
            assert!(times.iter().all(|(began, ended)| began < ended), "{depth}");
            assert!(times.windows(2).all(|two| two[0].0 <= two[1].0));
        }
    }

    #[test]
    fn a_file_opened_for_reading_refuses_writes_and_a_read_beyond_its_end() {
        let (_folder, path) = file();
        let mut file = DirectFile::open_read_only(&path, &CancelToken::new()).unwrap();
        let write = DirectRequest {
            action: Action::Write,
            ..read(0, 4096)
        };
        let error = file.run(&[write], 1).unwrap_err().to_string();
        assert!(error.contains("Read-only file system"), "{error}");
        for depth in [1, 2] {
            let beyond = [read(0, 4096), read(1 << 20, 4096)];
            let error = file.run(&beyond, depth).unwrap_err().to_string();
            assert!(error.contains("4096 bytes at 1048576"), "{error}");
        }
        assert!(std::fs::read(&path).unwrap().iter().all(|byte| *byte == 7));
    }

    #[test]
    fn a_scratch_file_has_no_name_and_takes_writes_and_flushes() {
        let (folder, path) = file();
        assert!(DirectFile::create_scratch(&path, 1 << 20, &CancelToken::new()).is_err());
        let path = folder.path().join("scratch");
        let mut file = DirectFile::create_scratch(&path, 1 << 20, &CancelToken::new()).unwrap();
        assert!(!path.exists());
        let actions = [Action::Write, Action::Flush, Action::Read];
        let all = actions.map(|action| DirectRequest {
            action,
            at: 8192,
            bytes: if action == Action::Flush { 0 } else { 4096 },
        });
        for depth in [1, 3] {
            assert_eq!(file.run(&all, depth).unwrap().len(), 3);
        }
    }

    #[test]
    fn a_cancelled_measurement_ends_with_no_request_in_flight() {
        let (_folder, path) = file();
        let stop = CancelToken::new();
        let mut file = DirectFile::open_read_only(&path, &stop).unwrap();
        stop.request();
        let reads: Vec<DirectRequest> = (0..64).map(|n| read(n * 4096, 4096)).collect();
        for depth in [1, 16] {
            assert!(matches!(file.run(&reads, depth), Err(DirectError::Stopped)));
        }
        assert!(matches!(file.pause(1 << 40), Err(DirectError::Stopped)));
    }

    #[test]
    fn a_directory_is_refused() {
        let error = DirectFile::open_read_only(Path::new("/"), &CancelToken::new());
        assert!(error.is_err());
    }
}
