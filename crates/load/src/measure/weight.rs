//! The tool's own weight: what the clock, an empty phase and the calls of an engine cost.

use crate::clock::{Stopwatch, now};
use crate::engines;
use crate::engines::null::{Facts, NullCalls, NullEngine};
use crate::error::LoadError;
use crate::job::Job;
use crate::phases::op::{Op, Parameters, Phase};
use crate::phases::{self, Scratch, TreePhase};
use fsdyno_model::cancel::CancelToken;
use rustix::time::{ClockId, clock_getres};
use std::path::Path;
use std::sync::OnceLock;

/// Repeats of a short measurement, of which the median is taken.
const REPEATS: usize = 9;

/// What is known of the clock.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ClockFacts {
    /// The smallest step the system promises.
    pub resolution_ns: u64,
    /// What one reading costs.
    pub cost_ns: f64,
}

/// What an engine costs in addition to the kernel's work.
#[derive(Debug, Clone, PartialEq)]
pub struct EngineCost {
    /// The kind of phase.
    pub kind: &'static str,
    /// Calls made to the engine.
    pub calls: u64,
    /// Nanoseconds a call, on the null engine.
    pub call_ns: f64,
    /// Nanoseconds a file, on the null engine.
    pub file_ns: f64,
    /// What is added where every file is timed, nanoseconds a file.
    pub timing_ns: f64,
}

/// What workers cost one another, where none of them waits for the kernel.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Contention {
    /// How many run in parallel: one for each processor.
    pub workers: usize,
    /// Processor time of an operation of one alone, its latency recorded, nanoseconds.
    pub alone_ns: f64,
    /// The same with all in parallel.
    pub together_ns: f64,
    /// How often they slept, as who waits for a lock does, from their start to the end of the last.
    pub sleeps: u64,
    /// Operations of all in parallel.
    pub operations: u64,
}

/// Looks for locks of our own: the same operations by one worker, and by one on every processor.
pub fn contention() -> Result<Contention, LoadError> {
    let workers = std::thread::available_parallelism().map_or(2, |many| many.get().max(2));
    let (alone_ns, _) = side_by_side(1)?;
    let (together_ns, sleeps) = side_by_side(workers)?;
    Ok(Contention {
        workers,
        alone_ns,
        together_ns,
        sleeps,
        operations: EACH * workers as u64,
    })
}

/// Operations of one worker.
const EACH: u64 = 200_000;

/// Processor time of an operation, nanoseconds, and the sleeps of a whole phase; the least of several.
fn side_by_side(workers: usize) -> Result<(f64, u64), LoadError> {
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

/// How often threads of this program gave their processor up to wait for something.
fn sleeps() -> u64 {
    // SAFETY: `rusage` is plain numbers: all zeros are a value of it.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: the place to be written to is ours and live; RUSAGE_SELF cannot be refused.
    unsafe { libc::getrusage(libc::RUSAGE_SELF, &raw mut usage) };
    u64::try_from(usage.ru_nvcsw).unwrap_or(0)
}

/// Resolution and cost of the clock.
pub fn clock_facts() -> ClockFacts {
    let resolution = clock_getres(ClockId::Monotonic);
    ClockFacts {
        resolution_ns: u64::try_from(resolution.tv_nsec).unwrap_or(0),
        cost_ns: reading(10_000),
    }
}

/// What one of so many readings of the clock takes, nanoseconds.
fn reading(readings: u32) -> f64 {
    median(|| {
        let start = now();
        for _ in 1..readings {
            std::hint::black_box(now());
        }
        (now() - start) as f64 / f64::from(readings)
    })
}

/// A reading of the clock that takes longer is felt where it is done for every file, nanoseconds.
const QUICK: f64 = 250.0;

/// Whether the clock can be read for every file without being felt: not where each reading is a call
/// that somebody else answers, as in guests. It is tried once.
pub fn clock_is_quick() -> bool {
    static QUICKLY: OnceLock<bool> = OnceLock::new();
    *QUICKLY.get_or_init(|| reading(100) <= QUICK)
}

/// What a phase that does nothing seems to take, in nanoseconds.
pub fn empty_phase_cost() -> f64 {
    median(|| {
        let watch = Stopwatch::start();
        watch.read().wall.0 as f64
    })
}

/// What the workloads cost on a tree of 10,000 files that exists nowhere, for an engine of that
/// name. The calls of `sync` are the same as those of `null`, and cost the kernel's work on top;
/// `tools` runs no loop of its own, so nothing is listed for it.
pub fn engine_cost(engine: &str) -> Result<Vec<EngineCost>, LoadError> {
    let found = engines::find(engine).ok_or_else(|| LoadError::UnknownEngine(engine.to_owned()))?;
    if found.programs().next().is_some() {
        return Ok(Vec::new());
    }
    let facts = Facts {
        files: 10_000,
        directories: 1_000,
        bytes: 30_000_000,
    };
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
            let mut engine = NullCalls::new(facts);
            Scratch::begin(&mut scratch, job);
            let start = now();
            calls = run(&mut engine, job, &mut scratch)?.calls;
            Ok((now() - start) as f64)
        };
        // One after the other: whatever else the machine does meanwhile, it does to both.
        let pairs = (0..REPEATS).map(|_| Ok((pass(&untimed)?, pass(&timed)?)));
        let pairs: Vec<(f64, f64)> = pairs.collect::<Result<_, LoadError>>()?;
        let took = middle(pairs.iter().map(|pair| pair.0));
        let added = middle(pairs.iter().map(|pair| pair.1 - pair.0));
        costs.push(EngineCost {
            kind: kind.name,
            calls,
            call_ns: took / calls.max(1) as f64,
            file_ns: took / facts.files as f64,
            timing_ns: added / facts.files as f64,
        });
    }
    Ok(costs)
}

/// The median of several measurements.
fn median(mut measure: impl FnMut() -> f64) -> f64 {
    middle((0..REPEATS).map(|_| measure()))
}

/// The one in the middle.
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
            // One call a file at the very least.
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
    fn workers_share_nothing_that_they_would_wait_for() {
        let found = contention().unwrap();
        assert!(found.alone_ns > 0.0 && found.workers >= 2, "{found:?}");
        // A lock taken for every operation would be slept for about as often; the start and the end
        // of the workers are waited for, and other tests sleep as well.
        assert!(found.sleeps < found.operations / 10, "{found:?}");
    }
}
