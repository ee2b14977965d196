//! Runs a phase of bonnie, which measures its own time because it may be repeated.

use super::{LoadError, Measured, Request, Timing};
use crate::engines::{Engine, null};
use crate::job::Job;
use crate::kinds::PhaseKind;
use crate::phases::bonnie::{Bonnie, Phase};
use fsdyno_model::evidence::CacheState;
use fsdyno_model::units::Nanos;

pub(super) fn run<E: Engine>(
    phase: Phase,
    kind: &PhaseKind,
    request: &mut Request<'_>,
) -> Result<Measured, LoadError> {
    // A second pass would read data from the cache that the first pass read from the device.
    let may_repeat = request.phase.cache != CacheState::Cold && E::INFO.touches_files;
    let mut bonnie = Bonnie::new(phase, &request.phase.parameters, may_repeat);
    let root = request.work_dir.root.clone();
    let job = Job::bare(&root, request.stop);
    let mut calls = E::calls(bonnie.facts());
    let timed = Timing::of(kind, request).time::<E, _>(|| bonnie.run(&mut calls, &job))?;
    let durable_ns = timed.durable_after(timed.done.elapsed);
    let measured = timed.measured::<E>();
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
        // Without counts of the processors: they would be those of all passes.
        figures: done.figures,
        warnings,
        ..measured.with_timeline(done.timeline)
    })
}
