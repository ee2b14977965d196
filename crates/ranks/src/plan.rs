//! The plan of a run by many ranks: that of `fsdyno run` with the number of ranks as workers.

use crate::options::Options;
use fsdyno_load::kinds;
use fsdyno_load::phases::{bonnie, op};
use fsdyno_model::scaling::WORKERS;
use fsdyno_model::{CacheState, Needs, PhasePlan, Plan, Workload};
use fsdyno_run::RunOptions;
use fsdyno_run::resolve::{Catalogue, resolve};
use std::time::Duration;

/// The parameter of a phase for the distance between writer and reader.
pub const SHIFT: &str = "shift";

/// The parameter of a phase for the time from the common start to the stonewall, seconds.
pub const STONEWALL: &str = "stonewall";

/// Resolves the options for this number of ranks. Every rank gets the same plan.
pub fn plan(options: &Options, size: usize) -> Result<Plan, String> {
    let run = RunOptions {
        name: Some(options.name.clone()),
        contenders: options
            .directories
            .iter()
            .map(|directory| format!("dir:{}", directory.display()).into())
            .collect(),
        phases: vec![options.phases.clone()],
        set: options.set.clone(),
        dataset: options.dataset.clone(),
        scale: Some(options.scale),
        seed: Some(options.seed),
        repeats: Some(options.repeats),
        engine: Some(options.engine.clone()),
        check: Some(false),
        verify: Some(!options.no_verify),
        ..RunOptions::default()
    };
    let mut plan = resolve(&run, &Catalogue::complete()).map_err(|error| error.to_string())?;
    plan.name.clone_from(&options.name);
    for workload in &plan.workloads {
        check(workload)?;
        if options.stonewall.is_some() {
            check_stonewall(workload, options)?;
        }
    }
    let clients = clients(options, size)?;
    if let [workload] = &mut plan.workloads[..] {
        // Without a dataset it has no name of its own.
        workload.name.clone_from(&options.name);
    }
    plan.workloads = plan
        .workloads
        .iter()
        .flat_map(|workload| {
            let several = clients.len() > 1;
            clients
                .iter()
                .map(move |clients| of_clients(workload, *clients, several, options))
        })
        .collect();
    Ok(plan)
}

/// The numbers of ranks that work.
fn clients(options: &Options, size: usize) -> Result<Vec<usize>, String> {
    if options.clients.is_empty() {
        return Ok(vec![size]);
    }
    let mut all = Vec::new();
    for clients in &options.clients {
        let clients = *clients as usize;
        if clients == 0 || clients > size {
            return Err(format!(
                "--clients {clients}: there are {size} ranks; name numbers from 1 to {size}, or \
                 start more ranks"
            ));
        }
        if all.contains(&clients) {
            return Err(format!("--clients names {clients} twice; name it once"));
        }
        all.push(clients);
    }
    Ok(all)
}

/// The workload for a number of ranks.
fn of_clients(workload: &Workload, clients: usize, several: bool, options: &Options) -> Workload {
    let mut workload = workload.clone();
    if several {
        let plural = if clients == 1 { "" } else { "s" };
        workload.name = format!("{}, {clients} client{plural}", workload.name);
    }
    for phase in &mut workload.phases {
        let workers = clients.to_string();
        phase.parameters.insert(WORKERS.to_owned(), workers);
        if op::is_one(&phase.kind) && reads(phase) {
            let shift = options.shift.to_string();
            phase.parameters.insert(SHIFT.to_owned(), shift);
        }
        if let Some(time) = options.stonewall
            && has_stonewall(phase)
        {
            let seconds = time.as_secs_f64().to_string();
            phase.parameters.insert(STONEWALL.to_owned(), seconds);
        }
    }
    workload
}

/// Whether a phase only reads.
pub fn reads(phase: &PhasePlan) -> bool {
    kinds::find(&phase.kind).is_some_and(|kind| !kind.writes)
}

/// Whether a stonewall ends this kind of phase. Phases that change or remove files complete.
fn has_stonewall(phase: &PhasePlan) -> bool {
    let makes = matches!(phase.kind.as_str(), "op-create" | "op-write");
    makes || op::is_one(&phase.kind) && reads(phase) && !is_random(phase)
}

/// Whether it needs whole files.
fn is_random(phase: &PhasePlan) -> bool {
    matches!(phase.kind.as_str(), "op-random-read" | "op-random-write")
}

/// The time from the common start to the stonewall of a phase; none without one.
pub fn stonewall(phase: &PhasePlan) -> Option<Duration> {
    let seconds = phase.parameters.get(STONEWALL)?.parse().ok()?;
    Duration::try_from_secs_f64(seconds).ok()
}

