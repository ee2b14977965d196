//! The figures of a recording: operations by kind, sizes, order, concurrency, directories.

use crate::{
    About, Action, Ending, Entry, EntryKind, Handle, Item, Object, Operation, PathId, Paths,
    Reader, TraceError,
};
use serde::Serialize;
use std::collections::{BTreeMap, HashMap};
use std::io::Read;

/// Slices of the timeline, at most; at least half of it when the recording is long enough.
const MAX_SLICES: usize = 64;

/// Width of a slice at first, ns.
const FIRST_WIDTH_NS: u64 = 1 << 16;

const LISTED_DIRECTORIES: usize = 10;

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Tree {
    pub directories: u64,
    /// Regular files, each once.
    pub files: u64,
    /// Further names of files.
    pub hard_links: u64,
    /// Symbolic links.
    pub symlinks: u64,
    /// FIFOs, sockets and devices.
    pub others: u64,
    /// Bytes of the regular files.
    pub bytes: u64,
    /// Bytes of holes in them.
    pub hole_bytes: u64,
    /// Extents of files with a map.
    pub extents: u64,
    /// Files with a map of extents.
    pub mapped_files: u64,
    /// Compressed size of the samples, weighted by the sizes of the files, in thousandths.
    pub compressed_permille: Option<u64>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct KindSummary {
    pub kind: &'static str,
    pub count: u64,
    pub failed: u64,
    pub bytes: u64,
    /// Sum of the times until they returned, ns.
    pub total_ns: u64,
    /// Half of the operations took no longer, ns: the upper limit of a power of two.
    pub median_ns: u64,
    /// 99 % of the operations took no longer, ns: the upper limit of a power of two.
    pub p99_ns: u64,
    pub longest_ns: u64,
}

/// Reads or writes.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Transfers {
    /// Operations that transferred something.
    pub count: u64,
    pub bytes: u64,
    /// Of the operations, those that began where the previous one of the descriptor ended.
    pub sequential: u64,
    /// Operations by the power of two that is not above their bytes: `sizes[12]` has 4 KiB to 8 KiB.
    pub sizes: Vec<u64>,
}

/// A directory, and the operations on it and on what is directly in it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Directory {
    /// Its path relative to the tree; `.` is the tree.
    pub path: String,
    pub operations: u64,
    pub bytes: u64,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct TimeSlice {
    /// Operations that began in it.
    pub operations: u64,
    /// Bytes of reads that began in it.
    pub read_bytes: u64,
    /// Bytes of writes that began in it.
    pub written_bytes: u64,
    /// Flushes that began in it: fsync, fdatasync and their kin.
    pub syncs: u64,
    /// Sum of the times in operations, ns. Divided by the width: operations in flight.
    pub busy_ns: u64,
}

/// Differences between the tree at the end and the recorded operations.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Unexplained {
    /// Entries of the tree at the end that are not what the operations leave.
    pub count: u64,
    /// The first of them, a sentence each.
    pub first: Vec<String>,
}

#[derive(Debug, Clone, Serialize)]
pub struct Summary {
    /// The description at its start.
    pub about: About,
    /// The description at its end. None if it is truncated.
    pub ending: Option<Ending>,
    pub tree: Tree,
    /// The tree at its end. None in recordings of version 1.
    pub last_tree: Option<Tree>,
    /// The number of entries in which the tree at the end is not what the operations leave, and the
    /// first of them. The caller finds them; none if they are not known.
    pub unexplained: Option<Unexplained>,
    /// Threads that did something.
    pub threads: u64,
    /// Operations by kind, the most frequent first.
    pub kinds: Vec<KindSummary>,
    pub reads: Transfers,
    pub writes: Transfers,
    /// Flushes: fsync, fdatasync, `sync_file_range`, msync, syncfs and sync.
    pub syncs: u64,
    /// Mean number of operations in flight.
    pub mean_in_flight: f64,
    /// Largest mean of a slice.
    pub most_in_flight: f64,
    /// Directories with most operations.
    pub directories: Vec<Directory>,
    pub slice_ns: u64,
    pub slices: Vec<TimeSlice>,
}

#[derive(Debug)]
struct Kind {
    summary: KindSummary,
    /// Operations by the power of two of their time.
    times: [u64; 64],
}

