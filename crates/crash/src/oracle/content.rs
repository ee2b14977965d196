//! Data and attributes of a file: each byte and attribute has a value since it was durable.

use super::{Broken, Case, Pin, Resolved, shown};
use crate::attributes::amount;
use crate::operation::Operation;
use crate::simulation::{Content, InodeId, Kind, Piece};
use crate::tree::{Entry, EntryKind, Run, Source};
use fsdyno_model::exploration::Violation;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

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
            (Some(value), Some(runs)) => is_value(runs, *value),
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

/// Whether runs are the whole value of an attribute: of an operation, with this length.
pub(super) fn is_value(runs: &[Run], (operation, length): (u32, u64)) -> bool {
    let whole = Piece {
        end: length,
        operation,
        by: 0,
        range: 0..length,
    };
    let end = |run: &Run| run.offset + run.length;
    let shows = |run: &Run| run.shows(run.offset..end(run), Some(&whole));
    runs.last().map(end) == Some(length) && runs.iter().all(shows)
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
    // The kernel moves a range in parts: the size is that of any of them.
    let moved: u64 = case
        .history
        .shifts(inode, pin.time, case.began)
        .map(|one| one.by.unsigned_abs())
        .sum();
    let (least, most) = (durable(pin.time).min(), durable(pin.time).max());
    let in_parts = moved > 0
        && (least.unwrap_or_default().saturating_sub(moved)
            ..=most.unwrap_or_default().saturating_add(moved))
            .contains(&size);
    if !exact && !grown && !in_parts {
        let what = match (least, most) {
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
                .flat_map(|(at, piece)| [*at, piece.end]),
        );
    }
    for shift in case.history.shifts(inode, 0, case.began) {
        let by = [shift.by, -shift.by];
        let moved = |edge: &u64| by.map(|by| edge.saturating_add_signed(by));
        edges.extend(edges.iter().flat_map(moved).collect::<Vec<_>>());
        edges.insert(shift.from);
    }
    for range in case.pins.data.get(&inode).into_iter().flatten() {
        edges.extend([range.from, range.to]);
    }
    for run in runs {
        let end = (run.offset + run.length).min(size);
        let inner = edges.range(run.offset + 1..end.max(run.offset + 1));
        let parts: Vec<u64> = std::iter::once(&run.offset).chain(inner).copied().collect();
        for (number, at) in parts.iter().enumerate().filter(|(_, at)| **at < size) {
            let to = parts.get(number + 1).copied().unwrap_or(end);
            let mut pin = case.pins.at(inode, *at);
            if pin.time < since {
                pin.time = since;
                pin.operation = since.checked_sub(1);
            }
            if !fits(case, inode, run, *at..to, (pin.time, case.began), 0) {
                let length = end.saturating_sub(*at);
                return wrong_bytes(case, path, inode, (*at, length, run), pin);
            }
        }
    }
    None
}

/// Whether a range of a file is of one of these times. Its bytes have since been moved by `moved`.
fn fits(
    case: &Case<'_>,
    inode: InodeId,
    run: &Run,
    range: Range<u64>,
    (since, until): (u32, u32),
    moved: i64,
) -> bool {
    let was = |at: u64| at.checked_add_signed(-moved);
    let Some(before) = was(range.start) else {
        return false;
    };
    // A file that grows, or shrinks and grows, shows zeros if no data is yet.
    let shows = |content: &Content| {
        let piece = content.piece(before).map(|piece| Piece {
            by: piece.by - moved,
            ..piece.clone()
        });
        run.shows(range.clone(), piece.as_ref())
    };
    if case.history.contents(inode, since, until).any(shows) {
        return true;
    }
    // A range is moved in parts, which leaves a hole for a time, and without the data of writes
    // before it that are not durable.
    case.history.shifts(inode, since, until).any(|shift| {
        let moved = moved + shift.by;
        let until = (since, shift.operation);
        let is_moved = before >= shift.from.saturating_add_signed(shift.by.max(0));
        before >= shift.from
            && (run.shows(range.clone(), None)
                || is_moved && fits(case, inode, run, range.clone(), until, moved))
    })
}

fn wrong_bytes(
    case: &Case<'_>,
    path: &str,
    inode: InodeId,
    (at, length, run): (u64, u64, &Run),
    pin: Pin,
) -> Option<Broken> {
    // A byte that the file did not have when it was durable may be stale. One that it had is lost.
    let mut durable = case.history.contents(inode, pin.time, pin.time);
    let durable = durable.any(|content| content.source(at).is_some());
    let source = run.source;
    let ours = case.history.contents(inode, 0, case.began).any(|content| {
        let mut pieces = content.written.values();
        match source {
            Source::Operation(by) | Source::Moved { operation: by, .. } => {
                pieces.any(|piece| piece.operation == by)
            }
            // Equal bytes may be accidental, and are no proof where stale data is permitted.
            Source::Bytes(_) => {
                let same = run.shows(at..at + 1, content.piece(at));
                same && (durable || !case.promises.stale_data)
            }
            _ => false,
        }
    });
    let foreign = !ours && source != Source::Zeros;
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
        Source::Bytes(_) if ours => "older data".to_owned(),
        Source::Bytes(_) | Source::Other => "bytes that nothing wrote".to_owned(),
        Source::Operation(number)
        | Source::Moved {
            operation: number, ..
        } => {
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
        (true, Source::Operation(_) | Source::Moved { .. }) => {
            (Violation::Foreign, "data of another file")
        }
        (true, _) => (Violation::Foreign, "foreign bytes"),
        (_, Source::Zeros) => (Violation::Content, "data lost"),
        _ => (Violation::Content, "old data"),
    };
    let verb = if length == 1 { "is" } else { "are" };
    let (length, file) = (amount(length), shown(path));
    let what = format!("{length} of {file} from byte {at} on {verb} {what}");
    Some(case.broken(violation, rule, path, &[inode], pin, &what))
}
