//! Volatile writes: in flight or in the write cache. A read returns the medium with these writes
//! applied in the order of submission.
//!
//! The timing model decides when a write reaches the medium. `power_cut` decides its outcome at a power
//! cut.

use crate::request::SECTOR;
use crate::store::{Store, StoreError};
use std::collections::BTreeMap;
use std::ops::Range;

#[derive(Debug)]
pub(crate) enum Content {
    /// Data of a whole number of sectors.
    Bytes(Box<[u8]>),
    Zeroes,
}

#[derive(Debug)]
struct Entry {
    sectors: u64,
    content: Content,
    /// Sectors that no later write has overwritten on the medium.
    left: Vec<Range<u64>>,
    acknowledged: bool,
}

/// A volatile write, for the decision about its outcome.
#[derive(Debug, Clone, Copy)]
pub(crate) struct VolatileWrite {
    pub order: u64,
    pub sectors: u64,
    pub acknowledged: bool,
    /// Whether the write is atomic, because it has no payload to transfer.
    pub whole: bool,
}

#[derive(Debug, Default)]
pub(crate) struct Pending {
    /// Writes by first sector and order.
    entries: BTreeMap<(u64, u64), Entry>,
    /// First sector of each write, by order.
    sector_of: BTreeMap<u64, u64>,
    /// Number of writes of each length. It bounds the search for overlapping writes.
    lengths: BTreeMap<u64, u32>,
}

impl Pending {
    /// Adds a submitted write.
    pub fn insert(&mut self, order: u64, sector: u64, sectors: u64, content: Content) {
        let whole = sector..sector + sectors;
        let entry = Entry {
            sectors,
            content,
            left: Vec::from([whole]),
            acknowledged: false,
        };
        self.entries.insert((sector, order), entry);
        self.sector_of.insert(order, sector);
        *self.lengths.entry(sectors).or_default() += 1;
    }

    pub fn acknowledge(&mut self, order: u64) {
        if let Some(sector) = self.sector_of.get(&order)
            && let Some(entry) = self.entries.get_mut(&(*sector, order))
        {
            entry.acknowledged = true;
        }
    }

    /// First sector and length of a volatile write.
    pub fn extent(&self, order: u64) -> Option<(u64, u64)> {
        let sector = *self.sector_of.get(&order)?;
        let entry = self.entries.get(&(sector, order))?;
        Some((sector, entry.sectors))
    }

    /// All volatile writes in the order of submission.
    pub fn volatile_writes(&self) -> Vec<VolatileWrite> {
        let of = |(order, sector): (&u64, &u64)| {
            let entry = self.entries.get(&(*sector, *order))?;
            Some(VolatileWrite {
                order: *order,
                sectors: entry.sectors,
                acknowledged: entry.acknowledged,
                whole: matches!(entry.content, Content::Zeroes),
            })
        };
        self.sector_of.iter().filter_map(of).collect()
    }

    /// Whether volatile writes cover all of these sectors, so that a read needs no medium.
    pub fn covers(&self, sectors: &Range<u64>) -> bool {
        let mut left = vec![sectors.clone()];
        for key in self.overlapping(sectors) {
            for range in &self.entries[&key].left {
                subtract(&mut left, range);
            }
        }
        left.is_empty()
    }

    /// Applies volatile writes to `into`, which holds the medium's bytes from byte `at` on.
    pub fn overlay(&self, at: u64, into: &mut [u8]) {
        if self.entries.is_empty() || into.is_empty() {
            return;
        }
        let end = at + into.len() as u64;
        let mut over = self.overlapping(&(at / SECTOR..end.div_ceil(SECTOR)));
        over.sort_by_key(|(_, order)| *order);
        for key in over {
            let entry = &self.entries[&key];
            let begin = key.0 * SECTOR;
            for range in &entry.left {
                let (from, to) = (at.max(range.start * SECTOR), end.min(range.end * SECTOR));
                if from >= to {
                    continue;
                }
                let target = &mut into[index(from - at)..index(to - at)];
                match &entry.content {
                    Content::Bytes(bytes) => {
                        target.copy_from_slice(&bytes[index(from - begin)..index(to - begin)]);
                    }
                    Content::Zeroes => target.fill(0),
                }
            }
        }
    }

    /// Writes a volatile write to the medium, except for sectors that a later write has already
    /// reached. Ignores a write that is not pending because it failed or was superseded.
    pub fn land(&mut self, order: u64, store: &mut dyn Store) -> Result<(), StoreError> {
        self.land_where(order, store, |_| true)
    }

    /// Like `land`, but only for the sectors that `keep` selects, counted from the first.
    pub fn land_where(
        &mut self,
        order: u64,
        store: &mut dyn Store,
        mut keep: impl FnMut(u64) -> bool,
    ) -> Result<(), StoreError> {
        let Some((sector, entry)) = self.remove(order) else {
            return Ok(());
        };
        for range in &entry.left {
            let mut from = range.start;
            while from < range.end {
                let kept = keep(from - sector);
                // Zeros may span the disk. They reach the medium as a whole.
                let to = match entry.content {
                    Content::Zeroes => range.end,
                    Content::Bytes(_) => (from + 1..range.end)
                        .find(|next| keep(next - sector) != kept)
                        .unwrap_or(range.end),
                };
                if kept {
                    put(store, sector, from..to, &entry.content)?;
                }
                from = to;
            }
        }
        let landed = sector..sector + entry.sectors;
        for key in self.overlapping(&landed) {
            if key.1 < order
                && let Some(older) = self.entries.get_mut(&key)
            {
                subtract(&mut older.left, &landed);
            }
        }
        Ok(())
    }

