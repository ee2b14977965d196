//! Page-aligned buffers, as in the original bonnie. The alignment of a buffer determines how fast the
//! kernel copies to it, and a write touches each of its pages. With the alignment of the allocator, the
//! rate of a cached read would differ by a third between two builds, and so would the work of the
//! kernel. The caller fills them.

use fsdyno_datasets::content::{BUFFER, Content, Stream};
use fsdyno_datasets::seed::Seed;
use std::ops::{Deref, DerefMut};

/// The alignment, bytes: a page, or a part of one if pages are larger.
pub(crate) const PAGE: usize = 4096;

/// Page-aligned bytes.
#[derive(Debug)]
pub(crate) struct Buffer {
    space: Box<[u8]>,
    from: usize,
    length: usize,
}

impl Buffer {
    /// A buffer of this length, filled with this byte. It is written, not merely reserved, because
    /// a measured phase must not include page faults.
    pub fn filled(byte: u8, length: usize) -> Self {
        let space = vec![byte; length + PAGE].into_boxed_slice();
        let before = space.as_ptr().addr().next_multiple_of(PAGE) - space.as_ptr().addr();
        let mut buffer = Self {
            space,
            from: before,
            length,
        };
        // Zeroed memory is not backed by pages until it is written.
        buffer.fill(byte);
        buffer
    }

    /// Makes the buffer longer; its content stays.
    pub fn grow(&mut self, length: usize) {
        let before = std::mem::replace(self, Self::filled(0, length));
        self[..before.len()].copy_from_slice(&before);
    }

    /// A buffer of generated data.
    pub fn generated(content: Content, seed: Seed, length: usize) -> Self {
        let mut buffer = Self::filled(0xa5, length);
        let mut pieces = vec![0; BUFFER];
        let mut stream = Stream::new(content, seed, length as u64, &mut pieces);
        let mut at = 0;
        while let Some(piece) = stream.next_piece() {
            buffer[at..at + piece.len()].copy_from_slice(piece);
            at += piece.len();
        }
        buffer
    }
}

impl Deref for Buffer {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        &self.space[self.from..self.from + self.length]
    }
}

impl DerefMut for Buffer {
    #[inline]
    fn deref_mut(&mut self) -> &mut [u8] {
        &mut self.space[self.from..self.from + self.length]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_buffer_is_page_aligned_after_a_move() {
        for length in [1, 4095, 4096, 8192, 1 << 20] {
            let buffers: Vec<Buffer> = (0..3).map(|byte| Buffer::filled(byte, length)).collect();
            for (byte, buffer) in (0..).zip(buffers) {
                assert_eq!(buffer.as_ptr().addr() % PAGE, 0);
                assert_eq!(buffer.len(), length);
                assert!(buffer.iter().all(|one| *one == byte));
            }
        }
    }
}
