//! Where files are: the store of runs, and the journals of what exists.

use crate::exit::CliError;
use fsdyno_files::places::{self, Places};
use fsdyno_host::journal::{Cleaned, Journal, JournalError, clean};
use std::path::PathBuf;

/// The store: as named, else `fsdyno/fsdyno.db` in the data directory.
pub fn store(named: Option<&PathBuf>) -> Result<PathBuf, CliError> {
    match named {
        Some(path) => Ok(path.clone()),
        None => Ok(base()?.data.join("fsdyno").join("fsdyno.db")),
    }
}

/// The clean-up journals: `fsdyno/journal` in the state directory.
pub fn journals() -> Result<PathBuf, CliError> {
    Ok(base()?.state.join("fsdyno").join("journal"))
}

/// A clean-up journal of this process.
pub fn journal() -> Result<Journal, CliError> {
    Journal::open(&journals()?).map_err(|error| {
        CliError::failure(format!(
            "{error}; nothing is made that could not be undone after a kill. Mend the directory, or set \
             XDG_STATE_HOME to one that only this user can write to (root: with --dirs-from-env)"
        ))
    })
}

/// Undoes what killed runs left behind, or with `dry_run` reports it.
pub fn clean_up(dry_run: bool) -> Result<Result<Cleaned, JournalError>, CliError> {
    let pool =
        |filesystem: &str, target: &std::path::Path| fsdyno_recipes::find(filesystem)?.pool(target);
    Ok(clean(&journals()?, dry_run, &pool))
}

/// What stood on devices before they were overwritten: `fsdyno/signatures` in the state directory.
pub fn signatures() -> Result<PathBuf, CliError> {
    Ok(journals()?.with_file_name("signatures"))
}

fn base() -> Result<Places, CliError> {
    places::of_effective_user().map_err(CliError::usage)
}
