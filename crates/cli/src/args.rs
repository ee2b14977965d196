//! The command line: one definition for parsing, `--help`, completions and the man page.

use clap::builder::{OsStringValueParser, TypedValueParser};
use clap::{ArgAction, Args, Parser, Subcommand, ValueEnum};
use fsdyno_model::{
    Bytes, CopyMethod, DiskTime, Fill, KernelChoice, LabChoice, Nanos, NoLab, NoTime,
};
use std::ffi::OsString;
use std::path::PathBuf;

const EXIT_CODES: &str = "\
Exit codes:
  0    all went well
  1    something failed: a cell, a command, the store
  2    the command line or the plan is wrong; nothing was made
  3    the device guard refused a device; nothing was written to it
  4    a capability is missing here (root, a program, a kernel feature)
  5    compare: a ratio is beyond a threshold of --fail-if
  130  interrupted; what was measured is kept, `--resume` goes on";

/// Which file system, on which disks, with which options, is fastest for this work, and why?
#[derive(Debug, Parser)]
#[command(name = "fsdyno", version, max_term_width = 100, after_help = EXIT_CODES)]
pub struct Cli {
    /// The store that holds all runs [default: fsdyno.db in the XDG data directory]
    #[arg(long, global = true, value_name = "FILE", env = "FSDYNO_STORE")]
    pub store: Option<PathBuf>,

