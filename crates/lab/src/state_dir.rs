//! The state directory of the user: the clean-up journals, and the copies of the signatures of
//! devices that were overwritten.

use fsdyno_files::places::{self, NoPlaces};
use fsdyno_host::clean_up::{Cleaned, clean};
use fsdyno_host::guard::{Released, SaveError};
use fsdyno_host::journal::{Journal, JournalError};
use std::path::{Path, PathBuf};

/// The state directory `fsdyno` of a user.
#[derive(Debug, Clone)]
pub struct StateDir(PathBuf);

impl StateDir {
    /// The state directory of the effective user.
    pub fn of_effective_user() -> Result<Self, NoPlaces> {
        Ok(Self(places::of_effective_user()?.state.join("fsdyno")))
    }

    fn journals(&self) -> PathBuf {
        self.0.join("journal")
    }

    /// Opens a clean-up journal for this process.
    pub fn open_journal(&self) -> Result<Journal, JournalError> {
        Journal::open(&self.journals())
    }

    /// Removes the remains of dead processes; with `dry_run` only reports them.
    pub fn clean_up(&self, dry_run: bool) -> Result<Cleaned, JournalError> {
        let pool = |filesystem: &str, target: &Path| fsdyno_recipes::find(filesystem)?.pool(target);
        clean(&self.journals(), dry_run, &pool)
    }

    /// Copies the signatures of a device before it is overwritten; returns the line that reports it.
    pub fn save_signatures(&self, released: &Released) -> Result<String, SaveError> {
        let copy = released.save_signatures(&self.0.join("signatures"))?;
        Ok(format!(
            "{} will be overwritten; a copy of its signatures is in {}",
            released.device().display(),
            copy.display()
        ))
    }
}
