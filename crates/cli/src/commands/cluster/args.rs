//! The arguments of `cluster`.

use clap::{Args, Subcommand};
use fsdyno_model::Shard;
use std::num::NonZeroU32;
use std::path::PathBuf;

/// Distribute a run over machines: Slurm, ssh or GNU parallel
#[derive(Debug, Args)]
pub struct ClusterArgs {
    #[command(subcommand)]
    pub command: ClusterCommand,
}

#[derive(Debug, Subcommand)]
pub enum ClusterCommand {
    /// Submit a run to Slurm: an array job of shards, and a job that merges them
    Slurm(SlurmArgs),
    /// Run shards on these hosts over ssh, and merge them
    Ssh(SshArgs),
    /// Print the command lines that do the same with GNU parallel
    Parallel(Work),
    /// Run one shard here, or resume it: what runs on each machine
    Task(TaskArgs),
    /// List the shards of a directory: complete, interrupted or missing
    Status(StatusArgs),
}

/// The work that is distributed, and its directory.
#[derive(Debug, Args)]
pub struct Work {
    /// Directory of the stores, shared by all machines
    #[arg(long, value_name = "DIR")]
    pub dir: PathBuf,
    /// Number of shards [default: one for each cell, at most 100]
    ///
    /// In real time the default is one for each block.
    #[arg(long, value_name = "N")]
    pub shards: Option<NonZeroU32>,
    /// fsdyno on the other machines [default: the path of this one]
    #[arg(long, value_name = "FILE")]
    pub program: Option<PathBuf>,
    /// The run, as its command line without fsdyno: run quick --fs ... --disk ...
    #[arg(value_name = "COMMAND", required = true, last = true)]
    pub command: Vec<String>,
}

#[derive(Debug, Args)]
pub struct SlurmArgs {
    #[command(flatten)]
    pub work: Work,
    /// Further option for sbatch, for example --sbatch=--partition=short
    #[arg(long, value_name = "OPTION", allow_hyphen_values = true)]
    pub sbatch: Vec<String>,
    /// Print the scripts, and submit nothing
    #[arg(long)]
    pub dry_run: bool,
}

#[derive(Debug, Args)]
pub struct SshArgs {
    /// Destinations of ssh, separated by commas
    #[arg(value_name = "HOSTS", required = true, value_delimiter = ',')]
    pub hosts: Vec<String>,
    #[command(flatten)]
    pub work: Work,
}

#[derive(Debug, Args)]
pub struct TaskArgs {
    /// Directory of the stores
    #[arg(value_name = "DIR")]
    pub dir: PathBuf,
    /// The shard: 2/4 is the second of four
    #[arg(value_name = "I/N")]
    pub shard: Shard,
    /// The run, as its command line without fsdyno
    #[arg(value_name = "COMMAND", required = true, last = true)]
    pub command: Vec<String>,
}

#[derive(Debug, Args)]
pub struct StatusArgs {
    /// Directory of the stores
    #[arg(value_name = "DIR")]
    pub dir: PathBuf,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}
