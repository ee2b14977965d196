//! Data and attributes of a file: each byte and attribute has a value since it was durable.

use super::{Broken, Case, Pin, Resolved, shown};
use crate::attributes::amount;
use crate::operation::Operation;
use crate::simulation::{InodeId, Kind};
use crate::tree::{Entry, EntryKind, Run, Source};
use fsdyno_model::exploration::Violation;
use std::collections::{BTreeMap, BTreeSet};

pub(super) fn judge(case: &Case<'_>, resolved: &Resolved<'_>) -> Vec<Broken> {
    let mut broken = Vec::new();
    let mut links: BTreeMap<u32, u64> = BTreeMap::new();
    for entry in case.tree.entries.values() {
        *links.entry(entry.inode).or_default() += 1;
    }
    for (path, (_, entry, inode)) in &resolved.entries {
        let changed = inode.is_none_or(|inode| case.changed_since(inode, case.pins.of(inode).time));
        let torn = changed && !case.promises.consistent;
        if let Some(errno) = &entry.unreadable {
            if !case.promises.unreadable && !torn {
                let inodes: Vec<InodeId> = inode.iter().copied().collect();
                let what = format!("{} cannot be read ({errno})", shown(path));
                let none = Pin::default();
                let rule = "unreadable";
                broken.push(case.broken(Violation::Content, rule, path, &inodes, none, &what));
            }
            continue;
        }
        let Some(inode) = *inode else { continue };
        // That it is back is the violation; as a part of it, its data are from before.
        if case.is_gone(inode).is_some() {
            continue;
        }
        broken.extend(judge_file(case, path, entry, inode));
        let found = links[&entry.inode];
        if let Some(links) = entry.links.filter(|links| *links != found && !torn) {
            let names = if found == 1 { "name" } else { "names" };
            let what = format!(
                "{} has a link count of {links} and {found} {names}",
                shown(path)
            );
            let none = Pin::default();
            let rule = "link count";
            broken.push(case.broken(Violation::Metadata, rule, path, &[inode], none, &what));
        }
    }
    broken
}

/// Judges an entry as this inode, without its names.
pub(super) fn judge_file(
    case: &Case<'_>,
    path: &str,
    entry: &Entry,
    inode: InodeId,
) -> Vec<Broken> {
    let mut broken = Vec::new();
    if entry.unreadable.is_some() {
        return broken;
    }
    let pin = case.pins.of(inode);
    if !case.promises.atomic && case.changed_since(inode, pin.time) {
        return broken;
    }
    let mut wrong = |rule, what: &str| {
        broken.push(case.broken(Violation::Metadata, rule, path, &[inode], pin, what));
    };
    let versions = || case.history.window(inode, pin.time, case.began);
    match &entry.kind {
        EntryKind::Symlink { text } => {
            let same = |kind: &Kind| matches!(kind, Kind::Symlink(of) if of == text);
            if !versions().any(|version| same(&version.kind)) {
                wrong(
                    "symlink text",
                    &format!("{} points to {text:?}, which was not written", shown(path)),
                );
            }
            return broken;
        }
        EntryKind::File { .. } | EntryKind::Directory | EntryKind::Special { .. } => {}
        EntryKind::Other => return broken,
    }
    if let Some(mode) = entry.mode
        && !versions().any(|version| version.mode == mode)
    {
        let durable: BTreeSet<u32> = versions().map(|version| version.mode).collect();
        let durable: Vec<String> = durable.iter().map(|mode| format!("{mode:o}")).collect();
        let durable = durable.join(" or ");
        let what = format!(
            "{} has the permissions {mode:o}, not {durable}",
            shown(path)
        );
        wrong("mode", &what);
    }
    let ever = versions().flat_map(|version| version.xattrs.keys());
    let names: BTreeSet<&String> = ever.chain(entry.xattrs.keys()).collect();
    for name in names {
        let found = entry.xattrs.get(name);
        let same = |value: Option<&(u32, u64)>| match (value, found) {
            (None, None) => true,
            (Some((operation, length)), Some(runs)) => {
                let whole = Run {
                    offset: 0,
                    length: *length,
                    source: Source::Operation(*operation),
                };
                *runs == [whole]
            }
            _ => false,
        };
        if !versions().any(|version| same(version.xattrs.get(name))) {
            let state = found.map_or("lost", |_| "has a wrong value of");
            let what = format!("{} {state} the attribute {name}", shown(path));
            wrong("xattr", &what);
        }
    }
    if let EntryKind::File { size, runs } = &entry.kind {
        broken.extend(judge_size(case, path, *size, inode));
        broken.extend(judge_data(case, path, *size, runs, inode, 0));
    }
    broken
}

