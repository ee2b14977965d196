//! The arguments of `crash`.

use crate::args::{guest_lab, kernel};
use crate::commands::jobs::{JobsArgs, ShardArgs};
use clap::{ArgAction, Args};
use fsdyno_model::{Bytes, KernelChoice, LabChoice, Nanos, StateClass};
use std::path::PathBuf;
use std::str::FromStr;

#[derive(Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "flags of a command")]
pub struct CrashArgs {
    /// Contenders, separated by commas (`fsdyno run --help`)
    #[arg(long = "fs", value_name = "LIST", action = ArgAction::Append, required_unless_present = "resume")]
    pub contenders: Vec<String>,
    /// Programs, recording, workload, or random:SEED:N [default: generated programs]
    ///
    /// A recording of `fsdyno record`, a workload (FILE.toml, FILE.f) and the random program are one
    /// long program each.
    #[arg(long, visible_alias = "work", value_name = "PROGRAMS", conflicts_with_all = ["generate", "resume"])]
    pub ops: Option<PathBuf>,
    /// Most windows of a long program that are explored: its last, and a sample
    #[arg(long, value_name = "N", default_value_t = 512, value_parser = clap::value_parser!(u32).range(1..), conflicts_with = "resume")]
    pub windows: u32,
    /// Generate programs of up to N changes, and a SAMPLE of those of three
    #[arg(
        long,
        value_name = "N[:SAMPLE]",
        default_value = "2",
        conflicts_with = "resume"
    )]
    pub generate: Generate,
    /// Instead of programs, run this shell command in the file system
    ///
    /// Each line that it prints acknowledges what it did before. It runs in the guest, in the root
    /// of the file system under test, and sees the programs of this machine.
    #[arg(long, value_name = "COMMAND", requires = "check", conflicts_with_all = ["ops", "generate", "power_cuts", "resume"])]
    pub exec: Option<String>,
    /// With --exec: shell command that checks the recovered files
    ///
    /// It runs in the root of the recovered file system, with the acknowledged lines as standard
    /// input. A status other than 0 is a finding, and the first line that it prints is the reason.
    /// First it runs on states that no power cut touched, where it must succeed.
    #[arg(long, value_name = "COMMAND", requires = "exec")]
    pub check: Option<String>,
    /// Instead of programs, run this application (`fsdyno list apps`), or its file
    ///
    /// Its check runs in the recovered file system, as that of --exec. `sqlite[synchronous=off]`
    /// has another setting.
    #[arg(long, value_name = "APP", conflicts_with_all = ["ops", "generate", "exec", "power_cuts", "resume"])]
    pub app: Option<String>,
    /// Time after which no further program begins
    #[arg(long, value_name = "TIME", default_value = "30m")]
    pub budget: Nanos,
    /// Most states of a class that are recovered after each durable moment
    #[arg(long, value_name = "N", default_value_t = 32, value_parser = clap::value_parser!(u64).range(1..), conflicts_with = "resume")]
    pub states: u64,
    /// Strongest class of states, C0 to C5
    #[arg(long, value_name = "CLASS", default_value = "C2", value_parser = class, conflicts_with = "resume")]
    pub class: StateClass,
    /// Do not cut the power during recoveries, checkers and repairs
    #[arg(long, conflicts_with = "resume")]
    pub no_nested: bool,
    /// Do not reduce findings to the fewest operations and writes
    #[arg(long)]
    pub no_minimize: bool,
    /// Resume a search that was interrupted, or extend its time
    #[arg(long, value_name = "ID", conflicts_with_all = ["contenders", "again", "power_cuts", "disk"])]
    pub resume: Option<String>,
    /// Instead of a search, cut the power N times at random moments
    #[arg(long = "random", value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub power_cuts: Option<u32>,
    /// Seed of programs, writes and times
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
    /// Directory of image files of the guests
    #[arg(long, value_name = "DIR", default_value = fsdyno_lab::preflight::DEFAULT_SCRATCH)]
    pub work_dir: PathBuf,
    /// Lab of the guests: uml or qemu
    #[arg(long, value_name = "LAB", default_value = "uml", value_parser = guest_lab)]
    pub lab: LabChoice,
    /// Model disk of this profile, in virtual time [default of a search: sata-2008]
    #[arg(long, value_name = "PROFILE")]
    pub disk: Option<PathBuf>,
    /// With --random: file of faults for the model disks (docs/model-disks.md)
    #[arg(long, value_name = "FILE", requires = "disk", requires = "power_cuts")]
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
    /// Most space of kept images of all runs; older ones are removed
    #[arg(long, value_name = "SIZE", default_value = "4G")]
    pub kept_budget: Bytes,
    /// With --random: keep the images of all power cuts
    #[arg(long, conflicts_with = "again", requires = "power_cuts")]
    pub keep: bool,
    /// Recover again: a state of a search, or images of --random
    ///
    /// A state is named as in the report; the images stay unchanged.
    #[arg(
        long,
        value_name = "STATE|IMAGES",
        value_delimiter = ',',
        conflicts_with = "power_cuts"
    )]
    pub again: Vec<PathBuf>,
    /// With --again IMAGES: number of operations acknowledged before that power cut
    #[arg(long, value_name = "N", requires = "again")]
    pub acknowledged: Option<u64>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// Bounds of generated programs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Generate {
    /// The maximum number of changes of a program.
    pub operations: u32,
    /// The number of programs of three changes.
    pub sampled: u32,
}

impl FromStr for Generate {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (operations, sampled) = text.split_once(':').unwrap_or((text, "1000"));
        let refused = |_| "it is N or N:SAMPLE, for example 2 or 3:1000".to_owned();
        let operations: u32 = operations.parse().map_err(refused)?;
        let sampled = sampled.parse().map_err(refused)?;
        if !(1..=3).contains(&operations) {
            return Err("programs have 1 to 3 changes".to_owned());
        }
        Ok(Self {
            operations,
            sampled: if operations == 3 { sampled } else { 0 },
        })
    }
}

fn class(name: &str) -> Result<StateClass, String> {
    let mut all = StateClass::ALL.into_iter();
    let found = all.find(|class| class.name().eq_ignore_ascii_case(name));
    found.ok_or_else(|| "classes are C0, C1, C2, C3, C4 and C5".to_owned())
}
