//! `report`: renders a run, a series of crash tests, or a run compared with a published table. It
//! reads only the store.

use super::published;
use crate::args::ReportArgs;
use crate::exit::{CliError, Code};
use crate::output;
use fsdyno_report::{Format, Options, render_crash};
use fsdyno_store::{Named, Store};
use std::path::Path;

pub fn report(args: &ReportArgs, store: &Path) -> Result<Code, CliError> {
    let store = Store::open_existing_read_only(store)?;
    let named = store.resolve_any(&args.run)?;
    let to_file = args.output.is_some();
    let options = Options {
        long: args.long,
        ..options(args.clock, to_file)
    };
    let inferred = || Format::of_file(args.output.as_deref()?);
    let format = args.format.or_else(inferred).unwrap_or(Format::Terminal);
    let bytes = match (named, &args.published) {
        (Named::Series(id), None) => {
            let series = store.load_series(&id)?;
            render_crash(&series, format, &options).map_err(CliError::usage)?
        }
        (Named::Series(id), Some(_)) => {
            let message = format!(
                "{id} is a series of crash tests, which no published table has. Leave out --against."
            );
            return Err(CliError::usage(message));
        }
        (Named::Run(id), None) => {
            let mut set = store.load(&id)?;
            set.run.plan.margin = args.margin.unwrap_or(set.run.plan.margin);
            fsdyno_report::render(&set, format, &options).map_err(CliError::failure)?
        }
        (Named::Run(id), Some(name)) => {
            published::compare(&store.load(&id)?, name, format, &options)?
        }
    };
    output::to(args.output.as_deref(), &bytes, output::existing(args.force))?;
    Ok(Code::Ok)
}

/// The options of a report that is printed.
pub fn options(clock: bool, to_file: bool) -> Options {
    Options {
        width: output::width(),
        color: output::color() && !to_file,
        clock,
        long: true,
        advice: super::why::advice,
    }
}
