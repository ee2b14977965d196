//! The tool's own weight: what the clock, an empty phase and the calls of an engine cost.

use super::watch::{Watch, now};
use crate::engines::null::{Facts, Null};
use crate::engines::{LoadError, null, sync, tools, uring};
use crate::workloads::{self, Job, Scratch};
use fsdyno_model::stop::Stop;
use rustix::time::{ClockId, clock_getres};
use std::path::Path;

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

/// What an engine costs beside the kernel's work.
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
}

/// Resolution and cost of the clock.
pub fn clock_facts() -> ClockFacts {
    const READINGS: u32 = 10_000;
    let resolution = clock_getres(ClockId::Monotonic);
    let cost = median(|| {
        let start = now();
        for _ in 1..READINGS {
            std::hint::black_box(now());
        }
        (now() - start) as f64 / f64::from(READINGS)
    });
    ClockFacts {
        resolution_ns: u64::try_from(resolution.tv_nsec).unwrap_or(0),
        cost_ns: cost,
    }
}

/// What a phase that does nothing seems to take, in nanoseconds.
pub fn empty_phase_cost() -> f64 {
    median(|| {
        let watch = Watch::start();
        watch.read().wall.0 as f64
    })
}

/// What the workloads cost on a tree of 20,000 files that exists nowhere, for an engine of that
/// name. The calls of `sync` are the same as those of `null`, and cost the kernel's work on top;
/// `tools` runs no loop of ours, so nothing is listed for it.
pub fn engine_cost(engine: &str) -> Result<Vec<EngineCost>, LoadError> {
    match engine {
        tools::NAME => return Ok(Vec::new()),
        null::NAME | sync::NAME | uring::NAME => {}
        _ => return Err(LoadError::UnknownEngine(engine.to_owned())),
    }
    let facts = Facts {
        files: 20_000,
        directories: 2_000,
        bytes: 60_000_000,
    };
    let stop = Stop::new();
    let job = Job::bare(Path::new("/"), &stop);
    let mut costs = Vec::new();
    for kind in on_trees() {
        let mut scratch = Scratch::for_job(kind, &job)?;
        let mut calls = 0;
        let mut failure = None;
        let took = median(|| {
            let mut engine = Null::new(facts);
            let start = now();
            match (kind.null)(&mut engine, &job, &mut scratch) {
                Ok(tally) => calls = tally.calls,
                Err(error) => failure = Some(error),
            }
            (now() - start) as f64
        });
        if let Some(error) = failure {
            return Err(error);
        }
        costs.push(EngineCost {
            kind: kind.name,
            calls,
            call_ns: took / calls.max(1) as f64,
            file_ns: took / facts.files as f64,
        });
    }
    Ok(costs)
}

/// The kinds that work on a tree or an archive: others keep their own clocks.
fn on_trees() -> impl Iterator<Item = &'static workloads::PhaseKind> {
    workloads::all().filter(|kind| kind.needs != workloads::Needs::Nothing)
}

/// The median of several measurements.
fn median(mut measure: impl FnMut() -> f64) -> f64 {
    let mut times: Vec<f64> = (0..REPEATS).map(|_| measure()).collect();
    times.sort_by(f64::total_cmp);
    times[REPEATS / 2]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_workload_has_a_cost_and_the_clock_too() {
        let costs = engine_cost(null::NAME).unwrap();
        assert_eq!(costs.len(), on_trees().count());
        for cost in costs {
            // One call a file at the very least.
            assert!(cost.calls >= 20_000, "{cost:?}");
            assert!(cost.call_ns > 0.0 && cost.file_ns > 0.0, "{cost:?}");
        }
        assert_eq!(engine_cost(tools::NAME).unwrap(), []);
        assert!(engine_cost("steam").is_err());
        let clock = clock_facts();
        assert!(clock.cost_ns > 0.0 && clock.resolution_ns > 0, "{clock:?}");
        assert!(empty_phase_cost() >= 0.0);
    }
}
