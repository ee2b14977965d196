//! The overhead of fsdyno itself: the cost of the clock, of an empty phase and of the calls of an
//! engine.

use crate::clock::{Stopwatch, now, usage};
use crate::engines;
use crate::engines::null::{Facts, NullCalls, NullEngine};
use crate::error::LoadError;
use crate::job::Job;
use crate::phases::op::{Op, Parameters, Phase};
use crate::phases::{self, Scratch, TreePhase};
use fsdyno_model::cancel::CancelToken;
use rustix::time::{ClockId, clock_getres};
use serde::Serialize;
use std::path::Path;
use std::sync::OnceLock;

/// Repeats of a short measurement, of which the median is used.
const REPEATS: usize = 9;

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ClockFacts {
    /// The resolution that the system reports.
    pub resolution_ns: u64,
    pub cost_ns: f64,
}

/// The cost of an engine in addition to the kernel's work.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct EngineCost {
    #[serde(rename = "phase")]
    pub kind: &'static str,
    /// Calls made to the engine.
    pub calls: u64,
    /// Nanoseconds per call, on the null engine.
    pub call_ns: f64,
    /// Nanoseconds per file, on the null engine.
    pub file_ns: f64,
    /// Additional nanoseconds per file if every file is timed.
    pub timing_ns: f64,
}

/// The contention between workers that do not wait for the kernel.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Contention {
    /// The number of parallel workers: one for each processor.
    #[serde(rename = "side_by_side")]
    pub workers: usize,
    /// Processor time per operation of a single worker with recorded latencies, nanoseconds.
    pub alone_ns: f64,
    /// The same with all workers in parallel.
    pub parallel_ns: f64,
    /// The number of their sleeps, as in waiting for a lock, from their start to the end of the
    /// last.
    pub sleeps: u64,
    /// Operations of all parallel workers.
    pub operations: u64,
}

/// Detects contention on locks of fsdyno: runs the same operations with one worker, and with one
/// worker per processor.
pub fn contention() -> Result<Contention, LoadError> {
    let workers = std::thread::available_parallelism().map_or(2, |many| many.get().max(2));
    let (alone_ns, _) = run_parallel(1)?;
    let (parallel_ns, sleeps) = run_parallel(workers)?;
    Ok(Contention {
        workers,
        alone_ns,
        parallel_ns,
        sleeps,
        operations: EACH * workers as u64,
    })
}

/// Operations of one worker.
const EACH: u64 = 200_000;

/// Processor time per operation, nanoseconds, and the sleeps of a whole phase; the minimum of
/// several.
fn run_parallel(workers: usize) -> Result<(f64, u64), LoadError> {
    let files = EACH * workers as u64;
    let given = [
        ("files", files),
        ("files-per-dir", 1000),
        ("workers", workers as u64),
    ];
    let given = given.map(|(name, value)| (name.to_owned(), value.to_string()));
    let parameters = Parameters::read(Phase::Stat, &given.into());
    let stop = CancelToken::new();
    let job = Job::bare(Path::new("/"), &stop);
    let (mut least_ns, mut least_sleeps) = (f64::MAX, u64::MAX);
    for _ in 0..REPEATS {
        let mut op = Op::new::<NullEngine>(Phase::Stat, parameters);
        let (watch, slept) = (Stopwatch::start(), sleeps());
        op.run::<NullEngine>(&mut NullCalls::new(op.facts()), &job)?;
        let used = watch.read();
        least_sleeps = least_sleeps.min(sleeps() - slept);
        least_ns = least_ns.min((used.user.0 + used.system.0) as f64 / files as f64);
    }
    Ok((least_ns, least_sleeps))
}

/// The number of voluntary context switches of this program's threads.
fn sleeps() -> u64 {
    u64::try_from(usage().ru_nvcsw).unwrap_or(0)
}

/// Resolution and cost of the clock.
pub fn clock_facts() -> ClockFacts {
    let resolution = clock_getres(ClockId::Monotonic);
    ClockFacts {
        resolution_ns: u64::try_from(resolution.tv_nsec).unwrap_or(0),
        cost_ns: reading(10_000),
    }
}

/// The time of one reading of the clock, averaged over this number, nanoseconds.
fn reading(readings: u32) -> f64 {
    median(|| {
        let start = now();
        for _ in 1..readings {
            std::hint::black_box(now());
        }
        (now() - start) as f64 / f64::from(readings)
    })
}

