//! The command line: one definition for parsing, `--help`, completions and the man page.

use crate::exit::CliError;
use crate::output::Verbosity;
use clap::{
    ArgAction, Args, ColorChoice, CommandFactory, FromArgMatches, Parser, Subcommand, ValueEnum,
};
use fsdyno_host::guard::Consent;
use fsdyno_model::{CopyMethod, Fill, LabChoice, NoLab};
use fsdyno_run::RunOptions;
pub use fsdyno_run::options::kernel;
use fsdyno_run::resolve::ConfigError;
use std::path::PathBuf;

const EXIT_CODES: &str = "\
Exit codes:
  0    success
  1    failure: a cell, a command, or a store that cannot be read or written;
       clean: something could not be removed, or a journal was refused
  2    the command line or the plan is wrong; nothing was changed
  3    the device guard refused a device; nothing was written to it
  4    a capability is missing here (root, a program, a kernel feature)
  5    compare: a ratio is beyond a threshold of --fail-if
  6    another process measures on this machine; nothing was changed
  130  interrupted; finished cells are kept: fsdyno run --resume";

/// Find which file system, disks and options are fastest for a workload, and why
#[derive(Debug, Parser)]
#[command(name = "fsdyno", bin_name = "fsdyno", version, arg_required_else_help = true, max_term_width = 80, after_help = EXIT_CODES)]
pub struct Cli {
    /// Database of runs, or `FSDYNO_STORE` [default: fsdyno.db in the data directory]
    #[arg(long, global = true, value_name = "FILE", help_heading = GLOBAL)]
    pub store: Option<PathBuf>,

    /// As root, take directories, store and PATH from the environment
    #[arg(long, global = true, help_heading = GLOBAL)]
    pub dirs_from_env: bool,

    /// Print results and errors only: no progress, no notes
    #[arg(long, short, global = true, conflicts_with = "verbose", help_heading = GLOBAL)]
    pub quiet: bool,

    /// Print each stage of a cell as it begins
    #[arg(long, short, global = true, help_heading = GLOBAL)]
    pub verbose: bool,

    /// Use colours: auto (on a terminal), always or never
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto", help_heading = GLOBAL,
          hide_possible_values = true)]
    pub color: ColorChoice,

    #[command(subcommand)]
    pub command: Command,
}

/// The heading of the flags that every command has.
const GLOBAL: &str = "Global options";

impl Cli {
    /// How much is printed besides the result.
    pub fn verbosity(&self) -> Verbosity {
        match (self.quiet, self.verbose) {
            (true, _) => Verbosity::Quiet,
            (_, true) => Verbosity::Verbose,
            _ => Verbosity::Normal,
        }
    }
}

/// The command line, with the default of each setting in its help, and with examples.
pub fn command() -> clap::Command {
    let command =
        Cli::command().mut_subcommand("run", |run| run.mut_args(RunOptions::with_default));
    crate::examples::add(command, "")
}

