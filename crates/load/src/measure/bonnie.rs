//! Runs a phase of bonnie, which measures its own time because it may be repeated.

use super::{LoadError, Measured, Request, Timing, raise_descriptor_limit};
use crate::engines::{Calls, Engine, null};
use crate::kinds::PhaseKind;
use crate::phases::bonnie::{self, Bonnie, Phase, Place};
use fsdyno_datasets::work_dir::WorkDir;
use fsdyno_model::cancel::CancelToken;
use fsdyno_model::evidence::CacheState;
use fsdyno_model::plan::PhasePlan;
use fsdyno_model::units::Nanos;

/// Creates, untimed, the files that a phase needs; returns whether it is a phase of bonnie.
pub(super) fn prepare(
    phase: &PhasePlan,
    work_dir: &WorkDir,
    stop: &CancelToken,
) -> Result<bool, LoadError> {
    let Some(found) = Phase::find(&phase.kind) else {
        return Ok(false);
    };
    let place = Place {
        root: &work_dir.root,
        stop,
    };
    raise_descriptor_limit();
    bonnie::prepare(found, &phase.parameters, &place)?;
    Ok(true)
}

/// Runs a phase.
pub(super) fn run<E: Engine>(
    phase: Phase,
    kind: &PhaseKind,
    request: &mut Request<'_>,
) -> Result<Measured, LoadError> {
    // A second pass would read data from the cache that the first pass read from the device.
    let may_repeat = request.phase.cache != CacheState::Cold && E::INFO.touches_files;
    let mut bonnie = Bonnie::new(phase, &request.phase.parameters, may_repeat);
    let stop = request.stop;
    let root = request.work_dir.root.clone();
    let place = Place { root: &root, stop };
    let mut calls = E::calls(bonnie.facts());
    let timed = Timing::of(kind, request).time::<E, _>(|| bonnie.run(&mut calls, &place))?;
    let durable_ns = timed.durable_after(timed.done.elapsed);
    let done = timed.done;
    let (method, warnings) = if E::INFO.touches_files {
        (phase.method(), done.warnings)
    } else {
        (null::METHOD, Vec::new())
    };
    Ok(Measured {
        return_ns: done.returned,
        durable_ns,
        user_ns: done.user,
        system_ns: done.system,
        passes: done.passes,
        elapsed_ns: Nanos(done.elapsed.0 * done.passes),
        tally: done.tally,
        method: method.to_owned(),
        engine: E::Calls::ENGINE,
        // Without counts of the processors: they would be those of all passes.
        figures: done.figures,
        latencies: done.timeline.latencies,
        progress: done.timeline.progress,
        recording: done.timeline.recording,
        warnings,
        ..Measured::default()
    })
}
