//! The engine `uring`: reads and writes large files with many requests in flight. Requests are
//! submitted through a ring (`io_uring(7)`) with a registered file and registered buffers.
//!
//! All other operations use the calls of `sync`: the kernel runs opens, unlinks and similar
//! requests in worker threads, which costs more than the call. The caller chooses the order of the
//! blocks.

use super::null::Facts;
use super::sync::SystemCalls;
use super::{BlockSource, Calls, DataFile, Engine, EngineInfo, LargeFile, Transferred};
use crate::clock;
use crate::error::LoadError;
use fsdyno_files::uninterrupted;
use io_uring::{IoUring, opcode, squeue, types};
use rustix::fd::{AsRawFd, OwnedFd};
use std::io;

pub const NAME: &str = "uring";

pub(crate) enum UringEngine {}

impl Engine for UringEngine {
    const INFO: EngineInfo = EngineInfo {
        name: NAME,
        title: "large files by io_uring with many requests in flight; otherwise as sync",
        programs: &[],
        touches_files: true,
    };
    type Calls = SystemCalls;

    fn calls(_facts: Facts) -> SystemCalls {
        SystemCalls::default()
    }

    fn transfer_method(writes: bool, _random: bool) -> Option<&'static str> {
        Some(if writes {
            "io_uring: write of registered buffers"
        } else {
            "io_uring: read into registered buffers"
        })
    }

    fn check_transfer(at_rate: bool, _how: DataFile) -> Result<(), &'static str> {
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
        let bytes = transfer_queued(&mut ring, source)?;
        if file.sync_at_end {
            ring.make_durable()?;
        }
        let made = ring.calls;
        drop(ring);
        calls.close(open)?;
        Ok(Transferred { bytes, calls: made })
    }
}

/// Transfers all blocks through a ring: a slot gets its next block as soon as its last one has
/// completed, and is durable if that is due.
fn transfer_queued(ring: &mut Ring<'_>, source: &mut impl BlockSource) -> Result<u64, LoadError> {
    let mut began = vec![clock::now(); ring.depth()].into_boxed_slice();
    let mut writes = vec![false; ring.depth()].into_boxed_slice();
    let (mut in_flight, mut moved) = (0_u64, 0);
    for (slot, writes) in writes.iter_mut().enumerate() {
        in_flight += u64::from(ring.begin_next(slot, writes, source)?);
    }
    while in_flight > 0 {
        ring.wait()?;
        while let Some(ended) = ring.next() {
            let slot = ended.slot;
            let mut bytes = ring.block;
            if ended.is_sync {
                ended.bytes("fsync")?;
            } else if writes[slot] {
                if ended.bytes("write")? < ring.block {
                    let source = io::Error::from_raw_os_error(libc::EIO);
                    return Err(LoadError::io("write", "(less than a block)", source));
                }
                if source.is_sync_due() {
                    // The operation ends when its data are durable.
                    ring.begin_sync(slot)?;
                    continue;
                }
            } else {
                bytes = ended.bytes("read")?;
            }
            let now = clock::now();
            let duration = now.saturating_sub(began[slot]);
            began[slot] = now;
            moved += bytes as u64;
            source.ended_in(now, duration, bytes)?;
            in_flight -= 1;
            in_flight += u64::from(ring.begin_next(slot, &mut writes[slot], source)?);
        }
    }
    Ok(moved)
}

/// The file, by its index in the file table registered with the ring.
const FILE: types::Fixed = types::Fixed(0);
/// The bit of the user data of an `fsync`; the rest is its slot.
const FSYNC: u64 = 1 << 63;

/// A ring over one file, with a buffer for each request that can be in flight.
pub(crate) struct Ring<'b> {
    kernel: IoUring,
    buffers: &'b mut [u8],
    block: usize,
    /// Requests in flight, for which the kernel may still access a buffer.
    in_flight: usize,
    /// System calls so far.
    calls: u64,
}

#[derive(Debug, Clone, Copy)]
struct Ended {
    slot: usize,
    is_sync: bool,
    /// The result of the kernel: transferred bytes, or a negative error number.
    result: i32,
}

impl Ended {
    /// The number of transferred bytes; `call` names the request in an error.
    #[inline]
    fn bytes(self, call: &'static str) -> Result<usize, LoadError> {
        usize::try_from(self.result)
            .map_err(|_| io::Error::from_raw_os_error(-self.result))
            .map_err(|source| LoadError::io(call, "(a large file)", source))
    }
}

