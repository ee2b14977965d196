//! The command line of `record`.

use clap::{Args, Subcommand, ValueEnum};
use fsdyno_model::{Bytes, Nanos};
use std::ffi::OsString;
use std::path::PathBuf;

const HELP: &str = "\
The recording has the tree at the start, and the file operations of the programs
on it: names and sizes, never contents. Nothing outside the tree is recorded.
docs/recordings.md lists what is recorded, and the limits of each recorder.";

#[derive(Debug, Args)]
#[command(after_help = HELP, args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub struct RecordArgs {
    #[command(subcommand)]
    pub command: Option<RecordCommand>,
    #[command(flatten)]
    pub record: NewRecording,
}

#[derive(Debug, Subcommand)]
pub enum RecordCommand {
    /// Show a recording: operations by kind, sizes, order, directories, a timeline
    Show(ShowRecording),
}

#[derive(Debug, Args)]
pub struct ShowRecording {
    /// Recording
    pub file: PathBuf,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct NewRecording {
    /// Directory to record [default: the current one; of a log, its first one]
    #[arg(long, value_name = "DIR")]
    pub path: Option<PathBuf>,
    /// Make the recording of a log of strace; with -ff, of the files of all threads
    #[arg(
        long,
        value_name = "FILE",
        num_args = 1..,
        conflicts_with_all = ["pid", "cgroup", "duration", "recorder", "buffer", "argv", "app"]
    )]
    pub from_strace: Vec<PathBuf>,
    /// Record a phase of an application (`fsdyno list apps`) or of its file
    #[arg(long, value_name = "APP", conflicts_with_all = ["path", "pid", "cgroup", "argv"])]
    pub app: Option<String>,
    /// Phase of the application [default: its first]
    #[arg(long, value_name = "PHASE", requires = "app")]
    pub phase: Option<String>,
    /// Record a running process and its future children; repeatable
    #[arg(long, value_name = "PID")]
    pub pid: Vec<i32>,
    /// Record a control group and what joins it, as /sys/fs/cgroup/user.slice
    #[arg(long, value_name = "DIR", conflicts_with = "pid")]
    pub cgroup: Option<PathBuf>,
    /// End after this time, as 10s or 5m; a command is terminated
    #[arg(long = "for", value_name = "TIME")]
    pub duration: Option<Nanos>,
    /// Record hashes of names instead of names
    #[arg(long)]
    pub anonymous: bool,
    /// Recorder: auto (ebpf where it is permitted), ebpf or strace
    #[arg(
        long,
        value_name = "NAME",
        default_value = "auto",
        hide_possible_values = true
    )]
    pub recorder: RecorderChoice,
    /// Buffer of eBPF, a power of two: a larger one loses fewer events
    #[arg(long, value_name = "SIZE", default_value = "32M")]
    pub buffer: Bytes,
    /// File of the recording
    #[arg(long, short, value_name = "FILE", required = true)]
    pub output: Option<PathBuf>,
    /// Replace the file if it exists
    #[arg(long)]
    pub force: bool,
    /// Command to start and record, after `--`
    #[arg(last = true, value_name = "COMMAND", conflicts_with_all = ["pid", "cgroup"])]
    pub argv: Vec<OsString>,
}

/// The choice of the recorder.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum RecorderChoice {
    /// The best that is permitted.
    Auto,
    /// Programs in the kernel.
    Ebpf,
    /// strace.
    Strace,
}
