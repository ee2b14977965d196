//! The missing requirements of a plan in the environment of its cells: probed once, before the
//! first cell.

use fsdyno_host::probe::probe;
use fsdyno_load::{engines, programs};
use fsdyno_model::{Availability, Cell, Contender, Need, Outcome, Plan, Requirement, Workload};
use fsdyno_recipes::{Filesystem, layouts};
use serde::{Deserialize, Serialize};

/// They run scripts: of users, and those that some programs are.
const SHELLS: [&str; 2] = ["sh", "bash"];

/// A missing requirement and the result of its probe, if anything is missing.
pub type MissingRequirement = Option<(Requirement, Availability)>;

/// The missing requirements of each contender and each workload of a plan.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Missing {
    /// For each contender: a part of the kernel, or a program.
    pub contenders: Vec<MissingRequirement>,
    /// For each contender: what serves it where the first alternative of a need is missing: zfs-fuse.
    #[serde(default)]
    pub substitutes: Vec<Option<String>>,
    /// For each workload: a program that one of its phases runs.
    pub workloads: Vec<MissingRequirement>,
}

impl Missing {
    /// Probes the requirements of a plan on this machine.
    pub fn here(plan: &Plan) -> Self {
        let contenders = plan.contenders.iter();
        let workloads = plan.workloads.iter();
        Self {
            substitutes: contenders
                .clone()
                .map(|c| substitute(&of_contender(c)))
                .collect(),
            contenders: contenders.map(|c| first_missing(of_contender(c))).collect(),
            workloads: workloads.map(|w| first_missing(of_workload(w))).collect(),
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

fn of_contender(contender: &Contender) -> Vec<Requirement> {
    let recipe = fsdyno_recipes::find(&contender.filesystem);
    let mut requirements = recipe.map_or_else(Vec::new, Filesystem::requirements);
    requirements.extend(layouts::requirements(contender));
    requirements
}

/// The programs that the phases of a workload run.
fn of_workload(workload: &Workload) -> Vec<Requirement> {
    let kinds = workload.phases.iter();
    kinds.filter_map(programs::requirement).collect()
}

/// The names of the programs of a plan: those of its recipes, its engine and its phases, and shells.
pub(crate) fn programs_of(plan: &Plan) -> Vec<String> {
    let contenders = plan.contenders.iter();
    let described = contenders
        .clone()
        .filter_map(|contender| fsdyno_recipes::find(&contender.filesystem));
    let described = described.filter_map(|recipe| recipe.facts().describe.first());
    let engine = engines::find(&plan.engine);
    let phases = plan.workloads.iter().flat_map(|workload| &workload.phases);
    let named = described
        .copied()
        .chain(SHELLS)
        .chain(engine.iter().flat_map(|one| one.programs()));
    let required = contenders.flat_map(of_contender);
    let required = required.chain(plan.workloads.iter().flat_map(of_workload));
    named
        .map(str::to_owned)
        .chain(required.filter_map(program))
        .chain(phases.flat_map(programs::app::installed))
        .collect()
}

/// The names of the programs of all recipes, and shells.
pub(crate) fn programs_of_recipes() -> Vec<String> {
    let recipes = fsdyno_recipes::names()
        .into_iter()
        .filter_map(fsdyno_recipes::find);
    let required = recipes.flat_map(Filesystem::requirements);
    let names = required.filter_map(program);
    names.chain(SHELLS.map(str::to_owned)).collect()
}

fn program(requirement: Requirement) -> Option<String> {
    match requirement.need {
        Need::Program { name, .. } => Some(name),
        _ => None,
    }
}

/// What meets a requirement here whose first alternative is missing.
fn substitute(requirements: &[Requirement]) -> Option<String> {
    let is_here = |need: &&Need| probe(need) == Availability::Available;
    requirements.iter().find_map(|requirement| {
        let Need::AnyOf(needs) = &requirement.need else {
            return None;
        };
        let (first, others) = needs.split_first()?;
        let mut others = others.iter();
        (!is_here(&first))
            .then(|| others.find(is_here).map(Need::name))
            .flatten()
    })
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