fn refused(call: &'static str) -> impl Fn(io::Error) -> LoadError {
    move |source| LoadError::io(call, "(a ring)", source)
}

impl<'b> Ring<'b> {
    /// Creates a ring over a file; `buffers` has one block for each request in flight.
    pub fn new(file: &OwnedFd, buffers: &'b mut [u8], block: usize) -> Result<Self, LoadError> {
        let depth = u32::try_from(buffers.len() / block).unwrap_or(u32::MAX);
        let mut modern = IoUring::builder();
        // Completions are processed when this thread enters the kernel, without an interrupt of its
        // work.
        modern.setup_single_issuer().setup_defer_taskrun();
        let ring = match modern.build(depth) {
            // The kernel is older than 6.1.
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
        // SAFETY: the buffers are borrowed for the life of the ring, and `drop` waits for all
        // requests of the kernel.
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

    /// The maximum number of requests in flight.
    fn depth(&self) -> usize {
        self.buffers.len() / self.block
    }

    /// The buffer of a slot with no request in flight.
    #[inline]
    fn buffer(&mut self, slot: usize) -> &mut [u8] {
        &mut self.buffers[slot * self.block..(slot + 1) * self.block]
    }

    /// Queues the next block of a source in a slot; returns false at its end.
    #[inline]
    fn begin_next(
        &mut self,
        slot: usize,
        writes: &mut bool,
        source: &mut impl BlockSource,
    ) -> Result<bool, LoadError> {
        let Some(request) = source.next(self.buffer(slot)) else {
            return Ok(false);
        };
        *writes = request.writes;
        self.begin(slot, request.offset, request.writes)?;
        Ok(true)
    }

    /// Queues an `fsync` in a slot.
    fn begin_sync(&mut self, slot: usize) -> Result<(), LoadError> {
        let entry = opcode::Fsync::new(FILE).build();
        self.push(&entry.user_data(slot as u64 | FSYNC))
    }

    /// Queues a request for the block at an offset; the next wait submits it.
    #[inline]
    fn begin(&mut self, slot: usize, offset: u64, writes: bool) -> Result<(), LoadError> {
        let block = self.block;
        let part = self.buffer(slot).as_mut_ptr();
        // The numbers of blocks and slots are small.
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
        // SAFETY: its buffer, if any, is registered and lives as long as the ring; nothing accesses
        // it until the request has completed.
        let pushed = unsafe { self.kernel.submission().push(entry) };
        if pushed.is_err() {
            // Unreachable: there is one request per slot, and the queue has as many entries as
            // slots.
            return Err(refused("io_uring_enter")(io::Error::from_raw_os_error(
                libc::EBUSY,
            )));
        }
        self.in_flight += 1;
        Ok(())
    }

    /// Submits the queued requests, and waits until at least one has completed.
    ///
    /// Uses two calls if none has completed after the first: other processes that serve the
    /// requests can run in between. A single call for both would sleep at once, and need a wake-up.
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
        let entered = uninterrupted(|| {
            self.calls += 1;
            self.kernel.submit_and_wait(awaited)
        });
        entered.map(drop).map_err(refused("io_uring_enter"))
    }

    /// The next completed request; none if the kernel has no completion yet.
    #[inline]
    fn next(&mut self) -> Option<Ended> {
        let entry = self.kernel.completion().next()?;
        self.in_flight -= 1;
        let data = entry.user_data();
        Some(Ended {
            // A slot is a small number.
            slot: usize::try_from(data & !FSYNC).unwrap_or(0),
            is_sync: data & FSYNC != 0,
            result: entry.result(),
        })
    }

    /// Makes the file durable; no request may be in flight.
    fn make_durable(&mut self) -> Result<(), LoadError> {
        self.begin_sync(0)?;
        loop {
            self.wait()?;
            if let Some(ended) = self.next() {
                return ended.bytes("fsync").map(|_| ());
            }
        }
    }
}

impl Drop for Ring<'_> {
    fn drop(&mut self) {
        // The kernel must not write to a buffer that is reused after the drop.
        while self.in_flight > 0 && self.wait().is_ok() {
            while let Some(_ended) = self.kernel.completion().next() {
                self.in_flight -= 1;
            }
        }
    }
}
