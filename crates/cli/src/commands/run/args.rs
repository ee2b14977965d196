//! The arguments of `run`.

use super::kernels::ListedKernel;
use crate::args::Erase;
use crate::commands::jobs::{JobsArgs, ShardArgs};
use crate::commands::measuring::LockArgs;
use clap::{Args, Command};
use fsdyno_report::Format;
use fsdyno_run::RunOptions;
use fsdyno_run::resolve::RESUMING;
use std::path::{Path, PathBuf};

/// The heading of `--kernel`, that of the other flags of guests.
const KERNELS: &str = "Labs, guests and model disks";

/// The heading of the flags that do not change what is measured.
const EXECUTION: &str = "Execution and output";

// example
const RUN_HELP: &str = "\
Contenders, in short form:
  NAME[MKFS OPTIONS]@LAYOUT:MOUNT OPTIONS, all but the name optional
  ext4   ext4:noatime,data=writeback   ext3[-O ^dir_index]
  btrfs@pool2:compress=zstd   uml/reiserfs:notail   host/ext4
  The last two name a lab for this contender, instead of --lab.

  After a comma, the name of a file system starts the next contender. Any
  other word is one more mount option. The first contender of a lab is the
  baseline of its ratios.

Devices:
  loop[:SIZE]     sparse image files that fsdyno creates (the default)
  ram[:SIZE]      the same in memory: the cost of the file system itself
  /dev/...        block devices, one per device of the layout, separated by
                  commas; the device guard prints their content, and the
                  option that allows erasing them
  dir:PATH        an existing directory: no root, no mkfs, any file system";

/// The report on the terminal.
#[derive(Debug, Clone, Copy, Default, Args)]
pub struct ScreenArgs {
    /// Print all tables, not only the first screen
    #[arg(long, conflicts_with = "json")]
    pub long: bool,
    /// Show times as m:ss, like the published tables
    #[arg(long, conflicts_with = "json")]
    pub clock: bool,
    /// Do not compare on model disks as well (if a lab kernel exists)
    #[arg(long)]
    pub no_model: bool,
}

/// Files of the report, in addition to the printed one.
#[derive(Debug, Clone, Default, Args)]
pub struct ExportArgs {
    /// Write the result to a file as JSON
    #[arg(id = "export_json", long = "export-json", value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// Write every sample to a file as CSV
    #[arg(id = "export_csv", long = "export-csv", value_name = "FILE")]
    pub csv: Option<PathBuf>,
    /// Write the report to a file as Markdown
    #[arg(id = "export_markdown", long = "export-markdown", value_name = "FILE")]
    pub markdown: Option<PathBuf>,
    /// Write the report to a file as an HTML page
    #[arg(id = "export_html", long = "export-html", value_name = "FILE")]
    pub html: Option<PathBuf>,
    /// Replace exported files that exist
    #[arg(id = "export_force", long = "export-force")]
    pub force: bool,
}

impl ExportArgs {
    pub fn files(&self) -> Vec<(Format, &Path)> {
        let files = [
            (Format::Json, &self.json),
            (Format::Csv, &self.csv),
            (Format::Markdown, &self.markdown),
            (Format::Html, &self.html),
        ];
        let files = files.into_iter();
        files
            .filter_map(|(format, file)| Some((format, file.as_deref()?)))
            .collect()
    }
}

/// The settings that a recorded run does not change.
fn not_resuming() -> Vec<clap::Id> {
    let command = RunOptions::augment_args(Command::new("run"));
    let ids = command.get_arguments().map(|one| one.get_id().clone());
    ids.filter(|id| !RESUMING.contains(&id.as_str())).collect()
}

/// Contenders, devices, workloads and repeats of a run.
#[derive(Debug, Args)]
#[command(after_long_help = RUN_HELP)]
pub struct RunArgs {
    #[command(flatten)]
    pub options: RunOptions,

    /// Kernels to compare, separated by commas; the first is the baseline
    ///
    /// packaged, lab, the path of a kernel, or sources: tree:DIR, git:DIR#REV, git:DIR#A..B (every
    /// tag) or git:DIR#A..B:N (every Nth commit). Each contender runs on each kernel, in the blocks
    /// of one run. Sources are built. The cells of a kernel that cannot be built fail.
    #[arg(long = "kernel", value_name = "LIST", value_delimiter = ',', help_heading = KERNELS,
          conflicts_with_all = ["guest_kernel", "resume", "shard"])]
    pub kernels: Vec<ListedKernel>,

    #[command(flatten, next_help_heading = EXECUTION)]
    pub erase: Erase,

    /// Print every command in order, and change nothing
    #[arg(long, help_heading = EXECUTION)]
    pub dry_run: bool,

    /// Resume a run, or extend it (--repeats, --max-repeats, --budget, --robust)
    ///
    /// The run keeps its plan and its cells. --repeats is for a run with a fixed number of repeats,
    /// --max-repeats for any other. --budget is the time limit from now on. --robust alone adds the
    /// variants to a run that has ended.
    #[arg(long, value_name = "RUN", conflicts_with_all = not_resuming(),
          help_heading = EXECUTION)]
    pub resume: Option<String>,

    /// Run the failed cells of the run again (with --resume)
    ///
    /// Their results are replaced. Without --repeats, --max-repeats and --budget, no other cell
    /// runs.
    #[arg(long, requires = "resume", help_heading = EXECUTION)]
    pub retry_failed: bool,

    #[command(flatten, next_help_heading = EXECUTION)]
    pub lock: LockArgs,

    #[command(flatten, next_help_heading = EXECUTION)]
    pub jobs: JobsArgs,

    #[command(flatten, next_help_heading = EXECUTION)]
    pub shard: ShardArgs,

    /// Print the result as JSON
    #[arg(long, help_heading = EXECUTION)]
    pub json: bool,

    #[command(flatten, next_help_heading = EXECUTION)]
    pub export: ExportArgs,

    #[command(flatten, next_help_heading = EXECUTION)]
    pub screen: ScreenArgs,
}
