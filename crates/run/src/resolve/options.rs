//! The settings of a run, each defined once: name, type, flag, plan key, default, check and help.
//!
//! The doc comment of a field is the help of its flag and its text in the plan reference. To add a
//! setting: a field here and its line in `RunOptions::into_plan`, a field of the plan in `model`,
//! and the code that uses it.

use crate::resolve::entry::{ContenderEntry, WorkloadTable};
use crate::resolve::settings::{
    one_or_more, percent_text, settings, text, texts, typed, typed_multiple, typed_percent,
};
use crate::resolve::varying::Varying;
use crate::resolve::{ConfigError, Counting};
use clap::builder::{OsStringValueParser, TypedValueParser};
use clap::{ArgAction, Args as _, Command};
use fsdyno_model::{
    Bytes, CopyMethod, DiskTime, ErrorRate, Fill, KernelChoice, LabChoice, Nanos, Plan,
};
use std::ffi::OsString;
use std::path::PathBuf;
use toml::Spanned;

/// The groups of flags in the help of `run`.
const CONTENDERS: &str = "Contenders and devices";
const WORKLOAD: &str = "Workload";
const PLACE: &str = "Labs, guests and model disks";
const REPEATS: &str = "Repeats and precision";
const MEASUREMENT: &str = "Measurement";

