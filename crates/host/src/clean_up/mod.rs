//! Undoes what dead processes left behind, as their journals record it.
//!
//! This module can destroy: mounts, pools, loop devices, daemons, instances of tracefs, files and
//! trees. They must be recorded in a journal that no process locks, have names that its process
//! gave (`shape`), and be in directories of the effective user. No command is read from a journal.

mod shape;

pub use shape::TRACEFS;
pub(crate) use shape::is_work_directory;

use crate::journal::record::{Kind, Record, Resource, remaining};
use crate::journal::{JournalError, SUFFIX, Undo, is_at};
use crate::removal::remove_tree;
use crate::{arrays, daemons, disk_server, guest_processes, loops, mounts, pools};
use fsdyno_files::{Access, TrustedDir, Untrusted, flock};
use fsdyno_model::Pool;
use rustix::fs::FlockOperation;
use rustix::io::Errno;
use std::collections::HashSet;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// The pool of a file system that is mounted at a target, with the commands of its recipe.
pub type PoolOf<'a> = &'a dyn Fn(&str, &Path) -> Option<Pool>;

/// How long a killed process may take to release its journal.
const LOCK_TIMEOUT: Duration = Duration::from_secs(1);

#[derive(Debug, Default)]
pub struct Cleaned {
    pub things: Vec<CleanUp>,
    /// Journals that are not trusted; nothing in them was undone.
    pub refused: Vec<Untrusted>,
}

impl Cleaned {
    /// Whether everything was undone that could be.
    pub fn is_whole(&self) -> bool {
        self.refused.is_empty() && !self.things.iter().any(CleanUp::failed)
    }
}

/// One recorded resource, and the result of its clean-up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CleanUp {
    pub resource: Resource,
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
                    "in use by a running process: {resource} ({})",
                    journal.display()
                )
            }
        }
    }
}

/// Removes, in reverse order, the resources that the journals of dead processes record.
///
/// With `dry_run`, reports what would be removed and changes nothing. A missing state directory is
/// empty. A journal that is not trusted is reported, and the others are cleaned.
pub fn clean(state_dir: &Path, dry_run: bool, pool: PoolOf<'_>) -> Result<Cleaned, JournalError> {
    let directory = match TrustedDir::open(state_dir) {
        Err(error) if error.is_missing() => return Ok(Cleaned::default()),
        directory => directory?,
    };
    // One deadline for all journals: processes that die at the same time share it.
    let timeout = Instant::now() + LOCK_TIMEOUT;
    let (mut found, mut refused) = (Vec::new(), Vec::new());
    for name in directory.names()? {
        if name.to_string_lossy().ends_with(SUFFIX) {
            match Found::read(&directory, &name, timeout) {
                Ok(one) => found.extend(one),
                Err(JournalError::Untrusted(why)) => refused.push(why),
                Err(error) => return Err(error),
            }
        }
    }
    // A resource that a running process created again under the same name must not be removed.
    let (dead, live): (Vec<Found>, Vec<Found>) = found.into_iter().partition(|one| one.dead);
    let mut all = Vec::new();
    let mut in_use = HashSet::new();
    for one in live {
        let journal = one.path(&directory);
        for (_, resource) in one.things {
            in_use.insert(resource.clone());
            let journal = journal.clone();
            all.push(CleanUp {
                resource,
                result: Undo::Live { journal },
            });
        }
    }
    for one in dead {
        let task = Task {
            directory: &directory,
            stem: &one.stem(),
            in_use: &in_use,
            pool,
        };
        all.extend(one.clean(dry_run, &task)?);
    }
    Ok(Cleaned {
        things: all,
        refused,
    })
}

/// The context of the clean-up of one journal.
struct Task<'a> {
    directory: &'a TrustedDir,
    /// The name of the journal without its ending.
    stem: &'a str,
    in_use: &'a HashSet<Resource>,
    pool: PoolOf<'a>,
}

struct Found {
    name: OsString,
    /// Holds the lock, if it could be taken.
    file: File,
    dead: bool,
    /// Whether its last line is incomplete.
    truncated: bool,
    things: Vec<(u64, Resource)>,
}

