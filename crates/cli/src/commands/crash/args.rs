//! The arguments of `crash`.

use crate::args::{guest_lab, kernel};
use crate::commands::jobs::{JobsArgs, ShardArgs};
use clap::{ArgAction, Args};
use fsdyno_model::{Bytes, KernelChoice, LabChoice};
use std::path::PathBuf;

#[derive(Debug, Args)]
pub struct CrashArgs {
    /// Contenders, separated by commas (`fsdyno run --help`)
    #[arg(long = "fs", value_name = "LIST", action = ArgAction::Append, required = true)]
    pub contenders: Vec<String>,
    /// Power cuts of each contender
    #[arg(long = "cuts", value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..))]
    pub power_cuts: u32,
    /// Seed of writes and times; each power cut has the next one
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
    /// Directory of image files; images with losses are kept
    #[arg(long, value_name = "DIR", default_value = fsdyno_lab::preflight::DEFAULT_SCRATCH)]
    pub work_dir: PathBuf,
    /// Lab of the guests: uml or qemu
    #[arg(long, value_name = "LAB", default_value = "uml", value_parser = guest_lab)]
    pub lab: LabChoice,
    /// Model disks of this profile, in virtual time: unflushed writes are lost
    #[arg(long, value_name = "PROFILE")]
    pub disk: Option<PathBuf>,
    /// File of faults for the model disks (docs/model-disks.md)
    #[arg(long, value_name = "FILE", requires = "disk")]
    pub disk_faults: Option<PathBuf>,
    #[command(flatten)]
    pub jobs: JobsArgs,
    #[command(flatten)]
    pub shard: ShardArgs,
    /// Memory of a guest
    #[arg(long, value_name = "SIZE", default_value = "512M")]
    pub guest_memory: Bytes,
    /// Kernel of a guest: packaged, lab or a path [default: lab if it is built]
    #[arg(long, value_name = "KERNEL", value_parser = kernel())]
    pub guest_kernel: Option<KernelChoice>,
    /// Keep the images of all power cuts
    #[arg(long, conflicts_with = "again")]
    pub keep: bool,
    /// Recover copies of these images again; the images stay unchanged
    #[arg(
        long,
        value_name = "IMAGES",
        value_delimiter = ',',
        requires = "acknowledged",
        conflicts_with = "power_cuts"
    )]
    pub again: Vec<PathBuf>,
    /// Number of operations acknowledged before that power cut
    #[arg(long, value_name = "N", requires = "again")]
    pub acknowledged: Option<u64>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}
