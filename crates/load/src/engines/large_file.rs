//! The blocks of a large file: their order, and transfers by one system call each.

use super::{Calls, DataFile};
use crate::error::LoadError;
use std::ffi::CStr;

/// A large file whose blocks are transferred.
#[derive(Debug)]
pub(crate) struct LargeFile<'a, D> {
    pub directory: &'a D,
    pub name: &'a CStr,
    pub how: DataFile,
    /// Its size in bytes when it is complete.
    pub size: u64,
    /// Whether it is written from the start, so that it is smaller than `size` until then.
    pub grows: bool,
    /// The size of a block, bytes.
    pub block: usize,
    /// Whether blocks are in random order.
    pub random: bool,
    /// Whether the file is made durable after its last block.
    pub sync_at_end: bool,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct BlockRequest {
    pub offset: u64,
    /// Whether it is written, and otherwise read.
    pub writes: bool,
}

/// The result of a transfer.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Transferred {
    pub bytes: u64,
    /// System calls that the engine's `Calls` do not count.
    pub calls: u64,
}

/// The blocks to transfer, in order.
pub(crate) trait BlockSource {
    /// Records that the file is open: the first block is due now.
    fn begin(&mut self);
    /// The next block, with its content for a write; none at the end.
    fn next(&mut self, block: &mut [u8]) -> Option<BlockRequest>;
    /// Records that a block was written. Returns whether the file is made durable before this
    /// operation ends.
    fn is_sync_due(&mut self) -> bool;
    /// Records that the only block in flight transferred this many bytes.
    fn ended(&mut self, bytes: usize) -> Result<(), LoadError>;
    /// Records that a block transferred this many bytes. It ended at `now` and took `duration`
    /// nanoseconds.
    fn ended_in(&mut self, now: u64, duration: u64, bytes: usize) -> Result<(), LoadError>;
}

/// Transfers all blocks by one call each.
pub(crate) fn transfer_by_calls<C: Calls>(
    calls: &mut C,
    file: &LargeFile<'_, C::Dir>,
    memory: &mut [u8],
    source: &mut impl BlockSource,
) -> Result<Transferred, LoadError> {
    let mut open = calls.open_data(file.directory, file.name, file.how)?;
    let mut moved = 0;
    source.begin();
    while let Some(request) = source.next(memory) {
        let bytes = if request.writes {
            calls.write_at(&mut open, memory, request.offset)?;
            if source.is_sync_due() {
                calls.make_durable(&mut open)?;
            }
            memory.len()
        } else {
            calls.read_at(&mut open, memory, request.offset)?
        };
        moved += bytes as u64;
        source.ended(bytes)?;
    }
    if file.sync_at_end {
        calls.make_durable(&mut open)?;
    }
    calls.close(open)?;
    Ok(Transferred {
        bytes: moved,
        calls: 0,
    })
}