/// Checks that ranks can run the phases of a workload.
fn check(workload: &Workload) -> Result<(), String> {
    let mut before: Vec<&str> = Vec::new();
    for phase in &workload.phases {
        let kind = phase.kind.as_str();
        let has = |name: &str, value: &str| phase.parameters.get(name).is_some_and(|v| v == value);
        let known = kinds::find(kind);
        let on_tree = known.is_some_and(|kind| kind.needs != Needs::Nothing);
        let runs = op::is_one(kind) || bonnie::is_one(kind) || kind.starts_with("mongo-");
        if !runs && !on_tree {
            return Err(format!(
                "phase {kind} does not run on ranks; choose phases of op, mongo or bonnie, or \
                 phases on trees"
            ));
        }
        if phase.cache == CacheState::Warm {
            return Err(format!(
                "{kind} warm: ranks make no untimed pass; choose cold or as-is, or run a phase \
                 that reads before it"
            ));
        }
        if !has(WORKERS, "1") && phase.parameters.contains_key(WORKERS) {
            return Err(format!(
                "{kind}.workers is the number of ranks: leave it out, and start as many ranks as \
                 you need workers"
            ));
        }
        if has("worker-type", "process")
            || phase.parameters.get("processes").is_some_and(|n| n != "1")
        {
            return Err(format!(
                "{kind}: each rank is one worker, and forks no others; leave out worker-type and \
                 processes"
            ));
        }
        if let Some(needed) = needed(kind)
            && !before.contains(&needed)
        {
            return Err(format!(
                "{kind} needs the files of {needed}: put {needed} before it"
            ));
        }
        before.push(kind);
    }
    Ok(())
}

/// Checks that a stonewall ends a phase of a workload, and that no phase needs whole files.
fn check_stonewall(workload: &Workload, options: &Options) -> Result<(), String> {
    if !workload.phases.iter().any(has_stonewall) {
        return Err(
            "--stonewall ends op-create, op-stat, op-open, op-write and op-read: choose one of \
             them, or leave it out"
                .to_owned(),
        );
    }
    if let Some(phase) = workload.phases.iter().find(|one| is_random(one)) {
        return Err(format!(
            "{} needs whole files, and --stonewall ends op-write before they are: leave out one of \
             them",
            phase.kind
        ));
    }
    if options.stonewall >= Some(options.phase_timeout) {
        return Err("--stonewall is not below --phase-timeout, which fails the phase".to_owned());
    }
    Ok(())
}

/// The phase whose files an `op` phase works on.
fn needed(kind: &str) -> Option<&'static str> {
    match kind {
        "op-stat" | "op-open" | "op-rename" | "op-link" | "op-unlink" | "op-mkdir" => {
            Some("op-create")
        }
        "op-rmdir" => Some("op-mkdir"),
        "op-read" | "op-random-read" | "op-random-write" => Some("op-write"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::{Args as _, FromArgMatches as _};

    fn options(arguments: &[&str]) -> Options {
        let command = Options::augment_args(clap::Command::new("fsdyno-mpi"));
        let words = ["fsdyno-mpi", "/tmp"].iter().chain(arguments);
        Options::from_arg_matches(&command.get_matches_from(words)).unwrap()
    }

    #[test]
    fn every_number_of_clients_is_a_workload_and_readers_are_shifted() {
        let plan = plan(&options(&["--clients", "1,4", "--set", "op.files=8"]), 4).unwrap();
        assert_eq!(plan.workloads.len(), 2);
        for (workload, clients) in plan.workloads.iter().zip(["1", "4"]) {
            for phase in &workload.phases {
                assert_eq!(phase.parameters[WORKERS], clients);
                assert_eq!(phase.parameters["files"], "8");
                let shifted = phase.parameters.contains_key(SHIFT);
                assert_eq!(shifted, phase.kind == "op-stat" || phase.kind == "op-open");
            }
        }
        assert!(plan.workloads[1].name.ends_with("4 clients"));
    }

    #[test]
    fn what_ranks_cannot_do_is_refused_by_name() {
        for (arguments, words) in [
            (&["--clients", "8"][..], "there are 4 ranks"),
            (&["--clients", "2,2"], "names 2 twice"),
            (&["--phases", "op-read"], "put op-write before it"),
            (
                &["--phases", "op-create", "--set", "op.workers=3"],
                "start as many ranks",
            ),
            (
                &["--phases", "op-create", "--set", "op.worker-type=process"],
                "forks no others",
            ),
            (&["--phases", "op-crate"], "op-create"),
            (
                &["--stonewall", "1", "--phases", "mongo-create"],
                "ends op-create",
            ),
            (
                &["--stonewall", "1", "--phases", "op-write,op-random-read"],
                "needs whole files",
            ),
            (
                &["--stonewall", "20", "--phase-timeout", "20"],
                "not below --phase-timeout",
            ),
        ] {
            let error = plan(&options(arguments), 4).unwrap_err();
            assert!(error.contains(words), "{arguments:?}: {error}");
        }
    }
}
