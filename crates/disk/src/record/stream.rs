//! File format of the sequence: a header, then blocks of whole entries, each with its length and
//! its checksum (CRC-32). A truncated or corrupt file yields the entries before the damage and the
//! position of the damage.

use super::codec::Codec;
use super::{Record, Sink};
use std::io::{self, Read, Write};

const MAGIC: &[u8; 8] = b"fsdynoR1";

/// The writer writes a block when it reaches this size. A payload may make it larger.
const BLOCK: usize = 64 << 10;

/// Maximum block size: the largest payload and its entries.
const MAX_ENTRY: u32 = 1 << 30;

#[derive(Debug)]
pub struct Writer<W: Write> {
    out: W,
    codec: Codec,
    block: Vec<u8>,
}

impl<W: Write + Send> Writer<W> {
    pub fn new(mut out: W) -> io::Result<Self> {
        out.write_all(MAGIC)?;
        Ok(Self {
            out,
            codec: Codec::default(),
            block: Vec::with_capacity(BLOCK + 4096),
        })
    }

    fn write_block(&mut self) -> io::Result<()> {
        if self.block.is_empty() {
            return Ok(());
        }
        let length = u32::try_from(self.block.len())
            .ok()
            .filter(|length| *length <= MAX_ENTRY);
        let length = length.ok_or_else(|| io::Error::from(io::ErrorKind::FileTooLarge))?;
        self.out.write_all(&length.to_le_bytes())?;
        let sum = crc32fast::hash(&self.block);
        self.out.write_all(&sum.to_le_bytes())?;
        self.out.write_all(&self.block)?;
        self.block.clear();
        Ok(())
    }
}

impl<W: Write + Send> Sink for Writer<W> {
    fn note(&mut self, record: &Record) -> io::Result<()> {
        self.codec.put(&mut self.block, record);
        if self.block.len() >= BLOCK {
            self.write_block()?;
        }
        Ok(())
    }

    fn finish(&mut self) -> io::Result<()> {
        self.write_block()?;
        self.out.flush()
    }
}

/// A sequence that cannot be read further.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// The header is not that of a sequence.
    #[error("this is no recording of a disk: it does not begin as one")]
    NoRecording,
    /// The file ends within a block.
    #[error("the recording was cut short at byte {at}; what came before is whole")]
    Truncated { at: u64 },
    /// The checksum of a block does not match.
    #[error(
        "the recording is spoilt at byte {at}: the checksum of its block is wrong; what came before is whole"
    )]
    Spoilt { at: u64 },
    /// The file cannot be read.
    #[error("cannot read the recording at byte {at}: {source}")]
    Unreadable { at: u64, source: io::Error },
}

/// Reads a sequence, entry by entry. After an error it returns no more entries.
#[derive(Debug)]
pub struct Records<R: Read> {
    from: R,
    codec: Codec,
    block: Vec<u8>,
    /// Read position in the block.
    read: usize,
    /// Offset of the next block in the file.
    at: u64,
    ended: bool,
}

impl<R: Read> Records<R> {
    pub fn new(mut from: R) -> Result<Self, RecordError> {
        let mut magic = [0; MAGIC.len()];
        let read = fsdyno_files::read_full(&mut from, &mut magic);
        let read = read.map_err(|source| RecordError::Unreadable { at: 0, source })?;
        if read < magic.len() || magic != *MAGIC {
            return Err(RecordError::NoRecording);
        }
        Ok(Self {
            from,
            codec: Codec::default(),
            block: Vec::new(),
            read: 0,
            at: MAGIC.len() as u64,
            ended: false,
        })
    }

    /// Reads the next block. Returns whether there was one.
    fn next_block(&mut self) -> Result<bool, RecordError> {
        let at = self.at;
        let unreadable = |source| RecordError::Unreadable { at, source };
        let mut head = [0; 8];
        match fsdyno_files::read_full(&mut self.from, &mut head).map_err(unreadable)? {
            0 => return Ok(false),
            8 => {}
            _ => return Err(RecordError::Truncated { at }),
        }
        let number = |bytes: &[u8]| u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
        let (length, sum) = (number(&head[..4]), number(&head[4..]));
        if length > MAX_ENTRY {
            return Err(RecordError::Spoilt { at });
        }
        // Limits the allocation, because a corrupt length may be larger than the file.
        self.block.clear();
        let mut part = self.from.by_ref().take(u64::from(length));
        let read = part.read_to_end(&mut self.block).map_err(unreadable)?;
        if read < length as usize {
            return Err(RecordError::Truncated { at });
        }
        if crc32fast::hash(&self.block) != sum {
            return Err(RecordError::Spoilt { at });
        }
        self.read = 0;
        self.at += 8 + u64::from(length);
        Ok(true)
    }

    fn next_record(&mut self) -> Result<Option<Record>, RecordError> {
        while self.read == self.block.len() {
            if !self.next_block()? {
                return Ok(None);
            }
        }
        let mut rest = &self.block[self.read..];
        let record = self.codec.take(&mut rest);
        self.read = self.block.len() - rest.len();
        record.map(Some).ok_or(RecordError::Spoilt {
            at: self.at - self.block.len() as u64 - 8,
        })
    }
}

impl<R: Read> Iterator for Records<R> {
    type Item = Result<Record, RecordError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.ended {
            return None;
        }
        let next = self.next_record();
        self.ended = !matches!(next, Ok(Some(_)));
        next.transpose()
    }
}
