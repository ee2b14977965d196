//! The arguments of `run`.

use crate::args::{Erase, copy_method, kernel, lab, percent};
use crate::commands::measuring::LockArgs;
use clap::{ArgAction, Args};
use fsdyno_model::{Bytes, CopyMethod, DiskTime, KernelChoice, LabChoice, Nanos, NoTime, Vary};
use std::path::PathBuf;

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
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a flag of its own on the command line"
)]
pub struct RunArgs {
    /// A suite (`fsdyno list suites`) [default: quick]
    #[arg(value_name = "SUITE", conflicts_with = "plan")]
    pub suite: Option<String>,

    /// A plan or a suite of your own
    #[arg(long, value_name = "FILE")]
    pub plan: Option<PathBuf>,

    /// Contenders, separated by commas; the first is the baseline
    #[arg(long = "fs", value_name = "LIST", action = ArgAction::Append)]
    pub contenders: Vec<String>,

    /// Where blocks live: `loop[:SIZE]`, `/dev/...`, or `dir:PATH`
    #[arg(long, value_name = "DEVICE", action = ArgAction::Append)]
    pub on: Vec<String>,

    /// Where image files and mount points go [default: /var/tmp]
    #[arg(long, value_name = "DIR")]
    pub work_dir: Option<PathBuf>,

    /// Phases to run, in order, instead of the suite's (`fsdyno list phases`)
    #[arg(long, alias = "workload", value_name = "LIST", value_delimiter = ',')]
    pub phases: Vec<String>,

    /// A command of yours as a phase, through `sh -c`, in the directory `{dir}` on the contender;
    /// `{tree}` is the newest tree of the dataset. Given again, a phase more
    #[arg(long, value_name = "COMMAND", action = ArgAction::Append)]
    pub exec: Vec<String>,

    /// What is done before the first command of `--exec`, untimed
    #[arg(long, value_name = "COMMAND", requires = "exec")]
    pub prepare: Option<String>,

    /// A parameter of phases: KIND.NAME=VALUE (`fsdyno list phases --long` tells which);
    /// `mongo.processes=4` sets it for all kinds that begin with `mongo-` and take it
    #[arg(long, value_name = "SETTING", action = ArgAction::Append)]
    pub set: Vec<String>,

