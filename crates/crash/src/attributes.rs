//! The attributes of files: which of them are compared after a power cut or between two mounts, and
//! the document that promises them. The others are never read into a [`Tree`].

use crate::tree::{Entry, EntryKind, Run, Source, Tree};
use std::collections::BTreeSet;

/// An attribute of files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Attribute {
    /// Its name.
    pub name: &'static str,
    /// Whether it is compared.
    pub compared: bool,
    /// The document that promises it, or the reason why none does.
    pub reason: &'static str,
}

const fn compared(name: &'static str, reason: &'static str) -> Attribute {
    Attribute {
        name,
        compared: true,
        reason,
    }
}

const fn ignored(name: &'static str, reason: &'static str) -> Attribute {
    Attribute {
        name,
        compared: false,
        reason,
    }
}

/// All attributes, in the order of the generated reference.
pub const ATTRIBUTES: [Attribute; 23] = [
    compared(
        "names in a directory, as a set",
        "fsync(2) of the directory and sync(2) keep them; POSIX: link, rename, unlink",
    ),
    compared(
        "kind of a file",
        "POSIX: no operation changes the file type in `st_mode`",
    ),
    compared(
        "text of a symbolic link",
        "POSIX: symlink sets it, nothing changes it",
    ),
    compared(
        "number of a device",
        "POSIX: `st_rdev` is the device; mknod sets it, nothing changes it",
    ),
    compared(
        "data of a regular file",
        "POSIX: fdatasync and fsync; holes and zeros are equal",
    ),
    compared(
        "size of a regular file",
        "POSIX: fdatasync keeps what is needed to read the data",
    ),
    compared(
        "permissions of files and directories",
        "fsync(2) keeps the metadata of inode(7)",
    ),
    compared(
        "which names lead to one file",
        "POSIX: link makes another name of the same file",
    ),
    compared(
        "number of links of a file",
        "POSIX: `st_nlink` is the number of hard links",
    ),
    compared(
        "attributes `user.*`",
        "xattr(7): associated permanently with files and directories",
    ),
    compared(
        "whether it can be read",
        "POSIX: read returns the data that were written",
    ),
    ignored(
        "allocated blocks, extents, holes",
        "POSIX leaves `st_blocks` open; XFS frees blocks that it preallocated behind the end (xfs(5), `allocsize`)",
    ),
    ignored(
        "size of a directory",
        "POSIX defines `st_size` of regular files and symbolic links only",
    ),
    ignored(
        "number of links of a directory",
        "POSIX leaves open whether subdirectories count; Btrfs always has 1",
    ),
    ignored(
        "permissions of a symbolic link",
        "POSIX leaves them open; symlink(7): they are not used",
    ),
    ignored(
        "times of access, change, data, creation",
        "no program sets them; the kernel writes them later (mount(8): `relatime`, `lazytime`)",
    ),
    ignored(
        "order of names",
        "POSIX: the order of readdir is not specified",
    ),
    ignored(
        "numbers of inodes and devices",
        "POSIX: they identify a file among others, not across mounts",
    ),
    ignored("owner, group", "no program sets them"),
    ignored(
        "attributes `security.*`, `system.*`, `trusted.*`",
        "the kernel and its security modules set them",
    ),
    ignored(
        "flags, versions, project, fs-verity",
        "no program sets them; statx(2) reports those that the file system has",
    ),
    ignored(
        "block size for input and output",
        "POSIX: `st_blksize` is a preference of the implementation",
    ),
    ignored(
        "free space, free inodes",
        "POSIX: statvfs may return approximate values",
    ),
];

/// The first difference between the files of two mounts, in words: `` `log` is 4 KiB shorter``.
pub fn difference(before: &Tree, after: &Tree) -> Option<String> {
    let paths: BTreeSet<&String> = before.entries.keys().chain(after.entries.keys()).collect();
    let first = paths.into_iter().find_map(|path| {
        let name = if path.is_empty() { "/" } else { path };
        let what = match (before.entries.get(path), after.entries.get(path)) {
            (Some(_), None) => "is missing".to_owned(),
            (None, Some(_)) => "is new".to_owned(),
            (before, after) => between(before?, after?)?,
        };
        Some(format!("`{name}` {what}"))
    });
    first.or_else(|| (before.other != after.other).then(|| "a file has other data".to_owned()))
}

/// The first difference between two entries of one path. A new field of an entry is a compile error
/// here: it must be compared, or not be read.
fn between(before: &Entry, after: &Entry) -> Option<String> {
    let Entry {
        kind,
        mode,
        links,
        inode,
        xattrs,
        unreadable,
    } = before;
    if *unreadable != after.unreadable {
        return Some(match &after.unreadable {
            Some(errno) => format!("cannot be read ({errno})"),
            None => "can be read again".to_owned(),
        });
    }
    if let Some(what) = of_kind(kind, &after.kind) {
        return Some(what);
    }
    if *mode != after.mode {
        let shown = |mode: Option<u32>| mode.map_or("none".to_owned(), |mode| format!("{mode:o}"));
        let (before, after) = (shown(*mode), shown(after.mode));
        return Some(format!("has the permissions {after}, and had {before}"));
    }
    let names: BTreeSet<&String> = xattrs.keys().chain(after.xattrs.keys()).collect();
    let mut names = names.into_iter();
    if let Some(name) = names.find(|name| xattrs.get(*name) != after.xattrs.get(*name)) {
        return Some(match after.xattrs.get(name) {
            Some(_) => format!("has another value of the attribute {name}"),
            None => format!("has lost the attribute {name}"),
        });
    }
    if *links != after.links {
        let shown = |links: Option<u64>| links.map_or("none".to_owned(), |links| links.to_string());
        let (before, after) = (shown(*links), shown(after.links));
        return Some(format!("has a link count of {after}, and had {before}"));
    }
    (*inode != after.inode).then(|| "is the same file as another one than before".to_owned())
}

