//! The record of the entries that fsdyno made in a directory, a file next to them.
//!
//! A name is not sufficient: a user may have their own `source` or `copy-7`. An entry is identified
//! by its birth time, or by its inode number if the file system has no birth times.

use crate::kinds;
use fsdyno_datasets::work_dir::{SOURCE, WorkDir};
use fsdyno_files::{Existing, Untrusted, open_own, replace};
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

/// The name of the record file.
pub const RECORD: &str = ".fsdyno-made";

/// The first line of a record.
const HEADER: &str = "made by fsdyno: name, nanoseconds since 1970 at birth, inode";

/// The maximum size of a record, which normally has a few lines.
const MAX_RECORD_BYTES: u64 = 1 << 20;

/// The entries that fsdyno made in a directory.
#[derive(Debug)]
pub struct Made {
    root: PathBuf,
    entries: BTreeMap<String, Identity>,
    /// The names that fsdyno could have made, as of the reading of the record.
    before: BTreeSet<String>,
}

/// The identity of an entry, which a later entry of the same name does not share.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Identity {
    /// 0 if the file system does not store it.
    born_ns: u128,
    inode: u64,
}

impl Identity {
    fn of(path: &Path) -> Option<Self> {
        let about = path.symlink_metadata().ok()?;
        let born = about.created().ok();
        let born = born.and_then(|born| born.duration_since(UNIX_EPOCH).ok());
        Some(Self {
            born_ns: born.map_or(0, |born| born.as_nanos()),
            inode: about.ino(),
        })
    }

    /// Inode numbers of FAT and similar file systems change with every mount; birth times do not.
    fn is_same(self, now: Self) -> bool {
        self.born_ns == now.born_ns && (self.born_ns != 0 || self.inode == now.inode)
    }
}

impl Made {
    /// Reads the record of a directory; empty if there is none. A record that another user could
    /// have written is an error.
    pub fn read(root: &Path) -> Result<Self, Untrusted> {
        let path = root.join(RECORD);
        let mut text = String::new();
        match open_own(&path) {
            Ok(file) => {
                file.take(MAX_RECORD_BYTES)
                    .read_to_string(&mut text)
                    .map_err(|source| Untrusted::Io {
                        act: "read",
                        path,
                        source,
                    })?;
            }
            Err(error) if error.is_missing() => {}
            Err(error) => return Err(error),
        }
        let before = names(root).map_err(|source| Untrusted::Io {
            act: "list",
            path: root.to_owned(),
            source,
        })?;
        Ok(Self {
            root: root.to_owned(),
            entries: text.lines().filter_map(parse).collect(),
            before,
        })
    }

    /// Whether fsdyno made the existing entry with this name.
    pub fn holds(&self, name: &OsStr) -> bool {
        let known = name.to_str().and_then(|name| self.entries.get(name));
        let now = Identity::of(&self.root.join(name));
        known
            .zip(now)
            .is_some_and(|(known, now)| known.is_same(now))
    }

    /// An entry that this kind of phase would overwrite or delete, and that fsdyno did not make.
    pub fn foreign(&self, kind: &str) -> Option<PathBuf> {
        let of_kind = |name: &&String| kinds::works_in(kind, name);
        let mut names = self.before.iter().filter(of_kind);
        let name = names.find(|name| !self.holds(OsStr::new(name)))?;
        Some(self.root.join(name))
    }

    /// Adds the entries made since the record was read, and removes those that no longer exist.
    pub fn record(mut self) -> io::Result<()> {
        let was = self.entries.clone();
        let mut entries = std::mem::take(&mut self.entries);
        entries.retain(|name, known| {
            Identity::of(&self.root.join(name)).is_some_and(|now| known.is_same(now))
        });
        self.entries = entries;
        for name in names(&self.root)? {
            if !self.before.contains(&name)
                && let Some(identity) = Identity::of(&self.root.join(&name))
            {
                self.entries.insert(name, identity);
            }
        }
        if self.entries == was {
            return Ok(());
        }
        let lines = self.entries.iter().map(|(name, identity)| {
            let Identity { born_ns, inode } = identity;
            format!("{name} {born_ns} {inode}\n")
        });
        let text: String = std::iter::once(format!("{HEADER}\n"))
            .chain(lines)
            .collect();
        replace(
            &self.root.join(RECORD),
            text.as_bytes(),
            0o600,
            Existing::Replace,
        )
    }
}

/// The names in a directory that fsdyno could have made.
fn names(root: &Path) -> io::Result<BTreeSet<String>> {
    let mut names = BTreeSet::new();
    for entry in std::fs::read_dir(root)? {
        let name = entry?.file_name();
        let Some(name) = name.to_str() else {
            continue;
        };
        if tree_number(OsStr::new(name)).is_some() || kinds::is_own_directory(name) {
            names.insert(name.to_owned());
        }
    }
    Ok(names)
}

/// Parses a line of a record; none for the header or an unknown form.
fn parse(line: &str) -> Option<(String, Identity)> {
    let mut words = line.split(' ');
    let (name, born, inode) = (words.next()?, words.next()?, words.next()?);
    let identity = Identity {
        born_ns: born.parse().ok()?,
        inode: inode.parse().ok()?,
    };
    words.next().is_none().then(|| (name.to_owned(), identity))
}

