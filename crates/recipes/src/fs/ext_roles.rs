//! The roles of the blocks of ext2, ext3 and ext4, by the layout that the kernel documents
//! (Documentation/filesystems/ext4).

use crate::roles::{ReadAt, Roles, SECTOR, be32, le16, le32};
use fsdyno_model::BlockRole;
use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;

/// Offset of the superblock, bytes.
const SUPERBLOCK: u64 = 1024;

const MAGIC: u64 = 0xef53;
/// Magic number of the descriptor, commit and revoke blocks of the journal (`jbd2.h`).
const JOURNAL_MAGIC: u64 = 0xc03b_3998;
const COMMIT_BLOCK: u64 = 2;
const EXTENT_MAGIC: u64 = 0xf30a;
const ATTRIBUTES_MAGIC: u64 = 0xea02_0000;
/// The inode has extents.
const EXTENTS: u64 = 0x8_0000;
/// Block numbers have 64 bits.
const WIDE: u64 = 0x80;

/// The maximum number of groups that are read, and of blocks of a journal.
const MAX_GROUPS: u64 = 1 << 16;
const MAX_BLOCKS: usize = 1 << 22;

struct Layout {
    block: u64,
    superblock: u64,
    /// Group descriptors, block bitmaps, inode bitmaps.
    maps: BTreeSet<u64>,
    inode_tables: Vec<Range<u64>>,
    journal: BTreeSet<u64>,
}

/// The roles; none if there is no such file system.
pub(super) fn roles(read: ReadAt<'_>) -> Option<Roles> {
    let layout = Layout::read(read)?;
    Some(Arc::new(move |sector, bytes| layout.role(sector, bytes)))
}

impl Layout {
    fn read(read: ReadAt<'_>) -> Option<Self> {
        let mut superblock = [0; 1024];
        read(SUPERBLOCK, &mut superblock);
        let (log, size, groups_of) = (
            le32(&superblock, 24),
            le16(&superblock, 88),
            le32(&superblock, 40),
        );
        let per_group = le32(&superblock, 32);
        if le16(&superblock, 56) != MAGIC || log > 6 || per_group == 0 || groups_of == 0 {
            return None;
        }
        let block = 1024 << log;
        let first = le32(&superblock, 20);
        let wide = le32(&superblock, 96) & WIDE != 0;
        let descriptor = if wide {
            le16(&superblock, 254).max(64)
        } else {
            32
        };
        let groups = le32(&superblock, 4)
            .saturating_sub(first)
            .div_ceil(per_group);
        let groups = groups.min(MAX_GROUPS);
        let size = if size == 0 { 128 } else { size };
        let table_blocks = (groups_of * size).div_ceil(block);
        let mut maps = BTreeSet::new();
        let mut inode_tables = Vec::new();
        let descriptors = (first + 1) * block;
        maps.extend((0..(groups * descriptor).div_ceil(block)).map(|at| first + 1 + at));
        for group in 0..groups {
            let mut of = [0; 64];
            let length = usize::try_from(descriptor.min(64)).unwrap_or(64);
            read(descriptors + group * descriptor, &mut of[..length]);
            let number = |low, high| le32(&of, low) | if wide { le32(&of, high) << 32 } else { 0 };
            maps.extend([number(0, 32), number(4, 36)]);
            let table = number(8, 40);
            inode_tables.push(table..table + table_blocks);
        }
        let mut layout = Self {
            block,
            superblock: SUPERBLOCK / block,
            maps,
            inode_tables,
            journal: BTreeSet::new(),
        };
        if let Some(before) = le32(&superblock, 224).checked_sub(1) {
            let table = layout
                .inode_tables
                .get(usize::try_from(before / groups_of).ok()?)?;
            let mut inode = [0; 128];
            read(table.start * block + before % groups_of * size, &mut inode);
            layout.journal = blocks_of(&inode, block, read);
        }
        Some(layout)
    }

