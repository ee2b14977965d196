//! Runs a workload of a file: its operations are drawn before the clock starts.

use super::{LoadError, Measured, Request, Timing};
use crate::engines::{Engine, null};
use crate::job::Job;
use crate::kinds::PhaseKind;
use crate::phases::timeline::TimelineSummary;
use crate::phases::work::WorkPhase;
use crate::work::{Settings, Work};

/// Runs the phase.
pub(super) fn run<E: Engine>(
    (work, settings): (Work, Settings),
    kind: &PhaseKind,
    request: &mut Request<'_>,
) -> Result<Measured, LoadError> {
    let mut phase = WorkPhase::new(&work, &settings);
    let root = request.work_dir.root.clone();
    let job = Job::bare(&root, request.stop);
    let mut calls = E::calls(phase.facts());
    let mut timed = Timing::of(kind, request).time::<E, _>(|| phase.run(&mut calls, &job))?;
    let method = if E::INFO.touches_files {
        format!("{} of a workload file", work.calls().join(", "))
    } else {
        null::METHOD.to_owned()
    };
    let recorder = phase.timeline();
    let timeline = TimelineSummary {
        latencies: phase.latencies(),
        ..recorder.summary("operation", timed.used.wall)
    };
    let measured = timed.measured::<E>();
    Ok(Measured {
        tally: timed.done,
        method,
        figures: timed.figures(&recorder),
        recording: None,
        ..measured.with_timeline(timeline)
    })
}