/// The work directory of an earlier call: its archive, and its trees in the order of their creation
/// ([`SOURCE`] first, then by the number in their names).
///
/// A tree is a directory that fsdyno made and that has the name of a tree. Other directories are
/// neither read nor deleted, and new trees do not get their names.
pub fn discover(root: impl Into<PathBuf>, made: &Made) -> io::Result<WorkDir> {
    let mut work_dir = WorkDir::new(root);
    let mut trees = Vec::new();
    let mut files = Vec::new();
    for entry in std::fs::read_dir(&work_dir.root)? {
        let entry = entry?;
        let (kind, name) = (entry.file_type()?, entry.file_name());
        let number = tree_number(&name);
        work_dir.made = work_dir.made.max(number.unwrap_or(0));
        if kind.is_dir() && made.holds(&name) {
            trees.extend(number.map(|number| (number, entry.path())));
        } else if kind.is_file() && name != RECORD {
            files.push(entry.path());
        }
    }
    trees.sort();
    work_dir.trees = trees.into_iter().map(|(_, path)| path).collect();
    work_dir.archive = the_archive(&files);
    Ok(work_dir)
}

/// The number in the name of a tree, 0 for the source; none for other names.
fn tree_number(name: &OsStr) -> Option<u32> {
    let name = name.to_str()?;
    if name == SOURCE {
        return Some(0);
    }
    let (kind, number) = name.rsplit_once('-')?;
    let makes_trees = kinds::find(kind).is_some_and(|kind| kind.makes_tree);
    number
        .parse()
        .ok()
        .filter(|number| makes_trees && *number > 0)
}

/// The archive among files: the only one with the name of an archive, or else the only file.
fn the_archive(files: &[PathBuf]) -> Option<PathBuf> {
    let named = |path: &&PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let mut endings = name.rsplit('.').take(2);
        endings.any(|ending| matches!(ending, "tar" | "tgz" | "txz" | "tzst"))
    };
    let archives: Vec<&PathBuf> = files.iter().filter(named).collect();
    match (&archives[..], files) {
        ([one], _) => Some((*one).clone()),
        ([], [one]) => Some(one.clone()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn only_entries_made_between_read_and_record_are_recorded() {
        let home = tempfile::tempdir().unwrap();
        let at = |name: &str| home.path().join(name);
        for name in ["copy-1", "op"] {
            fs::create_dir(at(name)).unwrap();
        }
        let made = Made::read(home.path()).unwrap();
        for name in ["source", "photographs", "bonnie"] {
            fs::create_dir(at(name)).unwrap();
        }
        made.record().unwrap();
        let made = Made::read(home.path()).unwrap();
        let held = |name: &str| made.holds(OsStr::new(name));
        assert!(held("source") && held("bonnie"));
        assert!(!held("copy-1") && !held("op") && !held("photographs") && !held("copy-2"));
        assert_eq!(made.foreign("op-create"), Some(at("op")));
        assert_eq!(made.foreign("bonnie-write"), None);
        assert_eq!(made.foreign("read"), None);
    }

    #[test]
    fn another_entry_of_the_same_name_is_not_recognised() {
        let home = tempfile::tempdir().unwrap();
        let source = home.path().join("source");
        let made = Made::read(home.path()).unwrap();
        fs::create_dir(&source).unwrap();
        made.record().unwrap();
        fs::rename(&source, home.path().join("elsewhere")).unwrap();
        fs::create_dir(&source).unwrap();
        let made = Made::read(home.path()).unwrap();
        assert!(!made.holds(OsStr::new("source")));
        made.record().unwrap();
        let record = fs::read_to_string(home.path().join(RECORD)).unwrap();
        assert!(!record.contains("source"), "{record}");
    }

    #[test]
    fn a_record_that_is_a_link_is_refused() {
        let home = tempfile::tempdir().unwrap();
        let target = home.path().join("target");
        fs::write(&target, "source 0 1\n").unwrap();
        std::os::unix::fs::symlink(&target, home.path().join(RECORD)).unwrap();
        let refused = Made::read(home.path()).unwrap_err().to_string();
        assert!(refused.contains("not trusted"), "{refused}");
    }

    #[test]
    fn trees_and_the_archive_are_distinguished_from_other_entries() {
        let home = tempfile::tempdir().unwrap();
        let at = |name: &str| home.path().join(name);
        let found = || {
            let made = Made::read(home.path()).unwrap();
            super::discover(home.path(), &made).unwrap()
        };
        // Not made by fsdyno.
        std::fs::create_dir(at("copy-11")).unwrap();
        let made = Made::read(home.path()).unwrap();
        for name in [
            "copy-2",
            "source",
            "untar-1",
            "copy-10", // trees
            "bonnie",
            "testdir1-0-1",
            "program-copy-3",
            "state",
            "copy-x",
            "mine-11",
        ] {
            std::fs::create_dir(at(name)).unwrap();
        }
        made.record().unwrap();
        for name in ["job.1.0", "sources.tar.gz", "built", "log.txt"] {
            std::fs::write(at(name), "").unwrap();
        }
        let mut work_dir = found();
        let trees = ["source", "untar-1", "copy-2", "copy-10"].map(at);
        assert_eq!(work_dir.trees, trees);
        assert_eq!(work_dir.next_tree("copy"), at("copy-12"));
        assert_eq!(work_dir.archive, Some(at("sources.tar.gz")));
        // Two archives are ambiguous. A single file is accepted with any name.
        std::fs::write(at("other.tgz"), "").unwrap();
        assert_eq!(found().archive, None);
        for name in ["sources.tar.gz", "job.1.0", "other.tgz", "log.txt"] {
            std::fs::remove_file(at(name)).unwrap();
        }
        let work_dir = found();
        assert_eq!(work_dir.archive, Some(at("built")));
    }
}
