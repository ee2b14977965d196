//! `history`: the figures of phases over kernels, dates or commits, with their steps.

use super::chart::{OutputFormat, PictureArgs};
use super::rendering::options;
use crate::args::percent;
use crate::exit::{CliError, Code};
use crate::output;
use clap::Args;
use fsdyno_guests::kernels::Repository;
use fsdyno_model::FigureName;
use fsdyno_report::charts::Picture;
use fsdyno_report::history::{self, By, Collector, Selection};
use fsdyno_report::{Options, render_history};
use fsdyno_run::user_code;
use fsdyno_store::{Detail, Store};
use std::convert::Infallible;
use std::path::{Path, PathBuf};

const HELP: &str = "\
A series has the comparable figures of one contender and one phase. A change
of its level is a step: in virtual time each change of more than 0.1 %, in
real time a change point of the medians of runs. Each step names the counters
that moved with it. The commit of a run is in the version of its kernel, or in
its tag commit-HASH. docs/history.md describes the method.";

#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub struct HistoryArgs {
    /// Contenders: labels, patterns with *, or names of file systems [default: all]
    #[arg(long = "fs", value_name = "LIST", value_delimiter = ',')]
    pub contenders: Vec<String>,
    /// Phases: PHASE, WORKLOAD/PHASE, or patterns with * [default: all]
    #[arg(long = "phase", value_name = "LIST", value_delimiter = ',')]
    pub phases: Vec<String>,
    /// Horizontal axis: kernel, date or commit
    #[arg(long, value_name = "AXIS", default_value = "kernel", value_parser = by)]
    pub by: By,
    /// Figure (docs/reference/figures.md), or one that a program reports
    #[arg(long, value_name = "METRIC", default_value = "durable", value_parser = |text: &str| Ok::<_, Infallible>(FigureName::new(text)))]
    pub metric: FigureName,
    /// Kernel blocks of a function instead of a figure, in runs that have its profile
    ///
    /// `why --functions` and `compare --functions` store profiles of runs in virtual time.
    #[arg(long, value_name = "NAME", conflicts_with = "metric")]
    pub function: Option<String>,
    /// Count also what the function calls
    #[arg(long, requires = "function")]
    pub with_callees: bool,
    /// Smallest change that is a step, percent [default: 0.1 in virtual time]
    ///
    /// In real time the default is the margin of the last run.
    #[arg(long, value_name = "PERCENT", value_parser = percent)]
    pub margin: Option<f64>,
    /// Only runs with this tag
    #[arg(long, value_name = "TAG")]
    pub tag: Option<String>,
    /// Git repository that orders the commits [default: by date of their runs]
    #[arg(long, value_name = "DIR")]
    pub repo: Option<PathBuf>,
    /// Print all phases, not only one screen
    #[arg(long, conflicts_with_all = ["format", "output"])]
    pub long: bool,
    /// Format: terminal, html, csv, json, markdown, svg or png
    ///
    /// Without --format, the extension of the output file decides.
    #[arg(long, value_name = "FORMAT", value_parser = OutputFormat::parse)]
    pub format: Option<OutputFormat>,
    /// Output file; a directory for several charts [default: standard output]
    #[arg(long, short, value_name = "FILE|DIR")]
    pub output: Option<PathBuf>,
    /// Replace files that exist
    #[arg(long, requires = "output")]
    pub force: bool,
    #[command(flatten)]
    pub picture: PictureArgs,
}

fn by(text: &str) -> Result<By, String> {
    text.parse()
}

pub fn history(args: &HistoryArgs, store: &Path) -> Result<(), CliError> {
    let format = OutputFormat::of(args.format, args.output.as_deref())?;
    let store = Store::open_existing_read_only(store)?;
    let of_function = args.function.as_deref();
    let of_function = of_function.map(|name| FigureName::of_function(name, args.with_callees));
    let metric = of_function.unwrap_or_else(|| args.metric.clone());
    let detail = match metric.function() {
        Some(_) => Detail::All,
        None if metric.is_latency() => Detail::Latencies,
        None => Detail::Figures,
    };
    let selection = Selection {
        contenders: args.contenders.clone(),
        phases: args.phases.clone(),
        by: args.by,
        metric: Some(metric),
        margin: args.margin,
        commits: commits(args.repo.as_deref())?,
    };
    let mut collector = Collector::new(selection);
    for run in store.runs()?.iter().rev() {
        if args.tag.as_ref().is_none_or(|tag| run.tags.contains(tag)) {
            let mut set = store.load_in(detail, &run.id)?;
            if user_code::plan(&run.id, &set.run.plan).is_some() {
                set.variants = store.variants(&run.id)?;
            }
            collector.add(&set, &run.tags);
        }
    }
    let history = collector.finish().map_err(CliError::usage)?;
    match format {
        OutputFormat::Report(format) => {
            let to_file = args.output.is_some();
            let options = Options {
                long: args.long || to_file,
                ..options(false, to_file)
            };
            let bytes = render_history(&history, format, &options).map_err(CliError::failure)?;
            output::to(args.output.as_deref(), &bytes, output::existing(args.force))
        }
        OutputFormat::Chart(format) => {
            let drawing = args.picture.drawing(format, output::existing(args.force));
            let charts = history::charts(&history).into_iter().map(Picture::Chart);
            drawing.write(&charts.collect::<Vec<_>>(), args.output.as_deref())
        }
    }
}

/// The commits of a repository, each after its parents.
fn commits(repo: Option<&Path>) -> Result<Vec<String>, CliError> {
    let Some(repo) = repo else {
        return Ok(Vec::new());
    };
    let commits = Repository::open(repo).and_then(|repo| repo.parents_first());
    commits.map_err(|error| CliError::new(Code::of_git(&error, Code::Usage), error))
}
