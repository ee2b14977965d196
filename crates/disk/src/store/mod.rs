//! Storage of the medium's contents in memory or in a sparse file. Unwritten bytes read as zeros,
//! except in an [`Image`]. A store takes no time in the model.

mod file;
mod image;
mod memory;
mod sectors;

pub use file::SparseFile;
pub use image::{Base, Contents, Delta, Fill, Image};
pub use memory::Memory;
pub use sectors::SectorSet;

use crate::request::Kind;
use std::io;
use std::ops::Range;

/// Storage for the contents of a medium.
pub trait Store: Send {
    /// Fills `into` with the bytes from `at` on. Unwritten bytes are zero.
    fn read_at(&mut self, at: u64, into: &mut [u8]) -> io::Result<()>;

    /// Writes bytes from byte `at` on.
    fn write_at(&mut self, at: u64, bytes: &[u8]) -> io::Result<()>;

    /// Zeroes a range and frees its space where possible.
    fn clear(&mut self, at: u64, length: u64) -> io::Result<()>;

    /// Discards a range whose content no longer matters. By default it is zeroed.
    fn discard(&mut self, at: u64, length: u64) -> io::Result<()> {
        self.clear(at, length)
    }

    /// The first of these sectors with which a request of this kind fails as on a bad medium. It is asked
    /// once for each request, in the order of their submissions.
    fn failing(&self, _kind: Kind, _sectors: Range<u64>) -> Option<u64> {
        None
    }

    /// How many times as long as in the model everything takes from the request on about which
    /// [`Store::failing`] was asked last.
    fn slowness(&self) -> u64 {
        1
    }
}

/// A store that discards all contents.
#[derive(Debug)]
pub(crate) struct NullStore;

impl Store for NullStore {
    fn read_at(&mut self, _at: u64, into: &mut [u8]) -> io::Result<()> {
        into.fill(0);
        Ok(())
    }

    fn write_at(&mut self, _at: u64, _bytes: &[u8]) -> io::Result<()> {
        Ok(())
    }

    fn clear(&mut self, _at: u64, _length: u64) -> io::Result<()> {
        Ok(())
    }
}

/// Splits a range by pages of this size: the page, the offset in it, and the range in the request.
fn pieces(size: usize, at: u64, length: usize) -> impl Iterator<Item = (u64, usize, Range<usize>)> {
    let mut done = 0;
    std::iter::from_fn(move || {
        if done >= length {
            return None;
        }
        let here = at + done as u64;
        let within = usize::try_from(here % size as u64).unwrap_or_default();
        let part = (size - within).min(length - done);
        let range = done..done + part;
        done += part;
        Some((here / size as u64, within, range))
    })
}

/// An I/O error of the contents on this machine. It is not a fault of the model.
#[derive(Debug, thiserror::Error)]
#[error("cannot {attempt} {length} bytes of the disk's contents at byte {at}: {source}")]
pub struct StoreError {
    pub attempt: &'static str,
    /// Offset.
    pub at: u64,
    pub length: u64,
    pub source: io::Error,
}

impl StoreError {
    /// The error of an attempt on this range.
    pub(crate) fn of(
        attempt: &'static str,
        at: u64,
        length: u64,
    ) -> impl FnOnce(io::Error) -> Self {
        move |source| Self {
            attempt,
            at,
            length,
            source,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fsdyno_model::random::Random;

    /// Compares a store with a plain array.
    fn check(mut store: impl Store) {
        const SIZE: usize = 1 << 20;
        let mut plain = vec![0_u8; SIZE];
        let mut random = Random::new(7);
        let mut draw = |bound: usize| {
            let drawn = random.below(u64::try_from(bound).unwrap());
            usize::try_from(drawn).unwrap()
        };
        for step in 0..400_u32 {
            let at = draw(SIZE - 1);
            let length = 1 + draw((SIZE - at).min(200_000));
            let place = u64::try_from(at).unwrap();
            match step % 4 {
                0 => {
                    let byte = u8::try_from(step % 251).unwrap();
                    plain[at..at + length].fill(byte);
                    store.write_at(place, &vec![byte; length]).unwrap();
                }
                1 if step % 8 == 1 => {
                    plain[at..at + length].fill(0);
                    let length = u64::try_from(length).unwrap();
                    store.clear(place, length).unwrap();
                }
                _ => {
                    let mut read = vec![1; length];
                    store.read_at(place, &mut read).unwrap();
                    assert!(read == plain[at..at + length], "step {step}");
                }
            }
        }
    }

    #[test]
    fn an_image_keeps_writes_and_zeros() {
        let zeros: Fill = |_, into| into.fill(0);
        check(Image::new(Base::unwritten(1 << 20, zeros)));
    }

    #[test]
    fn a_memory_store_keeps_writes_and_zeros() {
        check(Memory::new());
    }

    #[test]
    fn a_sparse_file_keeps_writes_and_zeros() {
        let folder = tempfile::tempdir().unwrap();
        check(SparseFile::create(&folder.path().join("disk"), 1 << 20).unwrap());
    }
}
