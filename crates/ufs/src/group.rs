//! The cylinder group descriptor: its counts and the positions of its bitmaps.

use crate::bytes::{index, put16, put32, put64, set_bit};
use crate::geometry::{Geometry, Version};
use crate::tally::Tally;

/// Magic number of a descriptor (`CG_MAGIC`).
pub(crate) const MAGIC: u64 = 0x0009_0255;

/// First inodes, which belong to no file: 0 is invalid, 1 was once for bad blocks.
pub(crate) const RESERVED_INODES: u64 = 2;

/// Inode of the root directory.
pub(crate) const ROOT: u64 = 2;

/// Offsets of the descriptor's fields, bytes.
pub(crate) mod at {
    pub(crate) const MAGIC: usize = 4;
    pub(crate) const OLD_TIME: usize = 8;
    pub(crate) const NUMBER: usize = 12;
    pub(crate) const OLD_CYLINDERS: usize = 16;
    pub(crate) const OLD_INODES: usize = 18;
    pub(crate) const FRAGMENTS: usize = 20;
    /// The first of the counts, in the order of the summary.
    pub(crate) const COUNTS: usize = 24;
    pub(crate) const RUNS: usize = 52;
    pub(crate) const OLD_TOTALS: usize = 84;
    pub(crate) const OLD_POSITIONS: usize = 88;
    pub(crate) const INODE_MAP: usize = 92;
    pub(crate) const FREE_MAP: usize = 96;
    pub(crate) const END: usize = 100;
    pub(crate) const CLUSTER_RUNS: usize = 104;
    pub(crate) const CLUSTER_MAP: usize = 108;
    pub(crate) const CLUSTER_BLOCKS: usize = 112;
    pub(crate) const INODES: usize = 116;
    pub(crate) const WRITTEN_INODES: usize = 120;
    pub(crate) const TIME: usize = 136;
    pub(crate) const SPACE: u64 = 168;
}

/// Offsets of the maps in a descriptor, bytes. They are equal in all groups.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Maps {
    /// Free blocks of each cylinder and of each rotational position: one each, because a cylinder
    /// is as large as a group. UFS1 has them. Only old kernels use them, but Linux maintains them
    /// too.
    pub old: Option<(u64, u64)>,
    /// Bitmap of used inodes.
    pub inodes: u64,
    /// Bitmap of free fragments.
    pub free: u64,
    /// Counts of runs of free blocks. The first counter is for length 0, is not used, and overlaps
    /// the preceding field.
    pub cluster_runs: u64,
    /// Bitmap of free blocks.
    pub clusters: u64,
    pub end: u64,
}

impl Maps {
    pub(crate) fn of(geometry: &Geometry) -> Self {
        let (old, inodes) = match geometry.version {
            Version::Ufs1 => (Some((at::SPACE, at::SPACE + 4)), at::SPACE + 6),
            Version::Ufs2 => (None, at::SPACE),
        };
        let free = inodes + geometry.group_inodes.div_ceil(8);
        let runs = (free + geometry.group.div_ceil(8)).next_multiple_of(4) - 4;
        let clusters = runs + (geometry.cluster + 1) * 4;
        let blocks = geometry.group / geometry.parts();
        Self {
            old,
            inodes,
            free,
            cluster_runs: runs,
            clusters,
            end: clusters + blocks.div_ceil(8),
        }
    }
}

/// Counts of a group that the summary repeats.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Counts {
    pub directories: u64,
    pub free_blocks: u64,
    pub free_inodes: u64,
    pub free_fragments: u64,
}

impl Counts {
    pub(crate) fn add(&mut self, other: Self) {
        self.directories += other.directories;
        self.free_blocks += other.free_blocks;
        self.free_inodes += other.free_inodes;
        self.free_fragments += other.free_fragments;
    }

    /// The counts in on-disk form, in the order of the summary.
    pub(crate) fn in_order(self) -> [u64; 4] {
        [
            self.directories,
            self.free_blocks,
            self.free_inodes,
            self.free_fragments,
        ]
    }
}