impl Found {
    /// Reads a journal, and locks it if its process is dead; none if it ended meanwhile.
    fn read(
        directory: &TrustedDir,
        name: &OsStr,
        timeout: Instant,
    ) -> Result<Option<Self>, JournalError> {
        let path = directory.path().join(name);
        let mut file = match directory.file(name, Access::Append) {
            Err(error) if error.is_missing() => return Ok(None),
            file => file?,
        };
        if !shape::is_stem(&stem_of(name)) {
            let why = "its name is not one that fsdyno gives to a journal".to_owned();
            return Err(Untrusted::Refused { path, why }.into());
        }
        let dead =
            take_lock(&file, timeout).map_err(|cause| JournalError::new("lock", &path, cause))?;
        if !is_at(&file, directory, name) {
            return Ok(None);
        }
        let mut text = Vec::new();
        file.read_to_end(&mut text)
            .map_err(|cause| JournalError::new("read", &path, cause))?;
        Ok(Some(Self {
            name: name.to_owned(),
            file,
            dead,
            truncated: text.last().is_some_and(|last| *last != b'\n'),
            things: remaining(&text),
        }))
    }

    fn path(&self, directory: &TrustedDir) -> PathBuf {
        directory.path().join(&self.name)
    }

    fn stem(&self) -> String {
        stem_of(&self.name)
    }

    /// Removes the resources of a dead process's journal, and the journal when it is empty.
    fn clean(mut self, dry_run: bool, task: &Task<'_>) -> Result<Vec<CleanUp>, JournalError> {
        let things = std::mem::take(&mut self.things);
        if dry_run {
            let would = |(_, resource)| {
                let result = match refusal(&resource, task.stem) {
                    Ok(()) => Undo::Would,
                    Err(why) => Undo::Failed(why),
                };
                CleanUp { resource, result }
            };
            return Ok(things.into_iter().rev().map(would).collect());
        }
        let undone = undo_all(&mut self.file, self.truncated, things, task)
            .map_err(|cause| JournalError::new("write", &self.path(task.directory), cause))?;
        if !undone.iter().any(CleanUp::failed) {
            // Under the lock: a new process of the same number would wait for it.
            task.directory.remove(&self.name)?;
        }
        Ok(undone)
    }
}

fn stem_of(name: &OsStr) -> String {
    let name = name.to_string_lossy();
    name.strip_suffix(SUFFIX).unwrap_or_default().to_owned()
}

/// The reason why a resource is not removed: the process of the journal did not give its name, or
/// its place was taken by another file.
fn refusal(resource: &Resource, stem: &str) -> Result<(), String> {
    shape::check(resource, stem)?;
    shape::check_owner(&resource.path, stem)
}

/// Removes resources in reverse order, and records each that is gone.
fn undo_all(
    file: &mut File,
    truncated: bool,
    things: Vec<(u64, Resource)>,
    task: &Task<'_>,
) -> io::Result<Vec<CleanUp>> {
    let in_use = task.in_use;
    if truncated {
        // Closes the half-written last line, so that it stays alone in its fault.
        file.write_all(b"?\n")?;
    }
    // First end the servers of model disks: then the kernel fails requests at once, and a hanging
    // server blocks no removal.
    for (_, resource) in &things {
        if resource.kind == Kind::Server
            && !in_use.contains(resource)
            && refusal(resource, task.stem).is_ok()
        {
            let _ = disk_server::end_orphans(&resource.path);
        }
    }
    let mut undone = Vec::new();
    for (id, resource) in things.into_iter().rev() {
        let result = if in_use.contains(&resource) {
            Undo::Gone
        } else {
            undo(&resource, task)
        };
        if !matches!(result, Undo::Failed(_)) {
            file.write_all(Record::Gone(id).line().as_bytes())?;
        }
        undone.push(CleanUp { resource, result });
    }
    Ok(undone)
}

/// Whether the lock could be taken: the process that made the journal is dead.
fn take_lock(file: &File, timeout: Instant) -> io::Result<bool> {
    loop {
        match flock(file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => return Ok(true),
            Err(Errno::WOULDBLOCK) if Instant::now() >= timeout => return Ok(false),
            Err(Errno::WOULDBLOCK) => {
                std::thread::sleep(Duration::from_millis(10));
            }
            Err(error) => return Err(error.into()),
        }
    }
}

/// Removes a tracefs instance that a dead process left. `rmdir` removes an instance with its
/// contents; the kernel refuses any other directory that is not empty.
pub fn remove_trace_instance(directory: &Path) -> Undo {
    match std::fs::remove_dir(directory) {
        Ok(()) => Undo::Done,
        Err(error) if error.kind() == io::ErrorKind::NotFound => Undo::Gone,
        Err(error) => Undo::Failed(error.to_string()),
    }
}

