//! Compares recovered files with those at the power cut: which changes of which activity are undone.
//! POSIX leaves most of this open: nothing here is a fault of a file system.

use crate::operation::{Operation, TimedProgram};
use crate::simulation::{Content, InodeId, Kind, Piece, Simulation};
use crate::tree::{Entry, EntryKind, Run, Source, Tree};
use fsdyno_model::{Nanos, WorkLoss};
use std::collections::{BTreeMap, BTreeSet};

/// Operations after the last that returned which may have begun.
const IN_FLIGHT: usize = 2;

/// The files at a power cut, and how they came to be.
struct Known {
    files: Simulation,
    /// The operation that gave each path its file.
    bound: BTreeMap<String, u32>,
    /// The operation that deleted each path.
    deleted: BTreeMap<String, u32>,
    /// The last operation that changed each file.
    changed: BTreeMap<InodeId, u32>,
    /// The operations whose bytes each file has had.
    sources: BTreeMap<InodeId, BTreeSet<u32>>,
    /// The files that each path has had.
    owners: BTreeMap<String, BTreeSet<InodeId>>,
    /// The contents before and after each replacement of a path.
    saves: BTreeMap<String, Vec<Content>>,
}

impl Known {
    /// The files after this number of operations.
    fn after(timed: &TimedProgram, operations: usize) -> Self {
        let mut known = Self {
            files: Simulation::default(),
            bound: BTreeMap::new(),
            deleted: BTreeMap::new(),
            changed: BTreeMap::new(),
            sources: BTreeMap::new(),
            owners: BTreeMap::new(),
            saves: BTreeMap::new(),
        };
        let program = &timed.program;
        for (number, operation) in program.numbered().take(operations) {
            known.perform(number, operation);
        }
        known
    }

    fn perform(&mut self, number: u32, operation: &Operation) {
        let paths = operation.paths();
        let before: Vec<Option<InodeId>> = paths.iter().map(|path| self.files.find(path)).collect();
        if let Operation::Rename { to, .. } = operation {
            let replaced = self.files.find(to).and_then(|inode| self.content(inode));
            if let Some(replaced) = replaced.cloned() {
                self.saves.entry(to.clone()).or_default().push(replaced);
            }
        }
        // The program was checked, so that no operation fails.
        let changes = self.files.perform(number, operation).unwrap_or_default();
        for (path, before) in paths.into_iter().zip(before) {
            let path = path.to_owned();
            match (before, self.files.find(&path)) {
                (before, Some(now)) => {
                    if before != Some(now) {
                        self.bound.insert(path.clone(), number);
                    }
                    self.owners.entry(path).or_default().insert(now);
                }
                (Some(_), None) if matches!(operation, Operation::Unlink { .. }) => {
                    self.deleted.insert(path, number);
                }
                _ => {}
            }
        }
        if let Operation::Rename { to, .. } = operation
            && let Some(saves) = self.saves.get_mut(to)
            && let Some(inode) = self.files.find(to)
            && let Some(content) = content(&self.files, inode)
        {
            saves.push(content.clone());
        }
        for inode in changes.inodes {
            self.changed.insert(inode, number);
            let Some(content) = content(&self.files, inode) else {
                continue;
            };
            let sources = self.sources.entry(inode).or_default();
            match operation {
                Operation::Copy { .. } => {
                    sources.extend(content.written.values().map(|piece| piece.operation));
                }
                _ => drop(sources.insert(number)),
            }
        }
    }

    fn content(&self, inode: InodeId) -> Option<&Content> {
        content(&self.files, inode)
    }

    /// Whether bytes of this operation were ever in a file of this path.
    fn was_written(&self, path: &str, source: u32) -> bool {
        let owners = self.owners.get(path).into_iter().flatten();
        let mut sources = owners.filter_map(|inode| self.sources.get(inode));
        sources.any(|sources| sources.contains(&source))
    }

