//! Runs the replay of a recording: it is read and planned before the clock starts.

use super::{LoadError, Measured, Request, Timing, raise_descriptor_limit};
use crate::engines::{Engine, null, sync};
use crate::kinds::PhaseKind;
use crate::phases::replay::{self, Pace, Replay};
use fsdyno_datasets::recorded;
use fsdyno_model::cell::Effective;
use fsdyno_model::sample::{Better, Figure};
use fsdyno_model::units::{Bytes, Nanos};
use fsdyno_model::warning::{Warning, WarningKind};
use rustix::fs::statvfs;
use std::fmt::Write as _;
use std::path::Path;

pub(super) fn run<E: Engine>(
    kind: &PhaseKind,
    request: &mut Request<'_>,
) -> Result<Measured, LoadError> {
    if !E::INFO.touches_files {
        return nothing::<E>(kind, request);
    }
    if E::INFO.name != sync::NAME {
        return Err(LoadError::Parameters {
            kind: kind.name,
            reason: format!(
                "it performs the recorded system calls itself: choose the engine {}",
                sync::NAME
            ),
        });
    }
    let path = replay::recording_of(request.phase)?;
    let pace = replay::pace_of(request.phase)?;
    let tree = request.work_dir.newest().cloned();
    let tree = tree.ok_or_else(|| LoadError::NoTree(kind.name.to_owned()))?;
    raise_descriptor_limit();
    let recording = replay::read(&path, request.stop)?;
    let plan = replay::plan(&recording, &path)?;
    check_space(&path, plan.peak, &tree)?;
    let mut replay = Replay::new(recording, plan, pace);
    let stop = request.stop;
    let timed = Timing::of(kind, request).time::<E, _>(|| replay.run(&tree, stop))?;
    let durable_ns = timed.durable_after(timed.done.returned);
    let measured = timed.measured::<E>();
    let done = timed.done;
    let seconds = done.returned.0.max(1) as f64 / 1e9;
    let mut figures = Vec::new();
    if pace == Pace::Afap {
        let rate = done.latencies.count() as f64 / seconds;
        figures.push(Figure::new("rate", rate, "1/s", Better::Higher));
    }
    figures.extend(done.latencies.figures());
    figures.extend(timed.counts);
    let mut warnings = lost(&replay);
    if done.divergence.is_large() {
        let (count, compared) = (done.divergence.count(), done.divergence.compared());
        warnings.push(Warning::new(
            WarningKind::Divergence,
            format!(
                "{count} of {compared} operations returned another result than in the \
                     recording: {}",
                done.divergence.text()
            ),
            "this is not the recorded work: look for features that the file system lacks, and \
                 for permissions (a recording of root is replayed by root)",
        ));
    }
    let mut note = format!(
        "operations: {}\ndifferent: {}\nnot repeated: {}\nworkers: {}\n",
        done.divergence.compared(),
        done.divergence.count(),
        done.not_repeated,
        replay.workers()
    );
    note.push_str(&done.divergence.lines());
    let _ = writeln!(note, "recorded: {}", recorded_time(&replay));
    Ok(Measured {
        return_ns: done.returned,
        durable_ns,
        tally: done.tally,
        method: method(&replay, request.phase.parameters.get(replay::PACE)),
        engine: E::INFO.name,
        figures,
        notes: vec![Effective {
            source: Effective::REPLAY.to_owned(),
            text: note,
        }],
        warnings,
        recording: None,
        ..measured.with_timeline(done.timeline)
    })
}

/// The engine that accesses no file performs nothing.
fn nothing<E: Engine>(kind: &PhaseKind, request: &mut Request<'_>) -> Result<Measured, LoadError> {
    let timed = Timing::of(kind, request).time::<E, _>(|| Ok(()))?;
    Ok(Measured {
        return_ns: timed.used.wall,
        durable_ns: timed.durable_ns,
        method: null::METHOD.to_owned(),
        engine: E::INFO.name,
        ..Measured::default()
    })
}

fn method(replay: &Replay, pace: Option<&String>) -> String {
    let pace = pace.map_or("afap", |pace| pace);
    let workers = replay.workers();
    let plural = if workers == 1 { "" } else { "s" };
    format!("recorded system calls, {pace}, {workers} worker{plural}")
}

/// The time of the recording, and that in which an operation was in flight.
fn recorded_time(replay: &Replay) -> String {
    let operations = &replay.recording().operations;
    let mut spans: Vec<(u64, u64)> = operations
        .iter()
        .filter(|one| !matches!(one.action, fsdyno_trace::Action::Wait { .. }))
        .map(|one| (one.start_ns, one.end_ns))
        .collect();
    spans.sort_unstable();
    let (mut busy, mut until) = (0, 0);
    for (start, end) in &spans {
        busy += end.saturating_sub(until.max(*start));
        until = until.max(*end);
    }
    let first = spans.first().map_or(0, |span| span.0);
    format!(
        "{}, of which {} in operations",
        Nanos(until.saturating_sub(first)),
        Nanos(busy)
    )
}

/// A warning about a recording that is not complete.
fn lost(replay: &Replay) -> Vec<Warning> {
    let ending = &replay.recording().ending;
    let unexplained = recorded::unexplained(replay.recording());
    let first = unexplained
        .as_ref()
        .and_then(|found| Some((found.total, found.differences.first()?)));
    if ending.complete() && first.is_none() {
        return Vec::new();
    }
    let mut what = Vec::new();
    if let Some((count, first)) = first {
        what.push(format!(
            "its operations do not explain {count} entries of the tree at its end, as {first}"
        ));
    }
    if ending.lost > 0 {
        what.push(format!("{} events were lost", ending.lost));
    }
    if ending.unknown > 0 {
        what.push(format!("{} operations are unknown", ending.unknown));
    }
    what.extend(ending.incomplete.iter().cloned());
    vec![Warning::new(
        WarningKind::IncompleteRecording,
        format!("the recording is not complete: {}", what.join("; ")),
        "this is only a part of the recorded work: record again, for a shorter time or a smaller \
         directory",
    )]
}

/// Refuses a recording whose tree would not fit.
fn check_space(path: &Path, peak: u64, tree: &Path) -> Result<(), LoadError> {
    let space = statvfs(tree).map_err(|errno| LoadError::io("statvfs", tree, errno.into()))?;
    let unit = space.f_frsize.max(1);
    let free = space.f_bavail.saturating_mul(unit);
    // The tree at the start has its space already.
    let used = space
        .f_blocks
        .saturating_sub(space.f_bfree)
        .saturating_mul(unit);
    let room = free.saturating_add(used);
    // A file system that counts no blocks has no limit.
    if space.f_blocks > 0 && peak > room {
        return Err(LoadError::Recording {
            path: path.to_owned(),
            reason: format!(
                "its tree takes up to {}, and the file system has only {}",
                Bytes(peak),
                Bytes(room)
            ),
        });
    }
    Ok(())
}
