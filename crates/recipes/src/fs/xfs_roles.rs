//! The roles of the blocks of XFS: the log by its place, the rest by the magic numbers of the
//! structures (XFS Algorithms and Data Structures).

use crate::roles::{ReadAt, Roles, SECTOR, be32, be64, bytes};
use fsdyno_model::BlockRole;
use std::sync::Arc;

const SUPERBLOCK: &[u8; 4] = b"XFSB";

/// Headers of allocation groups, and trees of free space, inodes, reverse mappings and references.
const MAPS: [&[u8; 4]; 10] = [
    b"XAGF", b"XAGI", b"XAFL", b"AB3B", b"AB3C", b"IAB3", b"FIB3", b"RMB3", b"R3FC", b"ABTB",
];

/// Blocks of directories that begin with their magic number.
const DIRECTORIES: [&[u8; 4]; 6] = [b"XDB3", b"XDD3", b"XDF3", b"XD2B", b"XD2D", b"XD2F"];

/// Leaves and nodes of directories and attributes, whose magic number is at byte 8.
const LEAVES: [[u8; 2]; 4] = [[0x3d, 0xf1], [0x3d, 0xff], [0x3e, 0xbe], [0x3b, 0xee]];

/// The roles; none if there is no such file system, or if its log is on another device.
pub(super) fn roles(read: ReadAt<'_>) -> Option<Roles> {
    let mut superblock = [0; 512];
    read(0, &mut superblock);
    if !superblock.starts_with(SUPERBLOCK) {
        return None;
    }
    let (block, start, length) = (
        be32(&superblock, 4),
        be64(&superblock, 48),
        be32(&superblock, 96),
    );
    let (of_group, shift) = (be32(&superblock, 84), u32::from(superblock[124]));
    if start == 0 || shift > 32 {
        return None;
    }
    let first = (start >> shift) * of_group + (start & ((1 << shift) - 1));
    let log = first * block / SECTOR..(first + length) * block / SECTOR;
    Some(Arc::new(move |sector, content| {
        if log.contains(&sector) {
            return BlockRole::Journal;
        }
        let magic: [u8; 4] = bytes(content, 0);
        if &magic == SUPERBLOCK {
            BlockRole::Superblock
        } else if MAPS.contains(&&magic) {
            BlockRole::AllocationMap
        } else if magic.starts_with(b"IN") {
            BlockRole::InodeTable
        } else if DIRECTORIES.contains(&&magic) || LEAVES.contains(&bytes(content, 8)) {
            BlockRole::Directory
        } else {
            BlockRole::Data
        }
    }))
}
