//! Compares the files of a file system with a faulty disk with its tree.

use fsdyno_crash::{Entry, EntryKind, Run, Tree};
use std::collections::BTreeSet;

/// What the reader of a tree notes of files that are larger or deeper than any of a tree: no system
/// call failed.
const LIMITS: [&str; 2] = ["E2BIG", "ELOOP"];

/// The first differences.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Comparison {
    /// Wrong data or names that no system call reported.
    pub wrong: Option<String>,
    /// An error of a system call.
    pub error: Option<String>,
}

impl Comparison {
    pub fn of(known: &Tree, found: &Tree) -> Self {
        let paths: BTreeSet<&String> = known.entries.keys().chain(found.entries.keys()).collect();
        let mut all = Self::default();
        for path in paths {
            let name = if path.is_empty() { "/" } else { path };
            let entry = found.entries.get(path);
            let errno = entry.and_then(|entry| entry.unreadable.as_ref());
            if let Some(errno) = errno.filter(|errno| !LIMITS.contains(&errno.as_str())) {
                all.error.get_or_insert(format!("`{name}`: {errno}"));
            }
            match (known.entries.get(path), entry) {
                (Some(known), Some(found)) if same(known, found) => {}
                (Some(_), Some(_)) => {
                    all.wrong.get_or_insert(format!("`{name}` is wrong"));
                }
                // Its directory could not be read.
                (Some(_), None) if is_below_error(path, found) => {}
                (Some(_), None) => {
                    all.wrong.get_or_insert(format!("`{name}` is missing"));
                }
                (None, _) => {
                    all.wrong.get_or_insert(format!("`{name}` is new"));
                }
            }
        }
        all
    }
}

/// Whether all that could be read of an entry is right. Numbers of inodes count the entries before,
/// and are not compared.
fn same(known: &Entry, found: &Entry) -> bool {
    match &found.unreadable {
        // Neither its kind nor its attributes could be read.
        Some(_) if found.kind == EntryKind::Other => return true,
        Some(_) => return is_part(known, found),
        None => {}
    }
    known.kind == found.kind
        && known.mode == found.mode
        && known.links == found.links
        && known.xattrs == found.xattrs
}

/// Whether an entry that could not be read as a whole is a part of the known one.
fn is_part(known: &Entry, found: &Entry) -> bool {
    let kind = match (&known.kind, &found.kind) {
        (
            EntryKind::File { size, runs },
            EntryKind::File {
                size: found,
                runs: read,
            },
        ) => {
            size == found
                && read
                    .iter()
                    .all(|run| runs.iter().any(|known| is_within(run, known)))
        }
        (known, found) => known == found,
    };
    kind && known.mode == found.mode && known.links == found.links
}

fn is_within(run: &Run, known: &Run) -> bool {
    known.source == run.source
        && known.offset <= run.offset
        && run.offset + run.length <= known.offset + known.length
}

fn is_below_error(path: &str, found: &Tree) -> bool {
    let mut above = path;
    loop {
        above = above.rsplit_once('/').map_or("", |(above, _)| above);
        let entry = found.entries.get(above);
        if entry.is_some_and(|entry| entry.unreadable.is_some()) {
            return true;
        }
        if above.is_empty() {
            return false;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fsdyno_crash::Source;
    use std::collections::BTreeMap;

    fn entry(kind: EntryKind, unreadable: Option<&str>) -> Entry {
        Entry {
            kind,
            mode: Some(0o644),
            links: None,
            inode: 0,
            xattrs: BTreeMap::new(),
            unreadable: unreadable.map(str::to_owned),
        }
    }

    fn file(size: u64, length: u64, operation: u32) -> EntryKind {
        let run = Run {
            offset: 0,
            length,
            source: Source::Operation(operation),
        };
        EntryKind::File {
            size,
            runs: vec![run],
        }
    }

    fn compare(found: &[(&str, Entry)]) -> (bool, bool) {
        let tree = |entries: &[(&str, Entry)]| Tree {
            entries: entries
                .iter()
                .map(|(path, entry)| ((*path).to_owned(), entry.clone()))
                .collect(),
            ..Tree::default()
        };
        let known = tree(&[
            ("", entry(EntryKind::Directory, None)),
            ("d", entry(EntryKind::Directory, None)),
            ("d/f", entry(file(96, 96, 1), None)),
        ]);
        let all = Comparison::of(&known, &tree(found));
        (all.wrong.is_some(), all.error.is_some())
    }

    #[test]
    fn what_an_error_hides_is_not_wrong_and_the_rest_is_compared() {
        let root = ("", entry(EntryKind::Directory, None));
        let directory = ("d", entry(EntryKind::Directory, None));
        let with = |kind, errno| {
            let one = ("d/f", entry(kind, errno));
            compare(&[root.clone(), directory.clone(), one])
        };
        assert_eq!(with(file(96, 96, 1), None), (false, false));
        assert_eq!(with(file(96, 96, 2), None), (true, false));
        assert_eq!(with(file(96, 48, 1), Some("EIO")), (false, true));
        assert_eq!(with(file(96, 48, 2), Some("EIO")), (true, true));
        // A size that is too large to be read is no error of a system call.
        assert_eq!(with(file(1 << 40, 96, 1), Some("E2BIG")), (true, false));
        // A missing file is wrong, unless its directory could not be read.
        let missing = compare(&[root.clone(), directory]);
        assert_eq!(missing, (true, false));
        let broken = ("d", entry(EntryKind::Directory, Some("EIO")));
        assert_eq!(compare(&[root, broken]), (false, true));
    }
}
