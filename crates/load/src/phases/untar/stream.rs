//! The bytes of an archive, in pieces of the requested length, from one buffer.

use std::io::{self, Read};

/// A stream of bytes with a window on the next bytes.
pub(super) struct Stream<'a> {
    source: Box<dyn Read + Send>,
    buffer: &'a mut [u8],
    start: usize,
    end: usize,
}

impl<'a> Stream<'a> {
    pub fn new(source: Box<dyn Read + Send>, buffer: &'a mut [u8]) -> Self {
        Self {
            source,
            buffer,
            start: 0,
            end: 0,
        }
    }

    /// The maximum length for [`Self::take`].
    pub fn room(&self) -> usize {
        self.buffer.len()
    }

    /// Takes exactly `length` bytes, contiguously.
    #[inline]
    pub fn take(&mut self, length: usize) -> io::Result<&[u8]> {
        if self.end - self.start < length {
            self.fill(length)?;
        }
        let start = self.start;
        self.start += length;
        Ok(&self.buffer[start..start + length])
    }

    pub fn skip(&mut self, mut length: u64) -> io::Result<()> {
        while length > 0 {
            let piece = usize::try_from(length).map_or(self.room(), |left| left.min(self.room()));
            self.take(piece)?;
            length -= piece as u64;
        }
        Ok(())
    }

    pub fn at_end(&mut self) -> io::Result<bool> {
        if self.end > self.start {
            return Ok(false);
        }
        match self.fill(1) {
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(true),
            result => result.map(|()| false),
        }
    }

    /// Reads until at least `length` bytes are in the window.
    fn fill(&mut self, length: usize) -> io::Result<()> {
        if length > self.buffer.len() {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        self.buffer.copy_within(self.start..self.end, 0);
        self.end -= self.start;
        self.start = 0;
        while self.end < length {
            match self.source.read(&mut self.buffer[self.end..]) {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(bytes) => self.end += bytes,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}
