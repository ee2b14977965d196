//! The data of files: copied by the requested method with their holes kept, or written so that no
//! two units are alike.

use crate::engines::Calls;
use crate::engines::meta::Meta;
use crate::error::LoadError;
use fsdyno_model::cancel::CancelToken;
use fsdyno_model::plan::CopyMethod;

/// The size of a data buffer: one call for a small file, and small enough for the second-level
/// cache.
pub const BUFFER: usize = 128 * 1024;

/// The unit of deduplication of a device, bytes: each unit of written data is different.
const UNIQUE: usize = 4096;

/// Makes each unit of a buffer different from all others. `author` is the number of the file.
pub(super) fn stamp(data: &mut [u8], author: usize, offset: u64) {
    for (part, unit) in (0_u64..).zip(data.chunks_mut(UNIQUE)) {
        if let Some(place) = unit.get_mut(..16) {
            place[..8].copy_from_slice(&(author as u64).to_le_bytes());
            place[8..].copy_from_slice(&(offset / UNIQUE as u64 + part).to_le_bytes());
        }
    }
}

/// Copies file data.
#[derive(Debug)]
pub struct DataCopier<'a> {
    pub method: CopyMethod,
    pub buffer: &'a mut [u8],
    pub stop: &'a CancelToken,
}

impl DataCopier<'_> {
    /// Copies the data of `from` to `to`. Both are at offset 0.
    #[inline]
    pub fn copy<E: Calls>(
        &mut self,
        engine: &mut E,
        from: &mut E::File,
        to: &mut E::File,
        meta: &Meta,
    ) -> Result<(), LoadError> {
        if meta.size == 0 {
            return Ok(());
        }
        if self.method == CopyMethod::Reflink {
            return engine.share(from, to);
        }
        if !meta.sparse() {
            return self.stretch(engine, from, to, meta.size);
        }
        let mut offset = 0;
        while let Some((start, end)) = engine.data_after(from, offset, meta.size)? {
            engine.seek(to, start)?;
            self.stretch(engine, from, to, end - start)?;
            offset = end;
        }
        engine.set_size(to, meta.size)
    }

    /// Copies `length` bytes from the offsets of both files; fewer if the source ends.
    #[inline]
    fn stretch<E: Calls>(
        &mut self,
        engine: &mut E,
        from: &mut E::File,
        to: &mut E::File,
        length: u64,
    ) -> Result<(), LoadError> {
        /// Limits one call, so that cancellation takes effect soon on a slow disk.
        const RANGE: u64 = 64 << 20;
        let mut left = length;
        while left > 0 {
            self.stop.check()?;
            let moved = if self.method == CopyMethod::CopyFileRange {
                engine.copy_range(from, to, left.min(RANGE))?
            } else {
                let most = usize::try_from(left).map_or(BUFFER, |left| left.min(BUFFER));
                let bytes = engine.read(from, &mut self.buffer[..most])?;
                engine.write(to, &self.buffer[..bytes])?;
                bytes as u64
            };
            if moved == 0 {
                break;
            }
            left -= moved;
        }
        Ok(())
    }
}
