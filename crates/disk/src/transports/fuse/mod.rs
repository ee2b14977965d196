//! A FUSE file system of one file, the disk. On the host, a loop device uses this file.
//!
//! The server uses a descriptor of `/dev/fuse` that the caller opened and mounted. It sends each
//! reply when the clock reaches the completion time. The kernel determines the queue depth. Reads
//! and writes bypass the page cache, so that the cache does not hide the disk.

mod wire;

use super::stream::{self, StreamError};
use super::vhost_user::Served;
use crate::disk::{Disk, SubmitError};
use crate::request::{Completion, Kind, Request, SECTOR};
use crate::store::StoreError;
use fsdyno_files::uninterrupted;
use fsdyno_model::Nanos;
use rustix::event::{PollFd, PollFlags};
use rustix::io::{Errno, read, writev};
use std::collections::HashMap;
use std::io::{self, IoSlice};
use std::num::NonZeroU64;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::{Duration, Instant};
use wire::{FuseRequest, Malformed, Operation};

/// Maximum length of a wait.
const POLL_INTERVAL: Duration = Duration::from_secs(1);

/// For a wait that is this short the server polls, because a sleeping processor needs as long to
/// wake up. After a reply, the next request of a program that waited for it arrives within this
/// time.
const BUSY: Duration = Duration::from_micros(100);

/// Number of requests that the server reads before it sends the due replies.
const AT_ONCE: usize = 64;