    #[command(subcommand)]
    pub command: Command,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Compare file systems: make, mount, load, measure, check, and tell
    Run(Box<RunArgs>),
    /// What there is, and whether it works here
    List(ListArgs),
    /// Every requirement: what it unlocks, whether it is met, how to get it
    Doctor(JsonArgs),
    /// The runs in the store, and the series of cuts, newest first
    Runs(JsonArgs),
    /// Take over the runs of another store, which is only read: root's, another machine's
    Merge {
        /// The other store
        #[arg(value_name = "STORE")]
        other: PathBuf,
    },
    /// A run: what was planned, where, and how each cell ended
    Show(ShowArgs),
    /// The report of a run, alone or beside a published table
    Report(ReportArgs),
    /// Runs beside each other, across kernels, machines or dates; thresholds for tests
    Compare(CompareArgs),
    /// Why one contender of a run takes longer than another: its time taken apart, and one sentence
    Why(crate::commands::why::WhyArgs),
    /// Published comparisons, as data
    Published(PublishedArgs),
    /// Published comparisons, done again: their file systems, options and work on a model of their
    /// disk, beside the figures of then, and whether each conclusion still holds
    Rerun(Box<crate::commands::rerun::RerunArgs>),
    /// Undo what a killed run left behind: mounts, loop devices, images, directories
    Clean(CleanArgs),
    /// The weight of the tool itself: clock, empty phase, engines; and how often it is wrong here
    Selftest(SelftestArgs),
    /// Lay a dataset in a directory
    Make(MakeArgs),
    /// Fill and age the file system of a directory, as `run --fill --age` does
    Age(AgeArgs),
    /// Run one phase in a directory, once, and print its figures
    Phase(PhaseArgs),
    /// Print the completions of a shell
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
    /// Print the man page
    Man,
    /// Pull the plug on file systems that are being written to, in guests, and see what comes back
    Plug(PlugArgs),
    /// Make an empty UFS1 or UFS2 on a device or in a file; whatever is there is gone
    Newfs(NewfsArgs),
    /// Check whether a UFS agrees with itself, without writing
    Fsck(FsckArgs),
    /// Labs: where cells can run
    Lab(LabArgs),
    /// Model disks: disks in software, from profiles
    Disk(crate::commands::disk::DiskArgs),
    /// The first process of a guest; fsdyno starts it there by itself
    #[command(hide = true)]
    Guest {
        /// What it is to do, and what the kernel adds
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        words: Vec<std::ffi::OsString>,
    },
}

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

    /// Phases to run, in order, instead of the suite's: copy, delete, untar, read, stat-walk,
    /// grep, and programs (`fsdyno list workloads`)
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub workload: Vec<String>,

    /// A command of yours as a phase, through `sh -c`, in the directory `{dir}` on the contender;
    /// `{tree}` is the newest tree of the dataset. Given again, a phase more
    #[arg(long, value_name = "COMMAND", action = ArgAction::Append)]
    pub exec: Vec<String>,

    /// What is done before the first command of `--exec`, untimed
    #[arg(long, value_name = "COMMAND", requires = "exec")]
    pub prepare: Option<String>,

    /// A parameter of phases: KIND.NAME=VALUE (`fsdyno list workloads --long` tells which);
    /// `mongo.processes=4` sets it for all kinds that begin with `mongo-` and take it
    #[arg(long, value_name = "SETTING", action = ArgAction::Append)]
    pub set: Vec<String>,

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

    /// Record every request to the model disks in this directory, a file for each cell and disk
    /// (`fsdyno disk requests` prints one); it must hold none of another run
    #[arg(long, value_name = "DIR")]
    pub disk_record: Option<PathBuf>,

    /// Keep what is written in the record, and not only its hashes
    #[arg(long)]
    pub disk_payloads: bool,

    /// The time of model disks. virtual: storage time with infinitely fast processors, the same
    /// figures to the nanosecond each time (guests of User-mode Linux, with the lab kernel). real:
    /// each request is answered when the clock has reached its end, in any lab; never compared with
    /// virtual time [default: virtual where all run in uml, else real]
    #[arg(long, value_name = "TIME", value_parser = time)]
    pub time: Option<DiskTime>,

    /// Faults that these disks are told to have, from a file (docs/disks.md shows one): errors,
    /// lost sectors, slow periods, flushes that lie. Reports say so first
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

    /// Seed of datasets and order
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,

    /// How operations reach the kernel: sync (our own calls), tools (cp, rm, tar, grep), null
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
    /// taken. A phase `as-left` right behind then begins with inodes and maps in memory.
    #[arg(long, value_name = "SIZE", num_args = 0..=1, require_equals = true)]
    #[expect(
        clippy::option_option,
        reason = "not given, given alone, and given with a size are three things"
    )]
    pub fragments: Option<Option<Bytes>>,

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

    /// Release a device to be overwritten: the identity and signatures that the guard names
    #[arg(long, value_name = "IDENTITY[:SIGNATURES]", action = ArgAction::Append)]
    pub erase: Vec<String>,

    /// Print every command in order, and do nothing
    #[arg(long)]
    pub dry_run: bool,

    /// Go on with a run that was interrupted
    #[arg(long, value_name = "RUN", conflicts_with_all = [
        "suite", "plan", "contenders", "on", "work_dir", "workload", "exec", "prepare", "set", "dataset", "scale", "repeats", "precision", "max_repeats", "margin",
        "budget", "seed", "engine", "copy_method", "pattern", "verify", "no_check", "fragments",
        "fill", "age", "lab", "disk", "disk_record", "disk_payloads", "disk_faults", "time", "guest_memory", "guest_processors", "guest_kernel",
        "unchecked_options",
    ])]
    pub resume: Option<String>,

    /// Print the result as JSON
    #[arg(long)]
    pub json: bool,

    /// Show times as m:ss, like the published tables
    #[arg(long, conflicts_with = "json")]
    pub clock: bool,
}

