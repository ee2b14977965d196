//! The free extents of a file system that stores them in a tree of extents and bitmaps, and whose
//! trees can be searched while it is mounted (`BTRFS_IOC_TREE_SEARCH`). These data are exact and
//! include bitmaps; no program of the file system prints them.
//!
//! The keys and items are those of the kernel's `include/uapi/linux/btrfs_tree.h`. Free space is
//! reported by block group. Space without a block group is unallocated and is not an extent.

mod search;

use fsdyno_model::units::three_digits;
use fsdyno_model::{Bytes, CancelToken};
use rustix::fd::OwnedFd;
use rustix::fs::{CWD, Mode, OFlags, fstatvfs, openat, syncfs};
use rustix::io::Errno;
use search::{Item, each_item};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

const CHUNK_TREE: u64 = 3;
const FREE_SPACE_TREE: u64 = 10;
const CHUNK_ITEM: u32 = 228;
const FREE_SPACE_EXTENT: u32 = 199;
const FREE_SPACE_BITMAP: u32 = 200;

/// The names of the kinds of block groups (`BTRFS_BLOCK_GROUP_*`).
const HOLDS: [(u64, &str); 4] = [
    (1 | 4, "data and metadata"),
    (1, "data"),
    (4, "metadata"),
    (2, "system"),
];

/// The reason why free extents cannot be reported.
#[derive(Debug, thiserror::Error)]
pub enum FreeSpaceError {
    /// A system call failed.
    #[error("cannot {operation} {}: {source}", path.display())]
    Io {
        operation: &'static str,
        path: std::path::PathBuf,
        source: std::io::Error,
    },
    /// The file system has no such tree.
    #[error("{} keeps no tree of its free space", .0.display())]
    NoTree(std::path::PathBuf),
    #[error("stopped")]
    Stopped,
}

/// The free extents of the file system mounted at `path`, by size and by kind of block group, as
/// text.
pub fn free_space(path: &Path, stop: &CancelToken) -> Result<String, FreeSpaceError> {
    let failed = |operation| {
        move |errno: Errno| FreeSpaceError::Io {
            operation,
            path: path.to_owned(),
            source: errno.into(),
        }
    };
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let root = openat(CWD, path, flags, Mode::empty()).map_err(failed("open"))?;
    // Freed space is available after the next transaction.
    syncfs(&root).map_err(failed("sync"))?;
    let sector = fstatvfs(&root).map_err(failed("examine"))?.f_bsize;
    let mut groups = Groups::default();
    let mut read_tree = |tree, root: &OwnedFd, operation| {
        let mut take = |item: &Item<'_>| {
            if stop.requested() {
                return false;
            }
            groups.take(tree, item, sector);
            true
        };
        match each_item(root, tree, &mut take) {
            Ok(true) => Ok(()),
            Ok(false) => Err(FreeSpaceError::Stopped),
            Err(Errno::NOENT) => Err(FreeSpaceError::NoTree(path.to_owned())),
            Err(errno) => Err(failed(operation)(errno)),
        }
    };
    read_tree(CHUNK_TREE, &root, "list the chunks of")?;
    read_tree(FREE_SPACE_TREE, &root, "list the free space of")?;
    Ok(groups.describe())
}

/// Block groups, and the free extents in them.
#[derive(Debug, Default, PartialEq)]
struct Groups {
    /// Start, length and kind, by start.
    all: BTreeMap<u64, (u64, u64)>,
    /// Free extents: start and length, in order; adjacent ones within a block group are merged.
    free: Vec<(u64, u64)>,
}

impl Groups {
    fn take(&mut self, tree: u64, item: &Item<'_>, sector: u64) {
        match (tree, item.kind) {
            (CHUNK_TREE, CHUNK_ITEM) => {
                let number = |at: usize| {
                    let bytes = item.data.get(at..at + 8)?.try_into().ok()?;
                    Some(u64::from_le_bytes(bytes))
                };
                // `struct btrfs_chunk`: length, owner, stripe length, type.
                if let (Some(length), Some(holds)) = (number(0), number(24)) {
                    self.all.insert(item.offset, (length, holds));
                }
            }
            (FREE_SPACE_TREE, FREE_SPACE_EXTENT) => self.add(item.objectid, item.offset),
            (FREE_SPACE_TREE, FREE_SPACE_BITMAP) => {
                let bits = item.offset / sector.max(1);
                for bit in 0..bits {
                    let place = usize::try_from(bit / 8).unwrap_or(usize::MAX);
                    let byte = item.data.get(place).copied().unwrap_or(0);
                    if byte >> (bit % 8) & 1 == 1 {
                        self.add(item.objectid + bit * sector, sector);
                    }
                }
            }
            _ => {}
        }
    }

    fn add(&mut self, start: u64, length: u64) {
        let group_begins = self.all.contains_key(&start);
        match self.free.last_mut() {
            Some((last, long)) if *last + *long == start && !group_begins => *long += length,
            _ => self.free.push((start, length)),
        }
    }

