//! One pass over an archive before anything is made: what it holds, and whether it is safe.

use super::member::{BadMember, Member, MemberKind};
use super::{DatasetError, Facts, archive};
use fsdyno_model::Bytes;
use rustix::thread::{CapabilitySet, capabilities};
use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// Reads the headers of all members, and the archive to its end.
pub fn scan(path: &Path) -> Result<Facts, DatasetError> {
    let stored = std::fs::metadata(path)
        .map_err(|error| DatasetError::io("examine", path, error))?
        .len();
    let mut reader = archive::reader(path)?;
    let mut scan = Scan {
        facts: Facts {
            archive_bytes: Some(Bytes(stored)),
            ..Facts::default()
        },
        symlinks: HashSet::new(),
        directories: HashSet::new(),
    };
    let mut last = None;
    let damaged = |member: &Option<PathBuf>, source| DatasetError::Archive {
        path: path.to_owned(),
        member: member.clone(),
        source,
    };
    let mut tar = tar::Archive::new(&mut reader);
    for entry in tar.entries().map_err(|error| damaged(&last, error))? {
        let mut entry = entry.map_err(|error| damaged(&last, in_words(error)))?;
        let member = match Member::of(&mut entry) {
            Ok(Some(member)) => member,
            Ok(None) => continue,
            Err(BadMember::Damaged(error)) => return Err(damaged(&last, error)),
            Err(BadMember::Refused(member, why)) => {
                return Err(DatasetError::Member {
                    path: path.to_owned(),
                    member,
                    why,
                });
            }
        };
        scan.member(&member).map_err(|why| DatasetError::Member {
            path: path.to_owned(),
            member: member.shown_path(),
            why,
        })?;
        last = Some(member.shown_path());
    }
    if last.is_none() {
        let none = io::Error::new(io::ErrorKind::InvalidData, "it holds no member");
        return Err(damaged(&last, none));
    }
    // Checksums stand at the end of a packed stream: it must be read whole to be believed.
    io::copy(&mut reader.by_ref(), &mut io::sink()).map_err(|error| damaged(&last, error))?;
    Ok(scan.facts)
}

struct Scan {
    facts: Facts,
    /// Hashes of the paths of all symbolic links so far: nothing may be written through one.
    symlinks: HashSet<u64>,
    /// Hashes of the paths of all directories so far, named or implied.
    directories: HashSet<u64>,
}

impl Scan {
    fn member(&mut self, member: &Member) -> Result<(), String> {
        self.refuse_through_symlink(&member.path, "lies behind")?;
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
        let behind = parents(path).find(|parent| self.symlinks.contains(&path_hash(parent)));
        behind.map_or(Ok(()), |parent| {
            let link = String::from_utf8_lossy(parent);
            Err(format!(
                "{how} the symbolic link `{link}` of the same archive"
            ))
        })
    }

    fn imply_directories(&mut self, path: &[u8]) {
        for parent in parents(path) {
            if self.directories.insert(path_hash(parent)) {
                self.facts.add_directory();
            }
        }
    }
}

/// The paths of the directories a clean path lies in, innermost first.
pub fn parents(path: &[u8]) -> impl Iterator<Item = &[u8]> {
    path.iter()
        .enumerate()
        .rev()
        .filter(|(_, byte)| **byte == b'/')
        .map(|(at, _)| &path[..at])
}

/// Stands for a path where millions must be remembered.
pub fn path_hash(path: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    path.hash(&mut hasher);
    hasher.finish()
}

/// What the reader of archives says of a bad header cites its bytes, which are not for terminals.
fn in_words(error: io::Error) -> io::Error {
    if error.to_string().contains(char::is_control) {
        return io::Error::new(
            error.kind(),
            "what stands there is no header of a tar archive",
        );
    }
    error
}
