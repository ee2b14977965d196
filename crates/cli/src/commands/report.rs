//! `report`: a run, from the store alone; or laid beside a published table.

use super::published;
use crate::args::ReportArgs;
use crate::exit::{Code, Trouble};
use crate::output;
use fsdyno_store::Store;
use std::path::Path;

pub fn report(args: &ReportArgs, store: &Path) -> Result<Code, Trouble> {
    let store = Store::open_existing_read_only(store)?;
    let set = store.load(&store.resolve(&args.run).map_err(Trouble::usage)?)?;
    let to_file = args.output.is_some();
    let options = fsdyno_report::Options {
        width: output::width(),
        color: output::color() && !to_file,
        clock: args.clock,
    };
    let bytes = match &args.against {
        None => fsdyno_report::render(&set, args.format, &options).map_err(Trouble::failure)?,
        Some(name) => published::against(&set, name, args.format, &options)?,
    };
    match &args.output {
        None => output::bytes(&bytes)?,
        Some(path) => std::fs::write(path, bytes)
            .map_err(|e| Trouble::failure(format!("cannot write {}: {e}", path.display())))?,
    }
    Ok(Code::Ok)
}
