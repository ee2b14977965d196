//! Compares trees that a phase made with their source, and the tree of a replay with the end of its
//! recording; untimed.

use super::executor::HostExecutor;
use crate::job::Job;
use crate::notes::elapsed;
use crate::procedure::CellEnd;
use fsdyno_datasets::trees;
use fsdyno_load::kinds::Needs;
use fsdyno_load::phases::replay;
use fsdyno_model::PhasePlan;
use std::time::Instant;

/// Compares the newest tree with its source.
pub(super) fn compare(
    executor: &mut HostExecutor<'_, '_>,
    job: &Job<'_>,
    phase: &PhasePlan,
    needs: Needs,
) -> Result<(), CellEnd> {
    let start = Instant::now();
    let newest = executor.work_dir.newest().cloned().unwrap_or_default();
    let (original, result) = if replay::is_one(&phase.kind) {
        let compared = replay::compare(phase, &newest, executor.stop);
        let result = compared.map_err(|error| executor.load_failed(&error))?;
        (replay::recording_of(phase).unwrap_or_default(), result)
    } else if needs == Needs::Archive {
        let archive = executor.work_dir.archive.clone().unwrap_or_default();
        let stores = job.recipe.capabilities();
        let result = trees::compare_archive(&archive, &newest, stores, executor.stop);
        (archive, result)
    } else {
        let count = executor.work_dir.trees.len();
        let original = executor.work_dir.trees[count.saturating_sub(2)].clone();
        let result = trees::compare(&original, &newest, executor.stop);
        (original, result)
    };
    let comparison = match result {
        Err(_) if executor.stop.requested() => return Err(CellEnd::Stopped),
        Err(error) => return Err(executor.notes.halt(error.to_string(), None)),
        Ok(comparison) => comparison,
    };
    if comparison.total > 0 {
        let message = format!(
            "{} is not what {} is: {} differences, the first: {}",
            newest.display(),
            original.display(),
            comparison.total,
            comparison
                .differences
                .first()
                .map(ToString::to_string)
                .unwrap_or_default(),
        );
        return Err(executor.notes.halt(message, None));
    }
    let text = format!(
        "{} in {}: {} files, {} directories, {} equal, compared in {}",
        job.contender.label,
        newest.display(),
        comparison.files,
        comparison.directories,
        comparison.bytes,
        elapsed(start),
    );
    executor.notes.effective("tree comparison", text);
    Ok(())
}
