//! `lose`: what each file system loses: by faults of its disks (`disk`), when the power fails during
//! usual work (`power`), when its disks are full (`full`), or when a user reaches a quota (`quota`).

pub(in crate::commands) mod disks;
pub(in crate::commands) mod power;

use super::jobs::JobsArgs;
use super::rendering;
use crate::args::kernel;
use crate::exit::{CliError, Code};
use crate::output;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{ArgAction, Args, ValueEnum};
use fsdyno_host::signals;
use fsdyno_model::{Bytes, DiskFault, KernelChoice};
use fsdyno_report::{Format, Options};
use serde::Serialize;
use std::path::{Path, PathBuf};

/// What takes the data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Question {
    /// A disk returns wrong or no data
    Disk,
    /// The power fails at a random moment of usual work
    Power,
    /// The disk is full
    Full,
    /// A user reaches his quota: a quarter of the disk
    Quota,
}

#[derive(Debug, Args)]
pub struct LoseArgs {
    /// What takes the data
    #[arg(value_enum, default_value = "disk")]
    pub question: Question,
    /// Contenders, separated by commas (`fsdyno run --help`)
    #[arg(long = "fs", value_name = "LIST", action = ArgAction::Append, required = true)]
    pub contenders: Vec<String>,
    /// Faults of each kind and role, power cuts, or lives [default: 10, 20, 3]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub draws: Option<u32>,
    /// Seed of the places of faults, the moments of power cuts, or the files
    #[arg(long, value_name = "N", default_value_t = disks::SEED)]
    pub seed: u64,
    /// With disk: kinds of faults, such as slow-disk,returned-disk [default: all]
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = fault_parser(),
          hide_possible_values = true)]
    pub kinds: Vec<DiskFault>,
    /// With power: file of the work until the power cut (docs/crash-tests.md)
    #[arg(long, value_name = "FILE")]
    pub activities: Option<PathBuf>,
    /// With power, full or quota: model disk of this profile [default: sata-2008]
    #[arg(long, value_name = "PROFILE")]
    pub disk: Option<PathBuf>,
    /// With full or quota: size of each disk [default: 1 GiB]
    #[arg(long, value_name = "SIZE")]
    pub size: Option<Bytes>,
    /// Directory of the guests
    #[arg(long, value_name = "DIR", default_value = fsdyno_lab::preflight::DEFAULT_SCRATCH)]
    pub work_dir: PathBuf,
    #[command(flatten)]
    pub jobs: JobsArgs,
    /// Memory of a guest
    #[arg(long, value_name = "SIZE", default_value = "512M")]
    pub guest_memory: Bytes,
    /// Kernel of a guest: packaged, lab or a path [default: lab if it is built]
    #[arg(long, value_name = "KERNEL", value_parser = kernel())]
    pub guest_kernel: Option<KernelChoice>,
    /// Print the outcomes for each role of a block, or for each kind of work
    #[arg(long, conflicts_with = "json")]
    pub long: bool,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
    /// Write the report to a file too: .html, .md, .txt, .json or .csv
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Replace a file that exists
    #[arg(long, requires = "output")]
    pub force: bool,
}

/// Parses the name of a kind of faults.
fn fault_parser() -> impl TypedValueParser<Value = DiskFault> {
    let names = PossibleValuesParser::new(DiskFault::all().map(DiskFault::key));
    names.try_map(|name| {
        let found = DiskFault::all().find(|one| one.key() == name);
        found.ok_or("no such kind")
    })
}

/// The memory of a guest without `--guest-memory`.
pub(in crate::commands) const MEMORY: Bytes = Bytes(512 << 20);

/// The model disk of the guests.
pub(in crate::commands) const DISK: &str = "sata-2008";

pub fn lose(args: &LoseArgs, store: &Path) -> Result<Code, CliError> {
    let stop = signals::cancel_token()?;
    output::check(args.output.as_deref(), output::existing(args.force))?;
    rendering::format_of(None, args.output.as_deref())?;
    let wrong = match args.question {
        Question::Power | Question::Full | Question::Quota if !args.kinds.is_empty() => {
            Some("--kinds is of faulty disks: fsdyno lose disk")
        }
        Question::Disk if args.disk.is_some() => {
            Some("--disk is of power cuts, full disks and quotas")
        }
        Question::Disk | Question::Full | Question::Quota if args.activities.is_some() => {
            Some("--activities is of power cuts: fsdyno lose power")
        }
        Question::Disk | Question::Power if args.size.is_some() => {
            Some("--size is of full disks and quotas: fsdyno lose full")
        }
        _ => None,
    };
    if let Some(wrong) = wrong {
        return Err(CliError::usage(wrong));
    }
    match args.question {
        Question::Disk | Question::Full | Question::Quota => disks::lose(args, store, &stop),
        Question::Power => power::lose(args, store, &stop),
    }
}

/// Prints results, and writes them to the requested file.
fn print<T: Serialize>(
    args: &LoseArgs,
    results: &T,
    render: impl Fn(Format, &Options) -> fsdyno_report::Rendered,
) -> Result<(), CliError> {
    if args.json {
        output::json(results)?;
    } else {
        let options = Options {
            long: args.long,
            ..rendering::options(false, false)
        };
        let bytes = render(Format::Terminal, &options).map_err(CliError::failure)?;
        output::coloured(&bytes)?;
    }
    if let Some(file) = &args.output {
        let format = rendering::format_of(None, Some(file))?;
        let page = render(format, &rendering::options(false, true)).map_err(CliError::failure)?;
        output::to(Some(file), &page, output::existing(args.force))?;
    }
    Ok(())
}