    /// Drops a write that never reaches the medium: it failed, was superseded, or the power was
    /// cut.
    pub fn forget(&mut self, order: u64) {
        self.remove(order);
    }

    fn remove(&mut self, order: u64) -> Option<(u64, Entry)> {
        let sector = self.sector_of.remove(&order)?;
        let entry = self.entries.remove(&(sector, order))?;
        if let Some(count) = self.lengths.get_mut(&entry.sectors) {
            *count -= 1;
            if *count == 0 {
                self.lengths.remove(&entry.sectors);
            }
        }
        Some((sector, entry))
    }

    /// Keys of the writes that overlap these sectors.
    fn overlapping(&self, sectors: &Range<u64>) -> Vec<(u64, u64)> {
        let Some((longest, _)) = self.lengths.last_key_value() else {
            return Vec::new();
        };
        let from = (sectors.start.saturating_sub(*longest), 0);
        let near = self.entries.range(from..(sectors.end, 0));
        near.filter(|((sector, _), entry)| sector + entry.sectors > sectors.start)
            .map(|(key, _)| *key)
            .collect()
    }
}

/// Removes one range from the others.
fn subtract(ranges: &mut Vec<Range<u64>>, hole: &Range<u64>) {
    if ranges
        .iter()
        .all(|range| range.end <= hole.start || range.start >= hole.end)
    {
        return;
    }
    let split = |range: &Range<u64>| {
        let before = range.start..range.end.min(hole.start);
        let after = range.start.max(hole.end)..range.end;
        [before, after]
    };
    let parts = ranges.iter().flat_map(split);
    *ranges = parts.filter(|range| !range.is_empty()).collect();
}

/// Writes these sectors of a write that starts at `first` to the medium.
fn put(
    store: &mut dyn Store,
    first: u64,
    sectors: Range<u64>,
    content: &Content,
) -> Result<(), StoreError> {
    let (at, length) = (
        sectors.start * SECTOR,
        (sectors.end - sectors.start) * SECTOR,
    );
    let done = match content {
        Content::Bytes(bytes) => {
            let from = index((sectors.start - first) * SECTOR);
            store.write_at(at, &bytes[from..from + index(length)])
        }
        Content::Zeroes => store.clear(at, length),
    };
    done.map_err(StoreError::of("write", at, length))
}

/// An offset within a payload. Payloads are in memory, so the offset fits.
fn index(at: u64) -> usize {
    usize::try_from(at).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::Memory;

    fn bytes(byte: u8, sectors: u64) -> Content {
        Content::Bytes(vec![byte; index(sectors * SECTOR)].into_boxed_slice())
    }

    /// The first byte of each of the first eight sectors, as a read returns it.
    fn read(pending: &Pending, store: &mut Memory) -> Vec<u8> {
        let mut all = vec![0; 8 * 512];
        store.read_at(0, &mut all).unwrap();
        pending.overlay(0, &mut all);
        all.chunks(512).map(|sector| sector[0]).collect()
    }

    #[test]
    fn reads_return_the_newest_write_in_any_destage_order() {
        for landing in [[1, 2, 3], [3, 2, 1], [2, 3, 1], [3, 1, 2]] {
            let (mut pending, mut store) = (Pending::default(), Memory::new());
            pending.insert(1, 0, 6, bytes(1, 6));
            pending.insert(2, 4, 4, bytes(2, 4));
            pending.insert(3, 5, 1, Content::Zeroes);
            let expected = [1, 1, 1, 1, 2, 0, 2, 2];
            assert_eq!(read(&pending, &mut store), expected);
            assert!(pending.covers(&(1..8)) && !pending.covers(&(7..9)));
            for order in landing {
                pending.land(order, &mut store).unwrap();
                assert_eq!(read(&pending, &mut store), expected, "{landing:?}");
            }
            assert!(pending.volatile_writes().is_empty());
        }
    }

    #[test]
    fn a_partial_destage_keeps_the_other_sectors() {
        let (mut pending, mut store) = (Pending::default(), Memory::new());
        pending.insert(1, 1, 4, bytes(1, 4));
        pending.insert(2, 2, 1, bytes(2, 1));
        pending.land(2, &mut store).unwrap();
        pending.land_where(1, &mut store, |at| at % 3 == 0).unwrap();
        assert_eq!(read(&pending, &mut store), [0, 1, 2, 0, 1, 0, 0, 0]);
    }

    #[test]
    fn a_read_within_a_sector_returns_the_bytes_at_its_offset() {
        let mut pending = Pending::default();
        let payload: Vec<u8> = (0..1024_u32)
            .map(|n| u8::try_from(n % 251).unwrap())
            .collect();
        pending.insert(1, 2, 2, Content::Bytes(payload.clone().into_boxed_slice()));
        let mut into = [255; 20];
        pending.overlay(1024 + 505, &mut into);
        assert_eq!(into, payload[505..525]);
    }
}
