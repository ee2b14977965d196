//! The phases on one large file: write and read byte by byte and chunk by chunk. Seeks are in
//! `seeks`.

use super::parameters::DataParameters;
use super::source::Source;
use super::{Job, Pass, SEED, open_home};
use crate::buffer::Buffer;
use crate::clock;
use crate::engines::Calls;
use crate::error::LoadError;
use crate::phases::timeline::TimelineRecorder;
use fsdyno_model::cancel::CancelToken;
use fsdyno_model::random::{below, shuffle};
use fsdyno_model::sample::Tally;
use fsdyno_model::units::Bytes;
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use std::ffi::CStr;

pub(super) const FILE: &CStr = c"data";
pub(super) const MODE: u32 = 0o600;

/// The buffers of the phases on one file, allocated before the clock starts.
#[derive(Debug)]
pub(super) struct Data {
    pub parameters: DataParameters,
    pub source: Source,
    /// One for each worker.
    pub buffers: Vec<WorkerBuffers>,
    /// The chunks to seek to, in the order of the seeks.
    pub tickets: Box<[u64]>,
}

/// The bytes of one transfer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unit {
    Byte,
    Chunk,
}

#[derive(Debug)]
pub(super) struct WorkerBuffers {
    pub buffer: Buffer,
    pub timeline: TimelineRecorder,
}

impl Data {
    /// Allocates everything for this number of workers; tickets only if there are several workers.
    pub fn new(parameters: DataParameters, workers: u64, seeks: u64) -> Self {
        #[expect(
            clippy::cast_possible_truncation,
            reason = "a chunk is a buffer in memory"
        )]
        let chunk = parameters.chunk as usize;
        let buffers = || WorkerBuffers {
            buffer: Buffer::filled(0xa5, chunk),
            timeline: TimelineRecorder::new(),
        };
        let mut random = Xoshiro256PlusPlus::seed_from_u64(SEED);
        Self {
            source: Source::new(parameters.fill, chunk),
            buffers: (0..workers).map(|_| buffers()).collect(),
            tickets: tickets(parameters.size / parameters.chunk, seeks, &mut random),
            parameters,
        }
    }

    /// The number of chunks of the file.
    pub fn chunks(&self) -> u64 {
        self.parameters.size / self.parameters.chunk
    }

    /// The length of a transfer, and the number of transfers.
    fn transfers(&self, unit: Unit) -> (usize, u64) {
        match unit {
            Unit::Byte => (1, self.parameters.chars),
            Unit::Chunk => (self.buffers[0].buffer.len(), self.chunks()),
        }
    }
}

/// The order of the chunks to seek to. If there are at least as many seeks as chunks, each round
/// contains all chunks in a new random order. Otherwise, chunks are drawn at random.
fn tickets(chunks: u64, seeks: u64, random: &mut impl Rng) -> Box<[u64]> {
    let mut tickets = Vec::new();
    if chunks > seeks {
        tickets.extend((0..seeks).map(|_| below(random.next_u64(), chunks)));
        return tickets.into_boxed_slice();
    }
    while (tickets.len() as u64) < seeks {
        let mut turn: Vec<u64> = (0..chunks).collect();
        shuffle(&mut turn, || random.next_u64());
        tickets.extend(turn);
    }
    #[expect(
        clippy::cast_possible_truncation,
        reason = "it is not longer than the list"
    )]
    tickets.truncate(seeks as usize);
    tickets.into_boxed_slice()
}

/// Repeats an operation and times each repetition, until one handles zero bytes at the end.
#[inline]
fn again(
    times: u64,
    stop: &CancelToken,
    timeline: &mut TimelineRecorder,
    mut one: impl FnMut(u64) -> Result<usize, LoadError>,
) -> Result<(), LoadError> {
    timeline.resume();
    for number in 0..times {
        let bytes = one(number)?;
        if bytes == 0 {
            break;
        }
        timeline.next(bytes as u64);
        stop.check()?;
    }
    Ok(())
}

