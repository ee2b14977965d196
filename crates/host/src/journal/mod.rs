//! The clean-up journal: every resource that fsdyno creates is recorded on disk before it exists,
//! until it is removed.
//!
//! Each process has its own journal and holds its lock for life. A journal whose lock can be taken
//! belongs to a dead process, and [`clean`](crate::clean_up::clean) removes what it records. The
//! guards, not this module, create resources.
//!
//! Journals are accessed through [`TrustedDir`]: no other user can have written a journal that is
//! read.

pub(crate) mod record;

pub use record::{Kind, Resource};

use crate::processes::start_ticks;
use fsdyno_files::{Access, TrustedDir, Untrusted, flock};
use record::Record;
use rustix::fs::{AtFlags, FlockOperation, fstat, fsync, statat};
use rustix::io::Errno;
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fmt::Display;
use std::fs::File;
use std::io::{self, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

pub(crate) const SUFFIX: &str = ".journal";

/// The journal of this process. Clones are the same journal.
#[derive(Debug, Clone)]
pub struct Journal {
    book: Arc<JournalFile>,
}

/// One recorded resource.
///
/// Dropped without [`Entry::done`], the resource stays in the journal: it could not be removed, and
/// [`clean`](crate::clean_up::clean) will try again.
#[derive(Debug)]
#[must_use = "the guard of the resource must report its removal"]
pub struct Entry {
    book: Arc<JournalFile>,
    id: u64,
}

/// The result of removing a recorded resource.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Undo {
    Done,
    /// It was removed by force; how and why.
    Forced(String),
    /// It was no longer there, or never made.
    Gone,
    /// It would be removed; this was a dry run.
    Would,
    /// It could not be removed, and why. It stays in the journal.
    Failed(String),
    /// It belongs to a running process, and was not changed.
    Live {
        /// The journal of that process; its name starts with the process number.
        journal: PathBuf,
    },
}

impl Undo {
    /// The result of an attempt, which returns whether the resource was there.
    pub(crate) fn of(undone: Result<bool, impl Display>) -> Self {
        match undone {
            Ok(true) => Self::Done,
            Ok(false) => Self::Gone,
            Err(error) => Self::Failed(error.to_string()),
        }
    }
}

/// What may go wrong with a journal.
#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    /// Its directory or file is not trusted, or cannot be opened.
    #[error("the clean-up journal: {0}")]
    Untrusted(#[from] Untrusted),
    #[error("cannot {act} the clean-up journal {}: {cause}", path.display())]
    Io {
        act: &'static str,
        path: PathBuf,
        #[source]
        cause: io::Error,
    },
}

impl JournalError {
    pub(crate) fn new(act: &'static str, path: &Path, cause: impl Into<io::Error>) -> Self {
        Self::Io {
            act,
            path: path.to_owned(),
            cause: cause.into(),
        }
    }
}

/// The file of a journal, and the numbers of its recorded resources.
#[derive(Debug)]
struct JournalFile {
    directory: TrustedDir,
    path: PathBuf,
    pages: Mutex<Pages>,
}

#[derive(Debug)]
struct Pages {
    file: File,
    next: u64,
    remaining: BTreeSet<u64>,
}

impl Journal {
    /// Opens a new journal for this process in a directory, which is made where it is missing.
    pub fn open(state_dir: &Path) -> Result<Self, JournalError> {
        let directory = TrustedDir::create(state_dir)?;
        let (path, file) = open_new(&directory)?;
        sync_directory(&directory)
            .map_err(|cause| JournalError::new("sync the directory of", &path, cause))?;
        let pages = Mutex::new(Pages {
            file,
            next: 1,
            remaining: BTreeSet::new(),
        });
        Ok(Self {
            book: Arc::new(JournalFile {
                directory,
                path,
                pages,
            }),
        })
    }

    /// Records durably that a resource is about to be created. Its path must be absolute.
    pub fn declare(&self, resource: Resource) -> Result<Entry, JournalError> {
        if !resource.path.is_absolute() {
            let cause = io::Error::new(io::ErrorKind::InvalidInput, "the path is not absolute");
            return Err(JournalError::new("write", &resource.path, cause));
        }
        let mut pages = self.book.pages();
        let id = pages.next;
        pages
            .append(&Record::Make(id, resource))
            .map_err(|cause| JournalError::new("write", &self.book.path, cause))?;
        pages.next += 1;
        pages.remaining.insert(id);
        Ok(Entry {
            book: Arc::clone(&self.book),
            id,
        })
    }

    pub fn path(&self) -> &Path {
        &self.book.path
    }

    /// The name of the journal without its ending: unique on this machine.
    pub fn name(&self) -> String {
        let name = self.book.path.file_stem().unwrap_or_default();
        name.to_string_lossy().into_owned()
    }
}

