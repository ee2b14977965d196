//! Buffers that begin at a page, as those of the original do. Where a buffer begins within its page
//! decides how fast the kernel copies to it: left to the allocator, the rate of a cached read
//! would differ by a third between two builds. Their content is up to the caller.

use std::ops::{Deref, DerefMut};

/// What they begin at a multiple of: a page, or a part of one where pages are larger.
const PAGE: usize = 4096;

/// Bytes that begin at a page.
#[derive(Debug)]
pub(crate) struct Buffer {
    space: Box<[u8]>,
    from: usize,
    length: usize,
}

impl Buffer {
    /// So many of this byte: written, not merely reserved, for a page fault is no part of a
    /// measured phase.
    pub fn filled(byte: u8, length: usize) -> Self {
        let space = vec![byte; length + PAGE].into_boxed_slice();
        let before = space.as_ptr().addr().next_multiple_of(PAGE) - space.as_ptr().addr();
        let mut buffer = Self {
            space,
            from: before,
            length,
        };
        // Zeros are memory that was only promised until somebody writes there.
        buffer.fill(byte);
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
    fn a_buffer_begins_at_a_page_and_has_its_length_wherever_it_is_moved() {
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