settings! {
    /// The settings of a run, as flags or as keys of a plan file.
    pub struct RunOptions {
        /// Suite to run (`fsdyno list suites`) [default: quick]
        #[arg(value_name = "SUITE", conflicts_with = "plan")]
        #[serde(skip)]
        pub suite: Option<String>;

        /// Plan file to run
        #[arg(long, value_name = "FILE", help_heading = WORKLOAD)]
        #[serde(skip)]
        pub plan: Option<PathBuf>;

        /// Name of the plan
        #[arg(skip)]
        pub name: Option<String>, if check::printable_name;

        /// What the plan compares, in one line
        #[arg(skip)]
        pub title: Option<String>;

        /// What the plan is for and how it is measured
        #[arg(skip)]
        pub about: Option<String>;

        /// The published comparison that the plan repeats
        #[arg(skip)]
        pub source: Option<String>;

        /// Contenders, separated by commas; the first is the baseline
        #[arg(long = "fs", value_name = "LIST", action = ArgAction::Append,
              help_heading = CONTENDERS)]
        pub contenders: Vec<ContenderEntry>;

        /// Device: `loop[:SIZE]`, `ram[:SIZE]`, `/dev/...` (with commas), or `dir:PATH`
        #[arg(long = "on", value_name = "DEVICE", action = ArgAction::Append,
              help_heading = CONTENDERS)]
        #[serde(deserialize_with = "one_or_more")]
        #[schemars(with = "String")]
        pub device: Vec<String>;

        /// Directory of image files and mount points [default: /var/tmp]
        #[arg(long, value_name = "DIR", help_heading = CONTENDERS)]
        #[serde(skip)]
        pub work_dir: Option<PathBuf>;

        /// Workloads: a dataset and the phases that work on it
        #[arg(skip)]
        #[schemars(with = "Vec<WorkloadTable>")]
        pub workload: Vec<Spanned<WorkloadTable>>;

        /// Phases to run, in order, instead of the suite's (`fsdyno list phases`)
        #[arg(long, value_name = "LIST", value_delimiter = ',',
              help_heading = WORKLOAD)]
        #[serde(skip)]
        pub phases: Vec<String>;

        /// Workload file to run as a phase (`fsdyno work`); repeatable
        #[arg(long, value_name = "FILE", action = ArgAction::Append, help_heading = WORKLOAD)]
        #[serde(skip)]
        pub work: Vec<PathBuf>;

        /// Application to run (`fsdyno list apps`), or its file; repeatable
        ///
        /// `postgresql,postgresql[fsync=off]` compares settings; `--set app.scale=20` changes one in
        /// all applications (docs/applications.md).
        #[arg(long, value_name = "LIST", action = ArgAction::Append,
              conflicts_with_all = ["suite", "plan", "phases", "work", "exec", "dataset"],
              help_heading = WORKLOAD)]
        #[serde(skip)]
        pub app: Vec<String>;

        /// Command to run as a phase, by `sh -c` in the directory `{dir}`; repeatable
        ///
        /// `{tree}` in the command is the newest tree of the dataset.
        #[arg(long, value_name = "COMMAND", action = ArgAction::Append, help_heading = WORKLOAD)]
        #[serde(skip)]
        pub exec: Vec<String>;

        /// Command to run, untimed, before the first command of --exec
        #[arg(long, value_name = "COMMAND", requires = "exec", help_heading = WORKLOAD)]
        #[serde(skip)]
        pub prepare: Option<String>;

        /// Name of the phase of an --exec, in their order; repeatable
        #[arg(long, value_name = "NAME", action = ArgAction::Append, requires = "exec",
              help_heading = WORKLOAD)]
        #[serde(skip)]
        pub label: Vec<String>;

        /// Figure that --exec commands print: NAME[UNIT,higher|lower]=REGEX; repeatable
        ///
        /// The first group of the regular expression is the number, and a unit behind it or in a second
        /// group is read: 'tps[1/s,higher]=tps = ([0-9.]+)'. The last match counts. Without =REGEX the
        /// command prints a line `FIGURE NAME NUMBER UNIT` (docs/workloads.md).
        #[arg(long, value_name = "FIGURE", action = ArgAction::Append, requires = "exec",
              help_heading = WORKLOAD)]
        #[serde(skip)]
        pub figure: Vec<String>;

        /// Untimed runs of each --exec before the timed one; caches stay as they are
        #[arg(long, value_name = "N", requires = "exec", help_heading = WORKLOAD)]
        #[serde(skip)]
        pub warmup: Option<u32>;

        /// Measure --exec commands with any exit status
        #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true,
              default_missing_value = "true", hide_possible_values = true, requires = "exec",
              help_heading = WORKLOAD)]
        #[serde(skip)]
        pub ignore_failure: Option<bool>;

        /// Let --exec commands write outside of the contender
        ///
        /// Otherwise they can write only the directory on the contender, and a private /tmp.
        #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true,
              default_missing_value = "true", hide_possible_values = true, requires = "exec",
              help_heading = WORKLOAD)]
        #[serde(skip)]
        pub exec_everywhere: Option<bool>;

        /// Set a parameter of phases: KIND.NAME=VALUE (`fsdyno list phases --long`)
        ///
        /// The first part of a name sets the parameter of every kind that has it: `mongo.processes=4`.
        #[arg(long, value_name = "SETTING", action = ArgAction::Append, help_heading = WORKLOAD)]
        #[serde(skip)]
        pub set: Vec<String>;

        /// Repeat workloads with each of these numbers of workers: 1,2,4
        ///
        /// Reports show how the workloads scale. Workers of `op` phases have separate files, unless
        /// `--set op.place=shared`.
        #[arg(long, value_name = "LIST", value_delimiter = ',', help_heading = WORKLOAD)]
        pub workers: Vec<u32>, if check::at_least_one_worker;

        /// Dataset instead of the suite's: a name, tree:DIR, {tar,file,trace}:FILE
        #[arg(long, value_name = "DATASET", help_heading = WORKLOAD)]
        #[serde(skip)]
        pub dataset: Option<String>;

        /// Recording to replay (`fsdyno record`), instead of a dataset and phases
        ///
        /// Each contender gets the recorded tree, and then the recorded operations, in the recorded
        /// order of each file, name, descriptor and thread. The same as `--dataset trace:FILE`.
        #[arg(long, value_name = "FILE", conflicts_with_all = ["suite", "dataset"],
              help_heading = WORKLOAD)]
        #[serde(skip)]
        pub workload_trace: Option<PathBuf>;

        /// Start times of replayed operations: afap, as-recorded, scaled:X [default: afap]
        ///
        /// `afap` is as fast as possible. `as-recorded` starts operations at their recorded times
        /// (open loop), and latencies count from there. `scaled:0.5` halves the recorded times.
        #[arg(long, value_name = "PACE", requires = "workload_trace", help_heading = WORKLOAD)]
        #[serde(skip)]
        pub pace: Option<String>;

        /// Regular expression of grep phases
        #[arg(long, value_name = "REGEX", help_heading = WORKLOAD)]
        #[serde(skip)]
        pub pattern: Option<String>;

        /// Size of generated datasets as a multiple of full size
        #[arg(long, value_name = "X", value_parser = typed_multiple,
              allow_negative_numbers = true, help_heading = WORKLOAD)]
        pub scale: Option<f64> = 1, if check::scale;

        /// Lab: host, uml, qemu, vm or ssh:USER@HOST [default: host if it suffices]
        ///
        /// uml and qemu start guests with a kernel of their own and need no root. vm boots --image, and
        /// ssh:USER@HOST is another machine: both work with the shell and programs of that system. A contender may name its own lab:
        /// `uml/NAME`.
        #[arg(long, value_name = "LAB", value_parser = typed::<LabChoice>, help_heading = PLACE)]
        #[serde(deserialize_with = "text")]
        #[schemars(with = "String")]
        pub lab: Option<LabChoice>;

        /// Model disk under all contenders: a profile (`fsdyno disk list`) or its file
        #[arg(long, value_name = "PROFILE", help_heading = PLACE)]
        pub disk: Option<PathBuf>;

        /// Directory for a block trace of each model disk (`fsdyno disk trace FILE`)
        #[arg(long, value_name = "DIR", help_heading = PLACE)]
        pub disk_trace: Option<PathBuf>;

        /// Store the written data in block traces, and not only its hashes
        #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true,
              default_missing_value = "true", hide_possible_values = true, help_heading = PLACE)]
        pub disk_payloads: Option<bool> = false;

        /// Faults of the model disks: a file (docs/model-disks.md)
        #[arg(long, value_name = "FILE", help_heading = PLACE)]
        pub disk_faults: Option<PathBuf>;

        /// Time of model disks: virtual or real [default: virtual if all run in uml]
        ///
        /// Virtual time is that of model disks and of a model processor (--cpu): the same figures to
        /// the nanosecond each time, in guests of User-mode Linux with the lab kernel. In real time
        /// the disk answers a request when the clock has reached its end, in any lab. Figures of the
        /// two are never compared.
        #[arg(long, value_name = "TIME", value_parser = typed::<DiskTime>, help_heading = PLACE)]
        #[serde(deserialize_with = "text")]
        #[schemars(with = "String")]
        pub time: Option<DiskTime>;

        /// Model processor in virtual time: a profile, its file, or free [default: vm-2026]
        ///
        /// The kernel of the guest counts its work, and virtual time advances by the prices of the
        /// profile (`fsdyno cpu list`). With `free`, computing takes no time.
        #[arg(long, value_name = "PROFILE", help_heading = PLACE)]
        pub cpu: Option<PathBuf>;

        /// Memory of a guest [default: 512M]
        #[arg(long, value_name = "SIZE", help_heading = PLACE)]
        #[serde(deserialize_with = "text")]
        #[schemars(with = "String")]
        pub guest_memory: Option<Bytes>, if check::guest_memory;

        /// Processors of a QEMU guest [default: 1]
        #[arg(long, value_name = "N", allow_negative_numbers = true, help_heading = PLACE)]
        pub guest_processors: Option<u32>, if check::guest_processors;

        /// Kernel of a guest: packaged, lab, or a path [default: lab if it is built]
        #[arg(long, value_name = "KERNEL", value_parser = kernel(), help_heading = PLACE)]
        #[serde(deserialize_with = "text")]
        #[schemars(with = "String")]
        pub guest_kernel: Option<KernelChoice>;

        /// Disk image that the lab vm boots: raw or qcow2, also compressed by xz
        ///
        /// For a BSD: an official image of a virtual machine. It is not changed.
        #[arg(long, value_name = "FILE", help_heading = PLACE)]
        pub image: Option<PathBuf>;

        /// Repeats of every contender [default: 6 or more, as comparisons need]
        ///
        /// Without this, a run continues while comparisons are inconclusive and time is left
        /// (--budget). With --precision or --max-repeats it is the minimum.
        #[arg(long, short = 'n', value_name = "N", allow_negative_numbers = true,
              help_heading = REPEATS)]
        pub repeats: Option<u32>, if check::repeats;

        /// Repeat until ratios are known to this precision [default: margin / 4]
        ///
        /// A contender is measured until it is faster, slower or equivalent, or its ratio is known to
        /// this precision (0.5% is either way). All interim analyses share one error budget, so that
        /// they do not raise the false-positive rate.
        #[arg(long, value_name = "PERCENT", value_parser = typed_percent, help_heading = REPEATS)]
        #[serde(deserialize_with = "percent_text")]
        #[schemars(with = "String")]
        pub precision: Option<f64>, if check::precision;

        /// Maximum repeats of a contender, if --repeats is not fixed [default: 60]
        #[arg(long, value_name = "N", allow_negative_numbers = true, help_heading = REPEATS)]
        pub max_repeats: Option<u32>, if check::repeats;

        /// Error rate of verdicts: fdr or fwer
        ///
        /// fdr (false discovery rate): of the verdicts faster and slower in all phases, 5 % at most are expected to be wrong.
        /// fwer (family-wise error rate): with 95 % probability none is wrong, which needs more repeats.
        #[arg(long, value_name = "RATE", value_parser = typed::<ErrorRate>, help_heading = REPEATS)]
        #[serde(deserialize_with = "text")]
        #[schemars(with = "String")]
        pub errors: Option<ErrorRate> = "fdr";

        /// Smallest difference that matters; smaller ones are equivalent
        #[arg(long, value_name = "PERCENT", value_parser = typed_percent, help_heading = REPEATS)]
        #[serde(deserialize_with = "percent_text")]
        #[schemars(with = "String")]
        pub margin: Option<f64> = "2%", if check::margin;

        /// Time limit of the run; no block starts that would exceed it: 90s, 15m, 2h
        ///
        /// Without --repeats, --precision and --max-repeats the default is that of the suite (quick: 2m),
        /// else 10m; three blocks then run in any case.
        #[arg(long, value_name = "TIME", help_heading = REPEATS)]
        #[serde(deserialize_with = "text")]
        #[schemars(with = "String")]
        pub budget: Option<Nanos>, if check::time_above_zero;

        /// Time limit of a cell; a cell that exceeds it is ended and fails
        #[arg(long, value_name = "TIME", help_heading = REPEATS)]
        #[serde(deserialize_with = "text")]
        #[schemars(with = "String")]
        pub cell_budget: Option<Nanos>, if check::time_above_zero;

        /// Figure that contenders are judged by [default: durable]
        ///
        /// One of the figures in docs/reference/figures.md, or one that a program reports. The default
        /// is the time until durable, or until return where nothing is written; of a program whose
        /// duration is fixed, it is the rate of its work. Phases without the figure keep the default.
        #[arg(long, value_name = "FIGURE", help_heading = MEASUREMENT)]
        pub judge: Option<String>;

        /// Seed of datasets and order
        #[arg(long, value_name = "N", help_heading = WORKLOAD)]
        pub seed: Option<u64> = 1;

        /// Vary between blocks: all, none, or dataset, names, placement, moment
        ///
        /// dataset: the files, from another seed. names: UUIDs, hash seeds and other random numbers of
        /// the guest. placement: the offset on the disk and the rotational position. moment: the time
        /// within commit intervals at the start of a phase. All contenders of a block have the same
        /// draw. The default is all in virtual time, and none in real time, which allows only dataset.
        #[arg(long, value_name = "LIST", value_parser = typed::<Varying>, help_heading = WORKLOAD)]
        #[serde(deserialize_with = "text")]
        #[schemars(with = "String")]
        pub vary: Option<Varying>;

        /// Compare again with the model disk and processor changed by their errors
        ///
        /// It needs virtual time. Each known error of the profiles gives two variants, slower and
        /// faster. They run with the first three draws of the run. Reports name the verdicts that do
        /// not hold in all variants.
        #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true,
              default_missing_value = "true", hide_possible_values = true,
              help_heading = REPEATS)]
        pub robust: Option<bool> = false;

        /// Measure user code on the host for virtual time [default: of applications]
        ///
        /// Virtual time does not count the code of programs. Their load runs three times on the host,
        /// in a directory of --work-dir, and its processor time bounds the verdicts. `--user-code` does
        /// this for --exec and other programs too, `--user-code=false` for none.
        #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true,
              default_missing_value = "true", hide_possible_values = true,
              help_heading = MEASUREMENT)]
        pub user_code: Option<bool>;

        /// Engine: sync, uring, mmap, tools or null (`fsdyno list engines`)
        #[arg(long, value_name = "NAME", help_heading = MEASUREMENT)]
        pub engine: Option<String> = "sync", if check::engine;

        /// Copy method: read-write, copy-file-range or reflink
        #[arg(long, value_name = "METHOD", value_parser = typed::<CopyMethod>,
              help_heading = MEASUREMENT)]
        #[serde(deserialize_with = "text")]
        #[schemars(with = "String")]
        pub copy_method: Option<CopyMethod> = "read-write";

        /// Compare each copied tree with its source, untimed
        #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true,
              default_missing_value = "true", hide_possible_values = true,
              help_heading = MEASUREMENT)]
        pub verify: Option<bool> = false;

        /// Do not run the file system's checker after each cell
        #[arg(long = "no-check", value_name = "BOOL", num_args = 0..=1, require_equals = true,
              default_missing_value = "true", hide_possible_values = true, value_parser = negated,
              help_heading = MEASUREMENT)]
        #[schemars(description = "Run the file system's checker after each cell")]
        pub check: Option<bool> = true;

        /// Count extents per file after each writing phase; with SIZE, of larger files
        ///
        /// Extents are counted as `filefrag` counts them, untimed, after the phase is durable. The next
        /// phase `as-is` starts with inodes and extent maps in memory.
        #[arg(long, value_name = "SIZE", num_args = 0..=1, require_equals = true,
              default_missing_value = "all", value_parser = Counting::typed,
              help_heading = MEASUREMENT)]
        pub fragments: Option<Counting> = false;

        /// Count metadata and forced writes (FUA) by kernel tracepoints, for `fsdyno why`
        ///
        /// It reads `block_bio_queue` in its own tracefs instance, which costs some processor time per
        /// request. Do not compare figures with it to figures without it.
        #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true,
              default_missing_value = "true", hide_possible_values = true,
              help_heading = MEASUREMENT)]
        pub trace: Option<bool> = false;

        /// Sample call stacks in each phase, for `chart` and `why --functions` (root)
        ///
        /// The call stacks of the kernel and of programs, 997 times a second on each processor of the
        /// host, in the processes of the phase and in kernel threads. Phases take up to 3 % longer. In
        /// virtual time profiles are exact, and need no option: `fsdyno why RUN A B PHASE --functions`.
        #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true,
              default_missing_value = "true", hide_possible_values = true,
              help_heading = MEASUREMENT)]
        pub profile: Option<bool> = false;

        /// Fill file systems before the workload: 90%, 0%,95% or 90%:fragmented
        ///
        /// Each contender is measured at each fill. `:fragmented` divides the free space into small
        /// extents.
        #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = typed::<Fill>,
              help_heading = CONTENDERS)]
        #[serde(deserialize_with = "texts")]
        #[schemars(with = "Vec<String>")]
        pub fill: Vec<Fill>;

        /// Age file systems before the workload: write N times the bytes held
        ///
        /// Files are created, extended, truncated and deleted until N times the bytes held (the fill,
        /// or half of the space) were written. Each contender is measured at each age.
        #[arg(long, value_name = "LIST", value_delimiter = ',', help_heading = CONTENDERS)]
        pub age: Vec<u32>;

        /// Accept mount options that look like typos
        #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true,
              default_missing_value = "true", hide_possible_values = true,
              help_heading = CONTENDERS)]
        #[serde(skip)]
        pub unchecked_options: Option<bool>;
    }
}