/// The reason why the server stopped.
#[derive(Debug, thiserror::Error)]
pub enum FuseError {
    /// The kernel's device failed.
    #[error("the line to the kernel's FUSE: {0}")]
    Device(#[source] io::Error),
    #[error(transparent)]
    Wait(#[from] StreamError),
    /// The kernel sent a malformed request.
    #[error(transparent)]
    Malformed(#[from] Malformed),
    /// An I/O error of the disk's contents on this machine.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// A control connection that the server polls while it serves.
pub trait Owner {
    /// Descriptor of the control connection.
    fn line(&self) -> BorrowedFd<'_>;

    /// Reads pending messages. The argument counts the requests so far. Returns whether the server
    /// continues.
    fn receive(&mut self, disk: &mut Disk, served: Served, now: Nanos) -> Result<bool, StoreError>;
}

#[derive(Debug, Clone, Copy)]
struct Open {
    /// Identifier of the request in the protocol.
    unique: u64,
    /// Byte range of a read, relative to the start of its extent.
    length: usize,
}

/// A disk that is served as a file.
pub struct Fuse<'a, D> {
    disk: &'a mut Disk,
    device: D,
    discards: bool,
    epoch: Instant,
    open: HashMap<u64, Open>,
    next: u64,
    buffer: Vec<u8>,
    served: Served,
    /// When the last reply was sent.
    replied: Instant,
    /// Whether short waits poll: another processor is available for the rest of the machine.
    busy: bool,
}

impl<'a, D: AsFd> Fuse<'a, D> {
    /// Creates a server of a disk over a non-blocking descriptor.
    pub fn new(disk: &'a mut Disk, device: D, discards: bool) -> Self {
        Self {
            disk,
            device,
            discards,
            epoch: Instant::now(),
            open: HashMap::new(),
            next: 0,
            buffer: Vec::new(),
            served: Served::default(),
            replied: Instant::now(),
            busy: std::thread::available_parallelism().is_ok_and(|count| count.get() > 1),
        }
    }

    fn now(&self) -> Nanos {
        Nanos::from(self.epoch.elapsed())
    }

    /// Serves until the file system is unmounted or the owner ends it. Returns the request
    /// counters. Afterwards the kernel fails all pending requests when the descriptor closes.
    pub fn serve(mut self, owner: &mut dyn Owner) -> Result<Served, FuseError> {
        // The default timer slack of 50 us is as long as many accesses.
        let _ = rustix::thread::set_current_timer_slack(NonZeroU64::new(1));
        let mut request = vec![0; wire::MAX_REQUEST];
        loop {
            self.complete()?;
            let (kernel_ready, owner_ready) = self.wait(owner)?;
            let on = (!owner_ready || self.receive(owner)?)
                && (!kernel_ready || self.take(&mut request, owner)?);
            if !on {
                return Ok(self.served);
            }
        }
    }

    /// Waits for input or for a due completion. Returns whether the kernel and the owner have sent
    /// data.
    fn wait(&self, owner: &dyn Owner) -> Result<(bool, bool), FuseError> {
        let now = Instant::now();
        let next_poll = now + POLL_INTERVAL;
        let due = self.disk.next_completion();
        let due = due.map(|next| self.epoch + Duration::from_nanos(next.0));
        let until = match due {
            _ if self.busy && now < self.replied + BUSY => now,
            // The last part of the wait is no sleep.
            Some(due) if self.busy => due.min(next_poll).checked_sub(BUSY).unwrap_or(now),
            due => due.map_or(next_poll, |due| due.min(next_poll)),
        };
        let line = owner.line();
        let mut lines = [
            PollFd::new(&self.device, PollFlags::IN),
            PollFd::new(&line, PollFlags::IN),
        ];
        stream::wait(&mut lines, Some(until))?;
        Ok((
            !lines[0].revents().is_empty(),
            !lines[1].revents().is_empty(),
        ))
    }

    fn receive(&mut self, owner: &mut dyn Owner) -> Result<bool, FuseError> {
        let now = self.now();
        Ok(owner.receive(self.disk, self.served, now)?)
    }

    /// Reads the kernel's requests. Returns false after an unmount or when the owner ends the
    /// service.
    fn take(&mut self, request: &mut [u8], owner: &mut dyn Owner) -> Result<bool, FuseError> {
        for _ in 0..AT_ONCE {
            let length = match uninterrupted(|| read(&self.device, &mut *request)) {
                // Unmounted, or aborted by the kernel.
                Ok(0) | Err(Errno::NODEV) => return Ok(false),
                Ok(length) => length,
                Err(Errno::AGAIN) => break,
                // The kernel interrupted the request before this read.
                Err(Errno::NOENT) => continue,
                Err(error) => return Err(FuseError::Device(error.into())),
            };
            // Owner messages that arrived before this request precede it.
            if !self.receive(owner)? {
                return Ok(false);
            }
            let incoming = FuseRequest::parse(&request[..length])?;
            self.execute(&incoming)?;
        }
        Ok(true)
    }

    /// Executes an operation, or submits it to the disk.
    fn execute(&mut self, incoming: &FuseRequest<'_>) -> Result<(), FuseError> {
        let unique = incoming.unique;
        let size = self.disk.capacity().0;
        match incoming.operation {
            Operation::Init { minor, flags } if minor >= wire::VERSION.1 => {
                self.reply(unique, &wire::init_reply(flags))
            }
            Operation::Init { .. } => self.reply_error(unique, Errno::PROTO),
            Operation::GetAttr => self.reply(unique, &wire::attr_reply(size)),
            Operation::Open => self.reply(unique, &wire::open_reply()),
            Operation::StatFs => self.reply(unique, &wire::statfs_reply(size)),
            Operation::Read { at, length } => {
                let left = size.saturating_sub(at);
                let length = u64::from(length).min(left);
                if length == 0 {
                    return self.reply(unique, &[]);
                }
                self.submit(unique, Kind::Read, at, length, &[])
            }
            Operation::Write { at, bytes } => {
                self.submit(unique, Kind::Write, at, bytes.len() as u64, bytes)
            }
            Operation::Fsync => self.submit(unique, Kind::Flush, 0, 0, &[]),
            Operation::Discard { at, length } if self.discards => {
                self.submit(unique, Kind::Discard, at, length, &[])
            }
            Operation::WriteZeroes { at, length } if self.discards => {
                self.submit(unique, Kind::WriteZeroes, at, length, &[])
            }
            Operation::Ignored => self.reply(unique, &[]),
            Operation::NoReply => Ok(()),
            Operation::Discard { .. } | Operation::WriteZeroes { .. } => {
                self.reply_error(unique, Errno::OPNOTSUPP)
            }
            Operation::Unsupported => self.reply_error(unique, Errno::NOSYS),
        }
    }

    /// Submits a request to the disk. Rejects a range that is not aligned to sectors.
    fn submit(
        &mut self,
        unique: u64,
        kind: Kind,
        at: u64,
        length: u64,
        payload: &[u8],
    ) -> Result<(), FuseError> {
        if !at.is_multiple_of(SECTOR) || !length.is_multiple_of(SECTOR) {
            return self.reply_error(unique, Errno::INVAL);
        }
        let id = self.next;
        let request = Request::new(id, kind, at / SECTOR, length / SECTOR);
        let now = self.now();
        let put = |bytes: &mut [u8]| bytes.copy_from_slice(payload);
        match self.disk.submit(now, request, put) {
            Ok(_) => {
                self.next += 1;
                let length = usize::try_from(length).unwrap_or(usize::MAX);
                self.open.insert(id, Open { unique, length });
                self.count(kind, length as u64);
                Ok(())
            }
            Err(SubmitError::Store(error)) => Err(error.into()),
            // The kernel sends no requests beyond the last sector.
            Err(_) => self.reply_error(unique, Errno::IO),
        }
    }

    fn count(&mut self, kind: Kind, bytes: u64) {
        let served = &mut self.served;
        match kind {
            Kind::Read => {
                served.reads += 1;
                served.bytes_read += bytes;
            }
            Kind::Write => {
                served.writes += 1;
                served.bytes_written += bytes;
            }
            Kind::Flush => served.flushes += 1,
            Kind::Discard | Kind::WriteZeroes => served.others += 1,
        }
    }

    /// Sends all due replies.
    fn complete(&mut self) -> Result<(), FuseError> {
        loop {
            let now = self.now();
            if self.disk.next_completion().is_none_or(|next| next > now) {
                return Ok(());
            }
            while let Some(completion) = self.disk.complete(now)? {
                self.completed(&completion)?;
                self.replied = Instant::now();
            }
        }
    }

    fn completed(&mut self, completion: &Completion) -> Result<(), FuseError> {
        let Some(open) = self.open.remove(&completion.request.id) else {
            return Ok(());
        };
        if completion.result.is_err() {
            self.served.errors += 1;
            return self.reply_error(open.unique, Errno::IO);
        }
        match completion.request.kind {
            Kind::Read => {
                let mut buffer = std::mem::take(&mut self.buffer);
                buffer.resize(open.length, 0);
                self.disk
                    .read(completion.request.sector * SECTOR, &mut buffer)?;
                let replied = self.reply(open.unique, &buffer);
                self.buffer = buffer;
                replied
            }
            Kind::Write => self.reply(open.unique, &wire::write_reply(open.length)),
            Kind::Flush | Kind::Discard | Kind::WriteZeroes => self.reply(open.unique, &[]),
        }
    }

    fn reply(&self, unique: u64, body: &[u8]) -> Result<(), FuseError> {
        self.respond(&wire::reply_header(unique, 0, body.len()), body)
    }

    fn reply_error(&self, unique: u64, why: Errno) -> Result<(), FuseError> {
        self.respond(&wire::reply_header(unique, why.raw_os_error(), 0), &[])
    }

    fn respond(&self, head: &[u8], body: &[u8]) -> Result<(), FuseError> {
        match writev(&self.device, &[IoSlice::new(head), IoSlice::new(body)]) {
            // The request is gone, or the file system is unmounted: the next read reports which.
            Ok(_) | Err(Errno::NOENT | Errno::NODEV | Errno::PIPE) => Ok(()),
            Err(error) => Err(FuseError::Device(error.into())),
        }
    }
}