    /// The kind of the block group that contains an offset.
    fn holds(&self, place: u64) -> &'static str {
        let group = self.all.range(..=place).next_back();
        let bits = group.map_or(0, |(_, (_, holds))| *holds);
        let mut known = HOLDS.iter();
        known
            .find(|(mask, _)| bits & mask == *mask)
            .map_or("something else", |(_, name)| name)
    }

    fn describe(&self) -> String {
        let mut kinds: BTreeMap<&str, Vec<u64>> = BTreeMap::new();
        for (start, length) in &self.free {
            kinds.entry(self.holds(*start)).or_default().push(*length);
        }
        let mut text = String::new();
        for (name, lengths) in kinds {
            let _ = write!(text, "{}", GroupExtents { name, lengths });
        }
        if text.is_empty() {
            text.push_str("no free extent in any block group\n");
        }
        text
    }
}

/// Free extents of one kind of block groups, by size.
struct GroupExtents<'a> {
    name: &'a str,
    lengths: Vec<u64>,
}

impl std::fmt::Display for GroupExtents<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let total: u64 = self.lengths.iter().sum();
        let extents = self.lengths.len();
        let largest = self.lengths.iter().max().copied().unwrap_or(0);
        let mean = total / (extents as u64).max(1);
        writeln!(f, "free space in block groups of {}", self.name)?;
        writeln!(
            f,
            "{:>10} {:>10} {:>9} {:>7}",
            "from", "below", "extents", "% of it"
        )?;
        let mut classes: BTreeMap<u32, (u64, u64)> = BTreeMap::new();
        for length in &self.lengths {
            let class = classes.entry(length.max(&1).ilog2()).or_default();
            class.0 += 1;
            class.1 += length;
        }
        for (power, (many, bytes)) in classes {
            let from = Bytes(1 << power);
            let below = 1_u64.checked_shl(power + 1).map_or(u64::MAX, |bytes| bytes);
            let part = bytes as f64 * 100.0 / total.max(1) as f64;
            writeln!(
                f,
                "{:>10} {:>10} {many:>9} {:>7}",
                from.to_string(),
                Bytes(below).to_string(),
                three_digits(part)
            )?;
        }
        writeln!(f, "free extents: {extents}")?;
        writeln!(f, "free bytes: {total} ({})", Bytes(total))?;
        writeln!(
            f,
            "mean extent: {}, largest: {}\n",
            Bytes(mean),
            Bytes(largest)
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn item(objectid: u64, kind: u32, offset: u64, data: &[u8]) -> Item<'_> {
        Item {
            objectid,
            kind,
            offset,
            data,
        }
    }

    fn chunk(length: u64, holds: u64) -> Vec<u8> {
        [length, 2, 65536, holds].map(u64::to_le_bytes).concat()
    }

    #[test]
    fn extents_and_bits_make_runs_that_end_with_their_block_group() {
        let mut groups = Groups::default();
        for (start, holds) in [(0, 1), (1 << 20, 1), (2 << 20, 4)] {
            let data = chunk(1 << 20, holds);
            groups.take(CHUNK_TREE, &item(256, CHUNK_ITEM, start, &data), 4096);
        }
        let mut free = |objectid, kind, offset, data: &[u8]| {
            groups.take(FREE_SPACE_TREE, &item(objectid, kind, offset, data), 4096);
        };
        // The account of a block group is no free space.
        free(0, 198, 1 << 20, &[1, 0, 0, 0, 0, 0, 0, 0]);
        free((1 << 20) - 8192, FREE_SPACE_EXTENT, 8192, &[]);
        // Two neighbouring bitmaps: sectors 0, 2, 15 of the first, 0 of the second.
        free(1 << 20, FREE_SPACE_BITMAP, 65536, &[0b101, 0x80]);
        free((1 << 20) + 65536, FREE_SPACE_BITMAP, 65536, &[1, 0]);
        free(2 << 20, FREE_SPACE_EXTENT, 1 << 20, &[]);
        let mib = 1 << 20;
        assert_eq!(
            groups.free,
            [
                (mib - 8192, 8192),
                (mib, 4096),
                (mib + 8192, 4096),
                (mib + 15 * 4096, 8192),
                (2 * mib, mib),
            ]
        );
        let words = groups.describe();
        assert!(words.contains("groups of data\n"), "{words}");
        assert!(
            words.contains("free extents: 4\nfree bytes: 24576"),
            "{words}"
        );
        assert!(words.contains("groups of metadata\n"), "{words}");
        assert!(words.contains("largest: 1.00 MiB"), "{words}");
    }

    #[test]
    fn a_truncated_item_is_no_panic() {
        let mut groups = Groups::default();
        groups.take(CHUNK_TREE, &item(256, CHUNK_ITEM, 0, &[1, 2, 3]), 4096);
        groups.take(
            FREE_SPACE_TREE,
            &item(0, FREE_SPACE_BITMAP, 1 << 20, &[]),
            0,
        );
        groups.take(
            FREE_SPACE_TREE,
            &item(0, FREE_SPACE_BITMAP, 1 << 20, &[3]),
            4096,
        );
        assert_eq!(groups.free, [(0, 8192)]);
        assert!(groups.describe().contains("something else"));
    }

    #[test]
    fn a_file_system_without_such_trees_is_reported() {
        let work_dir = tempfile::tempdir_in("/dev/shm").unwrap();
        let error = free_space(work_dir.path(), &CancelToken::new())
            .unwrap_err()
            .to_string();
        assert!(error.contains("chunks"), "{error}");
    }
}
