//! Operations on one large file, sequential or random.

use super::pace::Pace;
use super::parameters::{Fsync, Parameters, SyncCounter};
use super::random::RandomOffsets;
use super::worker::{Limits, Work, WorkerState};
use super::{HOME, Phase};
use crate::engines::{BlockRequest, BlockSource, Calls, DataFile, Engine, LargeFile};
use crate::error::LoadError;
use crate::phases::timeline::TimelineRecorder;
use crate::slices;
use fsdyno_model::cancel::CancelToken;
use fsdyno_model::sample::Tally;
use fsdyno_model::units::Bytes;

/// The unit of deduplication of a device, bytes: each unit of written data is different.
const UNIQUE: usize = 4096;
/// Makes the content of a block unique: `writer` separates phases and workers.
#[inline]
pub(super) fn stamp(block: &mut [u8], writer: u64, number: u64) {
    for (part, unique) in (0..).zip(block.chunks_exact_mut(UNIQUE)) {
        unique[..8].copy_from_slice(&writer.to_ne_bytes());
        unique[8..16].copy_from_slice(&(number << 16 | part).to_ne_bytes());
    }
}

/// Transfers all blocks of one worker.
pub(super) fn run<E: Engine>(
    calls: &mut E::Calls,
    work: Work<'_>,
    worker: &mut WorkerState,
) -> Result<Tally, LoadError> {
    let Work {
        phase, parameters, ..
    } = work;
    let work_dir = calls.open_work_dir(work.job.root)?;
    let top = calls.open_dir(&work_dir, HOME)?;
    let file = LargeFile {
        directory: &top,
        name: &worker.large,
        how: open_mode(phase, parameters),
        size: parameters.blocks() * parameters.block as u64,
        grows: phase == Phase::Write,
        block: parameters.block,
        random: phase.is_random(),
        sync_at_end: phase.writes() && parameters.fsync == Fsync::AtEnd,
    };
    let sequence = blocks_of(phase, parameters, worker.number);
    let mut blocks = Blocks {
        block: parameters.block as u64,
        writer: phase.writes().then(|| writer(phase, worker.number)),
        sequence,
        at: 0,
        offsets: phase.is_random().then_some(&mut worker.offsets),
        sync: SyncCounter::new(parameters.fsync),
        pace: &mut worker.pace,
        timeline: &mut worker.timeline,
        limits: work.limits,
        stop: work.job.stop,
    };
    let moved = E::transfer(calls, &file, &mut worker.buffer, &mut blocks)?;
    for dir in [top, work_dir] {
        calls.close_dir(dir);
    }
    Ok(Tally {
        files: 1,
        bytes: Bytes(moved.bytes),
        calls: calls.calls() + moved.calls,
        ..Tally::default()
    })
}

/// Returns the flags with which a phase opens its large file.
pub(crate) fn open_mode(phase: Phase, parameters: &Parameters) -> DataFile {
    DataFile {
        writes: phase.writes(),
        // Workers that share a file find it already created.
        makes: phase == Phase::Write && !parameters.shared,
        direct: parameters.direct,
        dsync: phase.writes() && parameters.dsync,
        also_reads: phase == Phase::RandomWrite && parameters.reads > 0,
        appends: false,
    }
}

/// The blocks of one worker in a large file.
#[derive(Debug, Clone, Copy)]
pub(super) struct BlockSequence {
    first: u64,
    /// The distance from one block to the next, in blocks.
    step: u64,
    pub count: u64,
}

impl BlockSequence {
    /// The number of the block that is transferred after this many others.
    #[inline]
    pub fn block(&self, at: u64) -> u64 {
        self.first + at * self.step
    }
}

/// The blocks of a worker: one contiguous part of a shared file, or every n-th block of it.
pub(super) fn blocks_of(phase: Phase, parameters: &Parameters, worker: usize) -> BlockSequence {
    let share = if phase.is_random() {
        parameters.share(parameters.operations, worker)
    } else if parameters.shared && parameters.strided {
        let (worker, step) = (worker as u64, parameters.workers as u64);
        return BlockSequence {
            first: worker,
            step,
            count: parameters.blocks().saturating_sub(worker).div_ceil(step),
        };
    } else if parameters.shared {
        parameters.share(parameters.blocks(), worker)
    } else {
        0..parameters.blocks()
    };
    BlockSequence {
        first: share.start,
        step: 1,
        count: share.end - share.start,
    }
}

/// Whether a block has the mark of its writer and its number, and incompressible data around it.
pub(super) fn stamped(block: &[u8], writer: u64, number: u64) -> bool {
    let mut expected = block.to_vec();
    stamp(&mut expected, writer, number);
    // In a hole or a lost page, all bytes are equal.
    let varied = |unique: &[u8]| unique.len() < 32 || unique[16..].iter().any(|b| *b != unique[16]);
    expected == block && block.chunks(UNIQUE).all(varied)
}

/// A number for each phase and worker, which makes their data different.
pub(super) fn writer(phase: Phase, worker: usize) -> u64 {
    (phase as u64) << 32 | worker as u64
}

/// The blocks of one worker, each of them timed.
struct Blocks<'a> {
    block: u64,
    /// The mark of written blocks; none for reads.
    writer: Option<u64>,
    sequence: BlockSequence,
    at: u64,
    /// Random offsets; none for sequential access.
    offsets: Option<&'a mut RandomOffsets>,
    sync: SyncCounter,
    pace: &'a mut Pace,
    timeline: &'a mut TimelineRecorder,
    limits: Limits<'a>,
    stop: &'a CancelToken,
}

impl BlockSource for Blocks<'_> {
    fn begin(&mut self) {
        self.pace.begin(self.timeline);
    }

    #[inline]
    fn next(&mut self, block: &mut [u8]) -> Option<BlockRequest> {
        if self.at >= self.sequence.count.min(self.limits.most) || self.limits.reached() {
            return None;
        }
        let (number, reads) = match &mut self.offsets {
            Some(offsets) => offsets.next(),
            None => (self.sequence.block(self.at), false),
        };
        let writer = self.writer.filter(|_| !reads);
        if let Some(writer) = writer {
            stamp(block, writer, self.at);
        }
        self.at += 1;
        Some(BlockRequest {
            offset: number * self.block,
            writes: writer.is_some(),
        })
    }

    #[inline]
    fn is_sync_due(&mut self) -> bool {
        self.sync.is_due()
    }

    #[inline]
    fn ended(&mut self, bytes: usize) -> Result<(), LoadError> {
        self.pace.next(self.timeline, bytes);
        slices::count();
        Ok(self.stop.check()?)
    }

    #[inline]
    fn ended_in(&mut self, now: u64, duration: u64, bytes: usize) -> Result<(), LoadError> {
        self.timeline.ended(now, duration, bytes as u64);
        Ok(self.stop.check()?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::phases::op::random::incompressible;
    use std::collections::HashSet;

    #[test]
    fn all_written_blocks_are_different() {
        let mut buffer = incompressible(3 * UNIQUE);
        let mut seen = HashSet::new();
        for number in 0..100 {
            stamp(&mut buffer, 1, number);
            for part in buffer.chunks(UNIQUE) {
                assert!(seen.insert(part.to_vec()));
            }
        }
    }
}
