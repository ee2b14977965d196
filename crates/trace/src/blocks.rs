//! The frame of the file: a mark with the version, then blocks, each compressed with zstd and with
//! its lengths and checksum.
//!
//! Memory is bounded: a block has at most 1 MiB, and at most 16 times its stored length, so that a
//! small file cannot expand without limit.

use crate::TraceError;
use std::io::{self, Read, Write};

/// The mark of a recording; the version follows.
pub const MARK: &[u8; 8] = b"fsdynoW\n";

/// The writer writes a block when it reaches this size.
pub(crate) const BLOCK: usize = 256 << 10;

/// Longest block, bytes before compression. An item is at most 128 KiB.
pub(crate) const MAX_BLOCK: usize = 1 << 20;

/// Most bytes that a stored byte may expand to.
const EXPANSION: usize = 16;

/// Fast, and within 10 % of the size at level 9 for such data.
const LEVEL: i32 = 3;

/// First bytes of a frame that zstd skips (RFC 8878, 3.1.2). It pads a block to the limit above.
const SKIPPED: [u8; 4] = 0x184D_2A50_u32.to_le_bytes();

pub(crate) struct BlockWriter<W> {
    out: W,
    zstd: zstd::bulk::Compressor<'static>,
}

impl<W: Write> BlockWriter<W> {
    pub fn new(mut out: W) -> io::Result<Self> {
        out.write_all(MARK)?;
        out.write_all(&crate::VERSION.to_le_bytes())?;
        let zstd = zstd::bulk::Compressor::new(LEVEL)?;
        Ok(Self { out, zstd })
    }

    pub fn write(&mut self, content: &[u8]) -> io::Result<()> {
        let mut stored = self.zstd.compress(content)?;
        let least = content.len().div_ceil(EXPANSION);
        if stored.len() < least {
            let padding = (least - stored.len()).saturating_sub(8);
            stored.extend(SKIPPED);
            stored.extend(u32::try_from(padding).unwrap_or(0).to_le_bytes());
            stored.resize(stored.len() + padding, 0);
        }
        for length in [content.len(), stored.len()] {
            let length = u32::try_from(length).map_err(io::Error::other)?;
            self.out.write_all(&length.to_le_bytes())?;
        }
        let checksum = crc32fast::hash(&stored);
        self.out.write_all(&checksum.to_le_bytes())?;
        self.out.write_all(&stored)
    }

    pub fn into_inner(self) -> W {
        self.out
    }
}

pub(crate) struct BlockReader<R> {
    from: R,
    zstd: zstd::bulk::Decompressor<'static>,
    stored: Vec<u8>,
    /// Offset of the next byte of the file.
    at: u64,
}

impl<R: Read> BlockReader<R> {
    pub fn new(mut from: R) -> Result<Self, TraceError> {
        let failed = |source| TraceError::Read { at: 0, source };
        let mut head = [0; 12];
        let read = fsdyno_files::read_full(&mut from, &mut head).map_err(failed)?;
        if read < 8 || head[..8] != *MARK {
            return Err(TraceError::NoRecording);
        }
        if read < head.len() {
            return Err(TraceError::Truncated { at: read as u64 });
        }
        let found = u32::from_le_bytes([head[8], head[9], head[10], head[11]]);
        if found == 0 {
            let what = "the version of its format is 0";
            return Err(TraceError::Corrupt { at: 8, what });
        }
        if found > crate::VERSION {
            return Err(TraceError::Newer { found });
        }
        let zstd = zstd::bulk::Decompressor::new().map_err(failed)?;
        Ok(Self {
            from,
            zstd,
            stored: Vec::new(),
            at: head.len() as u64,
        })
    }

    /// Offset of the next block.
    pub fn at(&self) -> u64 {
        self.at
    }

    /// Reads the next block into `content`. Returns whether there was one.
    pub fn read(&mut self, content: &mut Vec<u8>) -> Result<bool, TraceError> {
        let at = self.at;
        let failed = |source| TraceError::Read { at, source };
        let corrupt = |what| TraceError::Corrupt { at, what };
        let mut head = [0; 12];
        match fsdyno_files::read_full(&mut self.from, &mut head).map_err(failed)? {
            0 => return Ok(false),
            12 => {}
            _ => return Err(TraceError::Truncated { at }),
        }
        let number =
            |at: usize| u32::from_le_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]);
        let (length, stored, checksum) = (number(0) as usize, number(4) as usize, number(8));
        // zstd stores incompressible data with less than 1 % more.
        if length > MAX_BLOCK || stored > MAX_BLOCK + (MAX_BLOCK >> 6) {
            return Err(corrupt("a block is longer than 1 MiB"));
        }
        if length > stored.saturating_mul(EXPANSION) {
            return Err(corrupt("a block expands to more than 16 times its length"));
        }
        self.stored.clear();
        let mut part = self.from.by_ref().take(stored as u64);
        if part.read_to_end(&mut self.stored).map_err(failed)? < stored {
            return Err(TraceError::Truncated { at });
        }
        if crc32fast::hash(&self.stored) != checksum {
            return Err(corrupt("the checksum of a block does not match"));
        }
        content.clear();
        content.reserve_exact(length);
        let expanded = self.zstd.decompress_to_buffer(&self.stored, content);
        if expanded.ok() != Some(length) {
            return Err(corrupt("a block cannot be decompressed"));
        }
        self.at += 12 + stored as u64;
        Ok(true)
    }
}
