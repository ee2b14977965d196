//! The command line of `rerun`.

use crate::args::{kernel, multiple, report_format};
use crate::commands::jobs::{JobsArgs, ShardArgs};
use crate::commands::measuring::LockArgs;
use clap::{ArgAction, Args};
use fsdyno_model::{Bytes, KernelChoice};
use fsdyno_report::Format;
use std::path::PathBuf;

const HELP: &str = "\
Each rerun is an ordinary run in the store. After an interruption,
fsdyno run --resume continues it. fsdyno report RUN --against NAME prints it
again in any format. docs/published.md lists the time that each rerun takes,
and the conclusions that it tests.";

/// The published comparison to rerun.
#[derive(Debug, Args)]
#[command(after_help = HELP)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a flag of its own on the command line"
)]
pub struct RerunArgs {
    /// Published table [default: list those that can be rerun]
    #[arg(value_name = "NAME", conflicts_with = "list")]
    pub name: Option<String>,

    /// List tables that can be rerun, with contenders, disk and memory
    #[arg(long)]
    pub list: bool,

    /// Size of datasets and memory as a multiple of full size
    #[arg(
        long,
        value_name = "X",
        default_value_t = 1.0,
        value_parser = multiple,
        allow_negative_numbers = true,
        requires = "name"
    )]
    pub scale: f64,

    /// Subset of the contenders, separated by commas; the first is the baseline
    #[arg(long = "fs", value_name = "LIST", action = ArgAction::Append, requires = "name")]
    pub contenders: Vec<String>,

    /// Repeats of every contender
    ///
    /// In virtual time each repeat is a draw: --repeats 1 gives exact figures, and decides nothing.
    #[arg(long, short = 'n', value_name = "N", default_value_t = 6, requires = "name",
          value_parser = clap::value_parser!(u32).range(1..), allow_negative_numbers = true)]
    pub repeats: u32,

    /// Seed of datasets and order
    #[arg(long, value_name = "N", requires = "name")]
    pub seed: Option<u64>,

    /// Model processor: a profile, a profile file, or free [default: of its time]
    ///
    /// fsdyno cpu list shows the profiles. Those of the time of a published table are estimates. With
    /// free, computing takes no time, and only the time of the disk is compared.
    #[arg(long, value_name = "PROFILE", requires = "name")]
    pub cpu: Option<PathBuf>,

    /// Memory of a guest [default: memory of the published machine]
    #[arg(long, value_name = "SIZE", requires = "name")]
    pub guest_memory: Option<Bytes>,

    /// Kernel of a guest: lab, or the path of one with time-travel mode
    #[arg(long, value_name = "KERNEL", value_parser = kernel(), requires = "name")]
    pub guest_kernel: Option<KernelChoice>,

    /// Directory of the sparse image files [default: /var/tmp]
    #[arg(long, value_name = "DIR", requires = "name")]
    pub work_dir: Option<PathBuf>,

    /// Do not run the file system's checker after each cell
    #[arg(long, requires = "name")]
    pub no_check: bool,

    /// Run only the ablation of this rerun
    #[arg(long, requires = "name", conflicts_with_all = ["no_ablation", "contenders"])]
    pub ablation: bool,

    /// Skip the ablation
    #[arg(long, requires = "name")]
    pub no_ablation: bool,

    #[command(flatten)]
    pub lock: LockArgs,

    #[command(flatten)]
    pub jobs: JobsArgs,

    #[command(flatten)]
    pub shard: ShardArgs,

    /// Print every command in order, and change nothing
    #[arg(long, requires = "name")]
    pub dry_run: bool,

    /// Format: terminal, html, csv, json or markdown
    ///
    /// Without --format, the extension of the output file decides; otherwise it is terminal.
    #[arg(long, value_name = "FORMAT", value_parser = report_format)]
    pub format: Option<Format>,

    /// Output file of the report [default: standard output]
    #[arg(long, short, value_name = "FILE", requires = "name")]
    pub output: Option<PathBuf>,

    /// Replace a file that exists
    #[arg(long, requires = "output")]
    pub force: bool,

    /// Show times as m:ss, like the published tables
    #[arg(long, requires = "name")]
    pub clock: bool,
}

impl RerunArgs {
    /// The format of the report: as requested, or that of the output file.
    pub fn format(&self) -> Format {
        let of_file = || Format::of_file(self.output.as_deref()?);
        self.format.or_else(of_file).unwrap_or(Format::Terminal)
    }
}
