//! Reads an archive once before anything is created: counts its contents, and checks whether it is
//! safe.

use crate::member::{Member, MemberKind};
use crate::{DatasetError, Facts, packed};
use fsdyno_model::{Bytes, CancelToken};
use rustix::thread::{CapabilitySet, capabilities};
use std::collections::HashSet;
use std::hash::{DefaultHasher, Hasher};
use std::path::Path;

/// The maximum ratio between the stream and its contents. Names without data have up to three
/// headers of 512 bytes, for which [`Facts::footprint`] counts 1 KiB, and a directory may occur
/// twice.
const STREAM_FACTOR: u64 = 4;

/// Reads the headers of all members to the end of the archive. Stops at the first member that does
/// not fit into `room`.
pub fn scan(path: &Path, room: Option<Bytes>, stop: &CancelToken) -> Result<Facts, DatasetError> {
    let stored = std::fs::metadata(path)
        .map_err(|error| DatasetError::io("examine", path, error))?
        .len();
    let mut scan = Scan {
        facts: Facts {
            archive_bytes: Some(Bytes(stored)),
            ..Facts::default()
        },
        symlinks: HashSet::new(),
        directories: HashSet::new(),
    };
    let most = room.map_or(u64::MAX, |room| room.0.saturating_mul(STREAM_FACTOR));
    packed::each_member(path, most, stop, |member, _| {
        scan.member(&member).map_err(|why| DatasetError::Member {
            path: path.to_owned(),
            member: member.shown_path(),
            why,
        })?;
        match room {
            Some(room) if scan.facts.footprint > room => Err(DatasetError::TooLarge {
                path: path.to_owned(),
                member: member.shown_path(),
                room,
            }),
            _ => Ok(()),
        }
    })?;
    Ok(scan.facts)
}

struct Scan {
    facts: Facts,
    /// Hashes of the paths of all symbolic links so far: no member may be written through one.
    symlinks: HashSet<u64>,
    /// Hashes of the paths of all directories so far, named or implied.
    directories: HashSet<u64>,
}

impl Scan {
    fn member(&mut self, member: &Member) -> Result<(), String> {
        self.refuse_through_symlink(&member.path, "is behind")?;
        self.imply_directories(&member.path);
        let hash = path_hash(&member.path);
        if !matches!(member.kind, MemberKind::Symlink(_)) && self.symlinks.contains(&hash) {
            return Err("has the path of a symbolic link of the same archive".to_owned());
        }
        match &member.kind {
            MemberKind::File { size, .. } => self.facts.add_file(*size),
            MemberKind::Directory => {
                if !member.path.is_empty() && self.directories.insert(hash) {
                    self.facts.add_directory();
                }
            }
            MemberKind::Symlink(_) => {
                self.symlinks.insert(hash);
                self.facts.add_name();
            }
            MemberKind::HardLink(target) => {
                self.refuse_through_symlink(target, "is a hard link to a path behind")?;
                self.facts.add_name();
            }
            MemberKind::Fifo => self.facts.add_name(),
            MemberKind::Device { .. } => {
                let sets = capabilities(None);
                if !sets.is_ok_and(|sets| sets.effective.contains(CapabilitySet::MKNOD)) {
                    return Err("is a device node, which only root can make".to_owned());
                }
                self.facts.add_name();
            }
        }
        Ok(())
    }

    fn refuse_through_symlink(&self, path: &[u8], how: &str) -> Result<(), String> {
        if self.symlinks.is_empty() {
            return Ok(());
        }
        let link_parent = parents(path).find(|(_, hash)| self.symlinks.contains(hash));
        link_parent.map_or(Ok(()), |(parent, _)| {
            let link = String::from_utf8_lossy(parent);
            Err(format!(
                "{how} the symbolic link `{link}` of the same archive"
            ))
        })
    }

    fn imply_directories(&mut self, path: &[u8]) {
        for (_, hash) in parents(path) {
            if self.directories.insert(hash) {
                self.facts.add_directory();
            }
        }
    }
}

/// The parents of a clean path, outermost first, with the hashes of their paths. Each byte of the
/// path is hashed once, independent of the number of parents.
pub fn parents(path: &[u8]) -> impl Iterator<Item = (&[u8], u64)> {
    hashed_parents::<DefaultHasher>(path)
}

fn hashed_parents<H: Hasher + Clone + Default>(path: &[u8]) -> impl Iterator<Item = (&[u8], u64)> {
    let mut hasher = H::default();
    let mut begin = 0;
    let ends = (0..path.len()).filter(|at| path[*at] == b'/');
    ends.map(move |end| {
        hasher.write(&path[begin..end]);
        begin = end;
        (&path[..end], hasher.clone().finish())
    })
}

/// The hash that replaces a path, as there may be millions: the one that [`parents`] returns for
/// it.
pub fn path_hash(path: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    let mut begin = 0;
    for end in (0..path.len()).filter(|at| path[*at] == b'/') {
        hasher.write(&path[begin..end]);
        begin = end;
    }
    hasher.write(&path[begin..]);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    thread_local!(static HASHED: Cell<usize> = const { Cell::new(0) });

    /// Counts what it is given.
    #[derive(Clone, Default)]
    struct Counting;

    impl Hasher for Counting {
        fn write(&mut self, bytes: &[u8]) {
            HASHED.set(HASHED.get() + bytes.len());
        }

        fn finish(&self) -> u64 {
            0
        }
    }

    #[test]
    fn hashing_the_parents_of_a_path_takes_linear_time() {
        for depth in [10, 1_000, 100_000] {
            HASHED.set(0);
            let path = b"d/".repeat(depth);
            assert_eq!(hashed_parents::<Counting>(&path).count(), depth);
            assert!(HASHED.get() <= path.len(), "{depth}: {}", HASHED.get());
        }
    }

    #[test]
    fn a_parent_has_the_hash_of_its_path() {
        let found: Vec<_> = parents(b"a/bc/d").collect();
        let expected = [&b"a"[..], b"a/bc"].map(|path| (path, path_hash(path)));
        assert_eq!(found, expected);
    }
}
