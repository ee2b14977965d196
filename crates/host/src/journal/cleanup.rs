//! Undoes what dead processes left behind, as their journals tell it.
//!
//! What this can destroy: mounts, pools, loop devices, daemons, instances of tracefs, files and trees that stand in a
//! journal nobody holds the lock of. Nothing else is touched.

use super::record::{Record, Resource, standing};
use super::{JournalError, SUFFIX, is_at, remove_tree};
use crate::{arrays, daemons, guest, loops, mounts, pools, served, tracing};
use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use std::collections::HashSet;
use std::fmt;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// How long a killed process may take to let go of its journal.
const DYING: Duration = Duration::from_secs(1);

/// One thing that stood in a journal, and what became of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CleanUp {
    /// The thing.
    pub resource: Resource,
    /// What became of it.
    pub result: Undo,
}

impl CleanUp {
    /// Whether it is still there though its process is dead.
    pub fn failed(&self) -> bool {
        matches!(self.result, Undo::Failed(_))
    }
}

impl fmt::Display for CleanUp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { resource, result } = self;
        match result {
            Undo::Done => write!(f, "undone: {resource}"),
            Undo::Forced(how) => write!(f, "undone by force: {resource} ({how})"),
            Undo::Gone => write!(f, "gone already: {resource}"),
            Undo::Would => write!(f, "would undo: {resource}"),
            Undo::Failed(why) => write!(f, "NOT undone: {resource}: {why}"),
            Undo::Live { journal } => {
                write!(
                    f,
                    "in use by a run under way: {resource} ({})",
                    journal.display()
                )
            }
        }
    }
}

/// What became of a thing that stood in a journal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Undo {
    /// It was undone.
    Done,
    /// It was undone by force; this tells how and why.
    Forced(String),
    /// It was no longer there, or never made.
    Gone,
    /// It would be undone, but this was only asked for.
    Would,
    /// It could not be undone; this tells why. It stays in the journal.
    Failed(String),
    /// It belongs to a process that lives, and was left alone.
    Live {
        /// The journal of that process; its name begins with the process number.
        journal: PathBuf,
    },
}

/// Undoes, in reverse order, what still stands in the journals of dead processes.
///
/// With `dry_run`, tells what would be undone and changes nothing. A state directory that does
/// not exist holds nothing.
pub fn clean(state_dir: &Path, dry_run: bool) -> Result<Vec<CleanUp>, JournalError> {
    let mut journals = Vec::new();
    let listing = match std::fs::read_dir(state_dir) {
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        listing => {
            listing.map_err(|cause| JournalError::new("list the directory of", state_dir, cause))?
        }
    };
    for entry in listing {
        let entry =
            entry.map_err(|cause| JournalError::new("list the directory of", state_dir, cause))?;
        if entry.file_name().to_string_lossy().ends_with(SUFFIX) {
            journals.push(entry.path());
        }
    }
    journals.sort();
    // One patience for all: those who die together have the same time.
    let patience = Instant::now() + DYING;
    let mut found = Vec::new();
    for path in &journals {
        found.extend(Found::read(path, patience)?);
    }
    // What a live process has made anew under the name of something dead is not ours to undo.
    let (dead, live): (Vec<Found>, Vec<Found>) = found.into_iter().partition(|one| one.dead);
    let mut all = Vec::new();
    let mut in_use = HashSet::new();
    for Found { path, things, .. } in live {
        for (_, resource) in things {
            in_use.insert(resource.clone());
            let journal = path.clone();
            all.push(CleanUp {
                resource,
                result: Undo::Live { journal },
            });
        }
    }
    for one in dead {
        all.extend(one.clean(dry_run, &in_use)?);
    }
    Ok(all)
}

/// A journal, read.
struct Found {
    path: PathBuf,
    /// Holds the lock, where it could be taken.
    file: File,
    /// Whether its process is dead.
    dead: bool,
    /// Whether its last line is cut off.
    cut: bool,
    things: Vec<(u64, Resource)>,
}

