//! `cluster`: distributes the cells of one run over machines, by Slurm, by ssh or by hand. Each
//! machine runs shards ([`task`]) into a directory that all of them share.

mod args;
mod directory;
mod slurm;
mod ssh;
mod status;
mod task;

pub use args::ClusterArgs;

use crate::commands::jobs::fixed_repeats;
use crate::commands::run::{RunArgs, resolve_here};
use crate::exit::{CliError, Code};
use crate::output;
use args::{ClusterCommand, Work};
use clap::{Args, Command, FromArgMatches};
use directory::Directory;
use fsdyno_model::Plan;
use fsdyno_model::step::shell_line;
use std::num::{NonZeroU32, NonZeroUsize};
use std::path::Path;

/// The default maximum number of shards: schedulers limit the number of jobs.
const MAX_SHARDS: u64 = 100;

pub fn cluster(args: &ClusterArgs) -> Result<Code, CliError> {
    let done = match &args.command {
        ClusterCommand::Slurm(args) => slurm::submit(args),
        ClusterCommand::Ssh(args) => ssh::distribute(args),
        ClusterCommand::Parallel(work) => parallel(work),
        ClusterCommand::Status(args) => status::status(args),
        ClusterCommand::Task(args) => return task::run(args),
    };
    done.map(|()| Code::Ok)
}

struct Distributed {
    plan: Plan,
    shards: NonZeroU32,
    directory: Directory,
    /// The program and its first arguments on each machine.
    program: Vec<String>,
    /// `run` and its arguments.
    command: Vec<String>,
    /// The number of jobs in these arguments.
    jobs: Option<NonZeroUsize>,
}

impl Distributed {
    /// Resolves the plan here, so that a mistake is reported once and before anything is submitted.
    fn of(work: &Work) -> Result<Self, CliError> {
        let run = run_args(&work.command)?;
        let plan = resolve_here(&run.options)?;
        fixed_repeats(&plan)?;
        let (most, units) = if plan.in_virtual_time() {
            (plan.cells(), "cells")
        } else {
            (plan.repeats.into(), "blocks")
        };
        let fitting = u32::try_from(most.min(MAX_SHARDS)).ok();
        let fitting = fitting.and_then(NonZeroU32::new);
        let shards = work.shards.or(fitting).unwrap_or(NonZeroU32::MIN);
        if u64::from(shards.get()) > most {
            return Err(CliError::usage(format!(
                "--shards {shards}: the plan has only {most} {units} to distribute"
            )));
        }
        Ok(Self {
            plan,
            shards,
            directory: Directory::at(&work.dir)?,
            program: program(work.program.as_deref())?,
            command: work.command.clone(),
            jobs: run.jobs.jobs,
        })
    }

    /// The command of a shard; `number` may be a variable of a shell.
    fn task(&self, number: &str) -> String {
        format!(
            "{} cluster task {} {number}/{} -- {}",
            shell_line(&self.program),
            self.directory.path().display(),
            self.shards,
            shell_line(&self.command)
        )
    }

    /// The same with one cell at a time, for a machine that runs several tasks.
    fn task_of_one_job(&self, number: &str) -> String {
        let jobs = match self.jobs {
            None if self.plan.in_virtual_time() => " --jobs 1",
            _ => "",
        };
        self.task(number) + jobs
    }
}

/// The arguments of the run that is distributed. Shards and resumption are chosen here.
fn run_args(command: &[String]) -> Result<RunArgs, CliError> {
    let Some(rest) = command.strip_prefix(&["run".to_owned()]) else {
        return Err(CliError::usage(
            "cluster distributes `run`: fsdyno cluster slurm --dir DIR -- run ... (rerun and crash \
             have --shard)",
        ));
    };
    let parser = RunArgs::augment_args(Command::new("run").no_binary_name(true));
    let run = parser
        .try_get_matches_from(rest)
        .and_then(|matches| RunArgs::from_arg_matches(&matches))
        .map_err(CliError::usage)?;
    if run.resume.is_some() || run.shard.shard.is_some() {
        return Err(CliError::usage(
            "cluster chooses the shards and resumes them: leave out --shard and --resume",
        ));
    }
    Ok(run)
}

/// The words that start fsdyno as this process was started; without a path, this program.
fn program(path: Option<&Path>) -> Result<Vec<String>, CliError> {
    let path = match path {
        Some(path) => path.to_owned(),
        None => std::env::current_exe()?,
    };
    let mut words = vec![path.display().to_string()];
    let root = fsdyno_observe::provenance::uid() == 0;
    if root && fsdyno_files::places::from_environment() {
        words.push("--dirs-from-env".to_owned());
    }
    Ok(words)
}

/// Prints the lines for GNU parallel.
fn parallel(work: &Work) -> Result<(), CliError> {
    let work = Distributed::of(work)?;
    // Real time needs a machine without other measurements.
    let slots = if work.plan.in_virtual_time() {
        ""
    } else {
        " --jobs 1"
    };
    let text = format!(
        "parallel{slots} --sshlogin HOST1,HOST2 {} ::: $(seq {})\n{}\n",
        shell_line(&[work.task_of_one_job("{}")]),
        work.shards,
        work.directory.merge_line(&work.program)
    );
    output::bytes(text.as_bytes())
}
