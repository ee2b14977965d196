//! Phases that the file systems of a plan cannot do.

use fsdyno_load::phases::required;
use fsdyno_model::{Contender, PhasePlan, SkippedPhase, Workload};
use fsdyno_recipes::Filesystem;

/// The phases that contenders do not run, because their file systems cannot: each with the reason.
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

/// What a file system lacks for a phase, and why; none where it can do it.
fn lacks(recipe: &dyn Filesystem, phase: &PhasePlan) -> Option<(String, String)> {
    let capabilities = recipe.capabilities();
    let mut required = required(phase).into_iter();
    required.find_map(|required| {
        let reason = capabilities.lacks(recipe.name(), required)?;
        Some((required.to_string(), reason))
    })
}
