//! The roles of the blocks of Btrfs. Its trees have no fixed place: a block belongs to a tree if it
//! carries the identity of the file system, and names the tree (Documentation of btrfs: on-disk
//! format).

use crate::roles::{ReadAt, Roles, SECTOR, bytes, le64};
use fsdyno_model::BlockRole;
use std::sync::Arc;

/// Offsets of the copies of the superblock, bytes.
const SUPERBLOCKS: [u64; 3] = [64 << 10, 64 << 20, 256 << 30];

const MAGIC: &[u8; 8] = b"_BHRfS_M";

/// The roles; none if there is no such file system.
pub(super) fn roles(read: ReadAt<'_>) -> Option<Roles> {
    let mut superblock = [0; 4096];
    read(SUPERBLOCKS[0], &mut superblock);
    if &superblock[64..72] != MAGIC {
        return None;
    }
    let identity: [u8; 16] = bytes(&superblock, 32);
    // The blocks of trees may have another one than that which is displayed.
    let of_metadata: [u8; 16] = bytes(&superblock, 571);
    Some(Arc::new(move |sector, content| {
        if SUPERBLOCKS.contains(&(sector * SECTOR)) {
            return BlockRole::Superblock;
        }
        let carried: [u8; 16] = bytes(content, 32);
        if carried == [0; 16] || (carried != identity && carried != of_metadata) {
            return BlockRole::Data;
        }
        match le64(content, 88) {
            // The tree of roots: with it the trees of a transaction become the current ones.
            1 => BlockRole::Commit,
            // The log of fsync.
            tree if tree == 0_u64.wrapping_sub(6) || tree == 0_u64.wrapping_sub(7) => {
                BlockRole::Journal
            }
            // Extents, chunks, devices, checksums, free space, block groups.
            2..=4 | 7 | 10 | 11 => BlockRole::AllocationMap,
            // Files: inodes and names are in one tree.
            _ => BlockRole::InodeTable,
        }
    }))
}
