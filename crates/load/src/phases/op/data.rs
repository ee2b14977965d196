//! Operations on one large file, sequential or random.

use super::pace::Pace;
use super::parameters::{Fsync, Parameters, SyncCounter};
use super::workers::{Limits, Room, Work};
use super::{HOME, Phase};
use crate::engines::{BlockRequest, BlockSource, Calls, DataFile, Engine, LargeFile};
use crate::error::LoadError;
use crate::phases::buffer::Buffer;
use crate::phases::timeline::TimelineRecorder;
use fsdyno_datasets::content::{BUFFER, Content, Stream};
use fsdyno_datasets::seed::Seed;
use fsdyno_model::cancel::CancelToken;
use fsdyno_model::sample::Tally;
use fsdyno_model::units::Bytes;

/// The unit of deduplication of a device, bytes: each unit of written data is different.
const UNIQUE: usize = 4096;
/// The number of precomputed offsets.
const SPOKES: usize = 8192;

/// Random offsets in a file, computed before the clock starts. After each turn all offsets of the
/// wheel are shifted, so that a few precomputed offsets give any number of offsets.
#[derive(Debug, Default)]
pub(super) struct Wheel {
    /// A block, and whether a phase that writes reads it.
    spokes: Box<[(u64, bool)]>,
    blocks: u64,
    /// The current shift of the wheel, in blocks.
    shift: u64,
    at: usize,
}

impl Wheel {
    /// Offsets in a file with this number of blocks, for one worker. `reads` of 100 are read.
    pub fn drawn(blocks: u64, reads: u64, worker: usize) -> Self {
        let seed = Seed::new(1).part("op").at(worker as u64);
        let mix = seed.part("reads");
        Self {
            spokes: (0..SPOKES as u64)
                .map(|at| (seed.at(at).below(blocks), mix.at(at).below(100) < reads))
                .collect(),
            blocks,
            shift: 0,
            at: 0,
        }
    }

    /// The next block, and whether a phase that writes reads it.
    #[inline]
    pub fn next(&mut self) -> (u64, bool) {
        let (block, reads) = self.spokes[self.at];
        let block = block + self.shift;
        self.at += 1;
        if self.at == self.spokes.len() {
            self.turn();
        }
        if block >= self.blocks {
            (block - self.blocks, reads)
        } else {
            (block, reads)
        }
    }

    #[cold]
    fn turn(&mut self) {
        self.at = 0;
        // About the golden section of the file: each turn falls between earlier ones.
        let golden = self.blocks / 1_000 * 618 + self.blocks % 1_000 * 618 / 1_000;
        self.shift = (self.shift + (golden | 1)) % self.blocks;
    }
}

/// A buffer of incompressible bytes.
pub(in crate::phases) fn noise(length: usize) -> Buffer {
    let mut buffer = Buffer::filled(0xa5, length);
    let mut pieces = vec![0; BUFFER];
    let content = Content::Binary { percent: 100 };
    let seed = Seed::new(1).part("op");
    let mut stream = Stream::new(content, seed, length as u64, &mut pieces);
    let mut at = 0;
    while let Some(piece) = stream.next_piece() {
        buffer[at..at + piece.len()].copy_from_slice(piece);
        at += piece.len();
    }
    buffer
}

/// Makes the content of a block unique: `author` separates phases and workers.
#[inline]
pub(super) fn stamp(block: &mut [u8], author: u64, number: u64) {
    for (part, unique) in (0..).zip(block.chunks_exact_mut(UNIQUE)) {
        unique[..8].copy_from_slice(&author.to_ne_bytes());
        unique[8..16].copy_from_slice(&(number << 16 | part).to_ne_bytes());
    }
}