impl RunOptions {
    /// The settings with fixed defaults where none is set.
    pub(crate) fn or_defaults(self) -> Self {
        // A test parses them.
        self.over(toml::from_str(&Self::defaults()).unwrap_or_default())
    }

    /// The defaults as the text of a plan file.
    fn defaults() -> String {
        let line = |(key, value): &(&str, &str)| format!("{key} = {value}");
        let lines: Vec<String> = Self::DEFAULTS.iter().map(line).collect();
        lines.join("\n")
    }

    /// The flag of a setting, as typed.
    pub fn flag(name: &str) -> String {
        let command = Self::augment_args(Command::new("run"));
        let argument = command.get_arguments().find(|one| one.get_id() == name);
        match argument.map(clap::Arg::get_long) {
            Some(Some(long)) => format!("--{long}"),
            Some(None) => format!("the {name}"),
            None => format!("`{name}`"),
        }
    }

    /// The argument of a setting with its default in the help.
    pub fn with_default(argument: clap::Arg) -> clap::Arg {
        let name = argument.get_id().as_str();
        let shown = |value: &str| !matches!(value, "true" | "false");
        let mut defaults = Self::DEFAULTS.iter();
        let Some((_, default)) = defaults.find(|(named, value)| *named == name && shown(value))
        else {
            return argument;
        };
        let default = format!(" [default: {}]", default.trim_matches('"'));
        let short = argument.get_help().map(|help| format!("{help}{default}"));
        let long = argument
            .get_long_help()
            .map(|help| format!("{help}{default}"));
        let argument = argument.help(short.unwrap_or_default());
        match long {
            Some(long) => argument.long_help(long),
            None => argument,
        }
    }

