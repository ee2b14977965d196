//! Runs one shard on this machine. A shard that was interrupted, here or on another machine of the
//! same kind, is resumed; one that is complete is left alone.

use super::args::TaskArgs;
use super::directory::Directory;
use super::{DIRS_FROM_ENV, root_uses_environment};
use crate::exit::{CliError, Code};
use crate::output;
use fsdyno_host::command::run_fsdyno;
use fsdyno_model::StopReason;
use fsdyno_store::Store;
use std::ffi::OsString;
use std::fs;
use std::path::Path;

pub fn run(args: &TaskArgs) -> Result<Code, CliError> {
    let directory = Directory::at(&args.dir)?;
    directory.create()?;
    let (complete, partial) = (
        directory.complete(args.shard),
        directory.partial(args.shard),
    );
    if complete.exists() {
        output::note(format_args!("fsdyno: shard {} is complete", args.shard));
        return Ok(Code::Ok);
    }
    let mut words: Vec<OsString> = vec!["--store".into(), partial.clone().into()];
    if root_uses_environment() {
        words.push(DIRS_FROM_ENV.into());
    }
    if begun(&partial)? {
        words.extend(["run", "--resume", "last"].map(OsString::from));
        words.extend(jobs(&args.command));
    } else {
        words.extend(args.command.iter().map(OsString::from));
        words.extend(["--shard".into(), args.shard.to_string().into()]);
    }
    // Without this process nobody publishes the store, and another machine may take it over, so the
    // run ends with it.
    let status = run_fsdyno(&words)
        .map_err(|error| CliError::failure(format!("cannot start fsdyno: {error}")))?;
    if is_complete(&partial)? {
        fs::rename(&partial, &complete).map_err(|error| {
            let (from, to) = (partial.display(), complete.display());
            CliError::failure(format!("cannot rename {from} to {to}: {error}"))
        })?;
    }
    match status.code().and_then(Code::from_number) {
        Some(code) => Ok(code),
        None => Err(CliError::failure(format!(
            "shard {} ended: {status}",
            args.shard
        ))),
    }
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

/// The number of jobs in the arguments of a run, which a resumed run does not know.
fn jobs(command: &[String]) -> Vec<OsString> {
    let mut words = command.iter();
    while let Some(word) = words.next() {
        if word == "--jobs" || word == "-j" {
            return std::iter::once(word)
                .chain(words.next())
                .map(OsString::from)
                .collect();
        }
        if word.starts_with("--jobs=") {
            return vec![word.into()];
        }
    }
    Vec::new()
}
