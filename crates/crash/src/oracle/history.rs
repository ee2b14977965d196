//! Every version of every inode of a program, and what its acknowledged operations made durable.
//! A time is the number of performed operations.

use super::Progress;
use crate::operation::{Operation, Program, Target, WriteKind};
use crate::simulation::{Changes, Content, Inode, InodeId, Kind, Name, ProgramError, Simulation};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// The smallest page of the processors that run Linux, bytes.
const PAGE: u64 = 4096;

/// The versions of all inodes.
#[derive(Debug)]
pub(super) struct History {
    /// For each inode, its versions with the time from which each is valid.
    versions: Vec<Vec<(u32, Arc<Inode>)>>,
    /// For each inode, its names.
    names: Vec<Vec<(u32, BTreeSet<Name>)>>,
    /// The changes of each operation.
    pub changes: Vec<Changes>,
    /// The file of each operation that makes one durable.
    targets: Vec<Option<InodeId>>,
    shifts: Vec<(InodeId, Shift)>,
}

/// An operation that moves what follows an offset of a file.
#[derive(Debug, Clone, Copy)]
pub(super) struct Shift {
    pub operation: u32,
    /// The offset, after the operation.
    pub from: u64,
    pub by: i64,
}

/// A moment from which on a file is durable, and the operation that made it so.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Pin {
    pub time: u32,
    pub operation: Option<u32>,
}

/// A durable range of the data of a file.
#[derive(Debug, Clone, Copy)]
pub(super) struct RangePin {
    pub from: u64,
    pub to: u64,
    pub pin: Pin,
    /// Whether it is a write, which makes its own range durable and not the size.
    pub write: bool,
}

/// What the acknowledged operations made durable.
#[derive(Debug, Default)]
pub(super) struct Pins {
    all: Pin,
    whole: BTreeMap<InodeId, Pin>,
    pub data: BTreeMap<InodeId, Vec<RangePin>>,
    /// Each acknowledged fsync of a file.
    pub fsyncs: Vec<(InodeId, Pin)>,
}

fn in_force<T>(versions: &[(u32, T)], from: u32, to: u32) -> &[(u32, T)] {
    let first = versions.partition_point(|(time, _)| *time <= from);
    let end = versions.partition_point(|(time, _)| *time <= to);
    let first = first.saturating_sub(1).min(end);
    &versions[first..end]
}

impl History {
    pub fn new(program: &Program) -> Result<Self, ProgramError> {
        program.check()?;
        let (mut history, mut files) = Self::empty();
        for (number, operation) in program.numbered() {
            // The program was checked, so that no operation fails.
            let _ = history.advance(number, operation, &mut files);
        }
        Ok(history)
    }

    /// The history of a program whose power was cut after `began` operations had begun, and what
    /// its recovery left: `recovered` makes these files of those before the power cut. Later
    /// operations that cannot succeed on them become a `stat` of the root.
    pub fn continued(
        program: &mut Program,
        (began, cut): (u32, u32),
        recovered: impl FnOnce(&Simulation) -> Simulation,
    ) -> Self {
        let (mut history, mut files) = Self::empty();
        let before = program.numbered().take(began.min(cut) as usize);
        for (number, operation) in before {
            let _ = history.advance(number, operation, &mut files);
        }
        history.changes.resize_with(cut as usize, Changes::default);
        history.targets.resize(cut as usize, None);
        let after = recovered(&files);
        let mut changes = Changes::default();
        for inode in 0..files.inodes.len() {
            if after.inodes[inode] != files.inodes[inode]
                || after.names[inode] != files.names[inode]
            {
                changes.inodes.insert(inode);
            }
        }
        files = after;
        history.note(cut, &files, changes, None);
        let first = program.first();
        for number in cut + 1..first + u32::try_from(program.operations.len()).unwrap_or_default() {
            let operation = &mut program.operations[(number - first) as usize];
            if history.advance(number, operation, &mut files).is_err() {
                let target = Target::Path(String::new());
                *operation = Operation::Stat { target };
                let _ = history.advance(number, operation, &mut files);
            }
        }
        history
    }