#[derive(Debug, Default)]
struct Open {
    directory: Option<PathId>,
    position: u64,
    /// The end offset of the last transfer.
    end: u64,
}

#[derive(Debug, Default)]
struct TreeBuilder {
    tree: Tree,
    weighted_permille: u128,
    weight: u128,
}

#[derive(Debug, Default)]
struct Builder {
    tree: TreeBuilder,
    last_tree: Option<TreeBuilder>,
    kinds: BTreeMap<&'static str, Kind>,
    reads: Transfers,
    writes: Transfers,
    syncs: u64,
    threads: Vec<bool>,
    open: HashMap<Handle, Open>,
    directories: HashMap<PathId, (u64, u64)>,
    width_ns: u64,
    slices: Vec<TimeSlice>,
    last_ns: u64,
    busy_ns: u64,
}

/// Reads a recording to its end, or to its first error, which is returned with the figures before it.
pub fn summarise<R: Read>(mut reader: Reader<R>) -> (Summary, Option<TraceError>) {
    let mut builder = Builder {
        width_ns: FIRST_WIDTH_NS,
        ..Builder::default()
    };
    let mut ending = None;
    let error = loop {
        match reader.next_item() {
            Ok(Some(Item::Entry(entry))) => builder.tree.entry(&entry),
            Ok(Some(Item::LastEntry(entry))) => {
                builder.last_tree.get_or_insert_default().entry(&entry);
            }
            Ok(Some(Item::Operation(operation))) => builder.operation(&operation, reader.paths()),
            Ok(Some(Item::Thread(_))) => {}
            Ok(Some(Item::Ending(end))) => ending = Some(end),
            Ok(None) => break None,
            Err(error) => break Some(error),
        }
    };
    let about = reader.about().clone();
    (builder.finish(about, ending, &reader.into_paths()), error)
}

impl TreeBuilder {
    fn entry(&mut self, entry: &Entry) {
        let tree = &mut self.tree;
        match &entry.kind {
            EntryKind::Directory => tree.directories += 1,
            EntryKind::File {
                size,
                holes,
                extents,
                compressed_permille,
            } => {
                tree.files += 1;
                tree.bytes = tree.bytes.saturating_add(*size);
                let holes = holes.iter().map(|hole| hole.length).sum::<u64>();
                tree.hole_bytes = tree.hole_bytes.saturating_add(holes);
                if let Some(extents) = extents {
                    tree.extents += u64::from(*extents);
                    tree.mapped_files += 1;
                }
                if let Some(permille) = compressed_permille {
                    let weight = u128::from(size - holes);
                    self.weighted_permille += weight * u128::from(*permille);
                    self.weight += weight;
                }
            }
            EntryKind::HardLink { .. } => tree.hard_links += 1,
            EntryKind::Symlink { .. } => tree.symlinks += 1,
            EntryKind::Fifo | EntryKind::Socket | EntryKind::Device => tree.others += 1,
        }
    }

    fn finish(mut self) -> Tree {
        let permille = self.weighted_permille.checked_div(self.weight);
        self.tree.compressed_permille = permille.and_then(|part| u64::try_from(part).ok());
        self.tree
    }
}

impl Builder {
    fn operation(&mut self, operation: &Operation, paths: &Paths) {
        let thread = operation.thread.0 as usize;
        if thread >= self.threads.len() {
            self.threads.resize(thread + 1, false);
        }
        self.threads[thread] = true;
        let read = self.transfer(operation);
        let bytes = read.map_or(0, |(_, bytes)| bytes);
        self.directory(operation, bytes, paths);
        self.count(operation, bytes);
        let sync = matches!(
            operation.action,
            Action::Fsync { .. }
                | Action::Fdatasync { .. }
                | Action::SyncRange { .. }
                | Action::SyncFs { .. }
                | Action::SyncMap { .. }
                | Action::Sync {}
        );
        self.syncs += u64::from(sync);
        self.slice(operation, read, sync);
    }

    fn count(&mut self, operation: &Operation, bytes: u64) {
        let kind = self
            .kinds
            .entry(operation.action.kind())
            .or_insert_with(|| Kind {
                summary: KindSummary::default(),
                times: [0; 64],
            });
        let elapsed_ns = operation.duration_ns();
        kind.summary.kind = operation.action.kind();
        kind.summary.count += 1;
        kind.summary.failed += u64::from(operation.errno().is_some());
        kind.summary.bytes = kind.summary.bytes.saturating_add(bytes);
        kind.summary.total_ns = kind.summary.total_ns.saturating_add(elapsed_ns);
        kind.summary.longest_ns = kind.summary.longest_ns.max(elapsed_ns);
        kind.times[elapsed_ns.max(1).ilog2() as usize] += 1;
    }

