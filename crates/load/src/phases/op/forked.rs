//! Workers that are processes. They do the same work as threads, and send their results through a
//! pipe.

use super::worker::{Work, WorkerResult, WorkerState};
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

pub(super) struct WorkerResults {
    /// The start of the first of them.
    pub began: u64,
    pub all: Vec<Result<WorkerResult, LoadError>>,
    /// The sums of their user and system times.
    pub used: [Nanos; 2],
}

type RunWorker<E> = fn(
    &mut <E as Engine>::Calls,
    Work<'_>,
    &mut WorkerState,
    &Start,
) -> Result<WorkerResult, LoadError>;

/// Runs the workers, each in its own process.
pub(super) fn run<E: Engine>(
    calls: &mut E::Calls,
    work: Work<'_>,
    workers: &mut [WorkerState],
    run_worker: RunWorker<E>,
) -> Result<WorkerResults, LoadError> {
    let start = SharedMemory::new(Start::new(workers.len()))?;
    let mut with_calls: Vec<(E::Calls, &mut WorkerState)> = workers
        .iter_mut()
        .map(|worker| (calls.another(), worker))
        .collect();
    let reports = run_processes(&mut with_calls, work.job.stop, |(calls, worker)| {
        let watch = Stopwatch::start();
        let done = run_worker(calls, work, worker, &start);
        let used = watch.read();
        let report: WorkerReport = match done {
            Ok(done) => {
                let timeline = worker.timeline.to_parts();
                Ok((done.ended, done.tally, [used.user, used.system], timeline))
            }
            Err(error) => Err((error.to_string(), error.errno())),
        };
        // Serialisation of numbers and texts cannot fail.
        serde_json::to_vec(&report).unwrap_or_default()
    })?;
    let mut sum = [Nanos(0); 2];
    let results = reports.iter().zip(workers).map(|(reports, worker)| {
        let report: WorkerReport = serde_json::from_slice(reports)
            .map_err(|error| failed(format!("a worker was cut short: {error}"), None))?;
        let (ended, tally, [user, system], timeline) = report.map_err(|(reason, errno)| {
            // The worker was cancelled as well.
            if work.job.stop.requested() {
                LoadError::Stopped
            } else {
                failed(reason, errno)
            }
        })?;
        worker.timeline = TimelineRecorder::of_parts(timeline);
        sum[0].0 += user.0;
        sum[1].0 += system.0;
        Ok(WorkerResult { ended, tally })
    });
    Ok(WorkerResults {
        all: results.collect(),
        began: start.began(),
        used: sum,
    })
}

fn failed(reason: String, errno: Option<i32>) -> LoadError {
    LoadError::Worker { reason, errno }
}
