//! The arguments of `run`.

use crate::args::Erase;
use crate::commands::measuring::LockArgs;
use clap::Args;
use fsdyno_run::RunOptions;

// example
const RUN_HELP: &str = "\
Contenders, typed short:
  NAME[MKFS OPTIONS]@LAYOUT:MOUNT OPTIONS, all but the name optional
  ext4   ext4:noatime,data=writeback   ext3[-O ^dir_index]   btrfs@pool2:compress=zstd
  uml/reiserfs:notail   host/ext4: the lab it runs in, where it is not that of --lab

  A comma begins the next contender where the name of a file system follows; else it goes on
  with the mount options before it. The first contender of a lab is the baseline of its ratios.

Devices:
  loop[:SIZE]     sparse image files that fsdyno makes itself (the default)
  /dev/...        block devices, one per device of the layout, separated by commas; the guard
                  tells what is on them, and what to add to release them
  dir:PATH        an existing directory: no root, no mkfs, works on anything";

/// What to compare, on what, how often.
#[derive(Debug, Args)]
#[command(after_help = RUN_HELP)]
pub struct RunArgs {
    #[command(flatten)]
    pub options: RunOptions,

    #[command(flatten)]
    pub erase: Erase,

    /// Print every command in order, and do nothing
    #[arg(long)]
    pub dry_run: bool,

    /// Resume a run that was interrupted
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