fn undo(resource: &Resource, task: &Task<'_>) -> Undo {
    if let Err(why) = refusal(resource, task.stem) {
        return Undo::Failed(why);
    }
    let path = &resource.path;
    match &resource.kind {
        Kind::Mount => mounts::unmount_all(path),
        Kind::Array => arrays::clean_up(path),
        Kind::Pool { filesystem } => match (task.pool)(filesystem, path) {
            Some(pool) => pools::clean_up(&pool),
            None => Undo::Failed(format!("no file system `{filesystem}` has pools")),
        },
        // Refused above.
        Kind::Commands => Undo::Gone,
        Kind::Daemon => daemons::clean_up(path),
        Kind::Guest => Undo::of(guest_processes::end_orphans(path)),
        Kind::Server => disk_server::end_orphans(path),
        Kind::Trace => remove_trace_instance(path),
        Kind::Loop => loops::detach_image(path),
        Kind::Image => {
            let devices = loops::devices_of(path);
            if devices.is_empty() {
                return removed(path);
            }
            Undo::Failed(format!("still attached to {}", devices.join(", ")))
        }
        Kind::Directory | Kind::Tree => removed(path),
    }
}

fn removed(path: &Path) -> Undo {
    if std::fs::symlink_metadata(path).is_err_and(|e| e.kind() == io::ErrorKind::NotFound) {
        return Undo::Gone;
    }
    Undo::of(remove_tree(path).map(|()| true))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::journal::Journal;

    fn no_pools(_: &str, _: &Path) -> Option<Pool> {
        None
    }

    fn cleaned(state: &Path, dry_run: bool) -> Vec<CleanUp> {
        let cleaned = clean(state, dry_run, &no_pools).unwrap();
        assert!(cleaned.refused.is_empty(), "{:?}", cleaned.refused);
        cleaned.things
    }

    /// The journal of a process that died with these lines.
    fn dead(state: &Path, lines: &str) -> PathBuf {
        let path = state.join("1-1.journal");
        std::fs::write(&path, lines).unwrap();
        path
    }

    #[test]
    fn files_and_trees_of_the_dead_are_removed_in_reverse_order() {
        let work_dir = tempfile::tempdir().unwrap();
        let (state, scratch) = (
            work_dir.path().join("state"),
            work_dir.path().join("fsdyno-1-1-0"),
        );
        std::fs::create_dir_all(scratch.join("deep/er")).unwrap();
        TrustedDir::create(&state).unwrap();
        let image = scratch.join("disk0.img");
        std::fs::write(&image, "x").unwrap();
        let journal = dead(
            &state,
            &format!(
                "make 1 directory {0}\nmake 2 image {0}/disk0.img\nmake 3 tree {0}-never\nmake 4 ima",
                scratch.display()
            ),
        );
        let would = cleaned(&state, true);
        assert!(would.iter().all(|one| one.result == Undo::Would));
        assert!(image.exists() && journal.exists());
        let done = cleaned(&state, false);
        let results: Vec<_> = done.iter().map(|one| &one.result).collect();
        assert_eq!(results, [&Undo::Gone, &Undo::Done, &Undo::Done]);
        assert_eq!(done[2].resource.path, scratch);
        assert!(!scratch.exists() && !journal.exists());
    }

    #[test]
    fn a_live_journal_is_left_alone_and_reported() {
        let work_dir = tempfile::tempdir().unwrap();
        let image = work_dir.path().join("image");
        std::fs::write(&image, "x").unwrap();
        let state = work_dir.path().join("state");
        let journal = Journal::open(&state).unwrap();
        let entry = journal.declare(Kind::Image.at(&image)).unwrap();
        let reported = cleaned(&state, false);
        assert!(
            matches!(&reported[..], [one] if matches!(&one.result, Undo::Live { journal: at }
            if at == journal.path()))
        );
        assert!(image.exists());
        entry.done().unwrap();
        assert_eq!(cleaned(&state, false), []);
    }

    #[test]
    fn what_a_live_process_made_under_the_same_name_is_left_alone() {
        let work_dir = tempfile::tempdir().unwrap();
        let state = work_dir.path().join("state");
        let scratch = work_dir.path().join("fsdyno-1-1-0");
        std::fs::create_dir(&scratch).unwrap();
        let image = scratch.join("disk0.img");
        let journal = Journal::open(&state).unwrap();
        let entry = journal.declare(Kind::Image.at(&image)).unwrap();
        dead(&state, &format!("make 1 image {}\n", image.display()));
        std::fs::write(&image, "of the living").unwrap();
        cleaned(&state, false);
        assert!(image.exists());
        entry.done().unwrap();
    }

    #[test]
    fn a_missing_state_directory_holds_nothing() {
        let work_dir = tempfile::tempdir().unwrap();
        assert_eq!(cleaned(&work_dir.path().join("none"), false), []);
    }

    #[test]
    fn a_journal_that_names_what_fsdyno_does_not_make_destroys_nothing() {
        let work_dir = tempfile::tempdir().unwrap();
        let state = work_dir.path().join("state");
        TrustedDir::create(&state).unwrap();
        let home = work_dir.path().join("home");
        std::fs::create_dir(&home).unwrap();
        std::fs::write(home.join("kept"), "x").unwrap();
        let ran = work_dir.path().join("ran");
        let path = home.display();
        let journal = dead(
            &state,
            &format!(
                "make 1 directory {path}\nmake 2 tree {path}/kept\nmake 3 image {path}/kept\n\
                 make 4 mount {path}\nmake 5 pool {path}/mnt touch%00{0}%00 touch%00{0}%00\n",
                ran.display()
            ),
        );
        for dry_run in [true, false, false] {
            let reported = cleaned(&state, dry_run);
            assert_eq!(reported.len(), 5);
            assert!(reported.iter().all(CleanUp::failed), "{reported:?}");
            assert!(
                reported[0].to_string().contains("not run"),
                "{}",
                reported[0]
            );
        }
        assert!(home.join("kept").exists() && !ran.exists() && journal.exists());
    }

    #[test]
    fn a_link_in_place_of_a_work_directory_leads_to_nothing_that_is_removed() {
        let work_dir = tempfile::tempdir().unwrap();
        let state = work_dir.path().join("state");
        TrustedDir::create(&state).unwrap();
        let (own, home) = (
            work_dir.path().join("fsdyno-1-1-0"),
            work_dir.path().join("home"),
        );
        std::fs::create_dir_all(home.join("mnt")).unwrap();
        std::fs::write(home.join("disk0.img"), "x").unwrap();
        std::os::unix::fs::symlink(&home, &own).unwrap();
        let path = own.display();
        dead(
            &state,
            &format!("make 1 directory {path}/mnt\nmake 2 image {path}/disk0.img\n"),
        );
        assert!(cleaned(&state, false).iter().all(CleanUp::failed));
        assert!(home.join("mnt").exists() && home.join("disk0.img").exists());
    }

    #[test]
    fn journals_that_others_could_have_written_are_refused_and_the_rest_is_cleaned() {
        let work_dir = tempfile::tempdir().unwrap();
        let state = work_dir.path().join("state");
        TrustedDir::create(&state).unwrap();
        let victim = work_dir.path().join("fsdyno-1-1-0");
        std::fs::create_dir(&victim).unwrap();
        let line = format!("make 1 directory {}\n", victim.display());
        let own = dead(&state, &line);
        let plant = |name: &str, mode: u32| {
            use std::os::unix::fs::PermissionsExt as _;
            let path = state.join(name);
            std::fs::write(&path, &line).unwrap();
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
            path
        };
        plant("2-1.journal", 0o666);
        std::os::unix::fs::symlink(&own, state.join("3-1.journal")).unwrap();
        let linked = plant("4-1.journal", 0o600);
        std::fs::hard_link(&linked, state.join("other")).unwrap();
        let made = rustix::fs::mkfifoat(
            rustix::fs::CWD,
            state.join("5-1.journal"),
            rustix::fs::Mode::RWXU,
        );
        made.unwrap();
        plant("name.journal", 0o600);
        let mut expected = 5;
        if rustix::process::geteuid().is_root() {
            let foreign = plant("6-1.journal", 0o600);
            std::os::unix::fs::chown(&foreign, Some(65_534), None).unwrap();
            expected += 1;
        }
        let cleaned = clean(&state, false, &no_pools).unwrap();
        assert_eq!(cleaned.refused.len(), expected, "{:?}", cleaned.refused);
        assert!(!cleaned.is_whole());
        assert!(matches!(&cleaned.things[..], [one] if one.result == Undo::Done));
        assert!(!own.exists() && !victim.exists());
    }

    #[test]
    fn a_directory_that_is_not_an_empty_instance_is_not_removed() {
        let work_dir = tempfile::tempdir().unwrap();
        std::fs::write(work_dir.path().join("file"), "x").unwrap();
        assert!(matches!(
            remove_trace_instance(work_dir.path()),
            Undo::Failed(_)
        ));
        assert_eq!(
            remove_trace_instance(&work_dir.path().join("none")),
            Undo::Gone
        );
    }
}
