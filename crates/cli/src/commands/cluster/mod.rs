//! `cluster`: distributes the cells of one run over machines, by Slurm, by ssh or by hand. Each
//! machine runs shards ([`task`]) into a directory that all of them share.

mod args;
mod directory;
mod slurm;
mod ssh;
mod status;
mod task;

pub use args::ClusterArgs;

use crate::catalogue::catalogue_here;
use crate::commands::run::{RunArgs, plan_error};
use crate::exit::{CliError, Code};
use crate::output;
use args::{ClusterCommand, Work};
use clap::{Args, Command, FromArgMatches};
use directory::Directory;
use fsdyno_model::Plan;
use fsdyno_model::step::shell_line;
use fsdyno_run::resolve::resolve;
use std::num::NonZeroU32;
use std::path::Path;

/// The default maximum of shards: more of them are more jobs than a scheduler likes.
const MOST_SHARDS: u64 = 100;

pub fn cluster(args: &ClusterArgs) -> Result<Code, CliError> {
    match &args.command {
        ClusterCommand::Slurm(args) => slurm::submit(args),
        ClusterCommand::Ssh(args) => ssh::distribute(args),
        ClusterCommand::Parallel(work) => parallel(work),
        ClusterCommand::Task(args) => task::run(args),
        ClusterCommand::Status(args) => status::status(args),
    }
}

/// What is distributed.
struct Distributed {
    plan: Plan,
    shards: NonZeroU32,
    directory: Directory,
    /// The program and its first arguments on each machine.
    program: Vec<String>,
    /// `run` and its arguments.
    command: Vec<String>,
}

impl Distributed {
    /// Resolves the plan here, so that a mistake is reported once and before anything is submitted.
    fn of(work: &Work) -> Result<Self, CliError> {
        let Some((name, rest)) = work
            .command
            .split_first()
            .filter(|(name, _)| *name == "run")
        else {
            return Err(CliError::usage(
                "cluster distributes `run`: fsdyno cluster slurm --dir DIR -- run ... (rerun has \
                 --shard)",
            ));
        };
        let command = RunArgs::augment_args(Command::new("fsdyno").no_binary_name(true));
        let run = command
            .try_get_matches_from(rest)
            .and_then(|matches| RunArgs::from_arg_matches(&matches));
        let run = run.map_err(|error| CliError::usage(format!("{name}: {error}")))?;
        if run.resume.is_some() || run.shard.shard.is_some() {
            return Err(CliError::usage(
                "cluster chooses the shards and resumes them: leave out --shard and --resume",
            ));
        }
        let mut plan = resolve(&run.options, &catalogue_here()).map_err(plan_error)?;
        let virtual_time = plan.in_virtual_time();
        let most = if virtual_time {
            plan.cells()
        } else {
            plan.repeats.into()
        };
        let fitting = u32::try_from(most.min(MOST_SHARDS)).ok();
        let fitting = fitting.and_then(NonZeroU32::new);
        let shards = work.shards.or(fitting).unwrap_or(NonZeroU32::MIN);
        // The last shard is the first that would be empty.
        let last = fsdyno_model::Shard {
            number: shards,
            of: shards,
        };
        crate::commands::jobs::ShardArgs { shard: Some(last) }.restrict(&mut plan)?;
        if plan.cells() == 0 {
            return Err(CliError::usage(format!(
                "--shards {shards}: the plan has only {most} {} to distribute",
                if virtual_time { "cells" } else { "blocks" }
            )));
        }
        plan.shard = None;
        Ok(Self {
            plan,
            shards,
            directory: Directory::at(&work.dir)?,
            program: program(work.program.as_deref())?,
            command: work.command.clone(),
        })
    }

    /// The command of a shard; `number` may be a variable of a shell.
    fn task(&self, number: &str, jobs: &[&str]) -> String {
        let words = [
            "cluster".to_owned(),
            "task".to_owned(),
            self.directory.path().display().to_string(),
        ];
        let mut run = self.command.clone();
        run.extend(jobs.iter().map(|&word| word.to_owned()));
        format!(
            "{} {} {number}/{} -- {}",
            shell_line(&self.program),
            shell_line(&words),
            self.shards,
            shell_line(&run)
        )
    }
}

/// The words that start fsdyno as this process was started; without a path, this program.
fn program(path: Option<&Path>) -> Result<Vec<String>, CliError> {
    let path = match path {
        Some(path) => path.to_owned(),
        None => std::env::current_exe()?,
    };
    let mut words = vec![path.display().to_string()];
    if root_uses_environment() {
        words.push(DIRS_FROM_ENV.to_owned());
    }
    Ok(words)
}

/// The flag with which root takes directories from the environment.
const DIRS_FROM_ENV: &str = "--dirs-from-env";

/// Whether this process is that of root and has the flag.
fn root_uses_environment() -> bool {
    fsdyno_observe::provenance::uid() == 0 && fsdyno_files::places::from_environment()
}

/// Prints the lines for GNU parallel.
fn parallel(work: &Work) -> Result<Code, CliError> {
    let work = Distributed::of(work)?;
    // Real time needs a machine without other measurements.
    let (slots, jobs): (_, &[&str]) = if work.plan.in_virtual_time() {
        ("", &["--jobs", "1"])
    } else {
        (" --jobs 1", &[])
    };
    let text = format!(
        "parallel{slots} --sshlogin HOST1,HOST2 {} ::: $(seq {})\n{}\n",
        shell_line(&[work.task("{}", jobs)]),
        work.shards,
        work.directory.merge_line(&work.program)
    );
    output::bytes(text.as_bytes())?;
    Ok(Code::Ok)
}