    /// The operation that gave a path its file, or its directory its name.
    fn bound(&self, path: &str) -> u32 {
        let mut above = path;
        loop {
            if let Some(number) = self.bound.get(above) {
                return *number;
            }
            let Some((directory, _)) = above.rsplit_once('/') else {
                return 0;
            };
            above = directory;
        }
    }
}

fn content(files: &Simulation, inode: InodeId) -> Option<&Content> {
    match &files.inodes[inode].kind {
        Kind::File(content) => Some(content),
        _ => None,
    }
}

/// The losses of each activity, in a tree that was recovered after a power cut at this time.
/// `returned` has the times at which the setup and then each operation had returned.
pub fn undone(
    timed: &TimedProgram,
    (returned, at): (&[Nanos], Nanos),
    tree: &Tree,
) -> Vec<WorkLoss> {
    let setup = timed.program.setup.len();
    let count = setup + returned.len().saturating_sub(1);
    let known = Known::after(timed, count);
    let mut losses = Losses {
        timed,
        returned,
        at,
        all: timed
            .activities
            .iter()
            .map(|name| WorkLoss {
                activity: name.clone(),
                ..WorkLoss::default()
            })
            .collect(),
    };
    let program = &timed.program;
    let later = program.operations.iter().zip(&timed.begins);
    let later = later.skip(count - setup).take(IN_FLIGHT);
    let in_flight: BTreeSet<&str> = later
        .filter(|(_, begins)| **begins <= at)
        .flat_map(|(operation, _)| operation.paths())
        .collect();
    for (path, inode) in known.files.paths() {
        if !path.is_empty() && !in_flight.contains(path.as_str()) {
            losses.compare(&known, (&path, inode), tree.entries.get(&path));
        }
    }
    for (path, number) in &known.deleted {
        if known.files.find(path).is_some() || in_flight.contains(path.as_str()) {
            continue;
        }
        let loss = losses.of(*number);
        loss.deleted += 1;
        if tree.entries.contains_key(path) {
            loss.returned += 1;
            losses.lose(*number, || format!("`{path}` is back after it was deleted"));
        }
    }
    losses.all
}

struct Losses<'a> {
    timed: &'a TimedProgram,
    returned: &'a [Nanos],
    at: Nanos,
    all: Vec<WorkLoss>,
}

impl Losses<'_> {
    /// The losses of the activity of an operation.
    fn of(&mut self, operation: u32) -> &mut WorkLoss {
        let activity = self.timed.activity_of[operation as usize];
        &mut self.all[activity]
    }

    /// Adds an operation that is undone.
    fn lose(&mut self, operation: u32, what: impl FnOnce() -> String) {
        let first = self.timed.program.first();
        // The setup has one time, that of its end.
        let place = (operation + 1).saturating_sub(first) as usize;
        let time = self.returned.get(place).map_or(0, |time| time.0);
        let age = Nanos(self.at.0.saturating_sub(time));
        let loss = self.of(operation);
        loss.lost_ns = loss.lost_ns.max(Some(age));
        loss.first.get_or_insert_with(what);
    }

    /// The losses of the activity of an operation, with the description of one.
    fn note(&mut self, operation: u32, what: String) -> &mut WorkLoss {
        let loss = self.of(operation);
        loss.first.get_or_insert(what);
        loss
    }

    /// Compares an entry with what it was.
    fn compare(&mut self, known: &Known, (path, inode): (&str, InodeId), found: Option<&Entry>) {
        let bound = known.bound(path);
        let expected = known.content(inode);
        if expected.is_some() {
            self.of(bound).files += 1;
        }
        let saves = known.saves.get(path);
        if saves.is_some() {
            self.of(bound).saves += 1;
        }
        let Some(found) = found else {
            if expected.is_some() {
                self.of(bound).missing += 1;
            }
            if saves.is_some() {
                self.of(bound).broken_saves += 1;
            }
            return self.lose(bound, || format!("`{path}` is gone"));
        };
        let Some(expected) = expected else {
            return;
        };
        let EntryKind::File { size, runs } = &found.kind else {
            self.note(bound, format!("`{path}` is no file")).damaged += 1;
            return;
        };
        if saves.is_some_and(|saves| !saves.iter().any(|one| is_content(one, *size, runs))) {
            let loss = self.note(bound, format!("`{path}` is neither old nor new"));
            loss.broken_saves += 1;
        }
        if *size == 0 && expected.size > 0 {
            self.note(bound, format!("`{path}` is empty")).empty += 1;
        } else if let Some(errno) = &found.unreadable {
            let what = format!("`{path}` cannot be read: {errno}");
            self.note(bound, what).damaged += 1;
        } else if let Some(what) = damage(known, path, expected, runs) {
            self.note(bound, format!("`{path}` has {what}")).damaged += 1;
        }
        for (from, piece) in &expected.written {
            if covered(runs, *from, piece) < piece.end - from {
                self.lose(piece.operation, || format!("`{path}` is older"));
            }
        }
        if *size != expected.size
            && let Some(changed) = known.changed.get(&inode)
        {
            self.lose(*changed, || format!("`{path}` has another size"));
        }
    }
}

