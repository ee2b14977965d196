//! Reads of a fixed length from a stream that may end early.

use std::io::{self, Read};

/// Reads until the buffer is full or the file ends. Returns the number of bytes.
pub fn read_full(from: &mut impl Read, into: &mut [u8]) -> io::Result<usize> {
    let mut read = 0;
    while read < into.len() {
        match from.read(&mut into[read..]) {
            Ok(0) => break,
            Ok(more) => read += more,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(read)
}
