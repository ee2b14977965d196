//! The places of files: the store of runs, and the state directory.

use crate::exit::CliError;
use fsdyno_files::places;
use fsdyno_host::journal::{Journal, JournalError};
use fsdyno_lab::StateDir;
use std::path::PathBuf;

/// A directory in memory: images in it cost no disk time.
pub const IN_MEMORY: &str = "/dev/shm";

/// The path of the store: as named, or else `fsdyno/fsdyno.db` in the data directory.
pub fn store(named: Option<&PathBuf>) -> Result<PathBuf, CliError> {
    if let Some(path) = named {
        return Ok(path.clone());
    }
    let directories = places::of_effective_user().map_err(CliError::usage)?;
    Ok(directories.data.join("fsdyno").join("fsdyno.db"))
}

/// The directory of kept files: images of crash findings.
pub fn kept() -> Result<PathBuf, CliError> {
    let directories = places::of_effective_user().map_err(CliError::usage)?;
    Ok(directories.data.join(fsdyno_files::kept::DIRECTORY))
}

/// The state directory of this user.
pub fn state() -> Result<StateDir, CliError> {
    StateDir::of_effective_user().map_err(CliError::usage)
}

/// A clean-up journal of this process.
pub fn journal() -> Result<Journal, CliError> {
    state()?
        .open_journal()
        .map_err(|error| journal_error(&error))
}

/// The error of a journal that cannot be opened, with a remedy.
pub fn journal_error(error: &JournalError) -> CliError {
    CliError::failure(format!(
        "{error}; without the journal, fsdyno clean could not remove what a killed run leaves. Repair \
         the directory, or set XDG_STATE_HOME to one that only this user can write to (root: with \
         --dirs-from-env)"
    ))
}
