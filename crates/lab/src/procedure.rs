//! What a cell consists of, in order. There is one procedure; a lab lends its [`Hands`].

use crate::job::Job;
use fsdyno_load::workloads::{self, Needs};
use fsdyno_model::{CacheEvidence, Daemon, Failure, PhasePlan, Stage, Step};
use fsdyno_recipes::Check;
use std::path::PathBuf;

/// Who carries a cell out: the host lab does it, a dry run says it.
pub trait Hands {
    /// A stage begins.
    fn enter(&mut self, stage: Stage);
    /// Provides so many devices; their names, as steps refer to them.
    fn devices(&mut self, job: &Job<'_>) -> Result<Vec<String>, Halt>;
    /// Where the file system will stand.
    fn target(&self) -> PathBuf;
    /// Sees to it that a daemon answers which the programs of a recipe need.
    fn daemon(&mut self, daemon: &Daemon) -> Result<(), Halt>;
    /// Carries out a step of a recipe that makes the file system.
    fn make(&mut self, step: &Step) -> Result<(), Halt>;
    /// Mounts by these steps and keeps them, to mount again.
    fn mount(&mut self, steps: &[Step]) -> Result<(), Halt>;
    /// Reads back the options in force.
    fn describe(&mut self, source: &str, step: &Step) -> Result<(), Halt>;
    /// Tells in what pieces the free space lies; where that cannot be told, why.
    fn free_space(&mut self, source: &str, step: &Step) -> Result<(), Halt>;
    /// Fills and ages the file system as its contender asks for.
    fn state(&mut self, job: &Job<'_>) -> Result<(), Halt>;
    /// Lays the dataset and waits until deferred work has ended.
    fn lay(&mut self, job: &Job<'_>) -> Result<(), Halt>;
    /// Does, untimed, what a phase wants done before it that makes what it works on.
    fn ready(&mut self, phase: &PhasePlan) -> Result<(), Halt>;
    /// Brings about the state of the caches that a phase asks for.
    fn cache(
        &mut self,
        job: &Job<'_>,
        phase: &PhasePlan,
        needs: Needs,
    ) -> Result<CacheEvidence, Halt>;
    /// Runs a phase and keeps its sample.
    fn phase(&mut self, job: &Job<'_>, number: u32, evidence: CacheEvidence) -> Result<(), Halt>;
    /// Compares the newest tree with what it was made from.
    fn verify(&mut self, job: &Job<'_>, needs: Needs) -> Result<(), Halt>;
    /// Unmounts.
    fn unmount(&mut self) -> Result<(), Halt>;
    /// Runs the checker.
    fn check(&mut self, check: &Check) -> Result<(), Halt>;
    /// Gives back everything that was made for the cell.
    fn release(&mut self) -> Result<(), Halt>;
}

/// Why a cell did not get to its end.
#[derive(Debug)]
pub enum Halt {
    /// Something went wrong.
    Failed(Failure),
    /// The user wants to stop.
    Stopped,
}

/// Takes a cell through its stages.
pub fn run(hands: &mut dyn Hands, job: &Job<'_>) -> Result<(), Halt> {
    hands.enter(Stage::Device);
    let devices = hands.devices(job)?;
    let target = hands.target();
    if let Some(daemon) = job.daemon() {
        hands.daemon(&daemon)?;
    }
    hands.enter(Stage::Make);
    for step in job.recipe.make_for(job.contender, &devices, &target) {
        hands.make(&step)?;
    }
    hands.enter(Stage::Mount);
    hands.mount(&job.recipe.mount(job.contender, &devices, &target))?;
    hands.enter(Stage::Describe);
    for (source, step) in job.recipe.describe(job.contender, &devices, &target) {
        hands.describe(&source, &step)?;
    }
    hands.enter(Stage::Prepare);
    hands.state(job)?;
    hands.lay(job)?;
    for (number, phase) in (0..).zip(&job.workload.phases) {
        one_phase(hands, job, number, phase)?;
    }
    // Once, at the end: it disturbs no phase.
    if let Some((source, step)) = job.recipe.free_space(&devices, &target)
        && job.plan.fragments
        && job.touches_files()
    {
        hands.enter(Stage::Describe);
        hands.free_space(&source, &step)?;
    }
    hands.enter(Stage::Unmount);
    hands.unmount()?;
    if let Some(check) = job.recipe.check_for(job.contender, &devices, &target)
        && job.plan.check
    {
        hands.enter(Stage::Check);
        hands.check(&check)?;
    }
    hands.enter(Stage::CleanUp);
    hands.release()
}

fn one_phase(
    hands: &mut dyn Hands,
    job: &Job<'_>,
    number: u32,
    phase: &PhasePlan,
) -> Result<(), Halt> {
    // The preflight has looked every kind up.
    let Some(kind) = workloads::find(&phase.kind) else {
        return Ok(());
    };
    if kind.needs == Needs::Nothing && job.touches_files() {
        hands.enter(Stage::Prepare);
        hands.ready(phase)?;
    }
    hands.enter(Stage::Cache);
    let evidence = hands.cache(job, phase, kind.needs)?;
    hands.enter(Stage::Phase(phase.label.clone()));
    hands.phase(job, number, evidence)?;
    if job.plan.verify && kind.makes_tree && job.touches_files() {
        hands.enter(Stage::Verify);
        hands.verify(job, kind.needs)?;
    }
    Ok(())
}