    /// Do workloads whose phases take workers with each of these numbers of them (`1,2,4`): reports
    /// show how they scale. Where single operations work is private, or `--set op.place=shared`
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = clap::value_parser!(u32).range(1..))]
    pub workers: Vec<u32>,

    /// Files to work on, instead of the suite's: a name, `tree:DIR`, `tar:FILE` or `file:FILE`
    #[arg(long, value_name = "DATASET")]
    pub dataset: Option<String>,

    /// Size of generated datasets; 1 is full size
    #[arg(long, value_name = "X", allow_negative_numbers = true)]
    pub scale: Option<f64>,

    /// Where cells run: host; uml or qemu, guests with a kernel of their own that need no root; or
    /// ssh:USER@HOST, another machine, by its own shell and programs. A contender may say its own,
    /// `uml/NAME` [default: host, where this user and kernel suffice]
    #[arg(long, value_name = "LAB", value_parser = lab)]
    pub lab: Option<LabChoice>,

    /// Put contenders on model disks of this profile (`fsdyno disk list`, or a file): in guests
    /// (`--lab uml` where none is named, or qemu), or on this machine (`--lab host`, as root)
    #[arg(long, value_name = "PROFILE")]
    pub disk: Option<PathBuf>,

    /// Write a block trace of each model disk into this directory (`fsdyno disk trace`)
    #[arg(long, alias = "disk-record", value_name = "DIR")]
    pub disk_trace: Option<PathBuf>,

    /// Keep written data in the block trace, not only its hashes
    #[arg(long)]
    pub disk_payloads: bool,

    /// The time of model disks. virtual: storage time with infinitely fast processors, the same
    /// figures to the nanosecond each time (guests of User-mode Linux, with the lab kernel). real:
    /// each request is answered when the clock has reached its end, in any lab; never compared with
    /// virtual time [default: virtual where all run in uml, else real]
    #[arg(long, value_name = "TIME", value_parser = time)]
    pub time: Option<DiskTime>,

    /// Faults that these disks are told to have, from a file (docs/model-disks.md shows one):
    /// errors, lost sectors, slow periods, flushes that lie. Reports say so first
    #[arg(long, value_name = "FILE")]
    pub disk_faults: Option<PathBuf>,

    /// The memory of a guest [default: 512M]
    #[arg(long, value_name = "SIZE")]
    pub guest_memory: Option<Bytes>,

    /// The processors of a guest of QEMU; one of User-mode Linux has one [default: 1]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..), allow_negative_numbers = true)]
    pub guest_processors: Option<u32>,

    /// The kernel of a guest: packaged, lab (what `fsdyno lab setup` built), or the path of one
    /// [default: lab where there is one, else packaged]
    #[arg(long, value_name = "KERNEL", value_parser = kernel())]
    pub guest_kernel: Option<KernelChoice>,

    /// How many blocks: repeats of everything, each in an order of its own; with --precision or
    /// --max-repeats, the least
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..), allow_negative_numbers = true)]
    pub repeats: Option<u32>,

    /// Measure contenders on until it is known how they stand beside the baseline: faster, slower,
    /// within the margin, or to this precision of the ratio (0.5% is either way). Looking often
    /// invents no differences: the level of all verdicts is spent over the looks [default: a
    /// quarter of the margin, with --max-repeats]
    #[arg(long, value_name = "PERCENT", value_parser = percent)]
    pub precision: Option<f64>,

    /// The most blocks, where the figures decide [default: 60, with --precision]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..), allow_negative_numbers = true)]
    pub max_repeats: Option<u32>,

    /// The difference that matters: nearer contenders are indistinguishable [default: 2%]
    #[arg(long, value_name = "PERCENT", value_parser = percent)]
    pub margin: Option<f64>,

    /// Begin no block that would not end within this time (90s, 15m, 2h)
    #[arg(long, value_name = "TIME")]
    pub budget: Option<Nanos>,

    /// End a cell that takes longer than this (2m): it fails by that reason, and the others go on
    #[arg(long, value_name = "TIME")]
    pub cell_budget: Option<Nanos>,

    /// Seed of datasets and order
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,

    /// What is another one in every block: dataset-seed, the next one in each. In virtual time, where
    /// all else is the same to the nanosecond, intervals then tell by how much the files matter
    #[arg(long, value_name = "WHAT", value_parser = vary)]
    pub vary: Option<Vary>,

    /// How operations reach the kernel: sync (our own calls), uring (large files, many requests under
    /// way), mmap (large files as memory), tools (cp, rm, tar, grep), null
    #[arg(long, value_name = "NAME")]
    pub engine: Option<String>,

    /// How a copy moves data: read-write, copy-file-range, reflink
    #[arg(long = "copy-method", value_name = "METHOD", value_parser = copy_method)]
    pub copy_method: Option<CopyMethod>,

    /// The regular expression of grep phases
    #[arg(long, value_name = "REGEX")]
    pub pattern: Option<String>,

    /// Compare each tree made with what it was made from (untimed)
    #[arg(long)]
    pub verify: bool,

    /// Do not run the file system's checker after each cell
    #[arg(long)]
    pub no_check: bool,

    /// Count fragments after each phase that writes (untimed): of all files, or of those larger
    /// than SIZE
    ///
    /// They are counted as `filefrag` counts them, once the phase is durable and its figures are
    /// taken. A phase `as-is` right behind then begins with inodes and maps in memory.
    #[arg(long, value_name = "SIZE", num_args = 0..=1, require_equals = true)]
    #[expect(
        clippy::option_option,
        reason = "not given, given alone, and given with a size are three things"
    )]
    pub fragments: Option<Option<Bytes>>,

    /// Tell metadata and writes that force themselves to the medium (FUA) apart, by the kernel's
    /// tracepoints, for `fsdyno why`
    ///
    /// It listens to `block_bio_queue` in an instance of tracefs of its own, which takes a little
    /// processor time for each request: figures with it are not to be laid beside figures without.
    #[arg(long)]
    pub trace: bool,

    /// Before the workload, fill file systems to a part of their space: `90%`, `0%,95%`,
    /// `90%:fragmented` (what is left free lies in small holes); each contender at each
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub fill: Vec<String>,

    /// Before the workload, age file systems: files are made, grown, cut and removed until N
    /// times the bytes held (the fill, or half) were written; each contender at each
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub age: Vec<u32>,

    /// Pass mount options on even where they look like typos
    #[arg(long)]
    pub unchecked_options: bool,

    #[command(flatten)]
    pub erase: Erase,

    /// Print every command in order, and do nothing
    #[arg(long)]
    pub dry_run: bool,

    /// Go on with a run that was interrupted
    #[arg(long, value_name = "RUN", conflicts_with_all = [
        "suite", "plan", "contenders", "on", "work_dir", "phases", "exec", "prepare", "set", "workers", "dataset", "scale", "repeats", "precision", "max_repeats", "margin",
        "budget", "cell_budget", "vary", "seed", "engine", "copy_method", "pattern", "verify", "no_check", "fragments", "trace",
        "fill", "age", "lab", "disk", "disk_trace", "disk_payloads", "disk_faults", "time", "guest_memory", "guest_processors", "guest_kernel",
        "unchecked_options",
    ])]
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

/// A time of model disks.
fn time(text: &str) -> Result<DiskTime, String> {
    let names = DiskTime::ALL.map(DiskTime::name).join(", ");
    text.parse()
        .map_err(|NoTime| format!("no such time; there are {names}"))
}

fn vary(name: &str) -> Result<Vary, String> {
    let names = Vary::ALL.map(Vary::name).join(", ");
    Vary::from_name(name).ok_or_else(|| format!("what can vary is {names}"))
}
