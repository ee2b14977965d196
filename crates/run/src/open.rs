//! Selects the cells of a plan that are still needed: those of contenders whose comparison with the
//! baseline of their lab is inconclusive.
//!
//! The decision depends only on the recorded cells, so that a resumed run decides like an
//! uninterrupted one.

use fsdyno_model::{Cell, CellRecord, FigureLine, ResultSet, RunInfo};
use fsdyno_stats::{Rule, Times, open_in};

/// The progress of a plan with a variable number of repeats.
pub struct Open {
    /// The cells recorded so far; `None` if every cell of the plan is needed.
    so_far: Option<ResultSet>,
    analyses: Vec<u32>,
    /// The last interim analysis: its block, and the contenders that it selected, by workload and
    /// contender.
    decided: Option<(u32, Vec<Vec<bool>>)>,
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
        if self.decided.as_ref().is_some_and(|(at, _)| *at == due) {
            return None;
        }
        let part = takes_part(set, due);
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
        self.decided = Some((due, part));
        Some(analysis)
    }

    /// Whether a cell is still needed after the last interim analysis.
    pub fn needs(&self, cell: Cell) -> bool {
        let Some((_, part)) = &self.decided else {
            return true;
        };
        let of_workload = part.get(cell.workload as usize);
        of_workload
            .and_then(|of| of.get(cell.contender as usize))
            .is_none_or(|part| *part)
    }
}

/// The contenders that need more repeats after this number of blocks, by workload and contender.
fn takes_part(set: &ResultSet, blocks: u32) -> Vec<Vec<bool>> {
    let plan = &set.run.plan;
    let mut part = vec![vec![false; plan.contenders.len()]; plan.workloads.len()];
    let Some(adaptive) = plan.adaptive else {
        return part;
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
                part[line.workload][*contender] |= open;
            }
        }
    }
    part
}

/// The figures that decide: one of them, or those that verdicts are about.
fn deciding_lines(set: &ResultSet) -> Vec<FigureLine> {
    match &set.run.plan.decides {
        Some(figure) => set.deciding_lines(figure),
        None => set.compared_lines(),
    }
}
