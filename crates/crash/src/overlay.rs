//! The content of the medium in a crash state, relative to the base of its trace.

use crate::trace::SECTOR;
use std::collections::BTreeMap;
use std::sync::Arc;
use twox_hash::XxHash3_128;

/// The content of a sector. It shares the data of its request.
#[derive(Debug, Clone)]
pub struct Block {
    data: Arc<[u8]>,
    /// First byte.
    at: usize,
    /// Its name among all contents of this sector; 0 for that of the base.
    key: u128,
    /// The change that wrote it.
    change: u32,
}

/// The blocks of a crash state that differ from the base: the durable writes, and above them the
/// landed ones. States of one window share the durable part.
#[derive(Debug, Clone, Default)]
pub struct Overlay {
    durable: Arc<BTreeMap<u64, Block>>,
    top: BTreeMap<u64, Block>,
    unreadable: Option<u64>,
    key: ImageKey,
}

/// A sum over all sectors that differ from the base. Images with one key are equal, in
/// any windows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ImageKey(pub u128);

/// The name of the content of a sector that cannot be read.
const UNREADABLE: u128 = u128::MAX;

/// The name of a content of a sector. Names of contents of other sectors differ, so that sums of
/// names differ where images do.
pub(crate) fn content_key(sector: u64, content: &[u8]) -> u128 {
    // 0 and the greatest number are reserved. In practice, a hash of 128 bits is neither.
    XxHash3_128::oneshot_with_seed(sector, content).clamp(1, UNREADABLE - 1)
}

impl Block {
    pub(crate) fn new(data: Arc<[u8]>, at: usize, key: u128, change: u32) -> Self {
        Self {
            data,
            at,
            key,
            change,
        }
    }

    /// Its 512 bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.data[self.at..self.at + SECTOR]
    }

    pub(crate) fn change(&self) -> u32 {
        self.change
    }
}

impl ImageKey {
    /// Replaces a content by another in the sum.
    #[must_use]
    pub(crate) fn replaced(self, old: u128, new: u128) -> Self {
        Self(self.0.wrapping_sub(old).wrapping_add(new))
    }

    /// The sum if this sector, with this content, cannot be read.
    #[must_use]
    pub(crate) fn with_unreadable(self, sector: u64, content: u128) -> Self {
        self.replaced(content, content_key(sector, b"unreadable"))
    }
}

impl Overlay {
    pub(crate) fn new(
        durable: Arc<BTreeMap<u64, Block>>,
        top: BTreeMap<u64, Block>,
        unreadable: Option<u64>,
        key: ImageKey,
    ) -> Self {
        Self {
            durable,
            top,
            unreadable,
            key,
        }
    }

    /// The content of a sector; none if it is that of the base.
    pub fn get(&self, sector: u64) -> Option<&[u8]> {
        self.block(sector).map(Block::bytes)
    }

    fn block(&self, sector: u64) -> Option<&Block> {
        self.top.get(&sector).or_else(|| self.durable.get(&sector))
    }

    /// The written sectors with their contents, in order of address.
    pub fn iter(&self) -> impl Iterator<Item = (u64, &[u8])> {
        let mut durable = self.durable.iter().peekable();
        let mut top = self.top.iter().peekable();
        std::iter::from_fn(move || {
            let next = match (durable.peek(), top.peek()) {
                (Some((lower, _)), Some((upper, _))) if lower < upper => durable.next(),
                (Some((lower, _)), Some((upper, _))) => {
                    if lower == upper {
                        durable.next();
                    }
                    top.next()
                }
                (Some(_), None) => durable.next(),
                (None, _) => top.next(),
            };
            next.map(|(sector, block)| (*sector, block.bytes()))
        })
    }

    /// Sectors above the durable part that hold something else than it.
    pub fn landed(&self) -> usize {
        self.top.len()
    }

    /// The sector that cannot be read.
    pub fn unreadable(&self) -> Option<u64> {
        self.unreadable
    }

    /// The name of the image.
    pub fn key(&self) -> ImageKey {
        self.key
    }

    /// The name of a sector's content among all contents of this sector; 0 for that of the base.
    pub fn content(&self, sector: u64) -> u128 {
        if self.unreadable == Some(sector) {
            return UNREADABLE;
        }
        self.block(sector).map_or(0, |block| block.key)
    }
}
