//! The engine `uring`: reads and writes of large files with many requests in flight, handed to the
//! kernel through a ring (`io_uring(7)`) whose buffers and file are registered beforehand.
//!
//! Everything else goes by the calls of `sync`: opens, unlinks and the like are handed to worker
//! threads of the kernel, which costs more than the call. Which block comes next is the caller's affair.

use super::null::Facts;
use super::sync::SystemCalls;
use super::{BlockSource, Calls, Engine, EngineInfo, LargeFile, Transferred};
use crate::clock;
use crate::error::LoadError;
use io_uring::{IoUring, opcode, squeue, types};
use rustix::fd::{AsRawFd, OwnedFd};
use std::io;

/// The name of the engine.
pub const NAME: &str = "uring";

/// The engine `uring`.
pub(crate) enum UringEngine {}

impl Engine for UringEngine {
    const INFO: EngineInfo = EngineInfo {
        name: NAME,
        title: "large files with many requests in flight (io_uring); all else as sync does it",
        programs: &[],
        touches_files: true,
    };
    type Calls = SystemCalls;

    fn calls(_facts: Facts) -> SystemCalls {
        SystemCalls::default()
    }

    fn transfer_method(writes: bool, _random: bool) -> Option<&'static str> {
        Some(if writes {
            "io_uring: write of registered buffers; fsync at the end"
        } else {
            "io_uring: read into registered buffers"
        })
    }

    fn check_transfer(at_rate: bool, _direct: bool) -> Result<(), &'static str> {
        if at_rate {
            return Err(
                "a queue depth and a rate exclude each other: leave out `rate`, or choose the engine \
                 sync",
            );
        }
        Ok(())
    }

    fn transfer_blocks(depth: usize) -> usize {
        depth
    }

    fn transfer(
        calls: &mut SystemCalls,
        file: &LargeFile<'_, OwnedFd>,
        memory: &mut [u8],
        source: &mut impl BlockSource,
    ) -> Result<Transferred, LoadError> {
        let open = calls.open_data(file.directory, file.name, file.how)?;
        let mut ring = Ring::new(&open, memory, file.block)?;
        let bytes = transfer_queued(&mut ring, file.how.writes, source)?;
        if file.how.writes {
            ring.make_durable()?;
        }
        let made = ring.calls();
        drop(ring);
        calls.close(open)?;
        Ok(Transferred { bytes, calls: made })
    }
}

/// Moves all blocks through a ring: a slot gets its next block as soon as its last one has ended.
fn transfer_queued(
    ring: &mut Ring<'_>,
    writes: bool,
    source: &mut impl BlockSource,
) -> Result<u64, LoadError> {
    let call = if writes { "write" } else { "read" };
    let mut began = vec![clock::now(); ring.depth()].into_boxed_slice();
    let (mut in_flight, mut moved) = (0_u64, 0);
    for slot in 0..ring.depth() {
        in_flight += u64::from(ring.begin_next(slot, writes, source)?);
    }
    while in_flight > 0 {
        ring.wait()?;
        while let Some(ended) = ring.next(call)? {
            let now = clock::now();
            let took = now.saturating_sub(began[ended.slot]);
            began[ended.slot] = now;
            moved += ended.bytes as u64;
            if writes && ended.bytes < ring.block {
                let source = io::Error::from_raw_os_error(libc::EIO);
                return Err(LoadError::io(call, "(less than a block)", source));
            }
            source.ended_in(now, took, ended.bytes)?;
            in_flight -= 1;
            in_flight += u64::from(ring.begin_next(ended.slot, writes, source)?);
        }
    }
    Ok(moved)
}

/// The file, by its place in the table that is registered with the ring.
const FILE: types::Fixed = types::Fixed(0);
/// What the `fsync` at the end is known by: no slot.
const FSYNC: u64 = u64::MAX;

/// A ring over one file, with a buffer for each request that can be in flight.
pub(crate) struct Ring<'b> {
    kernel: IoUring,
    buffers: &'b mut [u8],
    block: usize,
    /// Requests the kernel has, and may still write to a buffer for.
    in_flight: usize,
    calls: u64,
}

/// A request that has ended.
#[derive(Debug, Clone, Copy)]
struct Ended {
    /// Its buffer.
    slot: usize,
    /// The bytes that were moved.
    bytes: usize,
}

fn refused(call: &'static str) -> impl Fn(io::Error) -> LoadError {
    move |source| LoadError::io(call, "(a ring)", source)
}

