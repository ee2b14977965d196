//! Random offsets in a file and incompressible data, both computed before the clock starts.

use crate::buffer::Buffer;
use fsdyno_datasets::content::Content;
use fsdyno_datasets::seed::Seed;

const OFFSETS: usize = 8192;

/// Random offsets in a file, computed before the clock starts. After each round all of them
/// are shifted, so that a few precomputed offsets give any number of offsets.
#[derive(Debug, Default)]
pub(super) struct RandomOffsets {
    /// A block, and whether a phase that writes reads it.
    offsets: Box<[(u64, bool)]>,
    blocks: u64,
    /// The current shift of the offsets, in blocks.
    shift: u64,
    at: usize,
}

impl RandomOffsets {
    /// Offsets in a file with this number of blocks, for one worker. `reads` of 100 are read.
    pub fn new(blocks: u64, reads: u64, worker: usize) -> Self {
        let seed = Seed::new(1).part("op").at(worker as u64);
        let mix = seed.part("reads");
        Self {
            offsets: (0..OFFSETS as u64)
                .map(|at| (seed.at(at).below(blocks), mix.at(at).below(100) < reads))
                .collect(),
            blocks,
            shift: 0,
            at: 0,
        }
    }

    /// The next block, and whether a phase that writes reads it.
    #[inline]
    pub fn next(&mut self) -> (u64, bool) {
        let (block, reads) = self.offsets[self.at];
        let block = block + self.shift;
        self.at += 1;
        if self.at == self.offsets.len() {
            self.start_next_round();
        }
        if block >= self.blocks {
            (block - self.blocks, reads)
        } else {
            (block, reads)
        }
    }

    #[cold]
    fn start_next_round(&mut self) {
        self.at = 0;
        // About the golden section of the file: the offsets of each round are between earlier ones.
        let golden = self.blocks / 1_000 * 618 + self.blocks % 1_000 * 618 / 1_000;
        self.shift = (self.shift + (golden | 1)) % self.blocks;
    }
}

/// A buffer of incompressible bytes.
pub(in crate::phases) fn incompressible(length: usize) -> Buffer {
    let content = Content::Binary { percent: 100 };
    Buffer::generated(content, Seed::new(1).part("op"), length)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn offsets_are_spread_over_the_file_for_any_count() {
        for blocks in [1, 7, 1000, 1 << 28] {
            let mut offsets = RandomOffsets::new(blocks, 0, 0);
            let mut tenths = [0; 10];
            let mut seen = HashSet::new();
            for _ in 0..10 * OFFSETS {
                let (block, _) = offsets.next();
                assert!(block < blocks);
                seen.insert(block);
                tenths[usize::try_from(block * 10 / blocks).unwrap()] += 1;
            }
            if blocks >= 1000 {
                let least = *tenths.iter().min().unwrap();
                assert!(least > OFFSETS / 2, "{blocks}: {tenths:?}");
            }
            // With many blocks, hardly any offset repeats.
            let most = usize::try_from(blocks).unwrap().min(10 * OFFSETS);
            assert!(seen.len() * 100 >= most * 99, "{blocks}: {}", seen.len());
        }
    }
}
