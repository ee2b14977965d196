//! Runs a workload of a file: its operations are drawn before the clock starts.

use super::{LoadError, Measured, Request, Timing};
use crate::engines::{Engine, null};
use crate::job::Job;
use crate::kinds::PhaseKind;
use crate::phases::work::{Planned, WorkPhase, record_state};

/// Runs the phase.
pub(super) fn run<E: Engine>(
    planned: &Planned,
    kind: &PhaseKind,
    request: &mut Request<'_>,
) -> Result<Measured, LoadError> {
    let work = planned.work()?;
    let mut phase = WorkPhase::new(&work, planned);
    let root = request.work_dir.root.clone();
    let job = Job::bare(&root, request.stop);
    let mut calls = E::calls(phase.facts());
    let mut timed = Timing::of(kind, request).time::<E, _>(|| phase.run(&mut calls, &job))?;
    let method = if E::INFO.touches_files {
        record_state(planned, &job)?;
        format!("{} of a workload file", work.calls().join(", "))
    } else {
        null::METHOD.to_owned()
    };
    let recorder = phase.timeline();
    let mut timeline = recorder.summary(&planned.operation, timed.used.wall);
    if !work.has_transactions() {
        timeline.latencies = phase.latencies();
        timeline.recording = None;
    }
    let measured = timed.measured::<E>();
    Ok(Measured {
        tally: timed.done,
        method,
        figures: timed.figures(&recorder),
        ..measured.with_timeline(timeline)
    })
}