/// Inodes of a group that `newfs` initializes. UFS2 kernels initialize the others on demand, one
/// block at a time.
pub(crate) fn written_inodes(geometry: &Geometry) -> u64 {
    match geometry.version {
        Version::Ufs1 => geometry.group_inodes,
        Version::Ufs2 => geometry.group_inodes.min(2 * geometry.block_inodes()),
    }
}

/// Creates the descriptor of group `number` of a file system with only a root directory.
pub(crate) fn fresh(geometry: &Geometry, number: u64, time: u64) -> (Vec<u8>, Counts) {
    let fragments = geometry.in_group(number);
    let parts = geometry.parts();
    let maps = Maps::of(geometry);
    let mut block = vec![0; index(geometry.block)];

    // The root directory occupies the fragment after the tables of the first group.
    let root_at = geometry.data_at() + geometry.summary();
    let taken = |f: u64| geometry.is_table(number, f) || (number == 0 && f == root_at);
    let mut free = vec![0; index(geometry.group.div_ceil(8))];
    for fragment in (0..fragments).filter(|f| !taken(*f)) {
        set_bit(&mut free, fragment);
    }
    let tally = Tally::of(&free, fragments, parts, geometry.cluster);
    let (directories, used) = match number {
        0 => (1, RESERVED_INODES + 1),
        _ => (0, 0),
    };
    let counts = Counts {
        directories,
        free_blocks: tally.blocks,
        free_inodes: geometry.group_inodes - used,
        free_fragments: tally.fragments,
    };

    put32(&mut block, at::MAGIC, MAGIC);
    put32(&mut block, at::NUMBER, number);
    put32(&mut block, at::FRAGMENTS, fragments);
    for (place, count) in counts.in_order().into_iter().enumerate() {
        put32(&mut block, at::COUNTS + 4 * place, count);
    }
    for (length, count) in tally.runs.iter().enumerate() {
        put32(&mut block, at::RUNS + 4 * length, *count);
    }
    put_maps(&mut block, geometry, &maps, &tally, &free);
    for inode in 0..used {
        set_bit(&mut block[index(maps.inodes)..], inode);
    }
    put32(&mut block, at::CLUSTER_BLOCKS, fragments / parts);
    match geometry.version {
        Version::Ufs1 => {
            put32(&mut block, at::OLD_TIME, time);
            put16(&mut block, at::OLD_CYLINDERS, 1);
            put16(&mut block, at::OLD_INODES, geometry.group_inodes);
        }
        Version::Ufs2 => {
            put64(&mut block, at::TIME, time);
            put32(&mut block, at::INODES, geometry.group_inodes);
            put32(&mut block, at::WRITTEN_INODES, written_inodes(geometry));
        }
    }
    (block, counts)
}

fn put_maps(block: &mut [u8], geometry: &Geometry, maps: &Maps, tally: &Tally, free: &[u8]) {
    for (length, count) in tally.cluster_runs.iter().enumerate().skip(1) {
        put32(block, index(maps.cluster_runs) + 4 * length, *count);
    }
    block[index(maps.free)..][..free.len()].copy_from_slice(free);
    block[index(maps.clusters)..][..tally.clusters.len()].copy_from_slice(&tally.clusters);
    put32(block, at::INODE_MAP, maps.inodes);
    put32(block, at::FREE_MAP, maps.free);
    put32(block, at::CLUSTER_RUNS, maps.cluster_runs);
    put32(block, at::CLUSTER_MAP, maps.clusters);
    put32(block, at::END, maps.end);
    if let Some((totals, positions)) = maps.old {
        put32(block, at::OLD_TOTALS, totals);
        put32(block, at::OLD_POSITIONS, positions);
        put32(block, index(totals), tally.blocks);
        put16(block, index(positions), tally.blocks);
    }
    debug_assert!(
        maps.end <= geometry.descriptor_bytes(),
        "the maps fit the descriptor"
    );
}
