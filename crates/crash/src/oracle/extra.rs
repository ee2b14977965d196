//! Promises beyond POSIX, which some file systems declare. They are scored separately.

use super::{Broken, Case, Pin, Resolved, content, shown};
use crate::operation::Operation;
use crate::simulation::{InodeId, Kind, Name};
use crate::tree::EntryKind;
use fsdyno_model::exploration::Violation;
use std::collections::{BTreeMap, BTreeSet};

pub(super) fn judge(case: &Case<'_>, resolved: &Resolved<'_>) -> Vec<Broken> {
    let mut broken = Vec::new();
    if case.promises.ordered_metadata {
        broken.extend(ordered(case, resolved));
    }
    if case.promises.dependent_metadata {
        broken.extend(dependent(case, resolved));
    }
    if case.promises.all_link_names {
        broken.extend(link_names(case, resolved));
    }
    if case.promises.replace_by_rename {
        broken.extend(replaced(case, resolved));
    }
    broken
}

/// All names are those of one moment, after the last change of each file that was fsynced.
fn ordered(case: &Case<'_>, resolved: &Resolved<'_>) -> Option<Broken> {
    let mut found: BTreeMap<InodeId, BTreeSet<Name>> = BTreeMap::new();
    for (place, _, inode) in resolved.entries.values() {
        if let Some(inode) = inode {
            found.entry(*inode).or_default().insert(place.clone());
        }
    }
    let (mut first, mut pin) = (case.program.first(), Pin::default());
    for (inode, fsync) in &case.pins.fsyncs {
        let changes = case.history.changes[..fsync.time as usize].iter();
        let last = changes
            .zip(1..)
            .filter(|(changes, _)| {
                changes.renamed.contains(inode) || changes.inodes.contains(inode)
            })
            .map(|(_, time)| time)
            .last();
        if let Some(time) = last.filter(|time| *time > first) {
            (first, pin) = (time, *fsync);
        }
    }
    // The moments at which each file had the names that it has now.
    let mut moments: BTreeSet<u32> = (first..=case.began).collect();
    for inode in 1..case.history.inodes() {
        let now = found.remove(&inode).unwrap_or_default();
        let mut versions = case.history.name_versions(inode).iter().peekable();
        let mut names = BTreeSet::new();
        let mut from = 0;
        loop {
            let until = versions.peek().map_or(u32::MAX, |(time, _)| *time);
            if names != now {
                moments.retain(|time| !(from..until).contains(time));
            }
            let Some((time, next)) = versions.next() else {
                break;
            };
            (from, names) = (*time, next.clone());
        }
        if moments.is_empty() {
            let what = "the names are of different moments, or older than a file that was fsynced";
            let rule = "ordered metadata";
            return Some(case.broken(Violation::Extra, rule, "", &[], pin, what));
        }
    }
    None
}

/// Checks that the operations exist on which a file that was fsynced depends: the operations on its
/// names, the earlier ones on the same names, and those that made the directories of these names.
fn dependent(case: &Case<'_>, resolved: &Resolved<'_>) -> Vec<Broken> {
    let mut broken: BTreeMap<&Name, Broken> = BTreeMap::new();
    for (fsynced, pin) in &case.pins.fsyncs {
        for (operation, place) in dependencies(case, *fsynced, pin.time) {
            if let Some((path, allowed)) = older(case, resolved, place, operation + 1) {
                let path_shown = shown(&path);
                let what = format!(
                    "{path_shown} is older than operation {operation}, on which an fsync depends"
                );
                let rule = "dependent metadata";
                let one = case.broken(Violation::Extra, rule, &path, &allowed, *pin, &what);
                broken.entry(place).or_insert(one);
            }
        }
    }
    broken.into_values().collect()
}

/// If a name leads to what it led to before a time only: its path, and the files that it may lead to.
fn older(
    case: &Case<'_>,
    resolved: &Resolved<'_>,
    place: &Name,
    time: u32,
) -> Option<(String, Vec<InodeId>)> {
    let from = time.max(case.pins.of(place.0).time);
    let allowed = case.history.bindings(place, from, case.began);
    let found = resolved.at(place).and_then(|(.., inode)| *inode);
    if allowed.contains(&found) {
        return None;
    }
    let directory = resolved.directories.get(&place.0).copied();
    let path = format!("{}/{}", directory.unwrap_or("?"), place.1);
    let path = path.trim_start_matches('/').to_owned();
    Some((path, allowed.into_iter().flatten().collect()))
}

/// The operations before a time that a file depends on, each with the names that it changed.
fn dependencies<'a>(case: &'a Case<'_>, file: InodeId, until: u32) -> Vec<(u32, &'a Name)> {
    let mut inodes = BTreeSet::from([file]);
    let mut names: BTreeSet<&Name> = BTreeSet::new();
    let mut all = Vec::new();
    for operation in (case.program.first()..until).rev() {
        let places = case.history.places(operation);
        let renamed = &case.history.changes[operation as usize].renamed;
        if renamed.is_disjoint(&inodes)
            && places.is_disjoint(&names)
            && places.iter().all(|place| place.0 != file)
        {
            continue;
        }
        inodes.extend(renamed);
        inodes.extend(places.iter().map(|place| place.0));
        all.extend(places.iter().map(|place| (operation, *place)));
        names.extend(places);
    }
    all
}

/// A file that was fsynced has all names that it had then.
fn link_names(case: &Case<'_>, resolved: &Resolved<'_>) -> Vec<Broken> {
    let mut broken = Vec::new();
    for (inode, pin) in &case.pins.fsyncs {
        let mut versions = case.history.window(*inode, pin.time, pin.time);
        if !versions.all(|version| matches!(version.kind, Kind::File(_))) {
            continue;
        }
        let names = case.history.names(*inode, pin.time, pin.time).flatten();
        for place in names {
            if let Some((path, _)) = older(case, resolved, place, pin.time) {
                let path_shown = shown(&path);
                let what = format!("{path_shown} does not lead to the file that was fsynced");
                let rule = "all link names";
                broken.push(case.broken(Violation::Extra, rule, &path, &[*inode], *pin, &what));
            }
        }
    }
    broken
}

/// A new file that was renamed over another one has the data that it had then.
fn replaced(case: &Case<'_>, resolved: &Resolved<'_>) -> Vec<Broken> {
    let mut broken = Vec::new();
    for (number, operation) in case.program.numbered().take(case.began as usize) {
        let renamed = &case.history.changes[number as usize].renamed;
        let (Operation::Rename { to, .. }, 2) = (operation, renamed.len()) else {
            continue;
        };
        let Some((place, entry, Some(inode))) = resolved.entries.get(to.as_str()) else {
            continue;
        };
        let EntryKind::File { size, runs } = &entry.kind else {
            continue;
        };
        // Nothing is promised of data that overwrites older data in place.
        let was_there = case.history.window(*inode, 0, case.program.first()).next();
        if was_there.is_some() {
            continue;
        }
        let after = case.history.bindings(place, number + 1, number + 1);
        let before = case.history.bindings(place, number, number);
        if !after.contains(&Some(*inode)) || before.contains(&None) {
            continue;
        }
        let contents = case.history.contents(*inode, number, case.began);
        let least = contents
            .map(|content| content.size)
            .min()
            .unwrap_or_default();
        let wrong = content::judge_data(case, to, *size, runs, *inode, number);
        if *size < least || wrong.is_some() {
            let what = format!("{} replaced another file and lacks its data", shown(to));
            let none = Pin::default();
            let rule = "replace by rename";
            broken.push(case.broken(Violation::Extra, rule, to, &[*inode], none, &what));
        }
    }
    broken
}