    fn role(&self, sector: u64, bytes: &[u8]) -> BlockRole {
        let at = sector * SECTOR / self.block;
        if at == self.superblock {
            BlockRole::Superblock
        } else if self.journal.contains(&at) {
            let commits = be32(bytes, 0) == JOURNAL_MAGIC && be32(bytes, 4) == COMMIT_BLOCK;
            if commits {
                BlockRole::Commit
            } else {
                BlockRole::Journal
            }
        } else if self.maps.contains(&at) {
            BlockRole::AllocationMap
        } else if self.inode_tables.iter().any(|table| table.contains(&at)) {
            BlockRole::InodeTable
        } else if is_directory(bytes) {
            BlockRole::Directory
        } else {
            BlockRole::Data
        }
    }
}

/// Whether a block begins with the entries `.` and `..`.
fn is_directory(bytes: &[u8]) -> bool {
    le16(bytes, 4) == 12
        && bytes.get(6) == Some(&1)
        && bytes.get(8) == Some(&b'.')
        && bytes.get(20..22) == Some(b"..")
}

/// Whether a block is one of a directory, of a tree of extents, or of extended attributes. Indirect blocks
/// have no mark.
pub(super) fn is_metadata(block: &[u8]) -> bool {
    let is_extents = le16(block, 0) == EXTENT_MAGIC && le16(block, 2) <= le16(block, 4);
    is_extents || le32(block, 0) == ATTRIBUTES_MAGIC || are_entries(block)
}

/// Whether entries of a directory fill a block exactly.
fn are_entries(block: &[u8]) -> bool {
    let mut at = 0;
    while at < block.len() {
        let (length, name) = (le16(block, at + 4), le16(block, at + 6) & 0xff);
        if length < 12 || length % 4 != 0 || name + 8 > length {
            return false;
        }
        at += usize::try_from(length).unwrap_or(usize::MAX);
    }
    at == block.len() && at > 0
}

fn blocks_of(inode: &[u8], block: u64, read: ReadAt<'_>) -> BTreeSet<u64> {
    let mut found = BTreeSet::new();
    let root = &inode[40..100];
    if le32(inode, 32) & EXTENTS != 0 {
        add_extents(root, block, read, &mut found, 5);
    } else {
        for (at, depth) in (0..15).zip([0; 12].into_iter().chain([1, 2, 3])) {
            add_indirect(le32(root, at * 4), depth, block, read, &mut found);
        }
    }
    found
}

fn add_extents(node: &[u8], block: u64, read: ReadAt<'_>, found: &mut BTreeSet<u64>, deepest: u32) {
    if le16(node, 0) != EXTENT_MAGIC || deepest == 0 {
        return;
    }
    let is_leaf = le16(node, 6) == 0;
    for entry in node[12..]
        .chunks_exact(12)
        .take(usize::try_from(le16(node, 2)).unwrap_or(0))
    {
        if is_leaf {
            let start = le32(entry, 8) | le16(entry, 6) << 32;
            // Longer ones are allocated and not written: 32,768 more than their length.
            let length = le16(entry, 4);
            let length = if length > 0x8000 {
                length - 0x8000
            } else {
                length
            };
            found.extend(start..start + length);
        } else {
            let mut below = vec![0; usize::try_from(block).unwrap_or_default()];
            read((le32(entry, 4) | le16(entry, 8) << 32) * block, &mut below);
            add_extents(&below, block, read, found, deepest - 1);
        }
        if found.len() > MAX_BLOCKS {
            return;
        }
    }
}

fn add_indirect(number: u64, depth: u32, block: u64, read: ReadAt<'_>, found: &mut BTreeSet<u64>) {
    if number == 0 || found.len() > MAX_BLOCKS {
        return;
    }
    found.insert(number);
    if depth > 0 {
        let mut below = vec![0; usize::try_from(block).unwrap_or_default()];
        read(number * block, &mut below);
        for entry in below.chunks_exact(4) {
            add_indirect(le32(entry, 0), depth - 1, block, read, found);
        }
    }
}
