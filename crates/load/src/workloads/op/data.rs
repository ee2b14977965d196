//! Operations on one large file: block by block, or at offsets all over it.

use super::workers::{Room, Work};
use super::{HOME, Phase};
use crate::engines::{DataFile, Engine, LoadError};
use crate::workloads::buffer::Buffer;
use crate::workloads::tally;
use fsdyno_datasets::content::{BUFFER, Content, Stream};
use fsdyno_datasets::seed::Seed;
use fsdyno_model::sample::Tally;

/// What a device may find or leave out again: each of these is different in what is written.
const UNIQUE: usize = 4096;
/// Offsets that are drawn.
const SPOKES: usize = 8192;

/// Offsets all over a file, drawn before the clock starts. After each turn of the wheel all of them
/// are others, so that few drawn ones make as many as are wanted.
#[derive(Debug, Default)]
pub(super) struct Wheel {
    spokes: Box<[u64]>,
    blocks: u64,
    /// How far the wheel is shifted, in blocks.
    shift: u64,
    at: usize,
}

impl Wheel {
    /// Offsets in a file of so many blocks, for one worker.
    pub fn drawn(blocks: u64, worker: usize) -> Self {
        let seed = Seed::new(1).part("op").at(worker as u64);
        Self {
            spokes: (0..SPOKES as u64)
                .map(|at| seed.at(at).below(blocks))
                .collect(),
            blocks,
            shift: 0,
            at: 0,
        }
    }

    /// The next block.
    #[inline]
    pub fn next(&mut self) -> u64 {
        let block = self.spokes[self.at] + self.shift;
        self.at += 1;
        if self.at == self.spokes.len() {
            self.turn();
        }
        if block >= self.blocks {
            block - self.blocks
        } else {
            block
        }
    }

    #[cold]
    fn turn(&mut self) {
        self.at = 0;
        // About the golden section of the file: turns fall between those before.
        let golden = self.blocks / 1_000 * 618 + self.blocks % 1_000 * 618 / 1_000;
        self.shift = (self.shift + (golden | 1)) % self.blocks;
    }
}

/// A buffer of bytes that no compressor makes smaller.
pub(super) fn noise(length: usize) -> Buffer {
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

/// Makes a block one that was never written before: `author` tells phases and workers apart.
#[inline]
pub(super) fn stamp(block: &mut [u8], author: u64, number: u64) {
    for (part, unique) in (0..).zip(block.chunks_exact_mut(UNIQUE)) {
        unique[..8].copy_from_slice(&author.to_ne_bytes());
        unique[8..16].copy_from_slice(&(number << 16 | part).to_ne_bytes());
    }
}

/// How a worker opens its large file.
pub(super) fn opening(work: Work<'_>) -> DataFile {
    DataFile {
        writes: work.phase.writes(),
        // Workers that share a file find it made.
        makes: work.phase == Phase::Write && !work.parameters.shared,
        direct: work.parameters.direct,
    }
}

/// Does all operations of one worker.
pub(super) fn run<E: Engine>(
    engine: &mut E,
    work: Work<'_>,
    room: &mut Room,
) -> Result<Tally, LoadError> {
    let work_dir = engine.open_ground(work.job.root)?;
    let top = engine.open_dir(&work_dir, HOME)?;
    let how = opening(work);
    let mut file = engine.open_data(&top, &room.large, how)?;
    let stretch = stretch(work, room.number);
    let done = blocks_of(work, room, stretch, |block, offset| {
        if how.writes {
            engine.write_at(&mut file, block, offset)?;
            return Ok(block.len());
        }
        engine.read_at(&mut file, block, offset)
    })?;
    if how.writes {
        engine.make_durable(&mut file)?;
    }
    engine.close(file)?;
    for dir in [top, work_dir] {
        engine.close_dir(dir);
    }
    Ok(tally(engine, done))
}

/// The first block of a worker, and how many there are.
pub(super) fn stretch(work: Work<'_>, worker: usize) -> (u64, u64) {
    let parameters = work.parameters;
    let share = if all_over(work.phase) {
        parameters.share(parameters.operations, worker)
    } else if parameters.shared {
        parameters.share(parameters.blocks(), worker)
    } else {
        0..parameters.blocks()
    };
    (share.start, share.end - share.start)
}

/// Tells phases and workers apart in what they write.
pub(super) fn author(phase: Phase, worker: usize) -> u64 {
    (phase as u64) << 32 | worker as u64
}

pub(super) fn all_over(phase: Phase) -> bool {
    matches!(phase, Phase::RandomRead | Phase::RandomWrite)
}

/// So many blocks, one after the other, each timed; `one` moves one and returns the bytes.
#[inline]
pub(super) fn blocks_of(
    work: Work<'_>,
    room: &mut Room,
    (first, count): (u64, u64),
    mut one: impl FnMut(&mut [u8], u64) -> Result<usize, LoadError>,
) -> Result<Tally, LoadError> {
    let (block, writes, turns) = (
        work.parameters.block as u64,
        work.phase.writes(),
        all_over(work.phase),
    );
    let mut done = Tally {
        files: 1,
        ..Tally::default()
    };
    let author = author(work.phase, room.number);
    room.pace.begin(&mut room.timeline);
    for at in 0..count {
        let number = if turns { room.wheel.next() } else { first + at };
        if writes {
            stamp(&mut room.buffer, author, at);
        }
        let bytes = one(&mut room.buffer, number * block)?;
        done.bytes.0 += bytes as u64;
        room.pace.next(&mut room.timeline, bytes);
        if work.job.stop.requested() {
            return Err(LoadError::Stopped);
        }
    }
    Ok(done)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn offsets_lie_all_over_the_file_however_many_are_wanted() {
        for blocks in [1, 7, 1000, 1 << 28] {
            let mut wheel = Wheel::drawn(blocks, 0);
            let mut tenths = [0; 10];
            let mut seen = HashSet::new();
            for _ in 0..10 * SPOKES {
                let block = wheel.next();
                assert!(block < blocks);
                seen.insert(block);
                tenths[usize::try_from(block * 10 / blocks).unwrap()] += 1;
            }
            if blocks >= 1000 {
                let least = *tenths.iter().min().unwrap();
                assert!(least > SPOKES / 2, "{blocks}: {tenths:?}");
            }
            // Hardly any is drawn twice where there are many.
            let most = usize::try_from(blocks).unwrap().min(10 * SPOKES);
            assert!(seen.len() * 100 >= most * 99, "{blocks}: {}", seen.len());
        }
    }

    #[test]
    fn no_two_blocks_written_are_alike() {
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
