//! `report`: a run, from the store alone; or laid beside a published table.

use super::{published, series};
use crate::args::ReportArgs;
use crate::exit::{CliError, Code};
use crate::output;
use fsdyno_store::{Named, Store};
use std::path::Path;

pub fn report(args: &ReportArgs, store: &Path) -> Result<Code, CliError> {
    let store = Store::open_existing_read_only(store)?;
    let named = store.resolve_any(&args.run)?;
    let to_file = args.output.is_some();
    let options = fsdyno_report::Options {
        width: output::width(),
        color: output::color() && !to_file,
        clock: args.clock,
        advice: super::why::advice,
    };
    let bytes = match (named, &args.against) {
        (Named::Series(id), None) => series::report(&store.load_series(&id)?, args.format)?,
        (Named::Series(id), Some(_)) => {
            let message = format!("{id} is a series of cuts, and no published table tells of such");
            return Err(CliError::usage(message));
        }
        (Named::Run(id), None) => {
            let mut set = store.load(&id)?;
            set.run.plan.margin = args.margin.unwrap_or(set.run.plan.margin);
            fsdyno_report::render(&set, args.format, &options).map_err(CliError::failure)?
        }
        (Named::Run(id), Some(name)) => {
            published::against(&store.load(&id)?, name, args.format, &options)?
        }
    };
    output::to(args.output.as_deref(), &bytes, output::existing(args.force))?;
    Ok(Code::Ok)
}