fn of_kind(before: &EntryKind, after: &EntryKind) -> Option<String> {
    match (before, after) {
        (
            EntryKind::File { size, runs },
            EntryKind::File {
                size: size_after,
                runs: runs_after,
            },
        ) => {
            if let Some(change) = resized(*size, *size_after) {
                return Some(change);
            }
            let at = first_difference(runs, runs_after)?;
            Some(format!("has other data from byte {at} on"))
        }
        (before, after) if before == after => None,
        (EntryKind::Symlink { .. }, EntryKind::Symlink { .. }) => {
            Some("points to another path".to_owned())
        }
        _ => Some("is another kind of file".to_owned()),
    }
}

/// How a file became longer or shorter; none if it did not.
fn resized(before: u64, after: u64) -> Option<String> {
    match before.cmp(&after) {
        std::cmp::Ordering::Equal => None,
        std::cmp::Ordering::Less => Some(format!("is {} longer", amount(after - before))),
        std::cmp::Ordering::Greater => Some(format!("is {} shorter", amount(before - after))),
    }
}

/// A number of bytes, exactly: `4 KiB`, `4100 bytes`.
pub(crate) fn amount(bytes: u64) -> String {
    match bytes {
        1 => "1 byte".to_owned(),
        bytes if bytes > 0 && bytes.is_multiple_of(1 << 20) => format!("{} MiB", bytes >> 20),
        bytes if bytes > 0 && bytes.is_multiple_of(1 << 10) => format!("{} KiB", bytes >> 10),
        bytes => format!("{bytes} bytes"),
    }
}

/// The first byte whose source differs.
fn first_difference(before: &[Run], after: &[Run]) -> Option<u64> {
    let source = |runs: &[Run], at: u64| -> Option<Source> {
        let within = |run: &&Run| (run.offset..run.offset + run.length).contains(&at);
        runs.iter().find(within).map(|run| run.source)
    };
    let starts = before
        .iter()
        .chain(after)
        .flat_map(|run| [run.offset, run.offset + run.length]);
    let starts: BTreeSet<u64> = starts.collect();
    let differs = |at: &u64| source(before, *at) != source(after, *at);
    starts.into_iter().find(differs)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    fn file(size: u64) -> Entry {
        let run = Run {
            offset: 0,
            length: size,
            source: Source::Operation(3),
        };
        Entry {
            kind: EntryKind::File {
                size,
                runs: vec![run],
            },
            mode: Some(0o644),
            links: Some(1),
            inode: 1,
            xattrs: BTreeMap::new(),
            unreadable: None,
        }
    }

    fn tree(entry: Entry) -> Tree {
        Tree {
            entries: BTreeMap::from([("A/log".to_owned(), entry)]),
            other: 0,
        }
    }

    #[test]
    fn a_difference_between_two_mounts_is_one_sentence() {
        let same = tree(file(8192));
        let changed = |change: fn(&mut Entry)| {
            let mut entry = file(8192);
            change(&mut entry);
            tree(entry)
        };
        let text = |after: &Tree| difference(&same, after);
        assert_eq!(text(&same), None);
        let cases: [(Tree, &str); 8] = [
            (Tree::default(), "`A/log` is missing"),
            (tree(file(4096)), "`A/log` is 4 KiB shorter"),
            (tree(file(12288)), "`A/log` is 4 KiB longer"),
            (
                changed(|one| one.mode = Some(0o700)),
                "`A/log` has the permissions 700, and had 644",
            ),
            (
                changed(|one| one.links = Some(2)),
                "`A/log` has a link count of 2, and had 1",
            ),
            (
                changed(|one| drop(one.xattrs.insert("user.a".into(), Vec::new()))),
                "`A/log` has another value of the attribute user.a",
            ),
            (
                changed(|one| one.unreadable = Some("EIO".into())),
                "`A/log` cannot be read (EIO)",
            ),
            (
                changed(|one| one.kind = EntryKind::Directory),
                "`A/log` is another kind of file",
            ),
        ];
        for (after, expected) in &cases {
            assert_eq!(text(after).as_deref(), Some(*expected));
        }
        let mut zeros = file(8192);
        if let EntryKind::File { runs, .. } = &mut zeros.kind {
            runs[0].length = 4096;
            runs.push(Run {
                offset: 4096,
                length: 4096,
                source: Source::Zeros,
            });
        }
        let expected = "`A/log` has other data from byte 4096 on";
        assert_eq!(text(&tree(zeros)).as_deref(), Some(expected));
    }
}
