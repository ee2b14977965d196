//! Workers that are processes. They do the same work as threads, and send their results through a
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

/// The result of a worker process: its end, its tally, its processor time and its timeline; or the
/// error message and the error number.
type WorkerReport = Result<(u64, Tally, [Nanos; 2], timeline::Parts), (String, Option<i32>)>;

/// The results of worker processes.
pub(super) struct Shifts {
    /// When the first of them began.
    pub began: u64,
    pub all: Vec<Result<Shift, LoadError>>,
    /// The sums of their user and system times.
    pub used: [Nanos; 2],
}

/// Runs the workers, each in its own process.
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
        // Serialisation of numbers and texts cannot fail.
        serde_json::to_vec(&report).unwrap_or_default()
    })?;
    let mut sum = [Nanos(0); 2];
    let shifts = reports.iter().zip(rooms).map(|(reports, room)| {
        let report: WorkerReport = serde_json::from_slice(reports)
            .map_err(|error| worker(format!("a worker was cut short: {error}"), None))?;
        let (ended, tally, [user, system], timeline) = report.map_err(|(reason, errno)| {
            // The worker was cancelled as well.
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