/// Parses the arguments of this process.
pub fn parse() -> Result<Cli, clap::Error> {
    Cli::from_arg_matches(&command().try_get_matches()?)
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Compare file systems: make, mount, measure, check and report
    Run(Box<crate::commands::run::RunArgs>),
    /// List file systems, phases, datasets and more, and whether they work here
    List(ListArgs),
    /// Check requirements: what each is for, whether it is met, how to install it
    Doctor(DoctorArgs),
    /// List the runs and the series of crash tests in the store, newest first
    Runs(RunsArgs),
    /// Copy the runs of another store into this one; the other is only read
    Merge {
        /// File of the other store
        #[arg(value_name = "STORE")]
        other: PathBuf,
    },
    /// Show a run: its plan, its machine, and the result of each cell
    Show(ShowArgs),
    /// Report a run, alone or compared with a published table
    Report(ReportArgs),
    /// Draw the charts of a run as SVG or PNG, or print their values as JSON
    Chart(crate::commands::chart::ChartArgs),
    /// Compare runs across kernels, machines or dates; thresholds for CI
    Compare(crate::commands::compare::CompareArgs),
    /// Explain why one contender takes longer than another: time by cause
    Why(crate::commands::why::WhyArgs),
    /// List and show published comparisons
    Published(PublishedArgs),
    /// Rerun a published comparison on a model of its disk
    ///
    /// File systems, options and workload are those of the publication. The report compares the
    /// figures with the published ones, and states whether each conclusion still holds.
    Rerun(Box<crate::commands::rerun::RerunArgs>),
    /// Remove what killed runs left: mounts, loop devices, images, directories
    Clean(CleanArgs),
    /// Measure the overhead of fsdyno, and its error rates on this machine
    Selftest(crate::commands::selftest::SelftestArgs),
    /// Create a dataset in a directory
    Make(MakeArgs),
    /// Fill and age the file system of a directory, as `run --fill --age` does
    Age(AgeArgs),
    /// Run one phase in a directory, once, and print its figures
    Phase(crate::commands::phase::PhaseArgs),
    /// Print the completion script of a shell; it completes names and values
    ///
    /// The script calls fsdyno, so that runs, disks and file systems are those of this machine.
    Completions {
        /// Shell: bash, elvish, fish, powershell or zsh
        shell: String,
    },
    /// Print the man pages, or write them to a directory
    Man(ManArgs),
    /// Print the JSON Schema of a command's JSON output
    Schema {
        /// Schema: report, series (of crash tests), why, compare or crash
        #[arg(value_parser = schema)]
        name: fsdyno_report::schemas::Schema,
    },
    /// Crash tests: cut the power of guests that write, and check what survives
    #[command(alias = "plug")]
    Crash(crate::commands::crash::CrashArgs),
    /// Make and check UFS1 and UFS2 on devices or in files
    Ufs(crate::commands::ufs::UfsArgs),
    /// Make an empty UFS1 or UFS2 on a device or in a file; erases its content
    #[command(hide = true)]
    Newfs(crate::commands::ufs::MakeUfsArgs),
    /// Check the consistency of a UFS, read-only
    #[command(hide = true)]
    Fsck(crate::commands::ufs::CheckUfsArgs),
    /// List and set up labs: the places where cells run
    Lab(crate::commands::lab::LabArgs),
    /// List, check and serve model disks
    Disk(crate::commands::disk::DiskArgs),
    /// List, fit and check model processors of virtual time
    Cpu(crate::commands::cpu::CpuArgs),
    /// Run as the first process of a guest; started by fsdyno
    #[command(hide = true)]
    Guest {
        /// Task of the guest, and arguments that the kernel appends
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        words: Vec<std::ffi::OsString>,
    },
}

#[derive(Debug, Args)]
pub struct ManArgs {
    /// Directory for one page per command [default: standard output]
    #[arg(long, value_name = "DIR")]
    pub dir: Option<PathBuf>,
    /// Replace files that exist
    #[arg(long, requires = "dir")]
    pub force: bool,
}

#[derive(Debug, Args)]
pub struct JsonArgs {
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct RunsArgs {
    #[command(subcommand)]
    pub command: Option<RunsCommand>,
    /// List only runs with this tag
    #[arg(long, value_name = "TAG")]
    pub tag: Option<String>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Subcommand)]
pub enum RunsCommand {
    /// Delete runs or series of crash tests from the store
    Rm {
        /// Runs: full names, or `last`
        #[arg(value_name = "RUN", required = true)]
        runs: Vec<String>,
    },
    /// Give a run another name, which all commands take
    Name {
        /// Run: a name, its first characters, or `last`
        run: String,
        /// New name: letters, digits, `.`, `_` and `-`
        #[arg(value_name = "NAME")]
        new: String,
    },
    /// Add tags to a run, or remove them
    Tag {
        /// Run: a name, its first characters, or `last`
        run: String,
        /// Tags: letters, digits, `.`, `_` and `-`
        #[arg(value_name = "TAG", required = true)]
        tags: Vec<String>,
        /// Remove these tags
        #[arg(long)]
        remove: bool,
    },
}