    /// Whether the operation reads, and the bytes that it transferred; none for other operations.
    fn transfer(&mut self, operation: &Operation) -> Option<(bool, u64)> {
        let bytes = u64::try_from(operation.result).unwrap_or(0);
        let (handle, offset, reads) = match operation.action {
            Action::Read { handle, offset, .. }
            | Action::SpliceFrom { handle, offset, .. }
            | Action::SendFile {
                from: handle,
                offset,
                ..
            } => (handle, offset, true),
            Action::Copy {
                from, from_offset, ..
            } => (from, from_offset, true),
            Action::Write { handle, offset, .. } | Action::SpliceTo { handle, offset, .. } => {
                (handle, offset, false)
            }
            Action::Seek { handle, .. } => {
                if operation.errno().is_none() {
                    self.open.entry(handle).or_default().position = bytes;
                }
                return None;
            }
            Action::Inherit {
                handle, position, ..
            } => {
                let open = self.open.entry(handle).or_default();
                (open.position, open.end) = (position, position);
                return None;
            }
            _ => return None,
        };
        let open = self.open.entry(handle).or_default();
        let from = offset.unwrap_or(open.position);
        let end = from.saturating_add(bytes);
        if offset.is_none() {
            open.position = end;
        }
        let transfers = if reads {
            &mut self.reads
        } else {
            &mut self.writes
        };
        if bytes > 0 {
            transfers.count += 1;
            transfers.bytes = transfers.bytes.saturating_add(bytes);
            transfers.sequential += u64::from(from == open.end);
            open.end = end;
            let class = bytes.ilog2() as usize;
            if transfers.sizes.len() <= class {
                transfers.sizes.resize(class + 1, 0);
            }
            transfers.sizes[class] += 1;
        }
        Some((reads, bytes))
    }

    fn directory(&mut self, operation: &Operation, bytes: u64, paths: &Paths) {
        let above = |path: PathId| paths.parent(path).unwrap_or(PathId::ROOT);
        let of_handle = |handle: &Handle| self.open.get(handle).and_then(|open| open.directory);
        let directory = match &operation.action {
            Action::Open { path, .. }
            | Action::Inherit { path, .. }
            | Action::Truncate { path, .. }
            | Action::Rename { from: path, .. }
            | Action::Link { to: path, .. }
            | Action::LinkHandle { to: path, .. }
            | Action::Symlink { path, .. }
            | Action::Unlink { path }
            | Action::RemoveDirectory { path }
            | Action::MakeDirectory { path, .. }
            | Action::MakeNode { path, .. } => Some(above(*path)),
            Action::Read { handle, .. }
            | Action::Write { handle, .. }
            | Action::Seek { handle, .. }
            | Action::Fsync { handle }
            | Action::Fdatasync { handle }
            | Action::TruncateHandle { handle, .. }
            | Action::Allocate { handle, .. }
            | Action::ReadDirectory { handle, .. }
            | Action::Map { handle, .. }
            | Action::Reopen { of: handle, .. }
            | Action::GetFlags { handle, .. }
            | Action::SetFlags { handle, .. }
            | Action::Close { handle } => of_handle(handle),
            other => match other.object() {
                Some(Object::Path(path) | Object::NoFollow(path)) => Some(above(path)),
                Some(Object::Handle(handle)) => of_handle(&handle),
                None => None,
            },
        };
        match &operation.action {
            Action::Open {
                path,
                handle: Some(handle),
                ..
            }
            | Action::Inherit { path, handle, .. } => {
                self.open.entry(*handle).or_default().directory = Some(above(*path));
            }
            Action::Reopen {
                handle: Some(handle),
                ..
            } => self.open.entry(*handle).or_default().directory = directory,
            Action::Close { handle } => {
                self.open.remove(handle);
            }
            _ => {}
        }
        if let Some(directory) = directory {
            let (operations, all) = self.directories.entry(directory).or_default();
            *operations += 1;
            *all = all.saturating_add(bytes);
        }
    }