    fn empty() -> (Self, Simulation) {
        let files = Simulation::default();
        let history = Self {
            versions: vec![vec![(0, Arc::clone(&files.inodes[0]))]],
            names: vec![vec![(0, BTreeSet::new())]],
            changes: Vec::new(),
            targets: Vec::new(),
            shifts: Vec::new(),
        };
        (history, files)
    }

    /// Performs the next operation; the error is why it cannot succeed.
    fn advance(
        &mut self,
        number: u32,
        operation: &Operation,
        files: &mut Simulation,
    ) -> Result<(), String> {
        let changes = files.perform(number, operation)?;
        let target = match operation {
            Operation::Fsync { target }
            | Operation::Fdatasync { target }
            | Operation::Msync { target, .. }
            | Operation::Write { target, .. } => files.target(target).ok(),
            _ => None,
        };
        self.note(number, files, changes, target);
        let shift = match operation {
            Operation::Collapse {
                target,
                offset,
                length,
            } => Some((target, *offset, -length.cast_signed())),
            Operation::Insert {
                target,
                offset,
                length,
            } => Some((target, *offset, length.cast_signed())),
            _ => None,
        };
        if let Some((target, from, by)) = shift {
            let operation = number;
            let shift = Shift {
                operation,
                from,
                by,
            };
            self.shifts.push((files.target(target)?, shift));
        }
        Ok(())
    }

    fn note(&mut self, number: u32, files: &Simulation, changes: Changes, target: Option<InodeId>) {
        self.versions.resize(files.inodes.len(), Vec::new());
        self.names.resize(files.inodes.len(), Vec::new());
        for inode in &changes.inodes {
            let version = Arc::clone(&files.inodes[*inode]);
            self.versions[*inode].push((number + 1, version));
        }
        for inode in changes.renamed.iter().chain(&changes.inodes) {
            let names = files.names[*inode].clone();
            self.names[*inode].push((number + 1, names));
        }
        self.changes.push(changes);
        self.targets.push(target);
    }

    /// The operations that move parts of a file between these times.
    pub fn shifts(&self, inode: InodeId, from: u32, to: u32) -> impl Iterator<Item = Shift> {
        let at = move |shift: &Shift| (from..to).contains(&shift.operation);
        let of = self.shifts.iter().filter(move |(of, _)| *of == inode);
        of.map(|(_, shift)| *shift).filter(at)
    }

    pub fn inodes(&self) -> usize {
        self.versions.len()
    }

    /// The versions of an inode that are in force at a time of `from..=to`.
    pub fn window(&self, inode: InodeId, from: u32, to: u32) -> impl Iterator<Item = &Inode> {
        let versions = in_force(&self.versions[inode], from, to);
        versions.iter().map(|(_, version)| version.as_ref())
    }

    /// The contents of a file at these times.
    pub fn contents(&self, inode: InodeId, from: u32, to: u32) -> impl Iterator<Item = &Content> {
        self.window(inode, from, to)
            .filter_map(|version| match &version.kind {
                Kind::File(content) => Some(content),
                _ => None,
            })
    }

    /// The inodes that a name has had at these times; `None` if it had none.
    pub fn bindings(&self, place: &Name, from: u32, to: u32) -> BTreeSet<Option<InodeId>> {
        let window = self.window(place.0, from, to);
        let names = window.filter_map(|version| match &version.kind {
            Kind::Directory(names) => Some(names.get(&place.1).copied()),
            _ => None,
        });
        names.collect()
    }

    /// The names of an inode at these times.
    pub fn names(
        &self,
        inode: InodeId,
        from: u32,
        to: u32,
    ) -> impl Iterator<Item = &BTreeSet<Name>> {
        in_force(&self.names[inode], from, to)
            .iter()
            .map(|(_, names)| names)
    }

    /// The versions of the names of an inode: from when on each is in force, in order of time. Before
    /// the first it has none.
    pub fn name_versions(&self, inode: InodeId) -> &[(u32, BTreeSet<Name>)] {
        &self.names[inode]
    }

    /// The names that an operation added, removed or gave to another file.
    pub fn places(&self, operation: u32) -> BTreeSet<&Name> {
        let renamed = &self.changes[operation as usize].renamed;
        let of = |inode: &InodeId, time| self.names(*inode, time, time).last();
        let changed = renamed.iter().flat_map(|inode| {
            let (before, after) = (of(inode, operation), of(inode, operation + 1));
            let all = before.into_iter().chain(after).flatten();
            let differs = move |name: &&Name| {
                let is_in = |names: Option<&BTreeSet<Name>>| {
                    names.is_some_and(|names| names.contains(*name))
                };
                !(is_in(before) && is_in(after))
            };
            all.filter(differs)
        });
        changed.collect()
    }

