//! Reads of a fixed length from a stream that may end early.

use crate::uninterrupted;
use std::io::{self, Read};

/// Reads until the buffer is full or the file ends. Returns the number of bytes.
pub fn read_full(from: &mut impl Read, into: &mut [u8]) -> io::Result<usize> {
    let mut read = 0;
    while read < into.len() {
        match uninterrupted(|| from.read(&mut into[read..]))? {
            0 => break,
            more => read += more,
        }
    }
    Ok(read)
}
