//! The caches of a client before a phase: what can be emptied, and whether that is proven.

use crate::phase::RankError;
use fsdyno_host::mounts::mountinfo;
use fsdyno_host::{cache, command};
use fsdyno_model::{CacheEvidence, CacheState, CancelToken, Contender, PhasePlan};
use std::path::Path;

/// Sets up the state of the caches on this host, by one rank of it.
///
/// A new mount has no cached pages and names. Everything else is not proven: a client of a network
/// file system may keep data where no test looks, and servers keep theirs.
pub fn set_up(
    phase: &PhasePlan,
    contender: &Contender,
    remount: Option<&str>,
    stop: &CancelToken,
) -> (CacheEvidence, Result<(), RankError>) {
    let mut evidence = CacheEvidence {
        requested: phase.cache,
        proven: phase.cache == CacheState::AsIs,
        ..CacheEvidence::default()
    };
    let directory = contender.directory.as_deref().unwrap_or(Path::new("/"));
    if phase.cache != CacheState::Cold {
        return (evidence, Ok(()));
    }
    let mut methods = Vec::new();
    let mut reason = "the client was not remounted (--remount)".to_owned();
    if let Some(remount) = remount {
        let id = || mountinfo(directory).map(|mount| mount.id).ok();
        let before = id();
        if let Err(error) = run(remount, directory, stop) {
            return (evidence, Err(error));
        }
        methods.push("remount");
        evidence.proven = before != id();
        "mount ID".clone_into(&mut evidence.checked_by);
        "the command of --remount left the mount as it was".clone_into(&mut reason);
    }
    // Dirty pages cannot be dropped.
    match cache::sync_filesystem(directory).and_then(|()| cache::drop_caches()) {
        Ok(()) => methods.push("drop_caches"),
        Err(error) if methods.is_empty() => {
            reason = format!("{reason}, and drop_caches needs root: {error}");
        }
        Err(_) => {}
    }
    evidence.method = methods.join(", ");
    evidence.reason = (!evidence.proven).then_some(reason);
    (evidence, Ok(()))
}

/// Runs the user's command with the directory in `DIR`.
fn run(text: &str, directory: &Path, stop: &CancelToken) -> Result<(), RankError> {
    let script = "DIR=$1; export DIR; eval \"$2\"";
    let argv = ["sh", "-c", script, "sh"].map(str::to_owned);
    let own = [directory.display().to_string(), text.to_owned()];
    let argv: Vec<String> = argv.into_iter().chain(own).collect();
    let finished = command::run(&argv, stop).map_err(|error| RankError::of(error.to_string()))?;
    if finished.success() {
        return Ok(());
    }
    Err(RankError::of(format!(
        "--remount: {}",
        finished.failure(&argv)
    )))
}