impl Found {
    /// Reads and, where its process is dead, locks a journal; none where it ended meanwhile.
    fn read(path: &Path, patience: Instant) -> Result<Option<Self>, JournalError> {
        let mut file = match OpenOptions::new().read(true).append(true).open(path) {
            Err(cause) if cause.kind() == io::ErrorKind::NotFound => return Ok(None),
            file => file.map_err(|cause| JournalError::new("open", path, cause))?,
        };
        let dead =
            take_lock(&file, patience).map_err(|cause| JournalError::new("lock", path, cause))?;
        if !is_at(&file, path) {
            return Ok(None);
        }
        let mut text = Vec::new();
        file.read_to_end(&mut text)
            .map_err(|cause| JournalError::new("read", path, cause))?;
        Ok(Some(Self {
            path: path.to_owned(),
            file,
            dead,
            cut: text.last().is_some_and(|last| *last != b'\n'),
            things: standing(&text),
        }))
    }

    /// Undoes what stands in the journal of a dead process, and removes it when nothing is left.
    fn clean(
        mut self,
        dry_run: bool,
        in_use: &HashSet<Resource>,
    ) -> Result<Vec<CleanUp>, JournalError> {
        let things = std::mem::take(&mut self.things);
        if dry_run {
            let would = |(_, resource)| CleanUp {
                resource,
                result: Undo::Would,
            };
            return Ok(things.into_iter().rev().map(would).collect());
        }
        let undone = undo_all(&mut self.file, self.cut, things, in_use)
            .map_err(|cause| JournalError::new("write", &self.path, cause))?;
        if !undone
            .iter()
            .any(|one| matches!(one.result, Undo::Failed(_)))
        {
            // Under the lock: a new process of the same number would wait for it.
            std::fs::remove_file(&self.path)
                .map_err(|cause| JournalError::new("remove", &self.path, cause))?;
        }
        Ok(undone)
    }
}

/// Undoes things in reverse order, and writes down each that is gone.
fn undo_all(
    file: &mut File,
    cut: bool,
    things: Vec<(u64, Resource)>,
    in_use: &HashSet<Resource>,
) -> io::Result<Vec<CleanUp>> {
    if cut {
        // Closes the half-written last line, so that it stays alone in its fault.
        file.write_all(b"?\n")?;
    }
    // Whatever lies on a disk that nobody serves any more answers at once; on one whose server hangs,
    // nothing could be undone.
    for (_, resource) in &things {
        if let Resource::Server { file } = resource
            && !in_use.contains(resource)
        {
            let _ = served::end_left_behind(file);
        }
    }
    let mut undone = Vec::new();
    for (id, resource) in things.into_iter().rev() {
        let result = if in_use.contains(&resource) {
            Undo::Gone
        } else {
            undo(&resource)
        };
        if !matches!(result, Undo::Failed(_)) {
            file.write_all(Record::Gone(id).line().as_bytes())?;
        }
        undone.push(CleanUp { resource, result });
    }
    Ok(undone)
}

/// Whether the lock could be taken: the process that made the journal is dead.
fn take_lock(file: &File, patience: Instant) -> io::Result<bool> {
    loop {
        match flock(file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => return Ok(true),
            Err(Errno::WOULDBLOCK) if Instant::now() >= patience => return Ok(false),
            Err(Errno::WOULDBLOCK | Errno::INTR) => {
                std::thread::sleep(Duration::from_millis(10));
            }
            Err(error) => return Err(error.into()),
        }
    }
}