#[derive(Debug, Args)]
pub struct PlugArgs {
    /// Contenders, separated by commas
    #[arg(long = "fs", value_name = "LIST", action = ArgAction::Append, required = true)]
    pub contenders: Vec<String>,
    /// How often the plug is pulled on each
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..))]
    pub cuts: u32,
    /// Seed of what is written and of the moments; each cut has the next one
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
    /// Where images lie, and those stay that did not come back whole
    #[arg(long, value_name = "DIR", default_value = fsdyno_lab::preflight::DEFAULT_SCRATCH)]
    pub work_dir: PathBuf,
    /// Whose guests: uml or qemu
    #[arg(long, value_name = "LAB", default_value = "uml", value_parser = guest_lab)]
    pub lab: LabChoice,
    /// Put contenders on model disks of this profile (`fsdyno disk list`, or a file), in virtual
    /// time: they lose what they had acknowledged and not flushed, and a seed gives the same cut
    /// again (`--lab uml`, with a kernel that can travel in time)
    #[arg(long, value_name = "PROFILE")]
    pub disk: Option<PathBuf>,
    /// Give the model disks the faults of this file: what a flush that lies loses, or a cut that
    /// leaves any of what was under way
    #[arg(long, value_name = "FILE", requires = "disk")]
    pub disk_faults: Option<PathBuf>,
    /// The memory of a guest
    #[arg(long, value_name = "SIZE", default_value = "512M")]
    pub guest_memory: Bytes,
    /// Its kernel: packaged, lab, or the path of one [default: lab where there is one]
    #[arg(long, value_name = "KERNEL", value_parser = kernel())]
    pub guest_kernel: Option<KernelChoice>,
    /// Keep the images of all cuts
    #[arg(long, conflicts_with = "again")]
    pub keep: bool,
    /// Bring back again what a cut left in these images, which stay as they are
    #[arg(
        long,
        value_name = "IMAGES",
        value_delimiter = ',',
        requires = "acknowledged",
        conflicts_with = "cuts"
    )]
    pub again: Vec<PathBuf>,
    /// How many operations had been acknowledged then
    #[arg(long, value_name = "N", requires = "again")]
    pub acknowledged: Option<u64>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct LabArgs {
    #[command(subcommand)]
    pub command: LabCommand,
}

#[derive(Debug, Subcommand)]
pub enum LabCommand {
    /// What each lab has here: its kernel, and which file systems and layouts can be run in it
    List(JsonArgs),
    /// A shell in a guest, with empty disks (`/dev/ubda` or `/dev/vda` ...); they go when it ends
    Shell(ShellArgs),
    /// Build the lab kernel: one that has all file systems of the comparisons, from the sources of
    /// the distribution
    ///
    /// It takes some minutes and, for a while, 2 GiB. What was done is gone on with when it is
    /// started again; what is there already is not built again. The path of the kernel is printed.
    /// Exit codes: 0 it is there, 1 the build failed, 4 sources or programs are missing, 130
    /// interrupted.
    Setup(SetupArgs),
}

#[derive(Debug, Args)]
pub struct SetupArgs {
    /// How many files are compiled at once [default: one a processor]
    #[arg(long, short, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub jobs: Option<u32>,
    /// An archive of kernel sources, in place of the distribution's package
    #[arg(long, value_name = "FILE")]
    pub source: Option<PathBuf>,
    /// Leave the sources and all that was made of them where they are
    #[arg(long)]
    pub keep: bool,
}

#[derive(Debug, Args)]
pub struct ShellArgs {
    /// Whose guest: uml or qemu
    #[arg(long, value_name = "LAB", default_value = "uml", value_parser = guest_lab)]
    pub lab: LabChoice,
    /// How many disks
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(0..=16))]
    pub disks: u32,
    /// The size of each
    #[arg(long, value_name = "SIZE", default_value = "2G")]
    pub disk_size: Bytes,
    /// The memory of the guest
    #[arg(long, value_name = "SIZE", default_value = "512M")]
    pub guest_memory: Bytes,
    /// Its kernel: packaged, lab, or the path of one [default: lab where there is one]
    #[arg(long, value_name = "KERNEL", value_parser = kernel())]
    pub guest_kernel: Option<KernelChoice>,
    /// Where the disks lie
    #[arg(long, value_name = "DIR", default_value = fsdyno_lab::preflight::DEFAULT_SCRATCH)]
    pub work_dir: PathBuf,
}