impl Entry {
    /// Records that the resource is gone.
    pub fn done(self) -> Result<(), JournalError> {
        let mut pages = self.book.pages();
        pages.remaining.remove(&self.id);
        let written = if pages.remaining.is_empty() {
            // Nothing is recorded: the file is truncated, so that a long run does not grow it.
            pages.empty()
        } else {
            pages.append(&Record::Gone(self.id))
        };
        written.map_err(|cause| JournalError::new("write", &self.book.path, cause))
    }
}

impl JournalFile {
    fn pages(&self) -> MutexGuard<'_, Pages> {
        // Each change is one append: a panic elsewhere leaves nothing half done here.
        self.pages.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for JournalFile {
    fn drop(&mut self) {
        if self.pages().remaining.is_empty() {
            // Still locked. Where it cannot be removed, the next clean-up finds it empty.
            let name = self.path.file_name().unwrap_or_default();
            let _ = self.directory.remove(name);
        }
    }
}

impl Pages {
    fn append(&mut self, record: &Record) -> io::Result<()> {
        self.file.write_all(record.line().as_bytes())?;
        self.file.sync_data()
    }

    fn empty(&mut self) -> io::Result<()> {
        self.file.set_len(0)?;
        self.file.seek(SeekFrom::Start(0)).map(drop)
    }
}

/// Makes and locks `PID-STARTTIME.journal`, or `PID-STARTTIME-2.journal` for a second one.
fn open_new(directory: &TrustedDir) -> Result<(PathBuf, File), JournalError> {
    let pid = std::process::id();
    let started = start_ticks(pid)
        .map_err(|cause| JournalError::new("name", Path::new("/proc/self/stat"), cause))?;
    for number in 1_u32.. {
        let name = match number {
            1 => format!("{pid}-{started}{SUFFIX}"),
            _ => format!("{pid}-{started}-{number}{SUFFIX}"),
        };
        let path = directory.path().join(&name);
        let file = match directory.file(OsStr::new(&name), Access::CreateNew) {
            Err(Untrusted::Io { source, .. }) if source.kind() == io::ErrorKind::AlreadyExists => {
                continue;
            }
            file => file?,
        };
        flock(&file, FlockOperation::LockExclusive)
            .map_err(|cause| JournalError::new("lock", &path, cause))?;
        // A clean-up may have found the journal unlocked and removed it before we locked it.
        if is_at(&file, directory, OsStr::new(&name)) {
            return Ok((path, file));
        }
    }
    unreachable!("a name is free before the numbers end")
}

/// Whether an open file is the one of that name in the directory.
pub(crate) fn is_at(file: &File, directory: &TrustedDir, name: &OsStr) -> bool {
    match (
        fstat(file),
        statat(directory, name, AtFlags::SYMLINK_NOFOLLOW),
    ) {
        (Ok(open), Ok(there)) => (open.st_dev, open.st_ino) == (there.st_dev, there.st_ino),
        _ => false,
    }
}

/// Makes a new name in a directory outlive a loss of power.
fn sync_directory(directory: &TrustedDir) -> io::Result<()> {
    match fsync(directory) {
        // Some file systems have nothing to sync in a directory.
        Err(Errno::INVAL) => Ok(()),
        result => Ok(result?),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_journal_is_removed_only_when_it_is_empty() {
        let state = tempfile::tempdir().unwrap();
        let journal = Journal::open(&state.path().join("a/b")).unwrap();
        let path = journal.path().to_owned();
        let entry = journal.declare(Kind::Image.at("/i")).unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "make 1 image /i\n");
        drop(journal);
        assert!(path.exists(), "an entry is still open");
        entry.done().unwrap();
        assert!(!path.exists());

        let journal = Journal::open(state.path()).unwrap();
        let path = journal.path().to_owned();
        drop(journal.declare(Kind::Image.at("/i")).unwrap());
        drop(journal);
        assert!(
            path.exists(),
            "what could not be undone is kept for the clean-up"
        );
    }

    #[test]
    fn two_journals_of_one_process_do_not_meet() {
        let state = tempfile::tempdir().unwrap();
        let one = Journal::open(state.path()).unwrap();
        let two = Journal::open(state.path()).unwrap();
        assert_ne!(one.path(), two.path());
    }

    #[test]
    fn a_relative_path_is_refused() {
        let state = tempfile::tempdir().unwrap();
        let journal = Journal::open(state.path()).unwrap();
        assert!(journal.declare(Kind::Tree.at("x")).is_err());
    }

    #[test]
    fn a_long_run_does_not_grow_the_file() {
        let state = tempfile::tempdir().unwrap();
        let journal = Journal::open(state.path()).unwrap();
        for _ in 0..50 {
            let image = journal.declare(Kind::Image.at("/i")).unwrap();
            let device = journal.declare(Kind::Loop.at("/i")).unwrap();
            device.done().unwrap();
            image.done().unwrap();
        }
        assert_eq!(std::fs::metadata(journal.path()).unwrap().len(), 0);
    }
}