    /// The plan of these settings, which have their defaults; `resolved` has what several settings
    /// decide.
    pub(crate) fn into_plan(self, resolved: Plan) -> Plan {
        let extents = self.fragments.unwrap_or_default();
        Plan {
            seed: self.seed.unwrap_or_default(),
            scale: self.scale.unwrap_or_default(),
            errors: self.errors,
            margin: self.margin.unwrap_or_default(),
            cell_budget: self.cell_budget,
            copy_method: self.copy_method.unwrap_or_default(),
            verify: self.verify.unwrap_or_default(),
            check: self.check.unwrap_or_default(),
            trace: self.trace.unwrap_or_default(),
            profile: self.profile.unwrap_or_default(),
            robust: self.robust.unwrap_or_default(),
            user_code: self.user_code,
            count_extents: extents.is_counted(),
            extent_floor: extents.floor(),
            ..resolved
        }
    }
}

/// Reads the value of a flag that negates its setting.
fn negated(text: &str) -> Result<bool, String> {
    match text {
        "true" => Ok(false),
        "false" => Ok(true),
        _ => Err("write true or false".to_owned()),
    }
}

/// Reads a guest kernel of the command line. A path is relative to the current directory, and need
/// not be UTF-8.
pub fn kernel() -> impl TypedValueParser<Value = KernelChoice> {
    OsStringValueParser::new().try_map(|text: OsString| {
        let choice = match text.to_str() {
            Some(text) => typed::<KernelChoice>(text)?,
            None => KernelChoice::File(PathBuf::from(&text)),
        };
        match choice {
            KernelChoice::File(path) => std::path::absolute(path)
                .map(KernelChoice::File)
                .map_err(|error| error.to_string()),
            choice => Ok(choice),
        }
    })
}

