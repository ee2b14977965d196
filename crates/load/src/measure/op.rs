//! A phase of operations: its room is laid out before the clock, and its figures are its own.

use super::{Measured, Request, Watch, durable, open_ground, raise_descriptor_limit};
use crate::engines::LoadError;
use crate::engines::null::{self, Null};
use crate::engines::sync::{self, Sync};
use crate::engines::{mmap, uring};
use crate::workloads::op::{self, Op, Parameters, Phase, Way};
use crate::workloads::{Job, PhaseKind};
use fsdyno_datasets::work_dir::WorkDir;
use fsdyno_model::cancel::CancelToken;
use fsdyno_model::disk_use::Point;
use fsdyno_model::plan::PhasePlan;
use fsdyno_model::units::Nanos;

/// Makes, untimed, what the phase finds, where it is one of operations; whether it is one.
pub(super) fn prepare(
    phase: &PhasePlan,
    work_dir: &WorkDir,
    stop: &CancelToken,
) -> Result<bool, LoadError> {
    let Some(found) = Phase::find(&phase.kind) else {
        return Ok(false);
    };
    let parameters = Parameters::read(found, &phase.parameters);
    op::prepare(found, &parameters, &Job::bare(&work_dir.root, stop))?;
    Ok(true)
}

/// Runs a phase, by system calls of our own whatever the engine but `null`.
pub(super) fn run(
    phase: Phase,
    kind: &PhaseKind,
    engine: &str,
    request: &mut Request<'_>,
) -> Result<Measured, LoadError> {
    let parameters = Parameters::read(phase, &request.phase.parameters);
    let way = match engine {
        uring::NAME if phase.on_data() => Way::Queued,
        mmap::NAME if phase.on_data() => Way::Mapped,
        _ => Way::Calls,
    };
    can(way, &parameters).map_err(|reason| LoadError::Parameters {
        kind: kind.name,
        reason: reason.to_owned(),
    })?;
    let mut op = Op::by(way, phase, parameters);
    let job = Job::bare(&request.work_dir.root, request.stop);
    let imagined = engine == null::NAME;
    let handle = if imagined {
        None
    } else {
        raise_descriptor_limit();
        open_ground(kind, job.root, request.durable)?
    };
    (request.mark)(Point::Begins);
    let watch = Watch::start();
    let done = if imagined {
        op.run(&mut Null::new(op.facts()), &job)?
    } else {
        op.run(&mut Sync::default(), &job)?
    };
    let used = watch.read();
    (request.mark)(Point::Returned);
    let durable_ns = if imagined {
        kind.writes.then_some(done.returned)
    } else {
        let watch = Watch::start();
        let synced = durable(handle.as_ref(), job.root, watch)?;
        synced.map(|synced| Nanos(done.returned.0 + synced.0))
    };
    let (engine, method) = match way {
        _ if imagined => (null::NAME, "no system calls"),
        Way::Calls => (sync::NAME, phase.method()),
        Way::Queued => (uring::NAME, phase.queued_method()),
        Way::Mapped => (mmap::NAME, phase.mapped_method()),
    };
    Ok(Measured {
        return_ns: done.returned,
        durable_ns,
        user_ns: Nanos(used.user.0 + done.used_apart[0].0),
        system_ns: Nanos(used.system.0 + done.used_apart[1].0),
        tally: done.tally,
        method: method.to_owned(),
        engine,
        figures: done.figures,
        latencies: done.timeline.latencies,
        progress: done.timeline.progress,
        commands: Vec::new(),
        warnings: Vec::new(),
    })
}

/// What cannot be together, and the way out.
fn can(way: Way, parameters: &Parameters) -> Result<(), &'static str> {
    match way {
        Way::Queued if parameters.rate.is_some() => Err(
            "operations arrive at a rate, or so many are under way: leave out `rate`, or choose the \
             engine sync",
        ),
        Way::Mapped if parameters.direct => Err(
            "memory is the page cache: leave out `cache=direct`, or choose the engine sync or uring",
        ),
        _ => Ok(()),
    }
}
