//! Where things lie: the store of runs, and the journals of what exists.

use crate::exit::Trouble;
use etcetera::BaseStrategy;
use fsdyno_host::journal::Journal;
use std::path::PathBuf;

/// The store: as named, else `fsdyno/fsdyno.db` in the XDG data directory.
pub fn store(named: Option<&PathBuf>) -> Result<PathBuf, Trouble> {
    match named {
        Some(path) => Ok(path.clone()),
        None => Ok(strategy()?.data_dir().join("fsdyno").join("fsdyno.db")),
    }
}

/// The clean-up journals: `fsdyno/journal` in the XDG state directory.
pub fn journals() -> Result<PathBuf, Trouble> {
    let strategy = strategy()?;
    let state = strategy.state_dir().unwrap_or_else(|| strategy.data_dir());
    Ok(state.join("fsdyno").join("journal"))
}

/// A clean-up journal of this process.
pub fn journal() -> Result<Journal, Trouble> {
    Journal::open(&journals()?).map_err(|error| {
        Trouble::failure(format!(
            "{error}; nothing is made that could not be undone after a kill: set XDG_STATE_HOME to a \
             directory that this user can write to"
        ))
    })
}

/// What stood on devices before they were overwritten: `fsdyno/signatures` in the XDG state
/// directory.
pub fn signatures() -> Result<PathBuf, Trouble> {
    Ok(journals()?.with_file_name("signatures"))
}

fn strategy() -> Result<impl BaseStrategy, Trouble> {
    etcetera::choose_base_strategy().map_err(|error| {
        Trouble::usage(format!(
            "cannot tell the home directory ({error}); set HOME, or XDG_DATA_HOME and XDG_STATE_HOME"
        ))
    })
}
