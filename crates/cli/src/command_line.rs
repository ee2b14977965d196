//! The command line: one definition for parsing, `--help`, completions and the man page.

use crate::args::unknown;
use crate::commands;
use crate::output::Verbosity;
use clap::error::ContextKind;
use clap::{ColorChoice, CommandFactory, FromArgMatches, Parser, Subcommand};
use fsdyno_run::RunOptions;
use std::fmt::Write as _;
use std::path::PathBuf;

const EXIT_CODES: &str = "\
Exit codes:
  0    success
  1    failure: a cell, a command, or a store that cannot be read or written;
       clean: something could not be removed, or a journal was refused
  2    the command line or the plan is wrong, or no contender can be made and
       mounted; nothing was measured
  3    the device guard refused a device; nothing was written to it
  4    a capability is missing here (root, a program, a kernel feature)
  5    compare: a ratio is beyond a threshold of --fail-if
  6    another process measures here; nothing was measured in real time
  7    bisect: no commit can be named, because the ends do not differ, a
       measurement is not exact, or commits cannot be built
  125  bisect --step: the commit cannot be built or measured
  130  interrupted; finished cells are kept: fsdyno run --resume
  255  bisect --step: any other error; git bisect run then ends";

/// Find which file system, disks and options are fastest for a workload, and why
#[derive(Debug, Parser)]
#[command(name = "fsdyno", bin_name = "fsdyno", version, arg_required_else_help = true, max_term_width = 80, after_long_help = EXIT_CODES)]
pub struct Cli {
    /// Database of runs, or `FSDYNO_STORE` [default: fsdyno.db in the data directory]
    #[arg(long, global = true, hide_short_help = true, value_name = "FILE", help_heading = GLOBAL)]
    pub store: Option<PathBuf>,

    /// As root, take directories, store and PATH from the environment
    #[arg(long, global = true, hide_short_help = true, help_heading = GLOBAL)]
    pub dirs_from_env: bool,

    /// Print results and errors only: no progress, no notes
    #[arg(long, short, global = true, hide_short_help = true, conflicts_with = "verbose", help_heading = GLOBAL)]
    pub quiet: bool,

    /// Print each stage of a cell as it begins
    #[arg(long, short, global = true, hide_short_help = true, help_heading = GLOBAL)]
    pub verbose: bool,

    /// Use colours: auto (on a terminal), always or never
    #[arg(long, global = true, hide_short_help = true, value_name = "WHEN", default_value = "auto", help_heading = GLOBAL,
          hide_possible_values = true)]
    pub color: ColorChoice,

    #[command(subcommand)]
    pub command: Command,
}

/// The heading of the flags that every command has.
const GLOBAL: &str = "Global options";

impl Cli {
    /// Returns the amount of output besides the result.
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
    let command = Cli::command().mut_subcommand("run", |run| {
        run.mut_args(RunOptions::with_default)
            .mut_args(argument_of_run)
    });
    let template = template(&command);
    crate::examples::add(command, "").help_template(template)
}

/// The flags in the short help of `run`. Its long help has all.
const FLAGS_OF_RUN: [&str; 12] = [
    "phases", "exec", "dataset", "scale", "fs", "on", "disk", "repeats", "budget", "dry-run",
    "resume", "long",
];

/// An argument of `run`, which only the long help has if it is for experts.
fn argument_of_run(argument: clap::Arg) -> clap::Arg {
    let flag = argument.get_long().map(str::to_owned);
    let is_for_experts = flag.is_some_and(|flag| !FLAGS_OF_RUN.contains(&&*flag));
    argument.hide_short_help(is_for_experts)
}

/// The commands in groups, by what they are for.
const GROUPS: [(&str, &[&str]); 5] = [
    (
        "Compare file systems",
        &["run", "advise", "price", "atlas", "rerun", "list", "doctor"],
    ),
    (
        "Results",
        &[
            "runs",
            "show",
            "report",
            "why",
            "compare",
            "history",
            "chart",
            "site",
            "published",
            "merge",
        ],
    ),
    ("Power cuts and faults", &["crash", "lose"]),
    (
        "Labs and many machines",
        &["lab", "disk", "cpu", "cluster", "ci", "bisect"],
    ),
    (
        "Tools",
        &[
            "record",
            "work",
            "make",
            "age",
            "phase",
            "ufs",
            "bcachefs",
            "selftest",
            "clean",
            "completions",
            "man",
            "schema",
            "help",
        ],
    ),
];

