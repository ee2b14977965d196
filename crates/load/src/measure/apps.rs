//! Runs a phase that imitates a program: its files are drawn before the clock starts.

use super::{LoadError, Measured, Request, Timing};
use crate::engines::{Calls, Engine, null};
use crate::job::Job;
use crate::kinds::PhaseKind;
use crate::phases::apps::{self, App, Parameters, Phase};
use fsdyno_datasets::work_dir::WorkDir;
use fsdyno_model::cancel::CancelToken;
use fsdyno_model::plan::PhasePlan;
use fsdyno_model::sample::{Better, Figure};

/// Creates, untimed, the files that a phase needs; returns whether it is such a phase.
pub(super) fn prepare(
    phase: &PhasePlan,
    work_dir: &WorkDir,
    stop: &CancelToken,
) -> Result<bool, LoadError> {
    let Some(found) = Phase::find(&phase.kind) else {
        return Ok(false);
    };
    let parameters = Parameters::read(found.family(), &phase.parameters);
    apps::prepare(found, &parameters, &job(work_dir, stop))?;
    Ok(true)
}

fn job<'a>(work_dir: &'a WorkDir, stop: &'a CancelToken) -> Job<'a> {
    Job {
        stores: work_dir.stores,
        ..Job::bare(&work_dir.root, stop)
    }
}

/// Runs a phase.
pub(super) fn run<E: Engine>(
    phase: Phase,
    kind: &PhaseKind,
    request: &mut Request<'_>,
) -> Result<Measured, LoadError> {
    let parameters = Parameters::read(phase.family(), &request.phase.parameters);
    let mut app = App::new(phase, parameters);
    let root = request.work_dir.root.clone();
    let job = Job {
        stores: request.work_dir.stores,
        ..Job::bare(&root, request.stop)
    };
    let mut calls = E::calls(app.facts());
    let timed = Timing::of(kind, request).time::<E, _>(|| app.run(&mut calls, &job))?;
    let method = if E::INFO.touches_files {
        apps::record_state(phase, &parameters, &root)?;
        phase.method()
    } else {
        null::METHOD
    };
    let recorder = app.timeline();
    let timeline = recorder.summary(phase.operation(), timed.used.wall);
    let seconds = timed.used.wall.0.max(1) as f64 / 1e9;
    let rate = recorder.latencies.count() as f64 / seconds;
    let mut figures = vec![Figure::new("rate", rate, "1/s", Better::Higher)];
    figures.extend(recorder.latencies.figures());
    figures.extend(timed.counts);
    Ok(Measured {
        return_ns: timed.used.wall,
        durable_ns: timed.durable_ns,
        user_ns: timed.used.user,
        system_ns: timed.used.system,
        tally: timed.done,
        method: method.to_owned(),
        engine: E::Calls::ENGINE,
        figures,
        latencies: timeline.latencies,
        progress: timeline.progress,
        recording: timeline.recording,
        ..Measured::default()
    })
}
