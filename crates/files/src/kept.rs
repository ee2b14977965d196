//! Large files that are kept for the user after a run, such as images of crash findings: a directory
//! for each run, and one budget for all. The images of the oldest runs make room for new ones.

use crate::{TrustedDir, Untrusted};
use fsdyno_model::Bytes;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The directory of kept files, in the data directory of a user.
pub const DIRECTORY: &str = "fsdyno/kept";

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeptRun {
    pub run: String,
    pub path: PathBuf,
    /// The space that they occupy.
    pub bytes: Bytes,
    /// When the directory last changed, ns since 1970.
    changed_ns: i128,
}

/// All kept files. The oldest runs are first.
pub fn runs(root: &Path) -> Result<Vec<KeptRun>, Untrusted> {
    let directory = match TrustedDir::open(root) {
        Err(error) if error.is_missing() => return Ok(Vec::new()),
        directory => directory?,
    };
    let mut runs = Vec::new();
    for name in directory.names()? {
        let path = root.join(&name);
        let about = fs::symlink_metadata(&path).map_err(failed("examine", &path))?;
        if !about.is_dir() {
            continue;
        }
        runs.push(KeptRun {
            run: name.to_string_lossy().into_owned(),
            bytes: occupied(&path).map_err(failed("examine", &path))?,
            changed_ns: i128::from(about.mtime()) * 1_000_000_000 + i128::from(about.mtime_nsec()),
            path,
        });
    }
    runs.sort_by(|a, b| (a.changed_ns, &a.run).cmp(&(b.changed_ns, &b.run)));
    Ok(runs)
}

/// Removes the kept files of a run. Returns the space that they occupied; none if there are none.
pub fn remove(root: &Path, run: &str) -> Result<Option<Bytes>, Untrusted> {
    let Some(kept) = runs(root)?.into_iter().find(|kept| kept.run == run) else {
        return Ok(None);
    };
    // It follows no symbolic link.
    fs::remove_dir_all(&kept.path).map_err(failed("remove", &kept.path))?;
    Ok(Some(kept.bytes))
}

/// The space of the files of a directory. Holes of images occupy none.
fn occupied(directory: &Path) -> io::Result<Bytes> {
    let mut bytes = 0;
    for entry in fs::read_dir(directory)? {
        bytes += entry?.metadata()?.blocks() * 512;
    }
    Ok(Bytes(bytes))
}

fn failed(act: &'static str, path: &Path) -> impl Fn(io::Error) -> Untrusted {
    let path = path.to_owned();
    move |source| Untrusted::Io {
        act,
        path: path.clone(),
        source,
    }
}

/// Keeps files of one run.
pub struct KeptDir<'a> {
    root: PathBuf,
    run: String,
    budget: Bytes,
    /// Receives what is removed, or not kept, and why.
    note: &'a (dyn Fn(&str) + Sync),
    one_at_a_time: Mutex<()>,
}

/// A directory with room for a file. No other thread of this process uses the budget meanwhile.
pub struct Room<'a> {
    pub path: PathBuf,
    _guard: MutexGuard<'a, ()>,
}

impl<'a> KeptDir<'a> {
    /// `root` is the directory of all kept files, and `budget` its limit.
    pub fn new(root: PathBuf, run: &str, budget: Bytes, note: &'a (dyn Fn(&str) + Sync)) -> Self {
        Self {
            root,
            run: run.to_owned(),
            budget,
            note,
            one_at_a_time: Mutex::new(()),
        }
    }

    /// Makes room for `need` bytes of `what`: removes the files of other runs, oldest first. None if
    /// the budget does not allow it.
    pub fn room(&self, need: Bytes, what: &str) -> Result<Option<Room<'_>>, Untrusted> {
        let guard = self.one_at_a_time.lock();
        let guard = guard.unwrap_or_else(PoisonError::into_inner);
        let runs = runs(&self.root)?;
        let own = runs.iter().find(|kept| kept.run == self.run);
        let own = own.map_or(0, |kept| kept.bytes.0);
        let budget = self.budget;
        if own.saturating_add(need.0) > budget.0 {
            (self.note)(&format!(
                "{what} ({need}) is not kept: kept images may occupy {budget}, of which this run \
                 uses {}. Allow more with --kept-budget",
                Bytes(own)
            ));
            return Ok(None);
        }
        let mut used: u64 = runs.iter().map(|kept| kept.bytes.0).sum();
        for kept in runs.iter().filter(|kept| kept.run != self.run) {
            if used.saturating_add(need.0) <= budget.0 {
                break;
            }
            remove(&self.root, &kept.run)?;
            used -= kept.bytes.0;
            (self.note)(&format!(
                "the kept images of {} ({}) are removed: kept images may occupy {budget}. Allow \
                 more with --kept-budget",
                kept.run, kept.bytes
            ));
        }
        let path = self.root.join(&self.run);
        TrustedDir::create(&path)?;
        Ok(Some(Room {
            path,
            _guard: guard,
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_runs_make_room_and_a_run_that_fills_the_budget_keeps_no_more() {
        let place = tempfile::tempdir().unwrap();
        let root = place.path().canonicalize().unwrap().join("a/kept");
        let list = Mutex::new(Vec::new());
        let note = |text: &str| list.lock().unwrap().push(text.to_owned());
        let keep = |run: &str, budget: u64| -> bool {
            let files = KeptDir::new(root.clone(), run, Bytes(budget), &note);
            let found = files.room(Bytes(8192), "an image").unwrap();
            found.is_some_and(|found| {
                let number = fs::read_dir(&found.path).unwrap().count();
                fs::write(found.path.join(format!("{number}.img")), [1; 8192]).is_ok()
            })
        };
        let names = || -> Vec<String> {
            let runs = runs(&root).unwrap();
            runs.into_iter().map(|kept| kept.run).collect()
        };
        assert_eq!(names(), Vec::<String>::new());
        let budget = 20_000;
        assert!(keep("first", budget) && keep("second", budget));
        assert_eq!(names(), ["first", "second"]);
        assert!(keep("third", budget));
        assert_eq!(names(), ["second", "third"]);
        assert!(keep("third", budget));
        assert_eq!(names(), ["third"]);
        assert!(!keep("third", budget));
        let notes = list.lock().unwrap();
        assert_eq!(notes.len(), 3, "{notes:?}");
        assert!(notes[0].contains("of first (") && notes[1].contains("of second ("));
        assert!(notes[2].contains("is not kept"), "{notes:?}");
        assert!(notes.iter().all(|note| note.contains("--kept-budget")));
        assert_eq!(
            remove(&root, "third").unwrap().map(|bytes| bytes.0),
            Some(16_384)
        );
        assert_eq!(remove(&root, "third").unwrap(), None);
        assert_eq!(remove(&root, "..").unwrap(), None);
        assert!(root.exists());
    }
}