/// The checks of single settings.
mod check {
    #![expect(
        clippy::trivially_copy_pass_by_ref,
        clippy::ptr_arg,
        reason = "every check takes a reference to a value of its setting"
    )]

    use crate::resolve::{Catalogue, ConfigError};
    use fsdyno_model::{Bytes, GuestSize, Nanos};

    type Checked = Result<(), ConfigError>;

    fn refused(message: impl Into<String>, help: impl Into<String>) -> Checked {
        Err(ConfigError::wrong(message, help))
    }

    pub fn printable_name(name: &String, _: &Catalogue) -> Checked {
        crate::resolve::check_name("plan", name).map(drop)
    }

    pub fn repeats(n: &u32, _: &Catalogue) -> Checked {
        match n {
            1..=10_000 => Ok(()),
            n => refused(
                format!("{n} repeats are out of range"),
                "write 1 to 10000; 3 is the least that shows a spread",
            ),
        }
    }

    pub fn at_least_one_worker(n: &u32, _: &Catalogue) -> Checked {
        match n {
            0 => refused("0 workers do no work", "write 1 or more"),
            _ => Ok(()),
        }
    }

    pub fn precision(share: &f64, _: &Catalogue) -> Checked {
        if *share > 0.0 && *share < 1.0 {
            return Ok(());
        }
        refused(
            format!("a precision of {} % is out of range", share * 100.0),
            "write more than 0 % and less than 100 %, as 0.5%",
        )
    }

    pub fn margin(share: &f64, _: &Catalogue) -> Checked {
        if (0.0..1.0).contains(share) {
            return Ok(());
        }
        refused(
            format!("a margin of {} % is out of range", share * 100.0),
            "write 0 % or more, and less than 100 %, as 2%",
        )
    }

    pub fn time_above_zero(time: &Nanos, _: &Catalogue) -> Checked {
        match time {
            Nanos(0) => refused(
                "a budget of zero is too short for any cell",
                "write for example 20m, or leave it out",
            ),
            _ => Ok(()),
        }
    }

    pub fn scale(scale: &f64, _: &Catalogue) -> Checked {
        if *scale > 0.0 && *scale <= 1000.0 {
            return Ok(());
        }
        refused(
            format!("a scale of {scale} is out of range"),
            "write a number above 0 and up to 1000; 1 is full size",
        )
    }

    pub fn engine(name: &String, catalogue: &Catalogue) -> Checked {
        catalogue.engine(name).map(drop)
    }

    pub fn guest_memory(size: &Bytes, _: &Catalogue) -> Checked {
        if *size >= GuestSize::MIN_MEMORY {
            return Ok(());
        }
        refused(
            format!("a guest does not start in {size}"),
            format!("the least is {}", GuestSize::MIN_MEMORY),
        )
    }

    pub fn guest_processors(n: &u32, _: &Catalogue) -> Checked {
        match n {
            0 => refused("a guest needs a processor", "write 1 or more"),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_default_is_a_value_of_its_key() {
        let defaults: RunOptions = toml::from_str(&RunOptions::defaults()).unwrap();
        for (key, _) in RunOptions::DEFAULTS {
            assert!(defaults.sets(key), "{key}");
        }
        assert_eq!(defaults.margin, Some(Plan::MARGIN));
    }

    #[test]
    fn flags_and_keys_read_the_same_values() {
        #[derive(clap::Parser)]
        struct Line {
            #[command(flatten)]
            options: RunOptions,
        }
        let typed = |flag: &str| {
            let line = <Line as clap::Parser>::try_parse_from(["run", flag]);
            line.unwrap_or_else(|error| panic!("{error}")).options
        };
        for (flag, key) in [
            ("--margin=5%", "margin = \"5%\""),
            ("--budget=20m", "budget = \"20m\""),
            ("--guest-memory=1G", "guest_memory = \"1G\""),
            ("--guest-kernel=lab", "guest_kernel = \"lab\""),
            ("--lab=ssh:me@bsd", "lab = \"ssh:me@bsd\""),
            ("--time=real", "time = \"real\""),
            ("--vary=names,dataset", "vary = \"names,dataset\""),
            ("--errors=fwer", "errors = \"fwer\""),
            ("--copy-method=reflink", "copy_method = \"reflink\""),
            ("--fragments", "fragments = true"),
            ("--fragments=16K", "fragments = { above = \"16K\" }"),
            ("--no-check", "check = false"),
            ("--verify", "verify = true"),
            ("--verify=false", "verify = false"),
            ("--workers=1,2", "workers = [1, 2]"),
            ("--on=loop:8G", "device = \"loop:8G\""),
            ("--disk-trace=traces", "disk_trace = \"traces\""),
            ("--fs=tmpfs", "contenders = [\"tmpfs\"]"),
        ] {
            let read: RunOptions = toml::from_str(key).unwrap_or_else(|error| panic!("{error}"));
            assert_eq!(typed(flag), read, "{flag} {key}");
        }
    }

    #[test]
    fn every_key_has_a_flag_unless_it_describes_the_plan() {
        let schema = schemars::schema_for!(RunOptions).to_value();
        for key in schema["properties"].as_object().unwrap().keys() {
            let describes = ["name", "title", "about", "source", "workload"];
            let has_flag = RunOptions::flag(key).starts_with("--");
            assert_eq!(has_flag, !describes.contains(&key.as_str()), "{key}");
        }
    }
}