    /// All names that a directory has had until this time.
    pub fn names_in(&self, directory: InodeId, until: u32) -> BTreeSet<&str> {
        let window = self.window(directory, 0, until);
        let names = window.filter_map(|version| match &version.kind {
            Kind::Directory(names) => Some(names.keys().map(String::as_str)),
            _ => None,
        });
        names.flatten().collect()
    }

    /// What was made durable by operations that have returned. `unreturned` have not: an earlier power
    /// cut interrupted them.
    pub fn pins(
        &self,
        program: &Program,
        progress: Progress,
        unreturned: &std::ops::Range<u32>,
    ) -> Pins {
        let first = program.first();
        let mut pins = Pins {
            all: Pin {
                time: first,
                operation: None,
            },
            ..Pins::default()
        };
        for (number, operation) in program.numbered().take(progress.returned as usize) {
            if number < first || unreturned.contains(&number) {
                continue;
            }
            let pin = |time| Pin {
                time,
                operation: Some(number),
            };
            let target = self.targets[number as usize];
            match (operation, target) {
                (Operation::Sync | Operation::Syncfs, _) => pins.all = pin(number),
                (Operation::Fsync { .. }, Some(inode)) => {
                    pins.whole.insert(inode, pin(number));
                    pins.range(inode, 0, u64::MAX, pin(number), false);
                    pins.fsyncs.push((inode, pin(number)));
                }
                (Operation::Fdatasync { .. }, Some(inode)) => {
                    pins.range(inode, 0, u64::MAX, pin(number), false);
                }
                // POSIX: all whole pages that contain any part of the range.
                (Operation::Msync { offset, length, .. }, Some(inode)) => {
                    let from = offset - offset % PAGE;
                    let to = (offset + length).next_multiple_of(PAGE);
                    pins.range(inode, from, to, pin(number), true);
                }
                (
                    Operation::Write {
                        offset,
                        length,
                        kind: kind @ (WriteKind::DataSync | WriteKind::Sync),
                        ..
                    },
                    Some(inode),
                ) => {
                    let before = self.contents(inode, number, number).last();
                    let from = offset.unwrap_or(before.map_or(0, |content| content.size));
                    pins.range(inode, from, from + length, pin(number + 1), true);
                    if *kind == WriteKind::Sync {
                        pins.whole.insert(inode, pin(number + 1));
                    }
                }
                _ => {}
            }
        }
        // What was durable at its place has moved, and no operation promises where it is.
        for (inode, shift) in &self.shifts {
            if shift.operation < progress.began
                && let Some(ranges) = pins.data.get_mut(inode)
            {
                ranges.retain(|range| {
                    !range.write || range.pin.time > shift.operation || range.to <= shift.from
                });
            }
        }
        pins
    }
}

impl Pins {
    fn range(&mut self, inode: InodeId, from: u64, to: u64, pin: Pin, write: bool) {
        self.data.entry(inode).or_default().push(RangePin {
            from,
            to,
            pin,
            write,
        });
    }

    /// From when on the names in a directory, or the attributes of an inode, are durable.
    pub fn of(&self, inode: InodeId) -> Pin {
        self.whole
            .get(&inode)
            .copied()
            .unwrap_or_default()
            .max(self.all)
    }

    /// From when on a byte of a file is durable.
    pub fn at(&self, inode: InodeId, byte: u64) -> Pin {
        let pins = self.data.get(&inode).into_iter().flatten();
        let covering = pins.filter(|range| (range.from..range.to).contains(&byte));
        covering.map(|range| range.pin).fold(self.all, Pin::max)
    }

    /// From when on the size of a file is durable.
    pub fn size(&self, inode: InodeId) -> Pin {
        let pins = self.data.get(&inode).into_iter().flatten();
        let whole = pins.filter(|range| !range.write);
        whole.map(|range| range.pin).fold(self.all, Pin::max)
    }
}
