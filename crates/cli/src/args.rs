//! The command line: one definition for parsing, `--help`, completions and the man page.

use crate::exit::CliError;
use clap::{ArgAction, Args, CommandFactory, FromArgMatches, Parser, Subcommand, ValueEnum};
use fsdyno_host::guard::Consent;
use fsdyno_model::{CopyMethod, Fill, LabChoice, NoLab};
use fsdyno_run::RunOptions;
pub use fsdyno_run::options::kernel;
use std::path::PathBuf;

const EXIT_CODES: &str = "\
Exit codes:
  0    all went well
  1    something failed: a cell, a command, a store that cannot be read or written; clean: a thing
       was not undone or a journal was refused
  2    the command line or the plan is wrong; nothing was made
  3    the device guard refused a device; nothing was written to it
  4    a capability is missing here (root, a program, a kernel feature)
  5    compare: a ratio is beyond a threshold of --fail-if
  6    another process measures on this machine; nothing was made
  130  interrupted; what was measured is kept, `--resume` goes on";

/// Which file system, on which disks, with which options, is fastest for this work, and why?
#[derive(Debug, Parser)]
#[command(name = "fsdyno", bin_name = "fsdyno", version, arg_required_else_help = true, max_term_width = 100, after_help = EXIT_CODES)]
pub struct Cli {
    /// The store of all runs, or `FSDYNO_STORE` [default: fsdyno.db in the data directory]
    #[arg(long, global = true, value_name = "FILE")]
    pub store: Option<PathBuf>,

    /// As root, trust the environment: directories, store, and the order of PATH
    #[arg(long, global = true)]
    pub dirs_from_env: bool,

    #[command(subcommand)]
    pub command: Command,
}

/// The command line, with the default of each setting in its help.
pub fn command() -> clap::Command {
    Cli::command().mut_subcommand("run", |run| run.mut_args(RunOptions::with_default))
}

/// Parses the arguments of this process.
pub fn parse() -> Result<Cli, clap::Error> {
    Cli::from_arg_matches(&command().try_get_matches()?)
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Compare file systems: make, mount, load, measure, check, and tell
    Run(Box<crate::commands::run::RunArgs>),
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
    /// The charts of a run as pictures, SVG or PNG, and as values
    Chart(crate::commands::chart::ChartArgs),
    /// Runs beside each other, across kernels, machines or dates; thresholds for tests
    Compare(crate::commands::compare::CompareArgs),
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
    Selftest(crate::commands::selftest::SelftestArgs),
    /// Lay a dataset in a directory
    Make(MakeArgs),
    /// Fill and age the file system of a directory, as `run --fill --age` does
    Age(AgeArgs),
    /// Run one phase in a directory, once, and print its figures
    Phase(crate::commands::phase::PhaseArgs),
    /// Print the completions of a shell
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
    /// Print the man pages, or write them into a directory
    Man(ManArgs),
    /// Print the JSON Schema of what a command prints as JSON
    Schema {
        /// report (of a run), series (of crash tests), why, compare or crash
        #[arg(value_parser = schema)]
        name: fsdyno_report::schemas::Schema,
    },
    /// Crash tests: cut the power of guests that write, and check what survives
    #[command(alias = "plug")]
    Crash(crate::commands::crash::CrashArgs),
    /// UFS1 and UFS2: make and check file systems on devices or in files
    Ufs(crate::commands::ufs::UfsArgs),
    /// Make an empty UFS1 or UFS2 on a device or in a file; its content is lost
    #[command(hide = true)]
    Newfs(crate::commands::ufs::MakeUfsArgs),
    /// Check the consistency of a UFS; writes nothing
    #[command(hide = true)]
    Fsck(crate::commands::ufs::CheckUfsArgs),
    /// Labs: where cells can run
    Lab(crate::commands::lab::LabArgs),
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

#[derive(Debug, Args)]
pub struct ManArgs {
    /// Write a page of each command into this directory
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
pub struct ListArgs {
    /// What to list; all of it, where nothing is named
    #[arg(value_enum)]
    pub what: Option<Listed>,
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
    /// Kinds of phases and their parameters
    #[value(alias = "workloads")]
    Phases,
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
    /// Print how long single operations took: files, or what the phase is made of, all repeats of a
    /// contender together
    #[arg(long, conflicts_with = "commands")]
    pub latencies: bool,
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
    /// Replace a file that exists
    #[arg(long, requires = "output")]
    pub force: bool,
    /// The difference that matters [default: that of the run]
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

/// What may be erased, as the user acknowledges it to the device guard.
#[derive(Debug, Clone, Default, Args)]
pub struct Erase {
    /// Release a device or file to be overwritten: identity and signatures that the guard names
    #[arg(long, value_name = "IDENTITY[:SIGNATURES]", action = ArgAction::Append)]
    pub erase: Vec<String>,
    /// Erase it even though /etc/fstab or /etc/crypttab names it; with --erase
    #[arg(long, value_name = "IDENTITY", action = ArgAction::Append)]
    pub erase_fstab: Vec<String>,
}

impl Erase {
    /// The acknowledgements as consents for the device guard.
    pub fn consents(&self) -> Result<Vec<Consent>, CliError> {
        Consent::parse_all(&self.erase, &self.erase_fstab).map_err(|identity| {
            CliError::usage(format!(
                "--erase-fstab {identity} names no device of --erase; give both the same identity"
            ))
        })
    }
}

pub fn copy_method(text: &str) -> Result<CopyMethod, String> {
    CopyMethod::from_name(text).ok_or_else(|| {
        let names: Vec<_> = CopyMethod::ALL.iter().map(|m| m.name()).collect();
        format!("the methods are {}", names.join(", "))
    })
}

pub fn lab(text: &str) -> Result<LabChoice, String> {
    text.parse()
        .map_err(|error: NoLab| format!("{error}; the labs are {}", LabChoice::FORMS.join(", ")))
}

/// Parses the name of a lab that runs guests.
pub fn guest_lab(text: &str) -> Result<LabChoice, String> {
    let lab = lab(text)?;
    let refused = format!("`{text}` has no guests; uml and qemu have");
    lab.is_guest().then_some(lab).ok_or(refused)
}

pub fn percent(text: &str) -> Result<f64, String> {
    fsdyno_model::units::percent(text).map_err(|error| error.to_string())
}

fn schema(name: &str) -> Result<fsdyno_report::schemas::Schema, String> {
    let names = fsdyno_report::schemas::ALL.map(|schema| schema.name);
    let all = || format!("the schemas are {}", names.join(", "));
    fsdyno_report::schemas::find(name).ok_or_else(all)
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

    #[test]
    fn the_definition_is_consistent() {
        command().debug_assert();
    }

    #[test]
    fn the_help_begins_with_the_purpose_of_the_program() {
        let help = Cli::command().render_long_help().to_string();
        assert!(help.starts_with("Which file system"), "{help}");
    }

    #[test]
    fn every_exit_code_is_in_the_help() {
        let help = Cli::command().render_long_help().to_string();
        for code in ["0 ", "1 ", "2 ", "3 ", "4 ", "5 ", "6 ", "130 "] {
            assert!(help.contains(&format!("  {code}")), "{code}");
        }
    }
}
