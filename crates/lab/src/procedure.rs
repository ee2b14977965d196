//! The stages of a cell, in order. All labs use this procedure, each with its own [`CellExecutor`].

use crate::job::Job;
use fsdyno_load::kinds::{self, Needs};
use fsdyno_load::phases::replay;
use fsdyno_model::{
    CacheEvidence, CacheState, Daemon, Failure, PhasePlan, SkippedPhase, Stage, Step,
};
use fsdyno_recipes::Check;
use fsdyno_recipes::layouts::Array;
use std::path::{Path, PathBuf};

/// Executes the stages of a cell: performs them, or prints them in a dry run.
pub trait CellExecutor {
    fn enter(&mut self, stage: Stage);
    /// Provides the devices of a cell; returns their names, as steps refer to them.
    fn devices(&mut self, job: &Job<'_>) -> Result<Vec<String>, CellEnd>;
    /// The mount point.
    fn target(&self) -> PathBuf;
    /// Starts the daemon that the programs of a recipe need, unless it responds already.
    fn daemon(&mut self, daemon: &Daemon) -> Result<(), CellEnd>;
    /// Performs a step of a recipe that makes the file system, or a snapshot of it.
    fn make(&mut self, step: &Step) -> Result<(), CellEnd>;
    /// Mounts by these steps, and keeps them for later mounts.
    fn mount(&mut self, steps: &[Step]) -> Result<(), CellEnd>;
    /// Reads back the effective options.
    fn describe(&mut self, source: &str, step: &Step) -> Result<(), CellEnd>;
    /// Records the free extents, or the reason why they cannot be read.
    fn free_space(&mut self, source: &str, step: &Step) -> Result<(), CellEnd>;
    /// Fills and ages the file system as its contender requires.
    fn state(&mut self, job: &Job<'_>) -> Result<(), CellEnd>;
    /// Writes the dataset and waits until deferred work has ended.
    fn set_up_dataset(&mut self, job: &Job<'_>) -> Result<(), CellEnd>;
    fn ready(&mut self, phase: &PhasePlan) -> Result<(), CellEnd>;
    /// The array that combines the devices below the file system.
    fn array(&self) -> Option<&Array>;
    /// Steps that run beside the next phase, from its beginning, one after the other.
    fn beside(&mut self, steps: Vec<Step>);
    /// Waits for the end of those steps.
    fn end_beside(&mut self) -> Result<(), CellEnd>;
    /// Sets the cache state of a phase.
    fn cache(
        &mut self,
        job: &Job<'_>,
        phase: &PhasePlan,
        needs: Needs,
    ) -> Result<CacheEvidence, CellEnd>;
    /// Runs a phase and keeps its sample.
    fn phase(&mut self, job: &Job<'_>, number: u32, evidence: CacheEvidence)
    -> Result<(), CellEnd>;
    /// Waits until the other cells of the block are as far as this one, if they run together with it.
    fn wait_for_block(&mut self, _place: Place) {}
    /// The number of phases from this one on that may be repeated together, in rounds.
    fn repeatable_together(&mut self, _job: &Job<'_>, _first: u32) -> u32 {
        0
    }
    /// Whether the phases that were repeated together begin another round, at this place.
    fn begins_round(&mut self, _place: Place) -> bool {
        false
    }
    /// Skips a phase that the file system does not support. The plan holds the reason.
    fn skip(&mut self, _skipped: &SkippedPhase) {}
    /// Compares the newest tree with its source, or with the end of a recording.
    fn verify(&mut self, job: &Job<'_>, phase: &PhasePlan, needs: Needs) -> Result<(), CellEnd>;
    fn unmount(&mut self) -> Result<(), CellEnd>;
    fn check(&mut self, check: &Check) -> Result<(), CellEnd>;
    /// Releases all resources of the cell.
    fn release(&mut self) -> Result<(), CellEnd>;
}

/// How far a cell is. It grows from phase to phase, for all cells of a block alike.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Place {
    /// A phase, or the first of those that are repeated together, from 1.
    pub stage: u32,
    /// The round of phases that are repeated together, from 0.
    pub round: u32,
    /// The phase of this round, from 1. Between rounds it is 0.
    pub phase: u32,
    /// Whether the phase is prepared. The caches of all contenders are set up before the first of them
    /// works: `drop_caches` concerns the whole machine.
    pub prepared: bool,
}

impl Place {
    /// Behind all phases.
    pub const END: Self = Self {
        stage: u32::MAX,
        round: 0,
        phase: 0,
        prepared: false,
    };
}

/// The reason why a cell ended early.
#[derive(Debug)]
pub enum CellEnd {
    Failed(Failure),
    Stopped,
}

/// Runs a cell through its stages.
pub fn run(executor: &mut dyn CellExecutor, job: &Job<'_>) -> Result<(), CellEnd> {
    let (devices, target) = make_and_mount(executor, job)?;
    executor.enter(Stage::Describe);
    for (source, step) in job.recipe.describe(job.contender, &devices, &target) {
        executor.describe(&source, &step)?;
    }
    executor.enter(Stage::Prepare);
    executor.state(job)?;
    executor.set_up_dataset(job)?;
    let mut rest = (0..).zip(&job.workload.phases).peekable();
    while let Some((first, _)) = rest.peek() {
        let first = *first;
        let together = executor.repeatable_together(job, first).max(1);
        let phases: Vec<_> = rest.by_ref().take(together as usize).collect();
        let mut place = Place {
            stage: first + 1,
            ..Place::default()
        };
        loop {
            for (number, phase) in &phases {
                place.phase = number + 1;
                if place.phase == 2 {
                    change_state(executor, job, &devices, place.round)?;
                }
                one_phase(executor, job, &devices, place, phase)?;
            }
            place.round += 1;
            place.phase = 0;
            if !executor.begins_round(place) {
                break;
            }
        }
    }
    executor.wait_for_block(Place::END);
    if job.contender.state.degraded {
        rebuild(executor, job, &devices)?;
    }
    // Once, at the end, where it disturbs no phase.
    if let Some((source, step)) = job.recipe.free_space(&devices, &target)
        && job.plan.count_extents
        && job.touches_files()
    {
        executor.enter(Stage::Describe);
        executor.free_space(&source, &step)?;
    }
    unmount_and_check(executor, job, &devices, &target)?;
    executor.enter(Stage::CleanUp);
    executor.release()
}

/// Changes the file system between the first phase and the second, as the contender's state says.
fn change_state(
    executor: &mut dyn CellExecutor,
    job: &Job<'_>,
    devices: &[String],
    round: u32,
) -> Result<(), CellEnd> {
    let state = &job.contender.state;
    // It was replaced in the round before.
    if (state.degraded && round == 0) || state.rebuilding {
        lose_device(executor, job, devices)?;
    }
    if round > 0 {
        return Ok(());
    }
    take_snapshots(executor, job)
}

/// Takes the snapshots of the contender's state.
fn take_snapshots(executor: &mut dyn CellExecutor, job: &Job<'_>) -> Result<(), CellEnd> {
    let target = executor.target();
    let snapshots = (1..=job.contender.state.snapshots)
        .filter_map(|number| job.recipe.snapshot(&target, number));
    for (at, step) in snapshots.enumerate() {
        if at == 0 {
            executor.enter(Stage::Prepare);
        }
        executor.make(&step)?;
    }
    Ok(())
}

/// Takes the last device away.
fn lose_device(
    executor: &mut dyn CellExecutor,
    job: &Job<'_>,
    devices: &[String],
) -> Result<(), CellEnd> {
    executor.enter(Stage::Prepare);
    if let Some(array) = executor.array().cloned() {
        return make_all(executor, &array.lose);
    }
    let target = executor.target();
    let mount = job.recipe.mount_degraded(job.contender, devices, &target);
    if let Some((mount, last)) = mount.zip(devices.last()) {
        executor.unmount()?;
        executor.make(&Step::command(["wipefs", "--all", "--quiet", last]))?;
        executor.mount(&mount)?;
    }
    Ok(())
}

/// Replaces a device that was lost.
fn rebuild(
    executor: &mut dyn CellExecutor,
    job: &Job<'_>,
    devices: &[String],
) -> Result<(), CellEnd> {
    executor.enter(Stage::Rebuild);
    let steps = steps_to_rebuild(executor, job, devices);
    make_all(executor, &steps)
}

fn steps_to_rebuild(
    executor: &mut dyn CellExecutor,
    job: &Job<'_>,
    devices: &[String],
) -> Vec<Step> {
    let of_array = executor.array().map(|array| array.rebuild.clone());
    of_array.unwrap_or_else(|| {
        let last = devices.len().saturating_sub(1);
        let own = job.recipe.rebuild(devices, last, &executor.target());
        own.into_iter().collect()
    })
}

fn make_all(executor: &mut dyn CellExecutor, steps: &[Step]) -> Result<(), CellEnd> {
    steps.iter().try_for_each(|step| executor.make(step))
}

/// Prepares a scrub beside a phase after the first, or a rebuild beside the second, if the contender's
/// state says so. Returns its stage.
fn beside(
    executor: &mut dyn CellExecutor,
    job: &Job<'_>,
    devices: &[String],
    number: u32,
) -> Option<Stage> {
    let state = &job.contender.state;
    if state.rebuilding && number == 1 {
        let steps = steps_to_rebuild(executor, job, devices);
        executor.beside(steps);
        return Some(Stage::Rebuild);
    }
    if !state.scrubbed || number == 0 {
        return None;
    }
    let of_array = executor.array().map(|array| array.scrub.clone());
    let steps = of_array.unwrap_or_else(|| {
        let own = job.recipe.scrub(&executor.target());
        own.into_iter().map(|check| check.step).collect()
    });
    executor.beside(steps);
    Some(Stage::Scrub)
}

/// Makes, mounts, unmounts and checks the file system of a job. It stays empty.
pub fn try_out(executor: &mut dyn CellExecutor, job: &Job<'_>) -> Result<(), CellEnd> {
    let (devices, target) = make_and_mount(executor, job)?;
    unmount_and_check(executor, job, &devices, &target)
}

/// Makes the file system on its devices and mounts it. Returns the devices and the mount point.
fn make_and_mount(
    executor: &mut dyn CellExecutor,
    job: &Job<'_>,
) -> Result<(Vec<String>, PathBuf), CellEnd> {
    executor.enter(Stage::Device);
    let devices = executor.devices(job)?;
    let target = executor.target();
    if let Some(daemon) = job.daemon() {
        executor.daemon(&daemon)?;
    }
    executor.enter(Stage::Make);
    for step in job.recipe.make_for(job.contender, &devices, &target) {
        executor.make(&step)?;
    }
    executor.enter(Stage::Mount);
    executor.mount(&job.recipe.mount(job.contender, &devices, &target))?;
    Ok((devices, target))
}

fn unmount_and_check(
    executor: &mut dyn CellExecutor,
    job: &Job<'_>,
    devices: &[String],
    target: &Path,
) -> Result<(), CellEnd> {
    executor.enter(Stage::Unmount);
    executor.unmount()?;
    if let Some(check) = job.recipe.check_for(job.contender, devices, target)
        && job.plan.check
    {
        executor.enter(Stage::Check);
        executor.check(&check)?;
    }
    Ok(())
}

fn one_phase(
    executor: &mut dyn CellExecutor,
    job: &Job<'_>,
    devices: &[String],
    place: Place,
    phase: &PhasePlan,
) -> Result<(), CellEnd> {
    let number = place.phase - 1;
    let mut skipped = job.plan.skipped_by(job.contender, job.workload);
    if let Some(skipped) = skipped.find(|skipped| skipped.phase == phase.label) {
        executor.skip(skipped);
        return Ok(());
    }
    // A phase that continues as the one before it left the caches follows at once.
    if number == 0 || phase.cache != CacheState::AsIs {
        executor.wait_for_block(place);
    }
    // The preflight has resolved every kind.
    let Some(kind) = kinds::find(&phase.kind) else {
        return Ok(());
    };
    if kind.needs == Needs::Nothing && job.touches_files() {
        executor.enter(Stage::Prepare);
        executor.ready(phase)?;
    }
    executor.enter(Stage::Cache);
    let evidence = executor.cache(job, phase, kind.needs)?;
    if phase.cache != CacheState::AsIs {
        executor.wait_for_block(Place {
            prepared: true,
            ..place
        });
    }
    let beside = beside(executor, job, devices, number);
    executor.enter(Stage::Phase(phase.label.clone()));
    executor.phase(job, number, evidence)?;
    if let Some(stage) = beside {
        executor.enter(stage);
        executor.end_beside()?;
    }
    let verifiable = kind.makes_tree || replay::is_one(kind.name);
    if job.plan.verify && verifiable && job.touches_files() {
        executor.enter(Stage::Verify);
        executor.verify(job, phase, kind.needs)?;
    }
    Ok(())
}
