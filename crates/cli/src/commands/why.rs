//! `why`: splits the time difference between two contenders of a run by cause. For the main cause
//! it prints the remedies of the recipes.

mod functions;

use super::rendering::{advice, options};
use super::series::only_run;
use crate::args::report_format;
use crate::exit::CliError;
use crate::output;
use clap::Args;
use fsdyno_report::why::Why;
use fsdyno_report::{Format, Options};
use fsdyno_store::Store;
use std::path::{Path, PathBuf};

const HELP: &str = "\
The time of a phase is the sum of processor time, device time by kind of
request, and a rest. A cause is reported if one part has at least half of the
difference. Otherwise the cause is unknown, and the report gives the reason.
docs/why.md has the rules.";

#[derive(Debug, Args)]
#[command(after_help = HELP)]
#[expect(clippy::struct_excessive_bools, reason = "flags of the command line")]
pub struct WhyArgs {
    /// Run: a name, its first characters, or `last`
    pub run: String,
    /// First contender, by its label in the tables
    #[arg(value_name = "A")]
    pub one: String,
    /// Second contender, by its label in the tables
    #[arg(value_name = "B")]
    pub other: String,
    /// Phase, by its label in the tables [default: all, largest difference first]
    pub phase: Option<String>,
    /// Print the functions of the kernel that carry the difference
    ///
    /// Exact in virtual time. Of a run with `--profile`, from its samples.
    #[arg(long)]
    pub functions: bool,
    /// Write them to a file: .svg, .sleep.svg, .html, .folded or .profile.json
    ///
    /// A differential flame graph of blocks or of sleep, a page with both and tables, call paths as
    /// lines of text, or a profile for the Firefox profiler.
    #[arg(short, long, value_name = "FILE", requires = "functions")]
    pub output: Option<PathBuf>,
    /// Replace the file if it exists
    #[arg(long, requires = "output")]
    pub force: bool,
    /// Print all figures and their sources, not only one screen
    #[arg(long, conflicts_with_all = ["format", "json"])]
    pub long: bool,
    /// Format: terminal, markdown or json
    #[arg(long, value_name = "FORMAT", default_value = "terminal", value_parser = report_format)]
    pub format: Format,
    /// Print JSON
    #[arg(long, conflicts_with = "format")]
    pub json: bool,
}

pub fn why(args: &WhyArgs, path: &Path) -> Result<(), CliError> {
    let store = Store::open_existing_read_only(path)?;
    let set = store.load(&only_run(&store, &args.run, "times to compare")?)?;
    let format = if args.json { Format::Json } else { args.format };
    if args.functions {
        return functions::functions(args, &set, path);
    }
    let labels = [args.one.as_str(), args.other.as_str()];
    let why = Why::of(&set, labels, args.phase.as_deref(), &advice).map_err(CliError::usage)?;
    let options = Options {
        long: args.long,
        ..options(false, false)
    };
    let bytes = fsdyno_report::render_why(&why, format, &options);
    let bytes = bytes.map_err(CliError::usage)?;
    output::coloured(&bytes)
}