/// The template of the help of the program: clap has one heading for all commands.
fn template(command: &clap::Command) -> String {
    let about = |name: &str| {
        let mut all = command.get_subcommands();
        let about = all.find(|one| one.get_name() == name)?.get_about()?;
        Some(about.to_string())
    };
    let mut text = String::from("{about-with-newline}\n{usage-heading} {usage}\n");
    for (group, names) in GROUPS {
        let _ = write!(text, "\n{group}:\n");
        for name in names {
            let about = about(name).unwrap_or_else(|| "Print the help of a command".to_owned());
            text += &described(name, &about);
        }
    }
    text + "\nOptions:\n{options}{after-help}"
}

/// A command with its purpose, in lines of 80 characters.
fn described(name: &str, about: &str) -> String {
    const INDENT: usize = 15;
    let mut lines = vec![format!("  {name:<12}")];
    for word in about.split(' ') {
        let last = lines.len() - 1;
        if lines[last].chars().count() + 1 + word.chars().count() > 80 {
            lines.push(" ".repeat(INDENT - 1));
        }
        let last = lines.len() - 1;
        let _ = write!(lines[last], " {word}");
    }
    lines.join("\n") + "\n"
}

/// Parses the arguments of this process.
pub fn parse() -> Result<Cli, clap::Error> {
    Cli::from_arg_matches(&command().try_get_matches()?)
}

/// An error without the tip to write `--` before a word: no command takes a flag as a word, except
/// for the command of a phase or a recording, which their help shows.
pub fn without_tips(mut error: clap::Error) -> clap::Error {
    error.remove(ContextKind::Suggested);
    error
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Compare file systems: make, mount, measure, check and report
    Run(Box<commands::run::RunArgs>),
    /// Recommend a file system and its options for a workload and a disk
    ///
    /// If the atlas has the question, it answers at once (docs/atlas.md). Otherwise it measures all file
    /// systems that meet the needs, then the options of the best two, and prints the best choice, the
    /// runner-up, what would turn the decision, and the commands. With the lab kernel it measures on a
    /// model disk in virtual time, else on image files in real time.
    Advise(Box<commands::advise::AdviseArgs>),
    /// Measure what checksums, compression, snapshots and mirrors cost
    Price(Box<commands::price::PriceArgs>),
    /// Show, verify and build answers that were measured before
    ///
    /// An atlas is a file of figures in virtual time, by work, disk and size: the same on every machine
    /// with the same programs, so that each cell can be measured again and compared to the nanosecond
    /// (docs/atlas.md).
    Atlas(Box<commands::atlas::AtlasArgs>),
    /// List file systems, phases, datasets and more, and whether they work here
    List(commands::list::ListArgs),
    /// Check requirements: what each is for, whether it is met, how to install it
    Doctor(commands::doctor::DoctorArgs),
    /// List the runs, crash series and explorations in the store, newest first
    Runs(commands::runs::RunsArgs),
    /// Copy the runs of other stores into this one, and join shards
    Merge(commands::merge::MergeArgs),
    /// Distribute a run over machines: Slurm, ssh or GNU parallel
    Cluster(commands::cluster::ClusterArgs),
    /// Show a run: its plan, its machine, and the result of each cell
    Show(commands::show::ShowArgs),
    /// Report a run, alone or compared with a published table
    Report(commands::report::ReportArgs),
    /// Draw the charts of a run as SVG or PNG, or print their values as JSON
    Chart(commands::chart::ChartArgs),
    /// Compare runs across kernels, machines or dates; thresholds for CI
    Compare(commands::compare::CompareArgs),
    /// Show figures over kernels, dates or commits, with the steps between them
    History(commands::history::HistoryArgs),
    /// Find the commit of a kernel repository that changed a figure
    ///
    /// It builds User-mode Linux of commits and measures one cell of each in virtual time: the same
    /// figures each time, so that one measurement decides. Commits that do not build are skipped, as
    /// `git bisect skip` does. The repository is only read.
    Bisect(Box<commands::bisect::BisectArgs>),
    /// Write a static site of the store: index with search, runs, histories
    Site(commands::site::SiteArgs),
    /// Write files that measure each change in continuous integration
    Ci(commands::ci::CiArgs),
    /// Explain why one contender takes longer than another: time by cause
    Why(commands::why::WhyArgs),
    /// List and show published comparisons
    Published(commands::published::PublishedArgs),
    /// Rerun a published comparison on a model of its disk
    ///
    /// File systems, options and workload are those of the publication. The report compares the
    /// figures with the published ones, and states whether each conclusion still holds.
    Rerun(Box<commands::rerun::RerunArgs>),
    /// Remove what killed runs left: mounts, loop devices, images, directories
    Clean(commands::clean::CleanArgs),
    /// Measure the overhead of fsdyno, and its error rates on this machine
    Selftest(commands::selftest::SelftestArgs),
    /// Create a dataset in a directory
    Make(commands::make::MakeArgs),
    /// Fill and age the file system of a directory, as `run --fill --age` does
    Age(commands::age::AgeArgs),
    /// Record the file operations of programs on a directory
    Record(commands::record::RecordArgs),
    /// Show what a workload file does, or translate Filebench and fio
    Work(commands::work::WorkArgs),
    /// Run one phase in a directory, once, and print its figures
    Phase(commands::phase::PhaseArgs),
    /// Print the completion script of a shell; it completes names and values
    ///
    /// The script calls fsdyno, so that runs, disks and file systems are those of this machine.
    Completions {
        /// Shell: bash, elvish, fish, powershell or zsh
        shell: String,
    },
    /// Print the man pages, or write them to a directory
    Man(crate::man::ManArgs),
    /// Print the JSON Schema of a command's JSON output
    Schema {
        /// Schema: report, series, exploration, why, compare, history, advice, atlas ...
        #[arg(value_parser = schema)]
        name: fsdyno_report::schemas::Schema,
    },
    /// Crash tests: cut the power of guests that write, and check what survives
    Crash(commands::crash::CrashArgs),
    /// Report what file systems lose by faulty or full disks or power cuts
    Lose(commands::lose::LoseArgs),
    /// Make and check bcachefs without its tools
    Bcachefs(commands::bcachefs::BcachefsArgs),
    /// Make and check UFS1 and UFS2 on devices or in files
    Ufs(commands::ufs::UfsArgs),
    /// Make an empty UFS1 or UFS2 on a device or in a file; erases its content
    #[command(hide = true)]
    Newfs(commands::ufs::MakeUfsArgs),
    /// Check the consistency of a UFS, read-only
    #[command(hide = true)]
    Fsck(commands::ufs::CheckUfsArgs),
    /// List and set up labs: the places where cells run
    Lab(commands::lab::LabArgs),
    /// List, check, fit and serve model disks
    Disk(commands::disk::DiskArgs),
    /// List, fit and check model processors of virtual time
    Cpu(commands::cpu::CpuArgs),
    /// Run as the first process of a guest; started by fsdyno
    #[command(hide = true)]
    Guest {
        /// Task of the guest, and arguments that the kernel appends
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        words: Vec<std::ffi::OsString>,
    },
}

