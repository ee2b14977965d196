//! Runs a phase that is a program: prepares it untimed, runs it timed, and parses its figures.

use super::{LoadError, Measured, Request, Timing};
use crate::command::{self, Ended, KEPT, StrayProcesses};
use crate::engines::{Engine, tools};
use crate::programs::Planned;
use crate::tool_run::{Confined, ToolCommand, ToolRun};
use fsdyno_datasets::work_dir::WorkDir;
use fsdyno_model::cancel::CancelToken;
use fsdyno_model::plan::PhasePlan;
use fsdyno_model::warning::{Warning, WarningKind};
use std::path::Path;

/// The maximum parsed output, bytes: more than any of the programs prints.
const READABLE: usize = 16 << 20;

/// The program run of a phase; none if the phase is not a program.
pub(super) fn planned(phase: &PhasePlan, work_dir: &WorkDir) -> Result<Option<Planned>, LoadError> {
    let tree = work_dir.newest().map(std::path::PathBuf::as_path);
    Planned::of(phase, &work_dir.root, tree)
}

/// Runs the preparing commands of a phase.
pub(super) fn prepare(
    planned: Planned,
    root: &Path,
    confined: Option<&Confined>,
    stop: &CancelToken,
) -> Result<Vec<ToolCommand>, LoadError> {
    if planned.directory != root {
        std::fs::create_dir(&planned.directory)
            .map_err(|source| LoadError::io("mkdir", &planned.directory, source))?;
    }
    let mut done = Vec::new();
    for mut tool in planned.commands.before {
        tool.confined = confined.cloned();
        let strays = StrayProcesses::guarded()?;
        let left = under_mark(tool, KEPT, &strays, stop)?.command;
        strays.end();
        done.push(left);
    }
    Ok(done)
}

/// Runs a program with a mark on all its processes. After a failure none of them is left running.
fn under_mark(
    mut tool: ToolRun,
    keeps: usize,
    strays: &StrayProcesses,
    stop: &CancelToken,
) -> Result<Ended, LoadError> {
    let (name, value) = strays.variable();
    tool.mark = Some((name, value.to_owned()));
    tool.keeps = keeps;
    let ended = command::run(&tool, stop);
    if ended.is_err() {
        strays.end();
    }
    ended
}

/// Runs the timed command of a phase.
pub(super) fn run<E: Engine>(
    mut planned: Planned,
    request: &mut Request<'_>,
) -> Result<Measured, LoadError> {
    let (phase, stop) = (request.phase, request.stop);
    let mut tool = std::mem::take(&mut planned.commands.timed);
    tool.confined = request.confined.cloned();
    let strays = StrayProcesses::guarded()?;
    let timed = Timing::of(&planned.program.kind, request)
        .time::<E, _>(|| under_mark(tool, READABLE, &strays, stop))?;
    let measured = timed.measured::<E>();
    let ended = timed.done;
    let left = ended.left_running + strays.end();
    let report = planned.parse(&String::from_utf8_lossy(&ended.stdout))?;
    let mut warnings = report.warnings;
    warnings.extend((left > 0).then(|| left_running(&phase.label, left)));
    Ok(Measured {
        user_ns: ended.user,
        system_ns: ended.system,
        method: planned.method,
        engine: tools::NAME,
        figures: [report.figures, timed.counts].concat(),
        commands: vec![ended.command],
        warnings,
        ..measured
    })
}

fn left_running(label: &str, left: usize) -> Warning {
    let processes = if left == 1 { "process" } else { "processes" };
    Warning::new(
        WarningKind::BackgroundLoad,
        format!("{label} left {left} {processes} running when it returned; they were ended"),
        "what they had still to do is in no figure: let the command wait for what it starts",
    )
}