    fn slice(&mut self, operation: &Operation, transfer: Option<(bool, u64)>, sync: bool) {
        self.last_ns = self.last_ns.max(operation.end_ns);
        while operation.end_ns / self.width_ns >= MAX_SLICES as u64 {
            self.width_ns *= 2;
            let pairs = self.slices.chunks(2).map(|pair| {
                let [mut one, other] = [pair[0], pair.get(1).copied().unwrap_or_default()];
                one.operations += other.operations;
                one.read_bytes += other.read_bytes;
                one.written_bytes += other.written_bytes;
                one.syncs += other.syncs;
                one.busy_ns += other.busy_ns;
                one
            });
            self.slices = pairs.collect();
        }
        let at = |ns: u64| usize::try_from(ns / self.width_ns).unwrap_or(MAX_SLICES - 1);
        let (first, last) = (at(operation.start_ns), at(operation.end_ns));
        if self.slices.len() <= last {
            self.slices.resize(last + 1, TimeSlice::default());
        }
        let slice = &mut self.slices[first];
        slice.operations += 1;
        slice.syncs += u64::from(sync);
        match transfer {
            Some((true, bytes)) => slice.read_bytes = slice.read_bytes.saturating_add(bytes),
            Some((false, bytes)) => {
                slice.written_bytes = slice.written_bytes.saturating_add(bytes);
            }
            None => {}
        }
        for number in first..=last {
            let from = self
                .width_ns
                .saturating_mul(number as u64)
                .max(operation.start_ns);
            let end = self
                .width_ns
                .saturating_mul(number as u64 + 1)
                .min(operation.end_ns);
            let busy = end.saturating_sub(from);
            // The time in a wait for a process is none in the file system.
            if !matches!(operation.action, Action::Wait { .. }) {
                self.slices[number].busy_ns = self.slices[number].busy_ns.saturating_add(busy);
                self.busy_ns = self.busy_ns.saturating_add(busy);
            }
        }
    }

    fn finish(self, about: About, ending: Option<Ending>, paths: &Paths) -> Summary {
        let mut kinds: Vec<KindSummary> = self.kinds.into_values().map(Kind::finish).collect();
        kinds.sort_by(|one, other| other.count.cmp(&one.count).then(one.kind.cmp(other.kind)));
        let mut directories: Vec<_> = self.directories.into_iter().collect();
        directories.sort_by_key(|(path, (operations, _))| (std::cmp::Reverse(*operations), *path));
        directories.truncate(LISTED_DIRECTORIES);
        let listed = directories.into_iter().map(|(path, (operations, bytes))| {
            let path = paths.path(path);
            let shown = path.display().to_string();
            let path = if shown.is_empty() {
                ".".to_owned()
            } else {
                shown
            };
            Directory {
                path,
                operations,
                bytes,
            }
        });
        let stated = ending.as_ref().map_or(0, |ending| ending.duration_ns);
        let duration = self.last_ns.max(stated).max(1);
        let width = self.width_ns as f64;
        let most = self.slices.iter().map(|slice| slice.busy_ns as f64 / width);
        Summary {
            about,
            ending,
            tree: self.tree.finish(),
            last_tree: self.last_tree.map(TreeBuilder::finish),
            unexplained: None,
            threads: self.threads.iter().filter(|used| **used).count() as u64,
            kinds,
            reads: self.reads,
            writes: self.writes,
            syncs: self.syncs,
            mean_in_flight: self.busy_ns as f64 / duration as f64,
            most_in_flight: most.fold(0.0, f64::max),
            directories: listed.collect(),
            slice_ns: self.width_ns,
            slices: self.slices,
        }
    }
}

impl Kind {
    fn finish(mut self) -> KindSummary {
        let count = self.summary.count;
        let quantile = |needed: u64| {
            let mut seen = 0;
            let class = self.times.iter().position(|class| {
                seen += class;
                seen >= needed
            });
            class.map_or(0, |class| {
                2_u64.saturating_pow(u32::try_from(class + 1).unwrap_or(63))
            })
        };
        let limit = self.summary.longest_ns;
        let (median, p99) = (
            quantile(count.div_ceil(2)),
            quantile((count * 99).div_ceil(100)),
        );
        self.summary.median_ns = median.min(limit);
        self.summary.p99_ns = p99.min(limit);
        self.summary
    }
}
