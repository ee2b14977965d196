//! The command line of `rerun`.

use crate::args::{kernel, report_format};
use crate::commands::measuring::LockArgs;
use clap::{ArgAction, Args};
use fsdyno_model::{Bytes, KernelChoice};
use fsdyno_report::Format;
use std::path::PathBuf;

const HELP: &str = "\
Each rerun is an ordinary run: it is in the store, goes on after an interruption (fsdyno run --resume)
and is told again in any format (fsdyno report RUN --against NAME). What each takes and what it is
known for: docs/published.md";

/// What is done again.
#[derive(Debug, Args)]
#[command(after_help = HELP)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a flag of its own on the command line"
)]
pub struct RerunArgs {
    /// The published table; without one, all that can be done again are listed
    #[arg(value_name = "NAME", conflicts_with = "list")]
    pub name: Option<String>,

    /// List what can be done again: who runs, on which disk, in how much memory
    #[arg(long)]
    pub list: bool,

    /// Size of generated datasets, and with it of the memory; 1 is full size
    #[arg(
        long,
        value_name = "X",
        default_value_t = 1.0,
        allow_negative_numbers = true,
        requires = "name"
    )]
    pub scale: f64,

    /// Fewer contenders, separated by commas: of those of the rerun; the first is the baseline
    #[arg(long = "fs", value_name = "LIST", action = ArgAction::Append, requires = "name")]
    pub contenders: Vec<String>,

    /// How many blocks: in virtual time a repeat brings nothing new but the same again
    #[arg(long, value_name = "N", default_value_t = 1, requires = "name",
          value_parser = clap::value_parser!(u32).range(1..), allow_negative_numbers = true)]
    pub repeats: u32,

    /// Seed of datasets and order
    #[arg(long, value_name = "N", requires = "name")]
    pub seed: Option<u64>,

    /// The memory of guests, in place of that of the time
    #[arg(long, value_name = "SIZE", requires = "name")]
    pub guest_memory: Option<Bytes>,

    /// The kernel of guests: lab, or the path of one that can travel in time
    #[arg(long, value_name = "KERNEL", value_parser = kernel(), requires = "name")]
    pub guest_kernel: Option<KernelChoice>,

    /// Where the contents of disks lie, in sparse files [default: /var/tmp]
    #[arg(long, value_name = "DIR", requires = "name")]
    pub work_dir: Option<PathBuf>,

    /// Do not run the file system's checker after each cell
    #[arg(long, requires = "name")]
    pub no_check: bool,

    /// Run only the ablation of this rerun
    #[arg(long, alias = "inquiry", requires = "name", conflicts_with_all = ["no_ablation", "contenders"])]
    pub ablation: bool,

    /// Skip the ablation
    #[arg(long, alias = "no-inquiry", requires = "name")]
    pub no_ablation: bool,

    #[command(flatten)]
    pub lock: LockArgs,

    /// Print every command in order, and do nothing
    #[arg(long, requires = "name")]
    pub dry_run: bool,

    /// terminal, html, csv, json or markdown
    #[arg(long, value_name = "FORMAT", default_value = "terminal", value_parser = report_format)]
    pub format: Format,

    /// Write the report to a file [default: standard output]
    #[arg(long, short, value_name = "FILE", requires = "name")]
    pub output: Option<PathBuf>,

    /// Replace a file that exists
    #[arg(long, requires = "output")]
    pub force: bool,

    /// Show times as m:ss, like the published tables
    #[arg(long, requires = "name")]
    pub clock: bool,
}
