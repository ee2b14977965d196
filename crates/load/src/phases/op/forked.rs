//! Workers that are processes: what they do is that of threads, and what came of it is reported through a
//! pipe.

use super::workers::{Room, Shift, Work, shift};
use crate::clock::Stopwatch;
use crate::engines::{Calls, Engine};
use crate::error::LoadError;
use crate::phases::barrier::Start;
use crate::phases::timeline::{self, TimelineRecorder};
use crate::phases::worker_process::{SharedMemory, run_processes};
use fsdyno_model::sample::Tally;
use fsdyno_model::units::Nanos;

/// A shift as its process reports it: its end, what was done, processor time, and its course; or why it failed,
/// and the error number.
type WorkerReport = Result<(u64, Tally, [Nanos; 2], timeline::Parts), (String, Option<i32>)>;

/// What came of workers that are processes.
pub(super) struct Shifts {
    /// When the first of them began.
    pub began: u64,
    pub all: Vec<Result<Shift, LoadError>>,
    /// Processor time in user mode and in the kernel, of all of them together.
    pub used: [Nanos; 2],
}

/// The shifts of all workers, each in a process of its own.
pub(super) fn shifts<E: Engine>(
    calls: &mut E::Calls,
    work: Work<'_>,
    rooms: &mut [Room],
) -> Result<Shifts, LoadError> {
    let start = SharedMemory::new(Start::new(rooms.len()))?;
    let mut workers: Vec<(E::Calls, &mut Room)> = rooms
        .iter_mut()
        .map(|room| (calls.another(), room))
        .collect();
    let reports = run_processes(&mut workers, work.job.stop, |(calls, room)| {
        let watch = Stopwatch::start();
        let done = shift::<E>(calls, work, room, &start);
        let used = watch.read();
        let report: WorkerReport = match done {
            Ok(done) => {
                let timeline = room.timeline.to_parts();
                Ok((done.ended, done.tally, [used.user, used.system], timeline))
            }
            Err(error) => Err((error.to_string(), error.errno())),
        };
        // Numbers and texts alone are never refused.
        serde_json::to_vec(&report).unwrap_or_default()
    })?;
    let mut sum = [Nanos(0); 2];
    let shifts = reports.iter().zip(rooms).map(|(reports, room)| {
        let report: WorkerReport = serde_json::from_slice(reports)
            .map_err(|error| worker(format!("a worker was cut short: {error}"), None))?;
        let (ended, tally, [user, system], timeline) = report.map_err(|(reason, errno)| {
            // It heard the cancellation as well.
            if work.job.stop.requested() {
                LoadError::Stopped
            } else {
                worker(reason, errno)
            }
        })?;
        room.timeline = TimelineRecorder::of_parts(timeline);
        sum[0].0 += user.0;
        sum[1].0 += system.0;
        Ok(Shift { ended, tally })
    });
    Ok(Shifts {
        all: shifts.collect(),
        began: start.began(),
        used: sum,
    })
}

fn worker(reason: String, errno: Option<i32>) -> LoadError {
    LoadError::Worker { reason, errno }
}
