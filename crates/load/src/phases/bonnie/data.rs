//! The phases on one large file: byte by byte, chunk by chunk, and back again. Seeks are in
//! `seeks`.

use super::names::{below, shuffle};
use super::parameters::DataParameters;
use super::source::Source;
use super::{Pass, Place, SEED};
use crate::clock;
use crate::engines::Calls;
use crate::error::LoadError;
use crate::phases::buffer::Buffer;
use crate::phases::timeline::TimelineRecorder;
use fsdyno_model::cancel::CancelToken;
use fsdyno_model::sample::Tally;
use fsdyno_model::units::Bytes;
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use std::ffi::CStr;

/// The file.
pub(super) const FILE: &CStr = c"data";
/// The rights it is made with.
pub(super) const MODE: u32 = 0o600;

/// What the phases on one file need, allocated before the clock starts.
#[derive(Debug)]
pub(super) struct Data {
    pub parameters: DataParameters,
    pub source: Source,
    /// One for each worker.
    pub rooms: Vec<Room>,
    /// The chunks to seek to, in the order they are handed out.
    pub tickets: Box<[u64]>,
}

/// What a worker needs.
#[derive(Debug)]
pub(super) struct Room {
    pub buffer: Buffer,
    pub timeline: TimelineRecorder,
}

impl Data {
    /// Creates everything out for so many workers; tickets only where there are more than one phase
    /// needs them.
    pub fn new(parameters: DataParameters, workers: u64, seeks: u64) -> Self {
        #[expect(
            clippy::cast_possible_truncation,
            reason = "a chunk is a buffer in memory"
        )]
        let chunk = parameters.chunk as usize;
        let room = || Room {
            buffer: Buffer::filled(0xa5, chunk),
            timeline: TimelineRecorder::new(),
        };
        let mut random = Xoshiro256PlusPlus::seed_from_u64(SEED);
        Self {
            source: Source::new(parameters.fill, chunk),
            rooms: (0..workers).map(|_| room()).collect(),
            tickets: tickets(parameters.size / parameters.chunk, seeks, &mut random),
            parameters,
        }
    }

    /// How many chunks the file has.
    pub fn chunks(&self) -> u64 {
        self.parameters.size / self.parameters.chunk
    }
}

/// Which chunks are sought, in order: all of them in turn where there are as many seeks, each
/// turn shuffled anew; else so many, drawn.
fn tickets(chunks: u64, seeks: u64, random: &mut impl Rng) -> Box<[u64]> {
    let mut tickets = Vec::new();
    if chunks > seeks {
        tickets.extend((0..seeks).map(|_| below(random, chunks) as u64));
        return tickets.into_boxed_slice();
    }
    while (tickets.len() as u64) < seeks {
        let mut turn: Vec<u64> = (0..chunks).collect();
        shuffle(&mut turn, random);
        tickets.extend(turn);
    }
    #[expect(
        clippy::cast_possible_truncation,
        reason = "it is not longer than the list"
    )]
    tickets.truncate(seeks as usize);
    tickets.into_boxed_slice()
}

/// Does one thing again and again, each time an operation that handles so many bytes; until one has
/// handled none, for the end is reached.
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
        if stop.requested() {
            return Err(LoadError::Stopped);
        }
    }
    Ok(())
}

/// Makes the file in writes of `length` bytes, so many times.
fn fill<E: Calls>(
    engine: &mut E,
    place: &Place<'_>,
    data: &mut Data,
    length: usize,
    times: u64,
) -> Result<Pass, LoadError> {
    let dir = place.open(engine)?;
    let (source, room) = (&mut data.source, &mut data.rooms[0]);
    let began = room.timeline.begin();
    let mut file = engine.create(&dir, FILE, MODE)?;
    again(times, place.stop, &mut room.timeline, |_| {
        engine.write(&mut file, source.take(length))?;
        Ok(length)
    })?;
    engine.make_durable(&mut file)?;
    engine.close(file)?;
    let pass = Pass::done(began, one_file(length as u64 * times));
    engine.close_dir(dir);
    Ok(pass)
}

/// Byte by byte.
pub(super) fn char_write<E: Calls>(
    engine: &mut E,
    place: &Place<'_>,
    data: &mut Data,
) -> Result<Pass, LoadError> {
    let chars = data.parameters.chars;
    fill(engine, place, data, 1, chars)
}

/// Chunk by chunk.
pub(super) fn write<E: Calls>(
    engine: &mut E,
    place: &Place<'_>,
    data: &mut Data,
) -> Result<Pass, LoadError> {
    let (length, chunks) = (data.rooms[0].buffer.len(), data.chunks());
    fill(engine, place, data, length, chunks)
}

/// Every chunk is read, changed by a byte, and written where it was. The file counts once.
pub(super) fn rewrite<E: Calls>(
    engine: &mut E,
    place: &Place<'_>,
    data: &mut Data,
) -> Result<Pass, LoadError> {
    let dir = place.open(engine)?;
    let (chunks, chunk) = (data.chunks(), data.parameters.chunk);
    let Room { buffer, timeline } = &mut data.rooms[0];
    let mut done = 0;
    let began = timeline.begin();
    let mut file = engine.open_to_change(&dir, FILE)?;
    again(chunks, place.stop, timeline, |number| {
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

/// Changes a byte of a chunk, another one in each.
#[inline]
pub(super) fn change(chunk: &mut [u8], number: u64) {
    #[expect(clippy::cast_possible_truncation, reason = "below the length")]
    let at = (number % chunk.len() as u64) as usize;
    chunk[at] = chunk[at].wrapping_add(1);
}

/// Reads from the start in calls of `length` bytes, so many times or to the end. As in the
/// original the rate is of the time with `fsync`: where nothing is left to be written, that still
/// makes the device empty its cache. What had returned before is reported as well.
fn drain<E: Calls>(
    engine: &mut E,
    place: &Place<'_>,
    data: &mut Data,
    length: usize,
    times: u64,
) -> Result<Pass, LoadError> {
    let dir = place.open(engine)?;
    let Room { buffer, timeline } = &mut data.rooms[0];
    let mut done = 0;
    let began = timeline.begin();
    let mut file = engine.open(&dir, FILE)?;
    again(times, place.stop, timeline, |_| {
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

/// Byte by byte.
pub(super) fn char_read<E: Calls>(
    engine: &mut E,
    place: &Place<'_>,
    data: &mut Data,
) -> Result<Pass, LoadError> {
    let chars = data.parameters.chars;
    drain(engine, place, data, 1, chars)
}

/// Chunk by chunk.
pub(super) fn read<E: Calls>(
    engine: &mut E,
    place: &Place<'_>,
    data: &mut Data,
) -> Result<Pass, LoadError> {
    let (length, chunks) = (data.rooms[0].buffer.len(), data.chunks());
    drain(engine, place, data, length, chunks)
}

/// A tally of one file.
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
        fn tickets_of_a_large_file_are_in_it_and_lie_all_over_it(
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