#[derive(Debug, Args)]
pub struct JsonArgs {
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct SelftestArgs {
    /// Make N whole experiments with the same contender under two names: how often are they told
    /// apart?
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub aa: Option<u32>,
    /// Make the second one slower by this: how often is it found? In 20 experiments, or those of
    /// --aa
    #[arg(long, value_name = "PERCENT", value_parser = handicap)]
    pub ab: Option<f64>,
    /// The contender
    // example
    #[arg(long, value_name = "CONTENDER", default_value = "tmpfs")]
    pub fs: String,
    /// What it does [default: copy]
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub workload: Vec<String>,
    /// Size of the dataset, portage [default: 0.02]
    #[arg(long, value_name = "X")]
    pub scale: Option<f64>,
    /// The most blocks of an experiment [default: 240]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub max_repeats: Option<u32>,
    /// How narrow an interval need not become any narrower [default: a quarter of the margin]
    #[arg(long, value_name = "PERCENT", value_parser = percent)]
    pub precision: Option<f64>,
    /// The difference that matters [default: 2%]
    #[arg(long, value_name = "PERCENT", value_parser = percent)]
    pub margin: Option<f64>,
    /// Begin no experiment after this time
    #[arg(long, value_name = "TIME")]
    pub budget: Option<Nanos>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct ListArgs {
    /// What to list
    #[arg(value_enum)]
    pub what: Listed,
    /// Tell where each comes from as well
    #[arg(long)]
    pub long: bool,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Listed {
    /// What can compete
    Filesystems,
    /// Ready-made comparisons
    Suites,
    /// What can be done with a dataset
    Workloads,
    /// Files to work on
    Datasets,
    /// How devices make up a contender
    Layouts,
    /// How operations reach the kernel
    Engines,
}

#[derive(Debug, Args)]
pub struct ShowArgs {
    /// The run, or the series of cuts: its name, the beginning of it, or `last`
    #[arg(default_value = "last")]
    pub run: String,
    /// Print every command that a cell really executed
    #[arg(long, value_name = "CELL")]
    pub commands: Option<u32>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct ReportArgs {
    /// The run, or the series of cuts: its name, the beginning of it, or `last`
    #[arg(default_value = "last")]
    pub run: String,
    /// terminal, html, csv, json, markdown, bencher or openmetrics, or bonnie-csv for the phases of
    /// bonnie; of a series of cuts, terminal or json
    #[arg(long, value_name = "FORMAT", default_value = "terminal", value_parser = report_format)]
    pub format: fsdyno_report::Format,
    /// Lay the run beside a published table (`fsdyno published list`)
    #[arg(long, value_name = "TABLE")]
    pub against: Option<String>,
    /// Write to a file [default: standard output]
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// The difference that matters [default: that of the run]
    #[arg(long, value_name = "PERCENT", value_parser = percent)]
    pub margin: Option<f64>,
    /// Show times as m:ss, like the published tables
    #[arg(long)]
    pub clock: bool,
}

#[derive(Debug, Args)]
pub struct CompareArgs {
    /// The runs: names, the beginnings of them, or `last`; each is laid beside the first
    #[arg(value_name = "RUN", required = true, num_args = 2..)]
    pub runs: Vec<String>,
    /// End with code 5 where a ratio to the first run is beyond this: PHASE.MEASURE > RATIO, as
    /// 'copy.durable > 1.05'; PHASE may be * or WORKLOAD/PHASE, and MEASURE is return or durable
    #[arg(long, value_name = "THRESHOLD", action = ArgAction::Append)]
    pub fail_if: Vec<String>,
    /// End with code 5 also where that may be chance
    #[arg(long, requires = "fail_if")]
    pub fail_on_open: bool,
    /// Compare what the runs call alike, although they measured different things
    #[arg(long)]
    pub force: bool,
    /// The difference that matters [default: that of the first run]
    #[arg(long, value_name = "PERCENT", value_parser = percent)]
    pub margin: Option<f64>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct PublishedArgs {
    #[command(subcommand)]
    pub command: PublishedCommand,
}

#[derive(Debug, Subcommand)]
pub enum PublishedCommand {
    /// All published tables
    List(JsonArgs),
    /// One of them, as it was laid out, with what was concluded
    Show {
        /// The table (`fsdyno published list`)
        name: String,
        /// terminal, html, csv, json or markdown
        #[arg(long, value_name = "FORMAT", default_value = "terminal", value_parser = report_format)]
        format: fsdyno_report::Format,
        /// Show times as m:ss
        #[arg(long)]
        clock: bool,
    },
}

#[derive(Debug, Args)]
pub struct CleanArgs {
    /// Tell what would be undone, and do nothing
    #[arg(long)]
    pub dry_run: bool,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct MakeArgs {
    /// The dataset: a name, `tree:DIR`, `tar:FILE` or `file:FILE`
    pub dataset: String,
    /// The directory to lay it in; it must exist
    #[arg(long = "in", value_name = "DIR")]
    pub directory: PathBuf,
    /// Size; 1 is full size
    #[arg(
        long,
        value_name = "X",
        default_value_t = 1.0,
        allow_negative_numbers = true
    )]
    pub scale: f64,
    /// Seed of names, sizes and contents
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
    /// Lay it as the archive that `untar` unpacks
    #[arg(long)]
    pub archive: bool,
}

#[derive(Debug, Args)]
pub struct AgeArgs {
    /// A directory on the file system; `state` is made in it, and what fills it goes there
    #[arg(long = "in", value_name = "DIR")]
    pub directory: PathBuf,
    /// How full, as df shows it: `90%`, or `90%:fragmented` [default: 50%]
    #[arg(long, value_name = "PERCENT")]
    pub fill: Option<Fill>,
    /// How often what it holds is written anew by a churn of files
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub age: u32,
    /// Seed of sizes, contents and sequence
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
}

#[derive(Debug, Args)]
pub struct PhaseArgs {
    /// The kind of phase: copy, delete, untar, read, stat-walk, grep, bonnie-write ...
    pub kind: String,
    /// A directory in which `fsdyno make` has laid a dataset
    #[arg(long = "in", value_name = "DIR")]
    pub directory: PathBuf,
    /// How operations reach the kernel: sync or tools
    #[arg(long, value_name = "NAME", default_value = "sync")]
    pub engine: String,
    /// How a copy moves data: read-write, copy-file-range, reflink
    #[arg(long = "copy-method", value_name = "METHOD", default_value = "read-write",
          value_parser = copy_method)]
    pub copy_method: CopyMethod,
    /// The regular expression of grep
    #[arg(long, value_name = "REGEX")]
    pub pattern: Option<String>,
    /// What its kind takes: `size=64M`
    #[arg(long, value_name = "NAME=VALUE")]
    pub set: Vec<String>,
    /// How far it is followed: until what it wrote is durable, or until it returns, as programs do
    #[arg(long, value_enum, default_value = "durable")]
    pub until: Until,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// How far a phase is followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Until {
    /// Until everything it wrote is durable.
    Durable,
    /// Until its last call has returned.
    Return,
}

const NEWFS_HELP: &str = "\
The layout is that of newfs(8) of FreeBSD, little-endian, with its letters. What makes soft updates
(-U, -j) is refused: they are a way to write that only the kernels of BSD systems have, not a layout;
make the file system on such a machine, with its own newfs.";

#[derive(Debug, Args)]
#[command(after_help = NEWFS_HELP, disable_help_flag = true)]
pub struct NewfsArgs {
    /// The format: 1 or 2
    #[arg(short = 'O', value_name = "VERSION", default_value_t = 2,
          value_parser = clap::value_parser!(u8).range(1..=2))]
    pub version: u8,
    /// Bytes of a block [default: 16384 for UFS1, 32768 for UFS2]
    #[arg(short = 'b', value_name = "BYTES")]
    pub block: Option<u64>,
    /// Bytes of a fragment [default: an eighth of a block]
    #[arg(short = 'f', value_name = "BYTES")]
    pub fragment: Option<u64>,
    /// An inode for every so many bytes of space [default: four fragments]
    #[arg(short = 'i', value_name = "BYTES")]
    pub density: Option<u64>,
    /// The most blocks of a cylinder group [default: as many as its descriptor can hold]
    #[arg(short = 'c', value_name = "BLOCKS")]
    pub group_blocks: Option<u64>,
    /// Space that only root may take
    #[arg(short = 'm', value_name = "PERCENT", default_value_t = 8)]
    pub minfree: u64,
    /// What to prefer when files grow: time or space
    #[arg(short = 'o', value_name = "WHAT", default_value = "time",
          value_parser = ["time", "space"])]
    pub prefer: String,
    /// The expected size of files
    #[arg(short = 'g', value_name = "BYTES", default_value_t = 16_384)]
    pub file_size: u64,
    /// The expected number of files in a directory
    #[arg(short = 'h', value_name = "FILES", default_value_t = 64)]
    pub directory_files: u64,
    /// The name of the volume
    #[arg(short = 'L', value_name = "NAME", default_value = "")]
    pub label: String,
    /// Refused: soft updates exist only in BSD kernels
    #[arg(short = 'U', hide = true)]
    pub soft_updates: bool,
    /// Refused: so does their journal
    #[arg(short = 'j', hide = true)]
    pub soft_journal: bool,
    /// Print help
    #[arg(long, action = ArgAction::Help)]
    help: (),
    /// A block device, or an existing file (truncate -s SIZE FILE)
    pub device: PathBuf,
}

