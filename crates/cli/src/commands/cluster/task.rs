//! Runs one shard on this machine. A shard that was interrupted, here or on another machine of the
//! same kind, is resumed; one that is complete is left alone.

use super::args::TaskArgs;
use super::directory::Directory;
use super::run_args;
use crate::commands::run;
use crate::exit::{CliError, Code};
use crate::output;
use fsdyno_model::StopReason;
use fsdyno_run::RunOptions;
use fsdyno_store::Store;
use std::fs;
use std::path::Path;

pub fn run(args: &TaskArgs) -> Result<Code, CliError> {
    let mut run_args = run_args(&args.command)?;
    let directory = Directory::at(&args.dir)?;
    directory.create()?;
    let complete = directory.complete(args.shard);
    let partial = directory.partial(args.shard);
    if complete.exists() {
        output::note(format_args!("fsdyno: shard {} is complete", args.shard));
        return Ok(Code::Ok);
    }
    if begun(&partial)? {
        // Its plan is in the store.
        run_args.resume = Some("last".to_owned());
        run_args.options = RunOptions::default();
    } else {
        run_args.shard.shard = Some(args.shard);
    }
    let code = run::run(&run_args, &partial)?;
    if is_complete(&partial)? {
        fs::rename(&partial, &complete).map_err(|error| {
            let (from, to) = (partial.display(), complete.display());
            CliError::failure(format!("cannot rename {from} to {to}: {error}"))
        })?;
    }
    Ok(code)
}

/// Whether the store has a run.
fn begun(partial: &Path) -> Result<bool, CliError> {
    Ok(partial.exists() && !Store::open_existing_read_only(partial)?.runs()?.is_empty())
}

/// Whether all cells of the shard are recorded. The store is closed when this returns.
fn is_complete(partial: &Path) -> Result<bool, CliError> {
    if !partial.exists() {
        return Ok(false);
    }
    // A writer moves all rows from the log to the file when it closes the store.
    let runs = Store::open(partial)?.runs()?;
    Ok(runs
        .first()
        .is_some_and(|run| run.stop == Some(StopReason::Complete)))
}