/// The maximum cost of a clock reading that is acceptable for every file, nanoseconds.
const QUICK: f64 = 250.0;

/// Whether the clock is fast enough to be read for every file. It is not if each reading leaves the
/// guest or is a system call. Tested once.
pub fn clock_is_quick() -> bool {
    static QUICKLY: OnceLock<bool> = OnceLock::new();
    *QUICKLY.get_or_init(|| reading(100) <= QUICK)
}

/// The measured time of an empty phase, nanoseconds.
pub fn empty_phase_cost() -> f64 {
    median(|| {
        let watch = Stopwatch::start();
        watch.read().wall.0 as f64
    })
}

/// The cost of the workloads on a synthetic tree of 10,000 files, for an engine. The calls of
/// `sync` are those of `null` plus the kernel's work. `tools` has no loop of its own, so its list
/// is empty.
pub fn engine_cost(engine: &str) -> Result<Vec<EngineCost>, LoadError> {
    let found = engines::find(engine).ok_or_else(|| LoadError::UnknownEngine(engine.to_owned()))?;
    if found.programs().next().is_some() {
        return Ok(Vec::new());
    }
    let stop = CancelToken::new();
    let untimed = Job::bare(Path::new("/"), &stop);
    let timed = Job {
        each_file: true,
        ..Job::bare(Path::new("/"), &stop)
    };
    let mut costs = Vec::new();
    for TreePhase { kind, run, .. } in phases::on_trees::<NullCalls>() {
        let mut calls = 0;
        let mut pass = |job: &Job<'_>| -> Result<f64, LoadError> {
            let mut scratch = Scratch::for_job(kind, job)?;
            let mut engine = NullCalls::new(Facts::SMALL);
            Scratch::begin(&mut scratch, job);
            let start = now();
            calls = run(&mut engine, job, &mut scratch)?.calls;
            Ok((now() - start) as f64)
        };
        // Alternating, so that other load of the machine affects both equally.
        let pairs = (0..REPEATS).map(|_| Ok((pass(&untimed)?, pass(&timed)?)));
        let pairs: Vec<(f64, f64)> = pairs.collect::<Result<_, LoadError>>()?;
        let duration = middle(pairs.iter().map(|pair| pair.0));
        let added = middle(pairs.iter().map(|pair| pair.1 - pair.0));
        costs.push(EngineCost {
            kind: kind.name,
            calls,
            call_ns: duration / calls.max(1) as f64,
            file_ns: duration / Facts::SMALL.files as f64,
            timing_ns: added / Facts::SMALL.files as f64,
        });
    }
    Ok(costs)
}

/// The median of several measurements.
fn median(mut measure: impl FnMut() -> f64) -> f64 {
    middle((0..REPEATS).map(|_| measure()))
}

/// The middle value.
fn middle(times: impl Iterator<Item = f64>) -> f64 {
    let mut times: Vec<f64> = times.collect();
    times.sort_by(f64::total_cmp);
    times.get(times.len() / 2).copied().unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_workload_has_a_cost_and_the_clock_too() {
        let costs = engine_cost(engines::null::NAME).unwrap();
        assert_eq!(costs.len(), phases::on_trees::<NullCalls>().len());
        for cost in costs {
            // At least one call per file.
            assert!(cost.calls >= 10_000, "{cost:?}");
            assert!(cost.call_ns > 0.0 && cost.file_ns > 0.0, "{cost:?}");
        }
        assert_eq!(engine_cost(engines::tools::NAME).unwrap(), []);
        assert!(engine_cost("steam").is_err());
        let clock = clock_facts();
        assert!(clock.cost_ns > 0.0 && clock.resolution_ns > 0, "{clock:?}");
        assert!(empty_phase_cost() >= 0.0);
    }

    #[test]
    fn workers_do_not_contend_for_locks() {
        let found = contention().unwrap();
        assert!(found.alone_ns > 0.0 && found.workers >= 2, "{found:?}");
        // A lock for every operation would cause about one sleep per operation. Start and end of
        // the workers also cause sleeps, and so do other tests.
        assert!(found.sleeps < found.operations / 10, "{found:?}");
    }
}
