//! Contents in memory, in chunks that the first write allocates.

use super::{Store, pieces};
use std::collections::HashMap;
use std::io;

const CHUNK: usize = 64 << 10;

/// Contents in memory, of any size. Only written chunks occupy memory.
#[derive(Debug, Default)]
pub struct Memory {
    chunks: HashMap<u64, Box<[u8]>>,
}

impl Memory {
    /// An empty store: all zeros.
    pub fn new() -> Self {
        Self::default()
    }
}

impl Store for Memory {
    fn read_at(&mut self, at: u64, into: &mut [u8]) -> io::Result<()> {
        for (chunk, within, range) in pieces(CHUNK, at, into.len()) {
            let part = range.len();
            match self.chunks.get(&chunk) {
                Some(bytes) => into[range].copy_from_slice(&bytes[within..within + part]),
                None => into[range].fill(0),
            }
        }
        Ok(())
    }

    fn write_at(&mut self, at: u64, bytes: &[u8]) -> io::Result<()> {
        for (chunk, within, range) in pieces(CHUNK, at, bytes.len()) {
            let held = self.chunks.entry(chunk);
            let held = held.or_insert_with(|| vec![0; CHUNK].into_boxed_slice());
            held[within..within + range.len()].copy_from_slice(&bytes[range]);
        }
        Ok(())
    }

    fn clear(&mut self, at: u64, length: u64) -> io::Result<()> {
        let chunk_bytes = CHUNK as u64;
        let end = at + length;
        let (first, last) = (at.div_ceil(chunk_bytes), end / chunk_bytes);
        self.chunks
            .retain(|chunk, _| !(first..last).contains(chunk));
        let mut zero = |from: u64, to: u64| {
            if let Some(bytes) = self.chunks.get_mut(&(from / chunk_bytes)) {
                let within = usize::try_from(from % chunk_bytes).unwrap_or_default();
                let part = usize::try_from(to - from).unwrap_or_default();
                bytes[within..within + part].fill(0);
            }
        };
        if first > last {
            zero(at, end); // within one chunk
        } else {
            zero(at, (first * chunk_bytes).min(end));
            if last * chunk_bytes >= at {
                zero(last * chunk_bytes, end);
            }
        }
        Ok(())
    }
}
