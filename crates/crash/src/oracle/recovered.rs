//! The files that a recovery left, as inodes of the simulation, so that a program can continue.

use super::{Case, Resolved};
use crate::simulation::{Content, Inode, InodeId, Kind, Name, Piece};
use crate::tree::{Entry, EntryKind, Run, Source};
use std::collections::{BTreeMap, BTreeSet, btree_map};

/// Each recovered inode with its names. None if an entry has bytes that no operation wrote.
pub(super) fn inodes(
    case: &Case<'_>,
    resolved: &Resolved<'_>,
) -> Option<BTreeMap<InodeId, (Inode, BTreeSet<Name>)>> {
    let mut found: BTreeMap<InodeId, (Inode, BTreeSet<Name>)> = BTreeMap::new();
    let root = case.tree.entries.get("")?;
    found.insert(0, (inode(case, 0, root)?, BTreeSet::new()));
    for (place, entry, id) in resolved.entries.values() {
        // The file system has names of its own in the root.
        let Some(id) = *id else { continue };
        if let btree_map::Entry::Vacant(free) = found.entry(id) {
            free.insert((inode(case, id, entry)?, BTreeSet::new()));
        }
        found.get_mut(&id)?.1.insert(place.clone());
    }
    for (place, _, id) in resolved.entries.values() {
        let Some(id) = *id else { continue };
        if let Kind::Directory(names) = &mut found.get_mut(&place.0)?.0.kind {
            names.insert(place.1.clone(), id);
        }
    }
    Some(found)
}

fn inode(case: &Case<'_>, id: InodeId, entry: &Entry) -> Option<Inode> {
    if entry.unreadable.is_some() {
        return None;
    }
    let mut versions = case.history.window(id, 0, case.began);
    let kind = match &entry.kind {
        EntryKind::File { size, runs } => Kind::File(content(case, id, *size, runs)?),
        EntryKind::Directory => Kind::Directory(BTreeMap::new()),
        EntryKind::Symlink { text } => Kind::Symlink(text.clone()),
        EntryKind::Special { kind } => Kind::Special(*kind),
        EntryKind::Other => return None,
    };
    let mode = entry.mode.or_else(|| versions.next().map(|one| one.mode))?;
    let mut xattrs = BTreeMap::new();
    for (name, runs) in &entry.xattrs {
        let mut versions = case.history.window(id, 0, case.began);
        let value = versions.find_map(|version| {
            let value = version.xattrs.get(name)?;
            super::content::is_value(runs, *value).then_some(*value)
        });
        xattrs.insert(name.clone(), value?);
    }
    Some(Inode { kind, mode, xattrs })
}

fn content(case: &Case<'_>, id: InodeId, size: u64, runs: &[Run]) -> Option<Content> {
    let mut content = Content {
        size,
        ..Content::default()
    };
    for run in runs {
        let end = run.offset + run.length;
        let (operation, by) = match run.source {
            Source::Zeros => continue,
            Source::Free | Source::Other => return None,
            Source::Operation(operation) => (operation, 0),
            Source::Moved { operation, by } => (operation, by),
            Source::Bytes(_) => {
                for at in run.offset..end {
                    if let Some(piece) = piece_of(case, id, run, at)? {
                        let end = at + 1;
                        content.written.insert(at, Piece { end, ..piece });
                    }
                }
                continue;
            }
        };
        let piece = Piece {
            end,
            operation,
            by,
            // Its units are whole.
            range: 0..u64::MAX,
        };
        content.written.insert(run.offset, piece);
    }
    Some(content)
}

/// The piece of any version that has this byte; the inner none is a zero.
#[expect(
    clippy::option_option,
    reason = "a zero of a hole is known, and of no piece"
)]
fn piece_of(case: &Case<'_>, id: InodeId, run: &Run, at: u64) -> Option<Option<Piece>> {
    let byte = run.byte(at)?;
    let mut contents = case.history.contents(id, 0, case.began);
    let known = contents.find_map(|content| content.piece(at).filter(|one| one.byte(at) == byte));
    match known {
        Some(piece) => Some(Some(piece.clone())),
        None => (byte == 0).then_some(None),
    }
}
