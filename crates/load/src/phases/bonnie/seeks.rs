//! Seeks: workers take tickets until none is left, each with its own descriptor, and read their
//! chunks. Every tenth chunk is changed and written back.

use super::data::{Data, FILE, WorkerBuffers, change, one_file};
use super::{Job, Pass, open_home};
use crate::clock;
use crate::engines::Calls;
use crate::error::LoadError;
use crate::phases::barrier::{Start, run_threads};
use crate::phases::own_descriptors;
use std::sync::atomic::{AtomicUsize, Ordering};

/// One of this number of tickets changes its chunk.
const CHANGED: usize = 10;

/// The shared state of all workers.
struct Shared<'a> {
    job: &'a Job<'a>,
    tickets: &'a [u64],
    next: AtomicUsize,
    chunk: u64,
    start: Start,
}

struct WorkerResult {
    ended: u64,
    bytes: u64,
    calls: u64,
}

/// Runs the seeks of all tickets, from the first start to the last end.
pub(super) fn seeks<E: Calls + Send>(
    engine: &mut E,
    job: &Job<'_>,
    data: &mut Data,
) -> Result<Pass, LoadError> {
    let shared = Shared {
        job,
        tickets: &data.tickets,
        next: AtomicUsize::new(0),
        chunk: data.parameters.chunk,
        start: Start::new(data.buffers.len()),
    };
    let mut workers: Vec<(E, &mut WorkerBuffers)> = data
        .buffers
        .iter_mut()
        .map(|buffers| (engine.another(), buffers))
        .collect();
    let results = run_threads(&mut workers, |(engine, buffers)| {
        run_worker(engine, &shared, buffers)
    });
    let mut ended = 0;
    let mut tally = one_file(0);
    for result in results {
        let result = result?;
        ended = ended.max(result.ended);
        tally.bytes.0 += result.bytes;
        tally.calls += result.calls;
    }
    let duration = ended.saturating_sub(shared.start.began());
    Ok(Pass {
        tally,
        operations: data.tickets.len() as u64,
        returned: duration,
        elapsed: duration,
    })
}

fn run_worker<E: Calls>(
    engine: &mut E,
    shared: &Shared<'_>,
    buffers: &mut WorkerBuffers,
) -> Result<WorkerResult, LoadError> {
    let opened = own_descriptors().and_then(|()| {
        let dir = open_home(engine, shared.job)?;
        let file = engine.open_to_change(&dir, FILE)?;
        engine.close_dir(dir);
        Ok(file)
    });
    // The other workers wait at the barrier for this one, even if it cannot begin.
    shared.start.wait();
    let mut file = opened?;
    let WorkerBuffers { buffer, timeline } = buffers;
    let (mut bytes, mut changed) = (0, false);
    timeline.begin_at(shared.start.begin());
    timeline.resume();
    loop {
        let number = shared.next.fetch_add(1, Ordering::Relaxed);
        let Some(ticket) = shared.tickets.get(number) else {
            break;
        };
        engine.seek(&mut file, ticket * shared.chunk)?;
        let read = engine.read(&mut file, buffer)?;
        if number.is_multiple_of(CHANGED) && read > 0 {
            change(&mut buffer[..read], number as u64);
            engine.seek(&mut file, ticket * shared.chunk)?;
            engine.write(&mut file, &buffer[..read])?;
            changed = true;
        }
        bytes += read as u64;
        timeline.next(read as u64);
        shared.job.stop.check()?;
    }
    if changed {
        engine.make_durable(&mut file)?;
    }
    engine.close(file)?;
    Ok(WorkerResult {
        ended: clock::now(),
        bytes,
        calls: engine.calls(),
    })
}