impl<'b> Ring<'b> {
    /// A ring over a file; `buffers` are as many blocks as requests may be in flight.
    pub fn new(file: &OwnedFd, buffers: &'b mut [u8], block: usize) -> Result<Self, LoadError> {
        let depth = u32::try_from(buffers.len() / block).unwrap_or(u32::MAX);
        let mut modern = IoUring::builder();
        // What has ended is looked at when we ask, not by an interrupt of our own work.
        modern.setup_single_issuer().setup_defer_taskrun();
        let ring = match modern.build(depth) {
            // A kernel before 6.1.
            Err(error) if error.raw_os_error() == Some(libc::EINVAL) => IoUring::new(depth),
            built => built,
        };
        let ring = ring.map_err(refused("io_uring_setup"))?;
        let parts: Vec<libc::iovec> = buffers
            .chunks_exact_mut(block)
            .map(|part| libc::iovec {
                iov_base: part.as_mut_ptr().cast(),
                iov_len: part.len(),
            })
            .collect();
        // SAFETY: the buffers are ours for as long as the ring lives, and `drop` waits for all that
        // the kernel may still do with them.
        unsafe { ring.submitter().register_buffers(&parts) }
            .map_err(refused("io_uring_register buffers"))?;
        ring.submitter()
            .register_files(&[file.as_raw_fd()])
            .map_err(refused("io_uring_register files"))?;
        Ok(Self {
            kernel: ring,
            buffers,
            block,
            in_flight: 0,
            calls: 0,
        })
    }

    /// How many requests may be in flight.
    fn depth(&self) -> usize {
        self.buffers.len() / self.block
    }

    /// Calls to the kernel so far.
    fn calls(&self) -> u64 {
        self.calls
    }

    /// The buffer of a slot with no request in flight.
    #[inline]
    fn buffer(&mut self, slot: usize) -> &mut [u8] {
        &mut self.buffers[slot * self.block..(slot + 1) * self.block]
    }

    /// Queues the next block of a source in a slot; false at its end.
    #[inline]
    fn begin_next(
        &mut self,
        slot: usize,
        writes: bool,
        source: &mut impl BlockSource,
    ) -> Result<bool, LoadError> {
        let Some(offset) = source.next(self.buffer(slot)) else {
            return Ok(false);
        };
        self.begin(slot, offset, writes)?;
        Ok(true)
    }

    /// Queues a request for the block at an offset; the kernel has it with the next wait.
    #[inline]
    fn begin(&mut self, slot: usize, offset: u64, writes: bool) -> Result<(), LoadError> {
        let block = self.block;
        let part = self.buffer(slot).as_mut_ptr();
        // Blocks and slots are few and small.
        let (length, index) = (
            u32::try_from(block).unwrap_or(u32::MAX),
            u16::try_from(slot).unwrap_or(u16::MAX),
        );
        let entry = if writes {
            opcode::WriteFixed::new(FILE, part, length, index)
                .offset(offset)
                .build()
        } else {
            opcode::ReadFixed::new(FILE, part, length, index)
                .offset(offset)
                .build()
        };
        self.push(&entry.user_data(slot as u64))
    }

    #[inline]
    fn push(&mut self, entry: &squeue::Entry) -> Result<(), LoadError> {
        // SAFETY: its buffer, where it has one, is a registered one and lives as long as the
        // ring; nobody touches it until the request has ended.
        let pushed = unsafe { self.kernel.submission().push(entry) };
        if pushed.is_err() {
            // Never: there is one request a slot, and as many places as slots.
            return Err(refused("io_uring_enter")(io::Error::from_raw_os_error(
                libc::EBUSY,
            )));
        }
        self.in_flight += 1;
        Ok(())
    }

    /// Passes what was queued, and waits until at least one request has ended.
    ///
    /// By two calls, where none has ended by the first: in between, whoever serves the requests may
    /// run. One call that does both goes to sleep at once, and must be woken.
    #[inline]
    fn wait(&mut self) -> Result<(), LoadError> {
        if !self.kernel.submission().is_empty() {
            self.enter(0)?;
        }
        if self.kernel.completion().is_empty() {
            self.enter(1)?;
        }
        Ok(())
    }

    #[inline]
    fn enter(&mut self, awaited: usize) -> Result<(), LoadError> {
        loop {
            self.calls += 1;
            match self.kernel.submit_and_wait(awaited) {
                Ok(_) => return Ok(()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(refused("io_uring_enter")(error)),
            }
        }
    }

    /// The next request that has ended; none where the kernel must be waited for.
    #[inline]
    fn next(&mut self, call: &'static str) -> Result<Option<Ended>, LoadError> {
        let Some(entry) = self.kernel.completion().next() else {
            return Ok(None);
        };
        self.in_flight -= 1;
        let bytes = usize::try_from(entry.result())
            .map_err(|_| io::Error::from_raw_os_error(-entry.result()))
            .map_err(|source| LoadError::io(call, "(a large file)", source))?;
        Ok(Some(Ended {
            // A slot, or the mark of `fsync`, which nobody requests here.
            slot: usize::try_from(entry.user_data()).unwrap_or(0),
            bytes,
        }))
    }

    /// Makes the file durable; nothing may be in flight.
    fn make_durable(&mut self) -> Result<(), LoadError> {
        self.push(&opcode::Fsync::new(FILE).build().user_data(FSYNC))?;
        self.wait()?;
        while self.next("fsync")?.is_none() {
            self.wait()?;
        }
        Ok(())
    }
}

impl Drop for Ring<'_> {
    fn drop(&mut self) {
        // The kernel may not write to a buffer that is somebody else's by then.
        while self.in_flight > 0 && self.wait().is_ok() {
            while let Some(_ended) = self.kernel.completion().next() {
                self.in_flight -= 1;
            }
        }
    }
}
