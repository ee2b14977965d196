//! Requests that another machine does not support, refused by name before a connection.

use fsdyno_load::phases::{copy, delete, grep, read, stat_walk, untar};
use fsdyno_load::{engines, programs};
use fsdyno_model::{PhasePlan, Plan};

/// Whether the programs of any system can run that kind of phase.
pub(crate) fn is_done_by_programs(kind: &str) -> bool {
    let on_trees = [
        copy::KIND.name,
        delete::KIND.name,
        untar::KIND.name,
        read::KIND.name,
        stat_walk::KIND.name,
        grep::KIND.name,
    ];
    on_trees.contains(&kind) || is_command(kind)
}

/// Whether that kind of phase is a command of the user's.
pub(crate) fn is_command(kind: &str) -> bool {
    kind == programs::exec::EXEC.kind.name
}

/// The reason why a plan cannot run on its other machines; none if it can or has none.
pub(crate) fn refusal(plan: &Plan) -> Option<String> {
    let remote = plan.contenders.iter().find(|c| c.lab.is_remote())?;
    let lab = &remote.lab;
    if plan.engine != engines::tools::NAME {
        return Some(format!(
            "on {lab} only its own programs work: --engine {}, not {}",
            engines::tools::NAME,
            plan.engine
        ));
    }
    let phases = plan.workloads.iter().flat_map(|w| &w.phases);
    if let Some(phase) = phases.into_iter().find(|p| !is_done_by_programs(&p.kind)) {
        return Some(format!(
            "`{}` is done by fsdyno itself or by a program that it reads, and {lab} has only its \
             own cp, rm, tar, cat, find and grep, and commands of yours (exec): choose other phases",
            phase.label
        ));
    }
    let phases = plan.workloads.iter().flat_map(|w| &w.phases);
    let with_figures = |phase: &&PhasePlan| phase.parameters.contains_key("figure");
    if let Some(phase) = phases.into_iter().find(with_figures) {
        return Some(format!(
            "`{}` has figures in its output, which fsdyno does not read on {lab}: leave --figure out",
            phase.label
        ));
    }
    let stale = plan
        .contenders
        .iter()
        .find(|c| c.lab.is_remote() && !c.state.is_fresh());
    if let Some(contender) = stale {
        return Some(format!(
            "`{}` is to be filled or aged, which fsdyno does by itself, and not on {lab}: leave \
             --fill and --age out",
            contender.label
        ));
    }
    plan.count_extents.then(|| {
        format!("extents are counted by fsdyno itself, which cannot run on {lab}: omit --fragments")
    })
}
