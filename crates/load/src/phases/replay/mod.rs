//! The phase `replay`: performs the operations of a recording of `fsdyno record` again.
//!
//! `plan` finds the dependencies of operations, `workers` performs them. The tree at the start is
//! the dataset `trace:FILE`.

mod calls;
mod divergence;
mod gate;
mod order;
mod pace;
mod perform;
mod plan;
mod workers;

pub(crate) use pace::Pace;
pub(crate) use plan::plan;
pub(crate) use workers::Replay;

use crate::error::LoadError;
use crate::phase_kind::PhaseKind;
use fsdyno_datasets::DatasetError;
use fsdyno_datasets::recorded::{self, Recording};
use fsdyno_datasets::trees::{Comparison, TreeError};
use fsdyno_model::plan::PhasePlan;
use fsdyno_model::{CancelToken, Form, Parameter};
use std::path::{Path, PathBuf};

/// The parameter that names the recording. Plans with the dataset `trace:FILE` set it.
pub const TRACE: &str = "trace";

/// The parameter of the start times.
pub const PACE: &str = "pace";

pub static KIND: PhaseKind = PhaseKind {
    writes: true,
    ..PhaseKind::on_tree(
        "replay",
        "performs the operations of a recording (fsdyno record) again",
        &[
            Parameter::new(
                TRACE,
                "the recording; that of the dataset trace:FILE",
                Form::File,
            ),
            Parameter::new(
                PACE,
                "start times: afap, as-recorded, or scaled:X (X times the recorded times)",
                Form::Text,
            )
            .fixed("afap"),
        ],
    )
};

/// Whether a phase is a replay.
pub fn is_one(kind: &str) -> bool {
    kind == KIND.name
}

pub fn recording_of(phase: &PhasePlan) -> Result<PathBuf, LoadError> {
    let path = phase.parameters.get(TRACE);
    path.map(PathBuf::from)
        .ok_or_else(|| LoadError::Parameters {
            kind: KIND.name,
            reason: "it has no recording: choose one with --workload-trace FILE".to_owned(),
        })
}

/// The start times of a replay.
pub(crate) fn pace_of(phase: &PhasePlan) -> Result<Pace, LoadError> {
    let text = phase.parameters.get(PACE).map_or("afap", |text| text);
    Pace::parse(text).map_err(|reason| LoadError::Parameters {
        kind: KIND.name,
        reason,
    })
}

/// Checks the pace of a plan. The error is the reason why it is invalid.
pub fn check_pace(text: &str) -> Result<(), String> {
    Pace::parse(text).map(drop)
}

pub(crate) fn read(path: &Path, stop: &CancelToken) -> Result<Recording, LoadError> {
    Recording::open(path, stop).map_err(|error| match error {
        DatasetError::Stopped => LoadError::Stopped,
        other => LoadError::Recording {
            path: path.to_owned(),
            reason: other.to_string(),
        },
    })
}

/// Compares a tree with the one at the end of the recording of a replay.
pub fn compare(
    phase: &PhasePlan,
    tree: &Path,
    stop: &CancelToken,
) -> Result<Result<Comparison, TreeError>, LoadError> {
    let recording = read(&recording_of(phase)?, stop)?;
    Ok(recorded::compare(&recording, tree, stop))
}

#[cfg(test)]
mod tests;