/// Undoes one thing.
fn undo(resource: &Resource) -> Undo {
    match resource {
        Resource::Mount { target } => mounts::unmount_all(target),
        Resource::Array { device } => arrays::clean_up(device),
        Resource::Pool {
            target,
            held,
            release,
        } => pools::clean_up(target, held, release),
        Resource::Daemon { pid_file } => daemons::clean_up(pid_file),
        Resource::Guest { directory } => match guest::running::end_left_behind(directory) {
            Ok(true) => Undo::Done,
            Ok(false) => Undo::Gone,
            Err(error) => Undo::Failed(error.to_string()),
        },
        Resource::Server { file } => served::end_left_behind(file),
        Resource::Trace { directory } => tracing::clean_up(directory),
        Resource::Loop { image } => loops::detach_image(image),
        Resource::Image { path } => match loops::devices_of(path) {
            Ok(devices) if !devices.is_empty() => {
                Undo::Failed(format!("still attached to {}", devices.join(", ")))
            }
            _ => removed(path),
        },
        Resource::Directory { path } | Resource::Tree { path } => removed(path),
    }
}

fn removed(path: &Path) -> Undo {
    if std::fs::symlink_metadata(path).is_err_and(|e| e.kind() == io::ErrorKind::NotFound) {
        return Undo::Gone;
    }
    match remove_tree(path) {
        Ok(()) => Undo::Done,
        Err(error) => Undo::Failed(error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::journal::Journal;

    /// The journal of a process that died with these lines.
    fn dead(state: &Path, lines: &str) -> PathBuf {
        let path = state.join("1-1.journal");
        std::fs::write(&path, lines).unwrap();
        path
    }

    #[test]
    fn files_and_trees_of_the_dead_are_removed_in_reverse_order() {
        let ground = tempfile::tempdir().unwrap();
        let (state, scratch) = (ground.path().join("state"), ground.path().join("scratch"));
        std::fs::create_dir_all(scratch.join("deep/er")).unwrap();
        std::fs::create_dir(&state).unwrap();
        let image = scratch.join("image");
        std::fs::write(&image, "x").unwrap();
        let journal = dead(
            &state,
            &format!(
                "make 1 directory {0}\nmake 2 image {0}/image\nmake 3 tree {0}/never\nmake 4 ima",
                scratch.display()
            ),
        );
        let would = clean(&state, true).unwrap();
        assert!(would.iter().all(|one| one.result == Undo::Would));
        assert!(image.exists() && journal.exists());
        let done = clean(&state, false).unwrap();
        let results: Vec<_> = done.iter().map(|one| &one.result).collect();
        assert_eq!(results, [&Undo::Gone, &Undo::Done, &Undo::Done]);
        assert_eq!(done[2].resource.path(), scratch);
        assert!(!scratch.exists() && !journal.exists());
    }

    #[test]
    fn a_live_journal_is_left_alone_and_reported() {
        let ground = tempfile::tempdir().unwrap();
        let image = ground.path().join("image");
        std::fs::write(&image, "x").unwrap();
        let state = ground.path().join("state");
        let journal = Journal::open(&state).unwrap();
        let entry = journal
            .declare(Resource::Image {
                path: image.clone(),
            })
            .unwrap();
        let told = clean(&state, false).unwrap();
        assert!(
            matches!(&told[..], [one] if matches!(&one.result, Undo::Live { journal: at }
            if at == journal.path()))
        );
        assert!(image.exists());
        entry.done().unwrap();
        assert_eq!(clean(&state, false).unwrap(), []);
    }

    #[test]
    fn what_a_live_process_made_under_the_same_name_is_left_alone() {
        let ground = tempfile::tempdir().unwrap();
        let state = ground.path().join("state");
        let image = ground.path().join("image");
        let journal = Journal::open(&state).unwrap();
        let entry = journal
            .declare(Resource::Image {
                path: image.clone(),
            })
            .unwrap();
        dead(&state, &format!("make 1 image {}\n", image.display()));
        std::fs::write(&image, "of the living").unwrap();
        clean(&state, false).unwrap();
        assert!(image.exists());
        entry.done().unwrap();
    }

    #[test]
    fn a_missing_state_directory_holds_nothing() {
        let ground = tempfile::tempdir().unwrap();
        assert_eq!(clean(&ground.path().join("none"), false).unwrap(), []);
    }
}
