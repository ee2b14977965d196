//! The arguments of `run`.

use crate::args::Erase;
use crate::commands::measuring::LockArgs;
use clap::Args;
use fsdyno_run::RunOptions;

// example
const RUN_HELP: &str = "\
Contenders, in short form:
  NAME[MKFS OPTIONS]@LAYOUT:MOUNT OPTIONS, all but the name optional
  ext4   ext4:noatime,data=writeback   ext3[-O ^dir_index]   btrfs@pool2:compress=zstd
  uml/reiserfs:notail   host/ext4: a lab for this contender, instead of --lab

  After a comma, the name of a file system starts the next contender. Any other word is one more
  mount option. The first contender of a lab is the baseline of its ratios.

Devices:
  loop[:SIZE]     sparse image files that fsdyno creates (the default)
  /dev/...        block devices, one per device of the layout, separated by commas; the device
                  guard prints their content, and the option that allows erasing them
  dir:PATH        an existing directory: no root, no mkfs, any file system";

/// Contenders, devices, workloads and repeats of a run.
#[derive(Debug, Args)]
#[command(after_help = RUN_HELP)]
pub struct RunArgs {
    #[command(flatten)]
    pub options: RunOptions,

    #[command(flatten)]
    pub erase: Erase,

    /// Print every command in order, and change nothing
    #[arg(long)]
    pub dry_run: bool,

    /// Resume an interrupted run
    #[arg(long, value_name = "RUN", conflicts_with = "RunOptions")]
    pub resume: Option<String>,

    #[command(flatten)]
    pub lock: LockArgs,

    /// Print the result as JSON
    #[arg(long)]
    pub json: bool,

    /// Show times as m:ss, like the published tables
    #[arg(long, conflicts_with = "json")]
    pub clock: bool,
}