/// Creates the file in units.
pub(super) fn fill<E: Calls>(
    engine: &mut E,
    job: &Job<'_>,
    data: &mut Data,
    unit: Unit,
) -> Result<Pass, LoadError> {
    let (length, times) = data.transfers(unit);
    let dir = open_home(engine, job)?;
    let (source, buffers) = (&mut data.source, &mut data.buffers[0]);
    let began = buffers.timeline.begin();
    let mut file = engine.create(&dir, FILE, MODE)?;
    again(times, job.stop, &mut buffers.timeline, |_| {
        engine.write(&mut file, source.take(length))?;
        Ok(length)
    })?;
    engine.make_durable(&mut file)?;
    engine.close(file)?;
    let pass = Pass::done(began, one_file(length as u64 * times));
    engine.close_dir(dir);
    Ok(pass)
}

/// Reads every chunk, changes a byte, and writes it back at the same offset. The file counts once.
pub(super) fn rewrite<E: Calls>(
    engine: &mut E,
    job: &Job<'_>,
    data: &mut Data,
) -> Result<Pass, LoadError> {
    let dir = open_home(engine, job)?;
    let (chunks, chunk) = (data.chunks(), data.parameters.chunk);
    let WorkerBuffers { buffer, timeline } = &mut data.buffers[0];
    let mut done = 0;
    let began = timeline.begin();
    let mut file = engine.open_to_change(&dir, FILE)?;
    again(chunks, job.stop, timeline, |number| {
        let bytes = engine.read(&mut file, buffer)?;
        if bytes == 0 {
            return Ok(0);
        }
        change(&mut buffer[..bytes], number);
        engine.seek(&mut file, number * chunk)?;
        engine.write(&mut file, &buffer[..bytes])?;
        done += bytes as u64;
        Ok(bytes)
    })?;
    engine.make_durable(&mut file)?;
    engine.close(file)?;
    let pass = Pass::done(began, one_file(done));
    engine.close_dir(dir);
    Ok(pass)
}

/// Changes a byte of a chunk; a different byte for each chunk number.
#[inline]
pub(super) fn change(chunk: &mut [u8], number: u64) {
    #[expect(clippy::cast_possible_truncation, reason = "below the length")]
    let at = (number % chunk.len() as u64) as usize;
    chunk[at] = chunk[at].wrapping_add(1);
}

/// Reads from the start in units, up to the end of the file. As in the original, the rate includes
/// `fsync`: even without dirty data it makes the device flush its cache. The time to return is
/// reported as well.
pub(super) fn drain<E: Calls>(
    engine: &mut E,
    job: &Job<'_>,
    data: &mut Data,
    unit: Unit,
) -> Result<Pass, LoadError> {
    let (length, times) = data.transfers(unit);
    let dir = open_home(engine, job)?;
    let WorkerBuffers { buffer, timeline } = &mut data.buffers[0];
    let mut done = 0;
    let began = timeline.begin();
    let mut file = engine.open(&dir, FILE)?;
    again(times, job.stop, timeline, |_| {
        let bytes = engine.read(&mut file, &mut buffer[..length])?;
        done += bytes as u64;
        Ok(bytes)
    })?;
    let returned = clock::now() - began;
    engine.make_durable(&mut file)?;
    engine.close(file)?;
    let pass = Pass::durable(began, returned, one_file(done));
    engine.close_dir(dir);
    Ok(pass)
}

pub(super) fn one_file(bytes: u64) -> Tally {
    Tally {
        files: 1,
        bytes: Bytes(bytes),
        ..Tally::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::HashMap;

    proptest! {
        #[test]
        fn tickets_lead_to_every_chunk_as_often_as_to_any_other(
            chunks in 1_u64..500,
            turns in 1_u64..5,
            seed: u64,
        ) {
            let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
            let tickets = tickets(chunks, chunks * turns, &mut random);
            let mut times: HashMap<u64, u64> = HashMap::new();
            for ticket in &tickets {
                *times.entry(*ticket).or_default() += 1;
            }
            prop_assert!((0..chunks).all(|chunk| times.get(&chunk) == Some(&turns)));
        }

        #[test]
        fn tickets_of_a_large_file_are_in_it_and_cover_it(
            chunks in 10_000_u64..1 << 40,
            seed: u64,
        ) {
            let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
            let tickets = tickets(chunks, 1000, &mut random);
            prop_assert_eq!(tickets.len(), 1000);
            let mut tenths = [0; 10];
            for ticket in &tickets {
                prop_assert!(*ticket < chunks);
                tenths[usize::try_from(ticket * 10 / chunks).unwrap()] += 1;
            }
            prop_assert!(tenths.iter().all(|count| *count > 40), "{:?}", tenths);
        }
    }
}
