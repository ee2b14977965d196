//! The missing requirements of a plan in the environment of its cells: probed once, before the
//! first cell.

use fsdyno_host::probe::probe;
use fsdyno_load::programs;
use fsdyno_model::{Availability, Cell, Contender, Need, Outcome, Plan, Requirement, Workload};
use fsdyno_recipes::layouts;
use serde::{Deserialize, Serialize};

/// A missing requirement and the result of its probe, if anything is missing.
pub type MissingRequirement = Option<(Requirement, Availability)>;

/// The missing requirements of each contender and each workload of a plan.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Missing {
    /// For each contender: a part of the kernel, or a program.
    pub contenders: Vec<MissingRequirement>,
    /// For each workload: a program that one of its phases runs.
    pub workloads: Vec<MissingRequirement>,
}

impl Missing {
    /// Probes the requirements of a plan on this machine.
    pub fn here(plan: &Plan) -> Self {
        let of_contender = |contender: &Contender| {
            let recipe = fsdyno_recipes::find(&contender.filesystem)?;
            let mut requirements = recipe.requirements();
            requirements.extend(layouts::requirements(contender));
            first_missing(requirements)
        };
        let contenders = plan.contenders.iter();
        let workloads = plan.workloads.iter();
        Self {
            contenders: contenders.map(of_contender).collect(),
            workloads: workloads.map(|w| first_missing(programs(w))).collect(),
        }
    }

    /// The same with other remedies, for needs that have one.
    #[must_use]
    pub fn with_remedies(mut self, better: impl Fn(&Need) -> Option<String>) -> Self {
        for requirement in self.contenders.iter_mut().flatten() {
            if let (requirement, Availability::Missing { remedy, .. }) = requirement
                && let Some(other) = better(&requirement.need)
            {
                *remedy = other;
            }
        }
        self
    }

    /// The outcome of a cell whose requirements are missing; none if it can run.
    pub fn skips(&self, cell: Cell) -> Option<Outcome> {
        let contender = self.contenders.get(cell.contender as usize);
        let workload = self.workloads.get(cell.workload as usize);
        let requirement = contender
            .and_then(Option::as_ref)
            .or(workload.and_then(Option::as_ref));
        match requirement? {
            (requirement, Availability::Missing { reason, remedy }) => Some(Outcome::Skipped {
                requirement: requirement.need.name(),
                reason: reason.clone(),
                remedy: remedy.clone(),
            }),
            (_, Availability::Available) => None,
        }
    }
}

/// The programs that the phases of a workload run.
fn programs(workload: &Workload) -> Vec<Requirement> {
    let kinds = workload.phases.iter();
    kinds.filter_map(programs::requirement).collect()
}

/// The first requirement that is not met here.
fn first_missing(requirements: Vec<Requirement>) -> MissingRequirement {
    requirements
        .into_iter()
        .find_map(|requirement| match probe(&requirement.need) {
            Availability::Available => None,
            missing @ Availability::Missing { .. } => Some((requirement, missing)),
        })
}
