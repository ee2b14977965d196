//! Seeks: workers take tickets until none is left, each with its own descriptor, and read their
//! chunks. Every tenth chunk is changed and written back.

use super::data::{Data, FILE, Room, change, one_file};
use super::{Pass, Place};
use crate::clock;
use crate::engines::Calls;
use crate::error::LoadError;
use crate::phases::barrier::{Start, run_threads};
use crate::phases::own_descriptors;
use std::sync::atomic::{AtomicUsize, Ordering};

/// One of this number of tickets changes its chunk.
const CHANGED: usize = 10;

/// The shared state of all workers.
struct Desk<'a> {
    place: &'a Place<'a>,
    tickets: &'a [u64],
    next: AtomicUsize,
    chunk: u64,
    start: Start,
}

/// The result of a worker.
struct Shift {
    ended: u64,
    bytes: u64,
    calls: u64,
}

/// Runs the seeks of all tickets, from the first start to the last end.
pub(super) fn seeks<E: Calls + Send>(
    engine: &mut E,
    place: &Place<'_>,
    data: &mut Data,
) -> Result<Pass, LoadError> {
    let desk = Desk {
        place,
        tickets: &data.tickets,
        next: AtomicUsize::new(0),
        chunk: data.parameters.chunk,
        start: Start::new(data.rooms.len()),
    };
    let mut workers: Vec<(E, &mut Room)> = data
        .rooms
        .iter_mut()
        .map(|room| (engine.another(), room))
        .collect();
    let shifts = run_threads(&mut workers, |(engine, room)| shift(engine, &desk, room));
    let mut ended = 0;
    let mut tally = one_file(0);
    for shift in shifts {
        let shift = shift?;
        ended = ended.max(shift.ended);
        tally.bytes.0 += shift.bytes;
        tally.calls += shift.calls;
    }
    let duration = ended.saturating_sub(desk.start.began());
    Ok(Pass {
        tally,
        operations: data.tickets.len() as u64,
        returned: duration,
        elapsed: duration,
    })
}

fn shift<E: Calls>(engine: &mut E, desk: &Desk<'_>, room: &mut Room) -> Result<Shift, LoadError> {
    let opened = own_descriptors().and_then(|()| {
        let dir = desk.place.open(engine)?;
        let file = engine.open_to_change(&dir, FILE)?;
        engine.close_dir(dir);
        Ok(file)
    });
    // The other workers wait at the barrier for this one, even if it cannot begin.
    desk.start.wait();
    let mut file = opened?;
    let Room { buffer, timeline } = room;
    let (mut bytes, mut changed) = (0, false);
    timeline.begin_at(desk.start.begin());
    timeline.resume();
    loop {
        let number = desk.next.fetch_add(1, Ordering::Relaxed);
        let Some(ticket) = desk.tickets.get(number) else {
            break;
        };
        engine.seek(&mut file, ticket * desk.chunk)?;
        let read = engine.read(&mut file, buffer)?;
        if number.is_multiple_of(CHANGED) && read > 0 {
            change(&mut buffer[..read], number as u64);
            engine.seek(&mut file, ticket * desk.chunk)?;
            engine.write(&mut file, &buffer[..read])?;
            changed = true;
        }
        bytes += read as u64;
        timeline.next(read as u64);
        if desk.place.stop.requested() {
            return Err(LoadError::Stopped);
        }
    }
    if changed {
        engine.make_durable(&mut file)?;
    }
    engine.close(file)?;
    Ok(Shift {
        ended: clock::now(),
        bytes,
        calls: engine.calls(),
    })
}
