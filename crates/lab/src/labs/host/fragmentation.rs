//! Counts extents after a phase, and free extents at the end; neither is timed.
//!
//! Counting loads names, inodes and extent maps into memory. The cache state of a cold or warm
//! phase is set afterwards. A phase with the state as-is begins with these in memory, and its
//! evidence states this.

use super::executor::HostExecutor;
use crate::job::Job;
use crate::procedure::CellEnd;
use fsdyno_datasets::{fragmentation, free_space};
use fsdyno_host::command;
use fsdyno_model::{Bytes, Cancelled, Fragmentation, PhasePlan, Step};
use std::path::Path;

/// Counts the extents of the files after that phase, if the plan requests it.
pub(super) fn after(
    executor: &mut HostExecutor<'_, '_>,
    job: &Job<'_>,
    phase: &PhasePlan,
) -> Result<Option<Fragmentation>, CellEnd> {
    executor.counted = job.counts_extents(phase);
    if !executor.counted {
        return Ok(None);
    }
    let floor = job.plan.extent_floor;
    let counting = step(&executor.work_dir.root, floor);
    let (root, stop) = (executor.work_dir.root.clone(), executor.stop);
    let counted = executor.by_call(&counting, |_| fragmentation::count(&root, floor, stop));
    counted.map_err(|Cancelled| CellEnd::Stopped)
}

/// Records the free extents. They are optional: if they cannot be read, the reason is recorded.
pub(super) fn free_space(
    executor: &mut HostExecutor<'_, '_>,
    source: &str,
    step: &Step,
) -> Result<(), CellEnd> {
    if executor.prints(|| step.shell()) {
        return Ok(());
    }
    let reported = if let Step::ListFreeSpace { path, .. } = step {
        let token = executor.stop;
        let listed = executor
            .notes
            .by_call(step, || free_space::free_space(path, token));
        listed.map_err(|error| error.to_string())
    } else {
        match command::run(&step.argv(), executor.stop) {
            Ok(finished) => {
                executor.notes.program(&step.argv(), &finished);
                if finished.success() {
                    Ok(finished.stdout)
                } else {
                    Err(finished.failure(&step.argv()))
                }
            }
            Err(error) => Err(error.to_string()),
        }
    };
    if executor.stop.requested() {
        return Err(CellEnd::Stopped);
    }
    let text = reported.unwrap_or_else(|reason| format!("not available: {reason}"));
    executor.notes.effective(source, text);
    Ok(())
}

/// The step that counts them.
fn step(root: &Path, floor: Bytes) -> Step {
    Step::CountExtents {
        path: root.to_owned(),
        floor,
    }
}
