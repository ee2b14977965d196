//! Workloads that differ only in the number of workers.

use crate::plan::{PhasePlan, Workload};

/// The parameter of a phase for its number of workers.
pub const WORKERS: &str = "workers";

/// The number of workers of a phase; none if it has no such parameter.
pub fn workers(phase: &PhasePlan) -> Option<u32> {
    phase.parameters.get(WORKERS)?.parse().ok()
}

/// Whether two workloads differ only in the numbers of workers and in their names.
pub fn differ_only_in_workers(one: &Workload, other: &Workload) -> bool {
    let same = |(a, b): (&PhasePlan, &PhasePlan)| {
        let but_workers = |phase: &PhasePlan| {
            let mut phase = phase.clone();
            phase.parameters.remove(WORKERS);
            phase
        };
        but_workers(a) == but_workers(b)
    };
    one.dataset == other.dataset
        && one.phases.len() == other.phases.len()
        && one.phases.iter().zip(&other.phases).all(same)
}
