//! Runs a phase of single operations: its memory is allocated before the clock starts.

use super::{LoadError, Measured, Request, Timing};
use crate::clock::Deadline;
use crate::engines::{Calls, Engine, null};
use crate::job::Job;
use crate::kinds::PhaseKind;
use crate::phases::op::{self, Limits, Op, Parameters, Phase};
use fsdyno_model::cancel::CancelToken;
use fsdyno_model::plan::PhasePlan;
use fsdyno_model::units::Nanos;
use std::ops::Range;
use std::path::Path;

/// The part of an `op` phase that one of several processes runs.
#[derive(Debug, Clone)]
pub struct Share<'a> {
    /// Its workers. A phase has as many workers as its parameters set, in all processes together.
    pub workers: Range<usize>,
    /// The maximum number of files or blocks of each worker: the number that an earlier phase left,
    /// if a deadline ended it. `u64::MAX` for all.
    pub most: u64,
    /// Ends the phase early, without an error.
    pub deadline: &'a Deadline,
}

/// Creates, untimed, the directories in which these workers of an `op` phase create files, or
/// removes their large files. Other processes do the same for other workers at the same time.
/// Nothing else is created: a phase that reads finds the files that an earlier phase of any process
/// left, or fails.
pub fn prepare_share(
    phase: &PhasePlan,
    root: &Path,
    workers: Range<usize>,
    stop: &CancelToken,
) -> Result<(), LoadError> {
    let Some((found, parameters)) = op::planned(phase) else {
        return Ok(());
    };
    op::prepare_share(found, &parameters, &Job::bare(root, stop), workers)
}

/// Checks what one worker of an `op` phase left, as this process finds it: the number of files, and
/// their sizes and contents. A deadline ended its work after `most` files or blocks; `u64::MAX`
/// without one. None if the phase is another one.
pub fn check_share(
    phase: &PhasePlan,
    root: &Path,
    worker: usize,
    most: u64,
) -> Result<Option<op::CheckedFiles>, LoadError> {
    let Some((found, parameters)) = op::planned(phase) else {
        return Ok(None);
    };
    op::check_share(found, &parameters, root, worker, most).map(Some)
}

pub(super) fn run<E: Engine>(
    phase: Phase,
    kind: &PhaseKind,
    request: &mut Request<'_>,
) -> Result<Measured, LoadError> {
    let parameters = Parameters::read(phase, &request.phase.parameters);
    let mut transfer = None;
    if phase.on_data() {
        transfer = E::transfer_method(phase.writes(), phase.is_random());
    }
    op::check::<E>(phase, &parameters).map_err(|reason| LoadError::Parameters {
        kind: kind.name,
        reason,
    })?;
    let described = op::describe::<E>(phase, &parameters, transfer);
    let mut op = match &request.share {
        Some(share) => Op::of_share::<E>(phase, parameters, share.workers.clone()),
        None => Op::new::<E>(phase, parameters),
    };
    let limits = request
        .share
        .as_ref()
        .map_or_else(Limits::default, |share| Limits {
            most: share.most,
            deadline: Some(share.deadline),
        });
    let root = request.work_dir.root.clone();
    let job = Job::bare(&root, request.stop);
    let mut calls = E::calls(op.facts());
    let timed =
        Timing::of(kind, request).time::<E, _>(|| op.run_within::<E>(&mut calls, &job, limits))?;
    let durable_ns = timed.durable_after(timed.done.returned);
    let measured = timed.measured::<E>();
    let (used, done) = (timed.used, timed.done);
    let (engine, method) = match transfer {
        _ if !E::INFO.touches_files => (E::INFO.name, null::METHOD.to_owned()),
        Some(_) => (E::INFO.name, described),
        None => (E::Calls::ENGINE, described),
    };
    Ok(Measured {
        return_ns: done.returned,
        durable_ns,
        user_ns: Nanos(used.user.0 + done.used_by_processes[0].0),
        system_ns: Nanos(used.system.0 + done.used_by_processes[1].0),
        tally: done.tally,
        method,
        engine,
        figures: [done.figures, timed.counts].concat(),
        ..measured.with_timeline(done.timeline)
    })
}
