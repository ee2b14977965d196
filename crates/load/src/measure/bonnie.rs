//! A phase of bonnie: it keeps its own clock, for it may be repeated, and tells figures of its own.

use super::{Measured, Request, Watch, durable, open_ground, raise_descriptor_limit};
use crate::engines::LoadError;
use crate::engines::null::{self, Null};
use crate::engines::sync::{self, Sync};
use crate::workloads::PhaseKind;
use crate::workloads::bonnie::{self, Bonnie, Done, Phase, Place};
use fsdyno_datasets::work_dir::WorkDir;
use fsdyno_model::cancel::CancelToken;
use fsdyno_model::disk_use::Point;
use fsdyno_model::evidence::CacheState;
use fsdyno_model::plan::PhasePlan;
use fsdyno_model::units::Nanos;

/// Makes, untimed, what the phase finds, where it is one of bonnie; whether it is one.
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

/// Runs a phase, by system calls of our own whatever the engine but `null`.
pub(super) fn run(
    phase: Phase,
    kind: &PhaseKind,
    engine: &str,
    request: &mut Request<'_>,
) -> Result<Measured, LoadError> {
    let imagined = engine == null::NAME;
    // A second pass would find warm what the first found cold.
    let may_repeat = request.phase.cache != CacheState::Cold && !imagined;
    let mut bonnie = Bonnie::new(phase, &request.phase.parameters, may_repeat);
    let place = Place {
        root: &request.work_dir.root,
        stop: request.stop,
    };
    if imagined {
        (request.mark)(Point::Begins);
        let done = bonnie.run(&mut Null::new(bonnie.facts()), &place)?;
        (request.mark)(Point::Returned);
        let durable_ns = kind.writes.then_some(done.elapsed);
        let mut measured = measured(done, durable_ns, null::NAME, "no system calls");
        measured.warnings.clear();
        return Ok(measured);
    }
    raise_descriptor_limit();
    let handle = open_ground(kind, place.root, request.durable)?;
    (request.mark)(Point::Begins);
    let done = bonnie.run(&mut Sync::default(), &place)?;
    (request.mark)(Point::Returned);
    let watch = Watch::start();
    let synced = durable(handle.as_ref(), place.root, watch)?;
    let durable_ns = synced.map(|synced| Nanos(done.elapsed.0 + synced.0));
    Ok(measured(done, durable_ns, sync::NAME, phase.method()))
}

fn measured(done: Done, durable_ns: Option<Nanos>, engine: &'static str, method: &str) -> Measured {
    Measured {
        return_ns: done.returned,
        durable_ns,
        user_ns: done.user,
        system_ns: done.system,
        tally: done.tally,
        method: method.to_owned(),
        engine,
        figures: done.figures,
        latencies: done.timeline.latencies,
        progress: done.timeline.progress,
        commands: Vec::new(),
        warnings: done.warnings,
    }
}
