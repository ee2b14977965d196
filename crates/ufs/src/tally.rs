//! Counts from a group's bitmap of free fragments: free blocks, free fragments, and lengths of runs
//! of free blocks.

use crate::bytes::{bit, index, set_bit};

/// The counts that a group stores about its bitmap.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Tally {
    pub blocks: u64,
    /// Free fragments of partially used blocks.
    pub fragments: u64,
    /// Runs of free fragments in partially used blocks, by length (from 1).
    pub runs: [u64; 8],
    /// Bitmap of free blocks.
    pub clusters: Vec<u8>,
    /// Runs of free blocks by length (from 1). The last counter includes longer runs.
    pub cluster_runs: Vec<u64>,
}

impl Tally {
    /// Counts the first `fragments` bits of a bitmap for a block size in fragments, with runs of up
    /// to a maximum number of blocks. A partial block at the end counts as fragments.
    pub fn of(free: &[u8], fragments: u64, parts: u64, longest: u64) -> Self {
        let blocks = fragments.div_ceil(parts);
        let mut tally = Self {
            blocks: 0,
            fragments: 0,
            runs: [0; 8],
            clusters: vec![0; index(blocks.div_ceil(8))],
            cluster_runs: vec![0; index(longest) + 1],
        };
        let mut cluster = 0;
        for block in 0..blocks {
            let mut map = [false; 8];
            let map = &mut map[..index(parts)];
            for (at, is_free) in (block * parts..).zip(map.iter_mut()) {
                *is_free = at < fragments && bit(free, at);
            }
            if map.iter().all(|free| *free) {
                tally.blocks += 1;
                set_bit(&mut tally.clusters, block);
                cluster += 1;
            } else {
                tally.end_cluster(&mut cluster);
                tally.count_pieces(map);
            }
        }
        tally.end_cluster(&mut cluster);
        tally
    }

    fn end_cluster(&mut self, length: &mut usize) {
        if *length > 0 {
            let longest = self.cluster_runs.len() - 1;
            self.cluster_runs[(*length).min(longest)] += 1;
            *length = 0;
        }
    }

    fn count_pieces(&mut self, map: &[bool]) {
        for run in map.split(|free| !free).filter(|run| !run.is_empty()) {
            self.fragments += run.len() as u64;
            self.runs[run.len()] += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn free_blocks_fragments_and_runs_are_counted_separately() {
        // Blocks of 4: free, free, .XX., XXX., and two fragments of a block at the end of the disk.
        let free = [0xff, 0b0111_0110, 0b0000_0011];
        let tally = Tally::of(&free, 18, 4, 2);
        assert_eq!((tally.blocks, tally.fragments), (2, 7));
        assert_eq!(tally.runs, [0, 0, 2, 1, 0, 0, 0, 0]);
        assert_eq!(tally.clusters, [0b11]);
        assert_eq!(tally.cluster_runs, [0, 0, 1]);
    }

    #[test]
    fn longer_runs_count_as_the_longest() {
        let tally = Tally::of(&[0xff; 5], 40, 8, 3);
        assert_eq!(tally.cluster_runs, [0, 0, 0, 1]);
        assert_eq!((tally.blocks, tally.fragments), (5, 0));
    }
}