/// Bytes of a piece that are there.
fn covered(runs: &[Run], from: u64, piece: &Piece) -> u64 {
    let mut all = 0;
    for run in runs {
        if run.source == Source::Operation(piece.operation) {
            let end = (run.offset + run.length).min(piece.end);
            all += end.saturating_sub(run.offset.max(from));
        }
    }
    all
}

/// Whether a file has this content.
fn is_content(content: &Content, size: u64, runs: &[Run]) -> bool {
    let is_covered =
        |(from, piece): (&u64, &Piece)| covered(runs, *from, piece) == piece.end - from;
    let length = |run: &Run| (run.source != Source::Zeros).then_some(run.length);
    let pieces = content.written.iter();
    let written: u64 = pieces.map(|(from, piece)| piece.end - from).sum();
    content.size == size
        && content.written.iter().all(is_covered)
        && runs.iter().filter_map(length).sum::<u64>() == written
}

/// Zeros in the place of data, or bytes that were never written to a file of this path.
fn damage(known: &Known, path: &str, expected: &Content, runs: &[Run]) -> Option<&'static str> {
    for run in runs {
        let end = run.offset + run.length;
        let is_foreign = match run.source {
            Source::Zeros => {
                let mut written = expected.written.iter();
                if written.any(|(from, piece)| *from < end && run.offset < piece.end) {
                    return Some("zeros in the place of data");
                }
                false
            }
            Source::Operation(source) => !known.was_written(path, source),
            Source::Moved { .. } | Source::Bytes(_) | Source::Free | Source::Other => true,
        };
        if is_foreign {
            return Some("bytes that were never written to it");
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000;

    /// Operations 0 to 4 are the setup, one operation a second follows.
    const PROGRAM: &str = "mkdir d
create d/old
write d/old 0 32
create d/log
write d/log 0 16
---
append d/log 16
create d/new
write d/new 0 32
rename d/new d/old
create d/gone
unlink d/gone
";

    fn timed() -> TimedProgram {
        let program: crate::Program = PROGRAM.parse().unwrap();
        TimedProgram {
            begins: (1..=6).map(|second| Nanos(second * SECOND)).collect(),
            activities: vec!["all".to_owned()],
            activity_of: vec![0; 11],
            program,
        }
    }

    fn entry(kind: EntryKind) -> Entry {
        Entry {
            kind,
            mode: Some(0o644),
            links: None,
            inode: 0,
            xattrs: BTreeMap::new(),
            unreadable: None,
        }
    }

    /// A file of parts, each with its length and source.
    fn file(parts: &[(u64, Source)]) -> Entry {
        let mut runs = Vec::new();
        let mut size = 0;
        for (length, source) in parts {
            runs.push(Run {
                offset: size,
                length: *length,
                source: *source,
            });
            size += length;
        }
        entry(EntryKind::File { size, runs })
    }

    /// What is lost 10 s after the setup, when all operations have returned.
    fn lost(files: &[(&str, Entry)]) -> WorkLoss {
        let returned: Vec<Nanos> = (0..=6).map(|second| Nanos(second * SECOND)).collect();
        let mut tree = Tree::default();
        tree.entries
            .insert("d".to_owned(), entry(EntryKind::Directory));
        for (path, entry) in files {
            tree.entries.insert((*path).to_owned(), entry.clone());
        }
        undone(&timed(), (&returned, Nanos(10 * SECOND)), &tree).remove(0)
    }

    const LOG: [(u64, Source); 2] = [(16, Source::Operation(4)), (16, Source::Operation(5))];
    const NEW: (u64, Source) = (32, Source::Operation(7));
    const OLD: (u64, Source) = (32, Source::Operation(2));

    #[test]
    fn the_files_at_the_power_cut_have_lost_nothing() {
        let loss = lost(&[("d/log", file(&LOG)), ("d/old", file(&[NEW]))]);
        assert_eq!((loss.files, loss.saves, loss.deleted), (2, 1, 1));
        assert_eq!((loss.lost_ns, loss.first), (None, None));
    }

    #[test]
    fn each_loss_is_counted_with_the_age_of_the_oldest_lost_change() {
        let whole = ("d/old", file(&[NEW]));
        let age = |seconds: u64| Some(Nanos(seconds * SECOND));
        // The append of the first second is gone.
        let shorter = lost(&[("d/log", file(&LOG[..1])), whole.clone()]);
        assert_eq!((shorter.lost_ns, shorter.damaged), (age(9), 0));
        let hole = file(&[LOG[0], (16, Source::Zeros)]);
        let hole = lost(&[("d/log", hole), whole.clone()]);
        assert_eq!((hole.lost_ns, hole.damaged), (age(9), 1));
        let foreign = file(&[LOG[0], (16, Source::Operation(7))]);
        let foreign = lost(&[("d/log", foreign), whole.clone()]);
        assert_eq!((foreign.lost_ns, foreign.damaged), (age(9), 1));
        let empty = lost(&[("d/log", file(&[])), whole.clone()]);
        assert_eq!((empty.lost_ns, empty.empty), (age(10), 1));
        let missing = lost(std::slice::from_ref(&whole));
        assert_eq!((missing.lost_ns, missing.missing), (age(10), 1));
        let returned = ("d/gone", file(&[]));
        let returned = lost(&[("d/log", file(&LOG)), whole, returned]);
        assert_eq!((returned.lost_ns, returned.returned), (age(4), 1));
    }

    #[test]
    fn a_save_leaves_the_old_or_the_new_file() {
        let log = ("d/log", file(&LOG));
        let old = lost(&[log.clone(), ("d/old", file(&[OLD]))]);
        // The write of the third second is lost, but the old file is there.
        assert_eq!((old.lost_ns.unwrap().0, old.broken_saves), (7 * SECOND, 0));
        for broken in [
            file(&[]),
            file(&[(16, NEW.1)]),
            file(&[(32, Source::Zeros)]),
        ] {
            let loss = lost(&[log.clone(), ("d/old", broken)]);
            assert_eq!(loss.broken_saves, 1, "{loss:?}");
        }
    }

    #[test]
    fn what_may_be_in_flight_is_not_compared() {
        let timed = timed();
        let returned: Vec<Nanos> = (0..=5).map(|second| Nanos(second * SECOND)).collect();
        let mut tree = Tree::default();
        tree.entries
            .insert("d".to_owned(), entry(EntryKind::Directory));
        let at = |seconds: u64| {
            let loss = undone(&timed, (&returned, Nanos(seconds * SECOND)), &tree);
            loss[0].missing
        };
        // `d/gone` exists until the sixth second, in which its deletion begins.
        assert_eq!((at(5), at(6)), (3, 2));
    }
}
