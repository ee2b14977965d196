//! Runs a phase that imitates a program: its files are drawn before the clock starts.

use super::{LoadError, Measured, Request, Timing};
use crate::engines::{Engine, null};
use crate::job::Job;
use crate::kinds::PhaseKind;
use crate::phases::apps::{self, App, Parameters, Phase};

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
    let mut timed = Timing::of(kind, request).time::<E, _>(|| app.run(&mut calls, &job))?;
    let method = if E::INFO.touches_files {
        apps::record_state(phase, &parameters, &root)?;
        phase.method()
    } else {
        null::METHOD
    };
    let recorder = app.timeline();
    let timeline = recorder.summary(phase.operation(), timed.used.wall);
    let measured = timed.measured::<E>();
    Ok(Measured {
        tally: timed.done,
        method: method.to_owned(),
        figures: timed.figures(&recorder),
        ..measured.with_timeline(timeline)
    })
}