#[derive(Debug, Args)]
pub struct DoctorArgs {
    /// Print each requirement with what it makes available, and the reason if not met
    #[arg(long, conflicts_with = "json")]
    pub long: bool,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct ListArgs {
    /// Group to list [default: all]
    #[arg(value_enum)]
    pub what: Option<Listed>,
    /// Print sources and parameters too
    #[arg(long)]
    pub long: bool,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Listed {
    /// File systems that can be contenders
    Filesystems,
    /// Ready-made comparisons
    Suites,
    /// Kinds of phases and their parameters
    #[value(alias = "workloads")]
    Phases,
    /// Files that workloads use
    Datasets,
    /// Arrangements of devices under a contender
    Layouts,
    /// Ways to pass operations to the kernel
    Engines,
}

#[derive(Debug, Args)]
pub struct ShowArgs {
    /// Run or series of crash tests: a name, its first characters, or `last`
    #[arg(default_value = "last")]
    pub run: String,
    /// Print every command that this cell executed
    #[arg(long, value_name = "CELL")]
    pub commands: Option<u32>,
    /// Print latencies of single operations, all repeats of a contender together
    ///
    /// An operation is one file, or one operation of the phase.
    #[arg(long, conflicts_with = "commands")]
    pub latencies: bool,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct ReportArgs {
    /// Run or series of crash tests: a name, its first characters, or `last`
    #[arg(default_value = "last")]
    pub run: String,
    /// Format: terminal, html, csv, json, markdown, bencher, openmetrics, bonnie-csv
    ///
    /// `bonnie-csv` has the bonnie phases only. A series of crash tests has terminal and json.
    /// Without --format, the extension of the output file decides: .html, .csv, .json, .md, .txt;
    /// otherwise it is terminal.
    #[arg(long, value_name = "FORMAT", value_parser = report_format)]
    pub format: Option<fsdyno_report::Format>,
    /// Print all tables on the terminal, not only the first screen
    #[arg(long)]
    pub long: bool,
    /// Compare the run with a published table (`fsdyno published list`)
    #[arg(long = "against", value_name = "TABLE")]
    pub published: Option<String>,
    /// Output file [default: standard output]
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Replace a file that exists
    #[arg(long, requires = "output")]
    pub force: bool,
    /// Smallest difference that matters, in percent [default: margin of the run]
    #[arg(long, value_name = "PERCENT", value_parser = percent)]
    pub margin: Option<f64>,
    /// Show times as m:ss, like the published tables
    #[arg(long)]
    pub clock: bool,
}

#[derive(Debug, Args)]
pub struct PublishedArgs {
    #[command(subcommand)]
    pub command: PublishedCommand,
}

#[derive(Debug, Subcommand)]
pub enum PublishedCommand {
    /// List all published tables
    List(JsonArgs),
    /// Show one table in its published form, with its conclusions
    Show {
        /// Name of the table (`fsdyno published list`)
        name: String,
        /// Format: terminal, html, csv, json or markdown
        #[arg(long, value_name = "FORMAT", default_value = "terminal", value_parser = report_format)]
        format: fsdyno_report::Format,
        /// Show times as m:ss
        #[arg(long)]
        clock: bool,
    },
}

#[derive(Debug, Args)]
pub struct CleanArgs {
    /// Print what would be removed, and change nothing
    #[arg(long)]
    pub dry_run: bool,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct MakeArgs {
    /// Dataset: a name, `tree:DIR`, `tar:FILE` or `file:FILE`
    pub dataset: String,
    /// Directory to create it in; it must exist
    #[arg(long = "in", value_name = "DIR")]
    pub directory: PathBuf,
    /// Size as a multiple of full size
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
    /// Create the archive that the phase `untar` unpacks
    #[arg(long)]
    pub archive: bool,
}

#[derive(Debug, Args)]
pub struct AgeArgs {
    /// Directory on the file system; the files go into `state` in it
    #[arg(long = "in", value_name = "DIR")]
    pub directory: PathBuf,
    /// Target use as df shows it: `90%` or `90%:fragmented` [default: 50%]
    #[arg(long, value_name = "PERCENT")]
    pub fill: Option<Fill>,
    /// Write N times the bytes held, by creates, deletes, appends and truncates
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub age: u32,
    /// Seed of sizes, contents and order
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
}

/// What may be erased, as the user acknowledges it to the device guard.
#[derive(Debug, Clone, Default, Args)]
pub struct Erase {
    /// Allow erasing this device or file; the device guard prints the value
    #[arg(long, value_name = "IDENTITY[:SIGNATURES]", action = ArgAction::Append)]
    pub erase: Vec<String>,
    /// Allow it although /etc/fstab or /etc/crypttab names it; needs --erase
    #[arg(long, value_name = "IDENTITY", action = ArgAction::Append)]
    pub erase_fstab: Vec<String>,
}

impl Erase {
    /// The acknowledgements as consents for the device guard.
    pub fn consents(&self) -> Result<Vec<Consent>, CliError> {
        Consent::parse_all(&self.erase, &self.erase_fstab).map_err(|identity| {
            CliError::usage(format!(
                "--erase-fstab {identity}: no --erase has this identity. Give both the same identity."
            ))
        })
    }
}

pub fn copy_method(text: &str) -> Result<CopyMethod, String> {
    CopyMethod::from_name(text)
        .ok_or_else(|| unknown("copy method", text, CopyMethod::ALL.map(CopyMethod::name)))
}

pub fn lab(text: &str) -> Result<LabChoice, String> {
    text.parse()
        .map_err(|error: NoLab| format!("{error}; the labs are {}", LabChoice::FORMS.join(", ")))
}

/// Parses the name of a lab that runs guests.
pub fn guest_lab(text: &str) -> Result<LabChoice, String> {
    let lab = lab(text)?;
    let refused = format!("the lab `{text}` has no guests: write uml or qemu");
    lab.is_guest().then_some(lab).ok_or(refused)
}

pub fn percent(text: &str) -> Result<f64, String> {
    fsdyno_model::units::percent(text).map_err(|error| error.to_string())
}

fn schema(name: &str) -> Result<fsdyno_report::schemas::Schema, String> {
    let names = fsdyno_report::schemas::ALL.map(|schema| schema.name);
    fsdyno_report::schemas::find(name).ok_or_else(|| unknown("schema", name, names))
}

/// The error of a name that does not exist, with the nearest names or all of them.
pub fn unknown<'a, I>(what: &'static str, name: &str, known: I) -> String
where
    I: IntoIterator<Item = &'a str, IntoIter: Clone>,
{
    let error = ConfigError::unknown(what, name, known.into_iter());
    format!("{error} ({})", error.help().unwrap_or_default())
}

pub fn report_format(text: &str) -> Result<fsdyno_report::Format, String> {
    let names = || {
        fsdyno_report::Format::ALL
            .iter()
            .map(|format| format.name())
    };
    text.parse().map_err(|_| unknown("format", text, names()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_definition_is_consistent() {
        command().debug_assert();
    }

    #[test]
    fn the_help_begins_with_the_purpose_of_the_program() {
        let help = Cli::command().render_long_help().to_string();
        assert!(help.starts_with("Find which file system"), "{help}");
    }

    #[test]
    fn every_exit_code_is_in_the_help() {
        let help = Cli::command().render_long_help().to_string();
        for code in ["0 ", "1 ", "2 ", "3 ", "4 ", "5 ", "6 ", "130 "] {
            assert!(help.contains(&format!("  {code}")), "{code}");
        }
    }
}
