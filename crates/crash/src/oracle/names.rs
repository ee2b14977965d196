//! Names: each leads to a file that it has had since its directory was durable.

use super::{Broken, Case, Pin, Resolved, shown};
use crate::operation::Operation;
use crate::simulation::{InodeId, Name};
use fsdyno_model::exploration::Violation;
use std::collections::BTreeSet;

pub(super) fn judge(case: &Case<'_>, resolved: &Resolved<'_>) -> Vec<Broken> {
    let mut broken = found(case, resolved);
    broken.extend(missing(case, resolved));
    if case.promises.atomic {
        broken.extend(doubled(case, resolved));
    }
    broken
}

/// Reports names that exist and must not.
fn found(case: &Case<'_>, resolved: &Resolved<'_>) -> Vec<Broken> {
    let mut broken = Vec::new();
    for (path, (place, entry, inode)) in &resolved.entries {
        let pin = case.pins.of(place.0);
        let Some(inode) = *inode else {
            // The file system has names of its own in the root, such as lost+found.
            let ever = case.history.bindings(place, 0, case.began);
            let ever: Vec<InodeId> = ever.into_iter().flatten().collect();
            if (place.0 != 0 || !ever.is_empty()) && entry.unreadable.is_none() {
                let what = format!("{} is a file that never had this name", shown(path));
                let none = Pin::default();
                broken.push(case.broken(
                    Violation::Metadata,
                    "unknown name",
                    path,
                    &ever,
                    none,
                    &what,
                ));
            }
            continue;
        };
        if let Some(pin) = case.is_gone(inode) {
            let what = format!("{} is back after it was deleted", shown(path));
            let rule = "unlinked file returned";
            broken.push(case.broken(Violation::Returned, rule, path, &[inode], pin, &what));
        } else if !case.allowed(place).contains(&Some(inode)) {
            let what = returned(case, place, inode, path);
            let rule = "name returned";
            broken.push(case.broken(Violation::Returned, rule, path, &[inode], pin, &what));
        }
    }
    broken
}

/// Reports names that are missing and must exist.
fn missing(case: &Case<'_>, resolved: &Resolved<'_>) -> Vec<Broken> {
    let mut broken = Vec::new();
    for (directory, path) in &resolved.directories {
        if case.tree.entries[*path].unreadable.is_some() {
            continue;
        }
        for name in case.history.names_in(*directory, case.began) {
            let place = (*directory, name.to_owned());
            let allowed = case.allowed(&place);
            if allowed.contains(&None) || resolved.at(&place).is_some() {
                continue;
            }
            let inodes: Vec<InodeId> = allowed.into_iter().flatten().collect();
            let pin = case.pins.of(*directory);
            // Without a journal, an entry is lost with an inode that was not durable.
            let durable = |inode: &InodeId| !case.changed_since(*inode, case.pins.of(*inode).time);
            if !case.promises.atomic && !inodes.iter().all(durable) {
                continue;
            }
            let path = joined(path, name);
            let renamed = inodes.len() > 1;
            let (violation, rule, more) = if renamed {
                let more = ": it must be the old or the new file";
                (Violation::Atomic, "name lost by rename", more)
            } else {
                (Violation::Missing, "name missing", "")
            };
            let what = format!("{} is missing{more}", shown(&path));
            broken.push(case.broken(violation, rule, &path, &inodes, pin, &what));
        }
    }
    broken
}

/// A name is back that a file had before: it was renamed, or the name was removed or given to
/// another file.
fn returned(case: &Case<'_>, place: &Name, inode: InodeId, path: &str) -> String {
    let path = shown(path);
    if moves(case, inode).iter().any(|(_, from, _)| from == place) {
        format!("{path} kept its old name")
    } else if case.allowed(place) == BTreeSet::from([None]) {
        format!("{path} is back after its name was removed")
    } else {
        format!("{path} is still the old file")
    }
}

fn joined(directory: &str, name: &str) -> String {
    if directory.is_empty() {
        name.to_owned()
    } else {
        format!("{directory}/{name}")
    }
}

/// A file has not both names of a rename, after fsync of the directory of one of them. POSIX: fsync
/// completes what was requested before it, and rename is one operation. Before, rename(2) permits
/// both names, and no document common to all file systems excludes them.
fn doubled(case: &Case<'_>, resolved: &Resolved<'_>) -> Vec<Broken> {
    let mut broken = Vec::new();
    for inode in 1..case.history.inodes() {
        for (number, from, to) in moves(case, inode) {
            let pin = case.pins.of(to.0).max(case.pins.of(from.0));
            let found = resolved.names_of(inode);
            let (Some(old), Some(path)) = (found.get(&from), found.get(&to)) else {
                continue;
            };
            let mut times = case.history.names(inode, 0, case.began);
            let had_both = times.any(|names| names.contains(&from) && names.contains(&to));
            if pin.time > number && !had_both {
                let what = format!(
                    "{} was renamed to {}, and has both names",
                    shown(old),
                    shown(path)
                );
                let rule = "rename doubled";
                broken.push(case.broken(Violation::Atomic, rule, path, &[inode], pin, &what));
            }
        }
    }
    broken
}

/// The renames of an inode: the operation, the old and the new name.
fn moves(case: &Case<'_>, inode: InodeId) -> Vec<(u32, Name, Name)> {
    let mut moves = Vec::new();
    for (number, operation) in case.program.numbered().take(case.began as usize) {
        if number < case.program.first()
            || !matches!(
                operation,
                Operation::Rename { .. } | Operation::Exchange { .. }
            )
            || !case.history.changes[number as usize]
                .renamed
                .contains(&inode)
        {
            continue;
        }
        let names = |time| case.history.names(inode, time, time).last();
        if let (Some(before), Some(after)) = (names(number), names(number + 1))
            && let Some(from) = before.difference(after).next()
            && let Some(to) = after.difference(before).next()
        {
            moves.push((number, from.clone(), to.clone()));
        }
    }
    moves
}
