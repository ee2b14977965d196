//! `report`: renders a run, a series of crash tests, an exploration, or a run compared with
//! tables.

use super::published;
use super::rendering;
use crate::args::{percent, report_format};
use crate::exit::CliError;
use crate::output;
use clap::{ArgAction, Args};
use fsdyno_files::Existing;
use fsdyno_report::formats::csv::Rows;
use fsdyno_report::run_report::{Samples, Seen};
use fsdyno_report::{Format, Options, render_crash, render_disk_faults, render_exploration};
use fsdyno_store::{Detail, Named, Store};
use std::io::ErrorKind;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

#[derive(Debug, Args)]
pub struct ReportArgs {
    /// Run, crash series or exploration: a name, its first characters, or `last`
    #[arg(default_value = "last")]
    pub run: String,
    /// Format: terminal, html, csv, json, markdown, bencher, openmetrics, bonnie-csv
    ///
    /// `bonnie-csv` has the bonnie phases only. A crash series and an exploration have terminal, html,
    /// csv, json and markdown.
    /// Without --format, the extension of the output file decides: .html, .csv, .json, .md, .txt;
    /// without an extension it is terminal.
    #[arg(long, value_name = "FORMAT", value_parser = report_format)]
    pub format: Option<fsdyno_report::Format>,
    /// Print all tables on the terminal, not only the first screen
    #[arg(long)]
    pub long: bool,
    /// Published table (`fsdyno published list`), or a file of your own figures
    ///
    /// A file is CSV with the columns contender,phase,figure,value,unit, the JSON of fio or hyperfine,
    /// or the CSV of bonnie++. May be repeated for files. Nothing is judged across machines.
    #[arg(long, value_name = "TABLE", action = ArgAction::Append)]
    pub against: Vec<String>,
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

pub fn report(args: &ReportArgs, store: &Path) -> Result<(), CliError> {
    let format = rendering::format_of(args.format, args.output.as_deref())?;
    let store = Store::open_existing_read_only(store)?;
    let named = store.resolve_any(&args.run)?;
    let to_file = args.output.is_some();
    let options = Options {
        long: args.long,
        ..rendering::options(args.clock, to_file)
    };
    let bytes = match (named, args.against.as_slice()) {
        (Named::Series(id), []) => {
            let series = store.load_series(&id)?;
            render_crash(&series, format, &options).map_err(CliError::usage)?
        }
        (Named::Exploration(id), []) => {
            render_exploration(&store.exploration(&id)?, format, &options)
                .map_err(CliError::usage)?
        }
        (Named::FaultTests(id), []) => {
            render_disk_faults(&store.load_fault_tests(&id)?, format, &options)
                .map_err(CliError::usage)?
        }
        (Named::FaultTests(id), _) => {
            return Err(not_published(&id, "a test of disks"));
        }
        (Named::Series(id), _) => {
            return Err(not_published(&id, "a series of crash tests"));
        }
        (Named::Exploration(id), _) => {
            return Err(not_published(&id, "an exploration of crash states"));
        }
        (Named::Run(id), []) if format == Format::Csv => {
            let existing = output::existing(args.force);
            return csv(&store, &id, args.output.as_deref(), existing);
        }
        (Named::Run(id), []) => {
            let detail = rendering::detail(format, options.long);
            let mut set = store.load_with_variants(detail, &id)?;
            set.run.plan.margin = args.margin.unwrap_or(set.run.plan.margin);
            fsdyno_report::render(&set, format, &options).map_err(CliError::failure)?
        }
        (Named::Run(id), tables) => {
            let set = store.load(&id)?;
            match tables {
                [name] if !published::is_file(name) => {
                    published::compare(&set, name, format, &options)?
                }
                files => published::compare_with_files(&set, files, format, &options)?,
            }
        }
    };
    output::to(args.output.as_deref(), &bytes, output::existing(args.force))
}

/// Writes the raw samples of a run cell by cell.
fn csv(store: &Store, id: &str, file: Option<&Path>, existing: Existing) -> Result<(), CliError> {
    let reading = store.reading(id)?;
    let mut seen = Seen::default();
    reading.cells(Detail::Figures, |record| {
        seen.note(&record);
        ControlFlow::Continue(())
    })?;
    let samples = Samples::of(reading.run().clone(), seen);
    let mut unreadable = Ok(());
    output::stream_to(file, existing, |out| {
        let mut rows = Rows::new(&samples.columns(), out)?;
        let mut written = Ok(());
        unreadable = reading.cells(Detail::Latencies, |record| {
            let of_cell = samples.rows(&record);
            written = of_cell.iter().try_for_each(|row| rows.row(row));
            if written.is_ok() {
                ControlFlow::Continue(())
            } else {
                ControlFlow::Break(())
            }
        });
        // Without a part of the cells no file appears.
        if unreadable.is_err() {
            return Err(ErrorKind::InvalidData.into());
        }
        written.and_then(|()| rows.end())
    })
    .or_else(|error| unreadable.map_err(CliError::from).and(Err(error)))
}

/// Tables have no crash tests.
fn not_published(id: &str, what: &str) -> CliError {
    CliError::usage(format!(
        "{id} is {what}, which no table has. Leave out --against."
    ))
}