fn schema(name: &str) -> Result<fsdyno_report::schemas::Schema, String> {
    let names = fsdyno_report::schemas::ALL.map(|schema| schema.name);
    fsdyno_report::schemas::find(name).ok_or_else(|| unknown("schema", name, names))
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
    fn every_command_is_in_one_group() {
        let mut grouped: Vec<&str> = GROUPS
            .iter()
            .flat_map(|(_, names)| *names)
            .copied()
            .collect();
        let command = Cli::command();
        let visible = command.get_subcommands().filter(|one| !one.is_hide_set());
        let mut names: Vec<&str> = visible.map(clap::Command::get_name).collect();
        names.push("help");
        names.sort_unstable();
        grouped.sort_unstable();
        assert_eq!(grouped, names);
    }

    #[test]
    fn the_short_help_of_run_fits_on_a_screen_and_the_long_one_has_all_flags() {
        let mut command = command().term_width(80);
        command.build();
        let run = command.find_subcommand_mut("run").unwrap();
        let (short, long) = (
            run.render_help().to_string(),
            run.render_long_help().to_string(),
        );
        assert!(
            short.lines().count() <= 40,
            "{}: {short}",
            short.lines().count()
        );
        for flag in FLAGS_OF_RUN {
            assert!(short.contains(&format!("--{flag}")), "{flag}: {short}");
        }
        for flag in ["--engine", "--erase", "--shard", "--store"] {
            assert!(!short.contains(flag), "{short}");
            assert!(long.contains(flag), "{flag}");
        }
    }

    #[test]
    fn every_exit_code_is_in_the_help() {
        let help = command().render_long_help().to_string();
        for code in [
            "0 ", "1 ", "2 ", "3 ", "4 ", "5 ", "6 ", "7 ", "125 ", "130 ", "255 ",
        ] {
            assert!(help.contains(&format!("  {code}")), "{code}");
        }
    }
}
