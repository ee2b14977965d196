//! Selects the cells of a plan that are still needed, and their phases: those of contenders whose
//! comparison with the baseline of their lab is inconclusive.
//!
//! The decision depends only on the recorded cells, so that a resumed run decides like an
//! uninterrupted one.

use fsdyno_load::kinds;
use fsdyno_model::{
    CacheState, Cell, CellRecord, FigureLine, PhasePlan, Plan, ResultSet, RunInfo, SkippedPhase,
};
use fsdyno_stats::{Rule, Times, open_in};

/// The progress of a plan with a variable number of repeats.
pub struct Open {
    /// The cells recorded so far; `None` if every cell of the plan is needed.
    so_far: Option<ResultSet>,
    analyses: Vec<u32>,
    /// The last interim analysis: its block, and what it selected.
    decided: Option<(u32, Needed)>,
}

/// What needs more repeats.
struct Needed {
    /// By workload and contender.
    contenders: Vec<Vec<bool>>,
    /// By workload and phase: whether any contender needs it.
    phases: Vec<Vec<bool>>,
}

impl Needed {
    fn is_nothing(&self) -> bool {
        !self.contenders.iter().flatten().any(|needed| *needed)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InterimAnalysis {
    /// Number of complete blocks.
    pub blocks: u32,
    /// Number of inconclusive contenders, counted for each workload.
    pub open: u32,
    /// Number of all contenders except the baselines, counted in the same way.
    pub of: u32,
}

impl Open {
    /// Starts with the cells that are recorded already.
    pub fn new(run: &RunInfo, before: &[CellRecord]) -> Self {
        let adaptive = run.plan.adaptive;
        let analyses = Rule::during(&run.plan).analyses;
        Self {
            so_far: adaptive.map(|_| ResultSet {
                schema: ResultSet::SCHEMA,
                run: run.clone(),
                cells: before.to_vec(),
                variants: Vec::new(),
            }),
            analyses: analyses.map(|of| of.places()).unwrap_or_default(),
            decided: None,
        }
    }

    /// Adds a recorded cell, or replaces its earlier record.
    pub fn note(&mut self, record: &CellRecord) {
        if let Some(set) = &mut self.so_far {
            set.cells
                .retain(|other| other.cell.index != record.cell.index);
            set.cells.push(record.clone());
        }
    }

    /// Runs an interim analysis if one is due before a cell of this block, and returns its result.
    pub fn interim_analysis(&mut self, block: u32) -> Option<InterimAnalysis> {
        let set = self.so_far.as_ref()?;
        let due = *self.analyses.iter().rev().find(|at| **at <= block)?;
        let decided = self.decided.as_ref();
        // Once nothing is needed, no further block is measured.
        if decided.is_some_and(|(at, needed)| *at == due || needed.is_nothing()) {
            return None;
        }
        let needed = needed(set, due);
        let part = &needed.contenders;
        let all = || part.iter().flatten();
        let workloads = u32::try_from(part.len()).unwrap_or(u32::MAX);
        let labs = u32::try_from(set.labs().len()).unwrap_or(u32::MAX);
        let baselines = workloads.saturating_mul(labs);
        let measured_on = all().filter(|part| **part).count();
        // If any contender needs more repeats, the baseline does too.
        let with = part.iter().filter(|of| of.contains(&true)).count();
        let count = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
        let analysis = InterimAnalysis {
            blocks: due,
            open: count(measured_on.saturating_sub(with)),
            of: count(all().count()).saturating_sub(baselines),
        };
        self.decided = Some((due, needed));
        Some(analysis)
    }

    /// Whether a cell is still needed after the last interim analysis.
    pub fn needs(&self, cell: Cell) -> bool {
        let Some((_, needed)) = &self.decided else {
            return true;
        };
        let of_workload = needed.contenders.get(cell.workload as usize);
        of_workload
            .and_then(|of| of.get(cell.contender as usize))
            .is_none_or(|part| *part)
    }

    /// The plan for the cells of one block at one workload: all their contenders skip the phases that
    /// no comparison needs any more. None if they skip none.
    ///
    /// In virtual time a cell is always the same, and guests and other machines run whole cells.
    pub fn shortened(&self, plan: &Plan, cell: Cell) -> Option<Plan> {
        let (_, needed) = self.decided.as_ref().filter(|(at, _)| *at <= cell.block)?;
        let here = plan
            .contenders
            .iter()
            .all(|contender| contender.lab.is_host());
        if !here || plan.in_virtual_time() || plan.decides.is_some() {
            return None;
        }
        let number = cell.workload as usize;
        let workload = plan.workloads.get(number)?;
        let skipped = without(&workload.phases, needed.phases.get(number)?);
        if skipped.is_empty() {
            return None;
        }
        let mut plan = plan.clone();
        for contender in &plan.contenders {
            plan.skipped
                .extend(skipped.iter().map(|phase| SkippedPhase {
                    contender: contender.label.clone(),
                    workload: workload.name.clone(),
                    phase: phase.label.clone(),
                    requirement: String::new(),
                    reason: "its comparisons are decided".to_owned(),
                }));
        }
        Some(plan)
    }
}

/// The phases that need not run: those after the last one that is needed, and those that leave nothing
/// to the phases after them.
fn without<'a>(phases: &'a [PhasePlan], needed: &[bool]) -> Vec<&'a PhasePlan> {
    let mut skipped = Vec::new();
    let (mut any_after, mut continues) = (false, false);
    for (phase, needed) in phases.iter().zip(needed).rev() {
        let writes = kinds::find(&phase.kind).is_none_or(|kind| kind.writes);
        if *needed || any_after && (writes || continues) {
            any_after = true;
            continues = phase.cache == CacheState::AsIs;
        } else {
            skipped.push(phase);
        }
    }
    skipped
}

