//! Phases that the file systems of a plan do not support.

use fsdyno_load::phases::required;
use fsdyno_model::{Contender, PhasePlan, SkippedPhase, Workload};
use fsdyno_recipes::Filesystem;

/// The phases that contenders skip because their file systems do not support them, each with the
/// reason.
pub fn skipped_phases(contenders: &[Contender], workloads: &[Workload]) -> Vec<SkippedPhase> {
    let mut skipped = Vec::new();
    for contender in contenders {
        let Some(recipe) = fsdyno_recipes::find(&contender.filesystem) else {
            continue;
        };
        for workload in workloads {
            let lacking = |phase| Some((phase, lacks(recipe, phase)?));
            let of_workload = workload.phases.iter().filter_map(lacking);
            skipped.extend(
                of_workload.map(|(phase, (requirement, reason))| SkippedPhase {
                    contender: contender.label.clone(),
                    workload: workload.name.clone(),
                    phase: phase.label.clone(),
                    requirement,
                    reason,
                }),
            );
        }
    }
    skipped
}

/// The capability that a file system lacks for a phase, with the reason; none if it supports the
/// phase.
fn lacks(recipe: &dyn Filesystem, phase: &PhasePlan) -> Option<(String, String)> {
    let capabilities = recipe.capabilities();
    let mut required = required(phase).into_iter();
    required.find_map(|required| {
        let reason = capabilities.lacks(recipe.name(), required)?;
        Some((required.to_string(), reason))
    })
}
