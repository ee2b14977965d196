//! The arguments of `bisect`.

use crate::args::{multiple, unknown};
use clap::Args;
use fsdyno_model::Bytes;
use fsdyno_model::FigureName;
use fsdyno_run::bisect::metrics;
use std::path::PathBuf;

/// The headings of the flags.
const HISTORY: &str = "History";
const CELL: &str = "Cell";

#[derive(Debug, Args)]
pub struct BisectArgs {
    /// Repository of the kernel sources; it is only read
    #[arg(long, value_name = "DIR", default_value = ".", help_heading = HISTORY)]
    pub repo: PathBuf,
    /// Revision without the change
    #[arg(long, value_name = "REV", required_unless_present = "resume", help_heading = HISTORY)]
    pub good: Option<String>,
    /// Later revision with the change
    #[arg(long, value_name = "REV", required_unless_present_any = ["resume", "step"],
          help_heading = HISTORY)]
    pub bad: Option<String>,
    /// Contender whose figure changed
    #[arg(long, value_name = "CONTENDER", required_unless_present = "resume",
          help_heading = CELL)]
    pub fs: Option<String>,
    /// Phase whose figure changed
    #[arg(long, value_name = "PHASE", required_unless_present_any = ["resume", "work"],
          help_heading = CELL)]
    pub phase: Option<String>,
    /// Phases to run in order, PHASE among them [default: PHASE]
    #[arg(long, value_name = "LIST", value_delimiter = ',', help_heading = CELL)]
    pub phases: Vec<String>,
    /// Workload file (`fsdyno work`), instead of phases
    #[arg(long, value_name = "FILE", conflicts_with_all = ["phase", "phases"], help_heading = CELL)]
    pub work: Option<PathBuf>,
    /// Application (`fsdyno list apps`) or its file, PHASE among its phases
    #[arg(long, value_name = "APP", conflicts_with_all = ["phases", "work", "dataset"],
          help_heading = CELL)]
    pub app: Option<String>,
    /// Figure that decides
    ///
    /// One of the figures in docs/reference/figures.md. An exact one, such as durable, blocks or
    /// flushes, needs one measurement of a commit. One that the machine measures, such as cpu, is
    /// measured in real time on disks in memory, in blocks with the good revision, until the interval
    /// decides.
    #[arg(long, value_name = "METRIC", default_value = "durable", value_parser = metric)]
    pub metric: FigureName,
    /// Ratio to the good revision that is a change; above 1
    #[arg(long, value_name = "RATIO", default_value_t = 1.05, value_parser = threshold)]
    pub threshold: f64,
    /// Maximum number of blocks of a comparison with --metric cpu
    #[arg(long, value_name = "N", default_value_t = 60,
          value_parser = clap::value_parser!(u32).range(6..=10_000))]
    pub max_repeats: u32,
    /// Model disk: a profile (`fsdyno disk list`) or its file [default: sata-ssd]
    #[arg(long, value_name = "PROFILE", help_heading = CELL)]
    pub disk: Option<PathBuf>,
    /// Model processor: a profile, its file, or free [default: vm-2026]
    #[arg(long, value_name = "PROFILE", help_heading = CELL)]
    pub cpu: Option<PathBuf>,
    /// Dataset: a name, `tree:DIR`, `tar:FILE` or `file:FILE` [default: mixed]
    #[arg(long, value_name = "DATASET", help_heading = CELL)]
    pub dataset: Option<String>,
    /// Size of the dataset as a multiple of full size [default: 0.02]
    ///
    /// Workload files and applications have the size 1 by default.
    #[arg(long, value_name = "X", value_parser = multiple, help_heading = CELL)]
    pub scale: Option<f64>,
    /// Set a parameter of phases: KIND.NAME=VALUE
    #[arg(long, value_name = "SETTING", help_heading = CELL)]
    pub set: Vec<String>,
    /// Device: loop:SIZE
    #[arg(long = "on", value_name = "DEVICE", help_heading = CELL)]
    pub device: Vec<String>,
    /// Seed of the dataset
    #[arg(long, value_name = "N", help_heading = CELL)]
    pub seed: Option<u64>,
    /// Memory of the guest [default: 512M]
    #[arg(long, value_name = "SIZE", help_heading = CELL)]
    pub guest_memory: Option<Bytes>,
    /// Directory of image files [default: /var/tmp; with --metric cpu: /dev/shm]
    #[arg(long, value_name = "DIR", help_heading = CELL)]
    pub work_dir: Option<PathBuf>,
    /// Number of compile jobs at a time [default: number of processors]
    #[arg(long, short, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub jobs: Option<u32>,
    /// Resume a search by its name [default: the last one]
    #[arg(long, value_name = "SEARCH", num_args = 0..=1, default_missing_value = "last",
          conflicts_with_all = ["good", "bad", "fs", "phase", "work", "app", "step"])]
    pub resume: Option<String>,
    /// Judge the commit that is checked out, for `git bisect run`
    ///
    /// The exit code is 0 for good, 1 for bad, 125 if the commit cannot be built or measured, 255 for
    /// any other error. Without --bad, a larger figure is bad.
    #[arg(long)]
    pub step: bool,
}

fn metric(text: &str) -> Result<FigureName, String> {
    let all: Vec<FigureName> = metrics().collect();
    let names = || all.iter().map(FigureName::as_str);
    let found = all.iter().find(|metric| metric.as_str() == text);
    found
        .cloned()
        .ok_or_else(|| unknown("figure", text, names()))
}

fn threshold(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(ratio) if ratio > 1.0 && f64::is_finite(ratio) => Ok(ratio),
        _ => Err("write a ratio above 1, as 1.05 or 1.001".to_owned()),
    }
}
