//! The workers of a phase, as threads or as processes (`forked`). Each has its own share of the
//! files, buffer, histogram and calls. They start together and share nothing while they work.

use super::worker::{Limits, Work, WorkerResult, WorkerState};
use super::{Parameters, Phase, data, files, forked};
use crate::clock;
use crate::engines::null::Facts;
use crate::engines::{Calls, Engine};
use crate::error::LoadError;
use crate::phases::barrier::{Start, run_threads};
use crate::phases::timeline::{TimelineRecorder, TimelineSummary};
use crate::phases::{Job, own_descriptors};
use fsdyno_model::sample::{Better, Figure, Tally};
use fsdyno_model::units::{Bytes, Nanos};
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use std::ops::Range;

/// A phase with its buffers, allocated before its clock starts.
#[derive(Debug)]
pub(crate) struct Op {
    phase: Phase,
    parameters: Parameters,
    workers: Vec<WorkerState>,
}

#[derive(Debug)]
pub(crate) struct Done {
    /// The time from the first start to the last end.
    pub returned: Nanos,
    pub tally: Tally,
    /// User and system time of worker processes.
    pub used_by_processes: [Nanos; 2],
    pub figures: Vec<Figure>,
    pub timeline: TimelineSummary,
}

impl Op {
    /// Allocates the buffers of a phase on one engine.
    pub fn new<E: Engine>(phase: Phase, parameters: Parameters) -> Self {
        Self::of_share::<E>(phase, parameters, 0..parameters.workers)
    }

    /// Allocates the buffers of those workers that run in this process.
    pub fn of_share<E: Engine>(
        phase: Phase,
        parameters: Parameters,
        workers: Range<usize>,
    ) -> Self {
        let workers = workers.map(|number| WorkerState::new::<E>(phase, &parameters, number));
        Self {
            phase,
            workers: workers.collect(),
            parameters,
        }
    }

    /// The buffers of each worker.
    pub(super) fn into_workers(self) -> Vec<WorkerState> {
        self.workers
    }

    /// The synthetic tree for the engine that accesses no file.
    pub fn facts(&self) -> Facts {
        let (files, bytes) = if self.phase.on_data() {
            (1, self.parameters.size)
        } else {
            let files = self.parameters.files;
            (files, files * self.parameters.bytes as u64)
        };
        Facts {
            files,
            directories: 1,
            bytes,
        }
    }

    pub fn run<E: Engine>(
        &mut self,
        calls: &mut E::Calls,
        job: &Job<'_>,
    ) -> Result<Done, LoadError> {
        self.run_within::<E>(calls, job, Limits::default())
    }

    /// Runs the phase, which ends early at its limits.
    pub fn run_within<E: Engine>(
        &mut self,
        calls: &mut E::Calls,
        job: &Job<'_>,
        limits: Limits<'_>,
    ) -> Result<Done, LoadError> {
        let work = Work {
            phase: self.phase,
            parameters: &self.parameters,
            job,
            limits,
            alone: self.workers.len() == 1,
        };
        let (began, results, used_by_processes) = if self.parameters.processes {
            let forked = forked::run::<E>(calls, work, &mut self.workers, run_worker::<E>)?;
            (forked.began, forked.all, forked.used)
        } else {
            let start = Start::new(self.workers.len());
            let results = if let [worker] = &mut self.workers[..] {
                vec![run_worker::<E>(calls, work, worker, &start)]
            } else {
                let workers = self.workers.iter_mut();
                let mut workers: Vec<(E::Calls, &mut WorkerState)> =
                    workers.map(|worker| (calls.another(), worker)).collect();
                run_threads(&mut workers, |(calls, worker)| {
                    run_worker::<E>(calls, work, worker, &start)
                })
            };
            (start.began(), results, [Nanos(0); 2])
        };
        let mut ended = 0;
        let mut tally = Tally::default();
        for result in results {
            let result = result?;
            ended = ended.max(result.ended);
            tally.add(&result.tally);
        }
        let returned = Nanos(ended.saturating_sub(began));
        let timeline = TimelineRecorder::joined(self.workers.iter().map(|worker| &worker.timeline));
        Ok(Done {
            figures: self.figures(&timeline, returned, tally.bytes),
            timeline: timeline.summary(self.phase.operation(), returned),
            returned,
            tally,
            used_by_processes,
        })
    }

    fn figures(&self, timeline: &TimelineRecorder, returned: Nanos, bytes: Bytes) -> Vec<Figure> {
        let latencies = &timeline.latencies;
        let seconds = returned.0.max(1) as f64 / 1e9;
        let rate = latencies.count() as f64 / seconds;
        let mut figures = vec![Figure::new("rate", rate, "1/s", Better::Higher)];
        if self.phase.on_data() {
            let rate = bytes.0 as f64 / 1024.0 / seconds;
            figures.push(Figure::new("bytes", rate, "KiB/s", Better::Higher));
        }
        figures.extend(latencies.figures());
        figures
    }
}

/// The work of one worker, after all are ready.
pub(super) fn run_worker<E: Engine>(
    calls: &mut E::Calls,
    work: Work<'_>,
    worker: &mut WorkerState,
    start: &Start,
) -> Result<WorkerResult, LoadError> {
    let parameters = work.parameters;
    let ready = if work.alone {
        Ok(())
    } else {
        own_descriptors()
    };
    let ready = match ready {
        Ok(()) if parameters.pin => pin_to(worker.number),
        ready => ready,
    };
    // The other workers wait at the barrier for this one, even if it cannot begin.
    start.wait();
    ready?;
    worker.timeline.begin_at(start.begin());
    let tally = if work.phase.on_data() {
        data::run::<E>(calls, work, worker)?
    } else {
        files::run(calls, work, worker)?
    };
    Ok(WorkerResult {
        ended: clock::now(),
        tally,
    })
}

/// Pins this thread to one of the processors it may use: the `n`th, modulo their number.
fn pin_to(n: usize) -> Result<(), LoadError> {
    let refused =
        |call| move |errno: rustix::io::Errno| LoadError::io(call, "(a worker)", errno.into());
    let allowed = sched_getaffinity(None).map_err(refused("sched_getaffinity"))?;
    let mut those = (0..CpuSet::MAX_CPU).filter(|cpu| allowed.is_set(*cpu));
    let count = those.clone().count().max(1);
    let mut one = CpuSet::new();
    one.set(those.nth(n % count).unwrap_or(0));
    sched_setaffinity(None, &one).map_err(refused("sched_setaffinity"))
}
