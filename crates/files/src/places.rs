//! The directories where fsdyno keeps data, state and caches of the effective user.
//!
//! For root they come from the password database: the environment of a root process may come from
//! another user (`sudo -E`, a service file), and a clean-up journal read from there would run with
//! root's rights.

use std::env::{home_dir, var_os};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};

/// Whether root, too, takes its directories from the environment.
static FROM_ENVIRONMENT: AtomicBool = AtomicBool::new(false);

/// Takes the directories from the environment from now on, for root too. The user sets this with a
/// flag; the directories must still be trusted ([`crate::TrustedDir`]).
pub fn use_environment() {
    FROM_ENVIRONMENT.store(true, Ordering::Relaxed);
}

/// Whether places are taken from the environment: by all users but root, and by root after
/// [`use_environment`].
pub fn from_environment() -> bool {
    FROM_ENVIRONMENT.load(Ordering::Relaxed) || !rustix::process::geteuid().is_root()
}

/// Base directories of the effective user, without `fsdyno` appended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Places {
    /// Results that must be kept: `~/.local/share`, or `XDG_DATA_HOME`.
    pub data: PathBuf,
    /// Journals and saved signatures: `~/.local/state`, or `XDG_STATE_HOME`.
    pub state: PathBuf,
    /// Files that can be created again: `~/.cache`, or `XDG_CACHE_HOME`.
    pub cache: PathBuf,
}

/// The error if the directories of the effective user are unknown.
#[derive(Debug, thiserror::Error)]
pub enum NoPlaces {
    /// The password database has no usable entry for root.
    #[error("the password database has no absolute home directory for uid 0")]
    NoEntry,
    /// The home directory of another user is unknown.
    #[error("the home directory is unknown; set HOME to an absolute path")]
    NoHome,
}

/// The home directory of uid 0 in the password database (passwd(5)), if it is absolute.
fn home_of_root(database: &str) -> Option<PathBuf> {
    let mut entries = database.lines().map(|line| line.split(':'));
    let mut entry = entries.find(|entry| entry.clone().nth(2) == Some("0"))?;
    let home = PathBuf::from(entry.nth(5)?);
    home.is_absolute().then_some(home)
}

/// The base directories of the effective user.
///
/// Root: below the home directory in the password database, unless [`use_environment`] was called.
/// Others: the XDG variables if they are set to absolute paths, otherwise below `HOME`.
pub fn of_effective_user() -> Result<Places, NoPlaces> {
    if !from_environment() {
        let database = std::fs::read_to_string("/etc/passwd").unwrap_or_default();
        let home = home_of_root(&database).ok_or(NoPlaces::NoEntry)?;
        return Ok(Places {
            data: home.join(".local/share"),
            state: home.join(".local/state"),
            cache: home.join(".cache"),
        });
    }
    let home = home_dir().filter(|home| home.is_absolute());
    let home = home.ok_or(NoPlaces::NoHome)?;
    // A relative path in such a variable is ignored, as its specification demands.
    let base = |variable: &str, below: &str| {
        let named = var_os(variable).map(PathBuf::from);
        let named = named.filter(|named| named.is_absolute());
        named.unwrap_or_else(|| home.join(below))
    };
    Ok(Places {
        data: base("XDG_DATA_HOME", ".local/share"),
        state: base("XDG_STATE_HOME", ".local/state"),
        cache: base("XDG_CACHE_HOME", ".cache"),
    })
}

#[cfg(test)]
mod tests {
    use super::home_of_root;
    use std::path::Path;

    #[test]
    fn the_home_of_root_is_that_of_the_password_database() {
        let found = |database| home_of_root(database);
        let database = "daemon:x:1:1:daemon:/usr/sbin:/bin/sh\nadmin:x:0:0:,,,:/root:/bin/sh\n";
        assert_eq!(found(database).as_deref(), Some(Path::new("/root")));
        for unusable in [
            "",
            "root",
            "root:x:0:0:root:home:/bin/sh",
            "a:x:10:0::/home/a:",
        ] {
            assert_eq!(found(unusable), None, "{unusable}");
        }
    }
}
