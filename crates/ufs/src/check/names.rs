//! Checks directories. Entries must be complete and name existing files, and each file's link count
//! must match its names.

use super::files::Found;
use super::{CheckError, Disk, Verdict};
use crate::bytes::{get16, get32, index};
use crate::geometry::Geometry;
use crate::group::ROOT;
use crate::inode::{DIRECTORY, DIRECTORY_PIECE};
use std::collections::BTreeMap;
use std::io::{Read, Seek};

/// Reads all directories and counts names.
pub(super) fn check<D: Read + Seek>(
    disk: &mut Disk<'_, D>,
    geometry: &Geometry,
    found: &Found,
    verdict: &mut Verdict,
) -> Result<(), CheckError> {
    let mut names: BTreeMap<u64, u64> = BTreeMap::new();
    let mut parents: BTreeMap<u64, u64> = BTreeMap::from([(ROOT, ROOT)]);
    let mut upward: BTreeMap<u64, u64> = BTreeMap::new();
    for (ino, blocks) in &found.directories {
        let mut data = Vec::new();
        for (first, parts) in blocks {
            let what = format!("directory {ino}");
            data.extend(disk.get(*first, parts * geometry.fragment, &what)?);
        }
        let size = found.inodes[ino].size;
        if !size.is_multiple_of(DIRECTORY_PIECE) || size > data.len() as u64 {
            verdict.report(|| format!("directory {ino}: a size of {size} bytes"));
        }
        data.truncate(index(size.min(data.len() as u64)));
        for entry in entries(*ino, &data, verdict) {
            *names.entry(entry.inode).or_default() += 1;
            match entry.name {
                b"." if entry.inode != *ino => {
                    verdict.report(|| format!("directory {ino}: `.` is another"));
                }
                b"." => {}
                b".." => {
                    upward.insert(*ino, entry.inode);
                }
                _ => child(*ino, &entry, found, &mut parents, verdict),
            }
        }
    }
    for ino in found.directories.keys() {
        let (up, parent) = (upward.get(ino), parents.get(ino));
        if up.is_none() || up != parent {
            let shown = |ino: Option<&u64>| ino.map_or("none".to_owned(), u64::to_string);
            let (up, parent) = (shown(up), shown(parent));
            verdict.report(|| {
                format!("directory {ino}: `..` is inode {up}, and it is in inode {parent}")
            });
        }
    }
    for (ino, inode) in &found.inodes {
        let counted = names.remove(ino).unwrap_or(0);
        verdict.compare(|| format!("inode {ino}, names"), inode.links, counted);
    }
    for ino in names.keys() {
        verdict.report(|| format!("inode {ino} has names, and is not in use"));
    }
    Ok(())
}

/// Checks the file that an entry names.
fn child(
    directory: u64,
    entry: &Entry<'_>,
    found: &Found,
    parents: &mut BTreeMap<u64, u64>,
    verdict: &mut Verdict,
) {
    let name = String::from_utf8_lossy(entry.name);
    let Some(inode) = found.inodes.get(&entry.inode) else {
        // The check of the remaining names reports it.
        return;
    };
    if entry.kind != 0 && entry.kind != inode.kind() >> 12 {
        verdict
            .report(|| format!("directory {directory}: `{name}` is of another kind than its file"));
    }
    if inode.kind() == DIRECTORY && parents.insert(entry.inode, directory).is_some() {
        verdict.report(|| format!("directory {}: it has two names", entry.inode));
    }
}

struct Entry<'a> {
    inode: u64,
    /// File type of an entry in the form of mode bits. 0 is unknown.
    kind: u64,
    name: &'a [u8],
}

/// The used entries of a directory.
fn entries<'a>(ino: u64, data: &'a [u8], verdict: &mut Verdict) -> Vec<Entry<'a>> {
    let mut all = Vec::new();
    for (number, piece) in data.chunks_exact(index(DIRECTORY_PIECE)).enumerate() {
        let mut at = 0;
        while at < piece.len() {
            let room = piece.len() - at;
            let rest = &piece[at..];
            let length = if room >= 8 { index(get16(rest, 4)) } else { 0 };
            let named = usize::from(*rest.get(7).unwrap_or(&0));
            if length < 8 || length % 4 != 0 || length > room || 8 + named > length {
                verdict.report(|| format!("directory {ino}: piece {number} is torn at byte {at}"));
                break;
            }
            let inode = get32(rest, 0);
            if inode != 0 {
                let name = &rest[8..8 + named];
                if name.is_empty() || name.contains(&0) || name.contains(&b'/') {
                    verdict.report(|| {
                        format!("directory {ino}: piece {number} has an impossible name")
                    });
                }
                all.push(Entry {
                    inode,
                    kind: u64::from(rest[6]),
                    name,
                });
            }
            at += length;
        }
    }
    all
}