fn judge_size(case: &Case<'_>, path: &str, size: u64, inode: InodeId) -> Option<Broken> {
    let pin = case.pins.size(inode);
    let contents: Vec<_> = case.history.contents(inode, pin.time, case.began).collect();
    // A write or an allocation may happen in part, and its parts in any order.
    let exact = contents.iter().any(|content| content.size == size);
    let grown = contents
        .windows(2)
        .any(|pair| (pair[0].size..=pair[1].size).contains(&size));
    let durable = |since| {
        case.history
            .contents(inode, since, case.began)
            .map(|one| one.size)
    };
    if !exact && !grown {
        let what = match (durable(pin.time).min(), durable(pin.time).max()) {
            (Some(least), _) if size < least => missing_end(path, least - size),
            (_, Some(most)) if size > most => {
                format!("{} is {} too long", shown(path), amount(size - most))
            }
            _ => format!(
                "{} has a size that it never had: {}",
                shown(path),
                amount(size)
            ),
        };
        let rule = "size";
        return Some(case.broken(Violation::Metadata, rule, path, &[inode], pin, &what));
    }
    // A synchronous write promises its own bytes.
    let writes = case.pins.data.get(&inode).into_iter().flatten();
    let mut writes = writes.filter(|range| range.write);
    let (promised, pin) = writes.find_map(|range| {
        let least = durable(range.pin.time).min();
        let promised = range.to.min(least.unwrap_or_default());
        (size < promised).then_some((promised, range.pin))
    })?;
    let what = missing_end(path, promised - size);
    Some(case.broken(Violation::Metadata, "size", path, &[inode], pin, &what))
}

fn missing_end(path: &str, bytes: u64) -> String {
    let verb = if bytes == 1 { "is" } else { "are" };
    format!(
        "{} at the end of {} {verb} missing",
        amount(bytes),
        shown(path)
    )
}

/// Judges the bytes of a file. They are durable from `since` on, or later where they are pinned.
pub(super) fn judge_data(
    case: &Case<'_>,
    path: &str,
    size: u64,
    runs: &[Run],
    inode: InodeId,
    since: u32,
) -> Option<Broken> {
    // Bytes after the largest legal size are judged as a wrong size.
    let durable = case.pins.size(inode).time.max(since);
    let sizes = case.history.contents(inode, durable, case.began);
    let largest = sizes.map(|content| content.size).max();
    let size = size.min(largest.unwrap_or_default());
    let mut edges = BTreeSet::new();
    for content in case.history.contents(inode, 0, case.began) {
        edges.insert(content.size);
        edges.extend(
            content
                .written
                .iter()
                .flat_map(|(at, (end, _))| [*at, *end]),
        );
    }
    for range in case.pins.data.get(&inode).into_iter().flatten() {
        edges.extend([range.from, range.to]);
    }
    for run in runs {
        let end = (run.offset + run.length).min(size);
        let inner = edges.range(run.offset + 1..end.max(run.offset + 1));
        let parts = std::iter::once(&run.offset).chain(inner);
        for at in parts.copied().filter(|at| *at < size) {
            let mut pin = case.pins.at(inode, at);
            if pin.time < since {
                pin.time = since;
                pin.operation = since.checked_sub(1);
            }
            let mut contents = case.history.contents(inode, pin.time, case.began);
            // A file that grows, or shrinks and grows, shows zeros if no data is yet.
            let fits = contents.any(|content| match content.source(at) {
                None => run.source == Source::Zeros,
                Some(source) => source == run.source,
            });
            if !fits {
                let length = end.saturating_sub(at);
                return wrong_bytes(case, path, inode, (at, length, run.source), pin);
            }
        }
    }
    None
}

fn wrong_bytes(
    case: &Case<'_>,
    path: &str,
    inode: InodeId,
    (at, length, source): (u64, u64, Source),
    pin: Pin,
) -> Option<Broken> {
    let ours = case.history.contents(inode, 0, case.began).any(|content| {
        content
            .written
            .values()
            .any(|(_, by)| Source::Operation(*by) == source)
    });
    let foreign = !ours && source != Source::Zeros;
    // A byte that the file did not have when it was durable may be stale. One that it had is lost.
    let mut durable = case.history.contents(inode, pin.time, pin.time);
    let durable = durable.any(|content| content.source(at).is_some());
    if foreign && case.promises.stale_data && !durable {
        return None;
    }
    let pin = if foreign && !durable {
        Pin::default()
    } else {
        pin
    };
    let what = match source {
        Source::Zeros => "zeros".to_owned(),
        Source::Free => "free space of the disk".to_owned(),
        Source::Other => "bytes that nothing wrote".to_owned(),
        Source::Operation(number) => {
            let by = case.program.operation(number).map(Operation::to_string);
            let of = if ours {
                "older data"
            } else {
                "data of another file"
            };
            let by = by.unwrap_or_default();
            format!("{of} (operation {number}: {by})")
        }
    };
    let (violation, rule) = match (foreign, source) {
        (true, Source::Operation(_)) => (Violation::Foreign, "data of another file"),
        (true, _) => (Violation::Foreign, "foreign bytes"),
        (_, Source::Zeros) => (Violation::Content, "data lost"),
        _ => (Violation::Content, "old data"),
    };
    let verb = if length == 1 { "is" } else { "are" };
    let (length, file) = (amount(length), shown(path));
    let what = format!("{length} of {file} from byte {at} on {verb} {what}");
    Some(case.broken(violation, rule, path, &[inode], pin, &what))
}