/// Transfers all blocks of one worker.
pub(super) fn run<E: Engine>(
    calls: &mut E::Calls,
    work: Work<'_>,
    room: &mut Room,
) -> Result<Tally, LoadError> {
    let Work {
        phase, parameters, ..
    } = work;
    let work_dir = calls.open_work_dir(work.job.root)?;
    let top = calls.open_dir(&work_dir, HOME)?;
    let file = LargeFile {
        directory: &top,
        name: &room.large,
        how: open_mode(phase, parameters),
        size: parameters.blocks() * parameters.block as u64,
        grows: phase == Phase::Write,
        block: parameters.block,
        random: phase.is_random(),
        sync_at_end: phase.writes() && parameters.fsync == Fsync::AtEnd,
    };
    let stretch = stretch_of(phase, parameters, room.number);
    let mut blocks = Blocks {
        block: parameters.block as u64,
        author: phase.writes().then(|| author(phase, room.number)),
        stretch,
        at: 0,
        wheel: phase.is_random().then_some(&mut room.wheel),
        sync: SyncCounter::new(parameters.fsync),
        pace: &mut room.pace,
        timeline: &mut room.timeline,
        limits: work.limits,
        stop: work.job.stop,
    };
    let moved = E::transfer(calls, &file, &mut room.buffer, &mut blocks)?;
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

/// How a phase opens its large file.
pub(crate) fn open_mode(phase: Phase, parameters: &Parameters) -> DataFile {
    DataFile {
        writes: phase.writes(),
        // Workers that share a file find it already created.
        makes: phase == Phase::Write && !parameters.shared,
        direct: parameters.direct,
        dsync: phase.writes() && parameters.dsync,
        also_reads: phase == Phase::RandomWrite && parameters.reads > 0,
    }
}

/// The blocks of one worker in a large file.
#[derive(Debug, Clone, Copy)]
pub(super) struct Stretch {
    first: u64,
    /// The distance from one block to the next, in blocks.
    step: u64,
    pub count: u64,
}

impl Stretch {
    /// The number of the block that is transferred after this many others.
    #[inline]
    pub fn block(&self, at: u64) -> u64 {
        self.first + at * self.step
    }
}

/// The blocks of a worker: one contiguous part of a shared file, or every n-th block of it.
pub(super) fn stretch_of(phase: Phase, parameters: &Parameters, worker: usize) -> Stretch {
    let share = if phase.is_random() {
        parameters.share(parameters.operations, worker)
    } else if parameters.shared && parameters.strided {
        let (worker, step) = (worker as u64, parameters.workers as u64);
        return Stretch {
            first: worker,
            step,
            count: parameters.blocks().saturating_sub(worker).div_ceil(step),
        };
    } else if parameters.shared {
        parameters.share(parameters.blocks(), worker)
    } else {
        0..parameters.blocks()
    };
    Stretch {
        first: share.start,
        step: 1,
        count: share.end - share.start,
    }
}

/// Whether a block has the mark of its author and its number, and incompressible data around it.
pub(super) fn stamped(block: &[u8], author: u64, number: u64) -> bool {
    let mut expected = block.to_vec();
    stamp(&mut expected, author, number);
    // All bytes equal is what a hole or a lost page has.
    let varied = |unique: &[u8]| unique.len() < 32 || unique[16..].iter().any(|b| *b != unique[16]);
    expected == block && block.chunks(UNIQUE).all(varied)
}

/// A number for each phase and worker, which makes their data different.
pub(super) fn author(phase: Phase, worker: usize) -> u64 {
    (phase as u64) << 32 | worker as u64
}

/// The blocks of one worker, each of them timed.
struct Blocks<'a> {
    block: u64,
    /// The mark of written blocks; none for reads.
    author: Option<u64>,
    stretch: Stretch,
    at: u64,
    /// Random offsets; none for sequential access.
    wheel: Option<&'a mut Wheel>,
    sync: SyncCounter,
    pace: &'a mut Pace,
    timeline: &'a mut TimelineRecorder,
    limits: Limits<'a>,
    stop: &'a CancelToken,
}

impl Blocks<'_> {
    #[inline]
    fn check_cancelled(&self) -> Result<(), LoadError> {
        if self.stop.requested() {
            return Err(LoadError::Stopped);
        }
        Ok(())
    }
}

impl BlockSource for Blocks<'_> {
    fn begin(&mut self) {
        self.pace.begin(self.timeline);
    }

    #[inline]
    fn next(&mut self, block: &mut [u8]) -> Option<BlockRequest> {
        if self.at >= self.stretch.count.min(self.limits.most) || self.limits.reached() {
            return None;
        }
        let (number, reads) = match &mut self.wheel {
            Some(wheel) => wheel.next(),
            None => (self.stretch.block(self.at), false),
        };
        let author = self.author.filter(|_| !reads);
        if let Some(author) = author {
            stamp(block, author, self.at);
        }
        self.at += 1;
        Some(BlockRequest {
            offset: number * self.block,
            writes: author.is_some(),
        })
    }

    #[inline]
    fn is_sync_due(&mut self) -> bool {
        self.sync.is_due()
    }

    #[inline]
    fn ended(&mut self, bytes: usize) -> Result<(), LoadError> {
        self.pace.next(self.timeline, bytes);
        self.check_cancelled()
    }

    #[inline]
    fn ended_in(&mut self, now: u64, duration: u64, bytes: usize) -> Result<(), LoadError> {
        self.timeline.ended(now, duration, bytes as u64);
        self.check_cancelled()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn offsets_are_spread_over_the_file_for_any_count() {
        for blocks in [1, 7, 1000, 1 << 28] {
            let mut wheel = Wheel::drawn(blocks, 0, 0);
            let mut tenths = [0; 10];
            let mut seen = HashSet::new();
            for _ in 0..10 * SPOKES {
                let (block, _) = wheel.next();
                assert!(block < blocks);
                seen.insert(block);
                tenths[usize::try_from(block * 10 / blocks).unwrap()] += 1;
            }
            if blocks >= 1000 {
                let least = *tenths.iter().min().unwrap();
                assert!(least > SPOKES / 2, "{blocks}: {tenths:?}");
            }
            // With many blocks, hardly any offset repeats.
            let most = usize::try_from(blocks).unwrap().min(10 * SPOKES);
            assert!(seen.len() * 100 >= most * 99, "{blocks}: {}", seen.len());
        }
    }

    #[test]
    fn all_written_blocks_are_different() {
        let mut buffer = noise(3 * UNIQUE);
        let mut seen = HashSet::new();
        for number in 0..100 {
            stamp(&mut buffer, 1, number);
            for part in buffer.chunks(UNIQUE) {
                assert!(seen.insert(part.to_vec()));
            }
        }
    }
}
