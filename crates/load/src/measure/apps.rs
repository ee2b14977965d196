//! Runs a phase that imitates a program: its files are drawn before the clock starts.

use super::{LoadError, Measured, Request, Timing};
use crate::engines::{Engine, null};
use crate::job::Job;
use crate::kinds::PhaseKind;
use crate::phases::apps::{self, App, Parameters, Phase};
use fsdyno_model::sample::{Better, Figure};

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
    let measured = timed.measured::<E>();
    let seconds = timed.used.wall.0.max(1) as f64 / 1e9;
    let rate = recorder.latencies.count() as f64 / seconds;
    let mut figures = vec![Figure::new("rate", rate, "1/s", Better::Higher)];
    figures.extend(recorder.latencies.figures());
    figures.extend(timed.counts);
    Ok(Measured {
        tally: timed.done,
        method: method.to_owned(),
        figures,
        ..measured.with_timeline(timeline)
    })
}
