//! The bytes to write, allocated before the clock starts.

use super::parameters::Fill;
use crate::buffer::Buffer;
use fsdyno_datasets::content::{BUFFER, Content};
use fsdyno_datasets::seed::Seed;

/// The size of the data pool, in pieces.
const PIECES: usize = 4;

#[derive(Debug)]
pub(super) struct Source {
    pool: Buffer,
    at: usize,
    like_original: bool,
    /// The maximum length of a piece.
    most: usize,
}

impl Source {
    /// A source of pieces with this maximum length, bytes.
    pub fn new(fill: Fill, most: usize) -> Self {
        let pool = match fill {
            Fill::LikeOriginal => Buffer::filled(0, most),
            Fill::Percent(percent) => {
                let seed = Seed::new(1).part("bonnie");
                Buffer::generated(Content::Binary { percent }, seed, PIECES * BUFFER + most)
            }
        };
        Self {
            pool,
            at: 0,
            like_original: fill == Fill::LikeOriginal,
            most,
        }
    }

    /// The next piece, of at most the requested length: zeros with a counting byte, or data from a
    /// new position of the pool.
    #[inline]
    pub fn take(&mut self, length: usize) -> &[u8] {
        let length = length.min(self.most);
        if self.like_original {
            self.pool[self.at] = self.pool[self.at].wrapping_add(1);
            self.at = (self.at + 1) % self.pool.len();
            return &self.pool[..length];
        }
        let from = self.at;
        // One byte more than the piece: written blocks do not repeat with the period of the pool.
        self.at = (from + length + 1) % (self.pool.len() - self.most);
        &self.pool[from..from + length]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    fn drawn(fill: Fill) -> Vec<u8> {
        let mut source = Source::new(fill, 8192);
        let stretches = (0..1024).map(|_| source.take(8192).to_vec());
        stretches.collect::<Vec<_>>().concat()
    }

    #[test]
    fn data_compress_as_requested() {
        for percent in [100, 50, 25] {
            let data = drawn(Fill::Percent(percent));
            let packed: usize = data
                .chunks(128 * 1024)
                .map(|piece| zstd::encode_all(piece, 3).unwrap().len())
                .sum();
            let ratio = packed as f64 / data.len() as f64;
            assert!((ratio - f64::from(percent) / 100.0).abs() < 0.03, "{ratio}");
        }
        let zeros = drawn(Fill::LikeOriginal);
        assert!(zstd::encode_all(&zeros[..], 3).unwrap().len() < zeros.len() / 50);
    }

    #[test]
    fn all_blocks_are_different() {
        let data = drawn(Fill::Percent(100));
        let blocks: HashSet<&[u8]> = data.chunks(4096).collect();
        assert_eq!(blocks.len(), data.len() / 4096);
    }
}