#[derive(Debug, Args)]
pub struct FsckArgs {
    /// A block device or a file, not mounted
    pub device: PathBuf,
}

fn copy_method(text: &str) -> Result<CopyMethod, String> {
    CopyMethod::from_name(text).ok_or_else(|| {
        let names: Vec<_> = CopyMethod::ALL.iter().map(|m| m.name()).collect();
        format!("the methods are {}", names.join(", "))
    })
}

fn lab(text: &str) -> Result<LabChoice, String> {
    text.parse()
        .map_err(|error: NoLab| format!("{error}; the labs are {}", LabChoice::FORMS.join(", ")))
}

/// A time of model disks.
fn time(text: &str) -> Result<DiskTime, String> {
    let names = DiskTime::ALL.map(DiskTime::name).join(", ");
    text.parse()
        .map_err(|NoTime| format!("no such time; there are {names}"))
}

/// A lab that has guests.
fn guest_lab(text: &str) -> Result<LabChoice, String> {
    let lab = lab(text)?;
    let refused = format!("`{text}` has no guests; uml and qemu have");
    lab.is_guest().then_some(lab).ok_or(refused)
}

/// A kernel as typed; a path is one from the current directory, and need not be UTF-8.
pub fn kernel() -> impl TypedValueParser<Value = KernelChoice> {
    OsStringValueParser::new().try_map(|text: OsString| {
        let choice = text.to_str().map_or_else(
            || Some(KernelChoice::File(PathBuf::from(&text))),
            KernelChoice::from_text,
        );
        match choice {
            Some(KernelChoice::File(path)) => std::path::absolute(path)
                .map(KernelChoice::File)
                .map_err(|error| error.to_string()),
            Some(choice) => Ok(choice),
            None => Err("the kernels are packaged, lab, or a path, as ./linux".to_owned()),
        }
    })
}

fn handicap(text: &str) -> Result<f64, String> {
    match percent(text)? {
        part if part > 0.0 && part <= 10.0 => Ok(part),
        _ => Err("write more than 0 % and up to 1000 %, as 5%".to_owned()),
    }
}

fn percent(text: &str) -> Result<f64, String> {
    fsdyno_model::units::percent(text).map_err(|error| error.to_string())
}

pub fn report_format(text: &str) -> Result<fsdyno_report::Format, String> {
    text.parse().map_err(|_| {
        let names: Vec<_> = fsdyno_report::Format::ALL
            .iter()
            .map(|f| f.name())
            .collect();
        format!("the formats are {}", names.join(", "))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_definition_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn the_help_begins_with_what_the_program_is_for() {
        let help = Cli::command().render_long_help().to_string();
        assert!(help.starts_with("Which file system"), "{help}");
    }

    #[test]
    fn every_exit_code_is_in_the_help() {
        let help = Cli::command().render_long_help().to_string();
        for code in ["0 ", "1 ", "2 ", "3 ", "4 ", "5 ", "130 "] {
            assert!(help.contains(&format!("  {code}")), "{code}");
        }
    }
}