/// The contenders and phases that need more repeats after this number of blocks.
fn needed(set: &ResultSet, blocks: u32) -> Needed {
    let plan = &set.run.plan;
    let phases = plan.workloads.iter().map(|workload| workload.phases.len());
    let mut needed = Needed {
        contenders: vec![vec![false; plan.contenders.len()]; plan.workloads.len()],
        phases: phases.map(|count| vec![false; count]).collect(),
    };
    let Some(adaptive) = plan.adaptive else {
        return needed;
    };
    let mut before = set.clone();
    before.cells.retain(|record| record.cell.block < blocks);
    for share in before.labs() {
        let lines = deciding_lines(&before.only(&share.contenders));
        let times: Vec<Times> = lines.iter().map(Times::from).collect();
        let times: Vec<&Times> = times.iter().collect();
        let rule = Rule::during(plan);
        // Plans without an error rate are of a version that continued for the baseline alone.
        let open = open_in(&times, &rule, adaptive.precision, plan.errors.is_some());
        for (line, open) in lines.iter().zip(open) {
            for (contender, open) in share.contenders.iter().zip(open) {
                needed.contenders[line.workload][*contender] |= open;
                needed.phases[line.workload][line.phase] |= open;
            }
        }
    }
    needed
}

/// The figures that decide: one of them, or those that verdicts are about.
fn deciding_lines(set: &ResultSet) -> Vec<FigureLine> {
    match &set.run.plan.decides {
        Some(figure) => set.deciding_lines(figure),
        None => set.compared_lines(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn phase(kind: &str, cache: CacheState) -> PhasePlan {
        PhasePlan {
            label: kind.to_owned(),
            kind: kind.to_owned(),
            cache,
            ..crate::fixture::plan(1, 1, 1).workloads[0].phases[0].clone()
        }
    }

    #[test]
    fn a_decided_phase_is_skipped_unless_a_later_one_needs_what_it_leaves() {
        use CacheState::{AsIs, Cold, Warm};
        let phases = [
            phase("copy", Cold),
            phase("read", Cold),
            phase("grep", AsIs),
            phase("stat-walk", Warm),
            phase("delete", Cold),
        ];
        let labels = |needed: [bool; 5]| -> Vec<&str> {
            let skipped = without(&phases, &needed);
            skipped.iter().rev().map(|phase| &*phase.label).collect()
        };
        assert_eq!(labels([true; 5]), [""; 0]);
        // Something is deleted only if it was copied before.
        let only_delete = [false, false, false, false, true];
        assert_eq!(labels(only_delete), ["read", "grep", "stat-walk"]);
        // The search finds the caches as the phase before it left them.
        let only_grep = [false, false, true, false, false];
        assert_eq!(labels(only_grep), ["stat-walk", "delete"]);
        let only_copy = [true, false, false, false, false];
        assert_eq!(labels(only_copy), ["read", "grep", "stat-walk", "delete"]);
    }
}
