//! Writes that are not on the medium yet: under way, or in the volatile cache. What is read is the
//! medium with these laid over it, in the order in which they were submitted.
//!
//! When one lands, and which, is the timing model's affair; what a power cut makes of them is
//! decided in `cut`.

use crate::request::SECTOR;
use crate::store::{Store, StoreError};
use std::collections::BTreeMap;
use std::ops::Range;

/// What a write lays down.
#[derive(Debug)]
pub(crate) enum Content {
    /// These bytes, a whole number of sectors.
    Bytes(Box<[u8]>),
    /// Zeros.
    Zeroes,
}

/// A write that has not landed.
#[derive(Debug)]
struct Entry {
    sectors: u64,
    content: Content,
    /// The sectors that nothing submitted later has landed on yet.
    left: Vec<Range<u64>>,
    acknowledged: bool,
}

/// A write that has not landed, for those who decide what becomes of it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Unlanded {
    pub order: u64,
    pub sectors: u64,
    pub acknowledged: bool,
    /// It can only happen as a whole: nobody sent its bytes one after another.
    pub whole: bool,
}

/// All writes that have not landed.
#[derive(Debug, Default)]
pub(crate) struct Pending {
    /// By first sector and order.
    entries: BTreeMap<(u64, u64), Entry>,
    /// The first sector of each, by order.
    sector_of: BTreeMap<u64, u64>,
    /// How many there are of each length: how far before an extent one may begin that reaches it.
    lengths: BTreeMap<u64, u32>,
}

impl Pending {
    /// A write that was submitted.
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

    /// The one who wrote was told that it is done.
    pub fn acknowledge(&mut self, order: u64) {
        if let Some(sector) = self.sector_of.get(&order)
            && let Some(entry) = self.entries.get_mut(&(*sector, order))
        {
            entry.acknowledged = true;
        }
    }

    /// The first sector of one that has not landed, and how many it has.
    pub fn extent(&self, order: u64) -> Option<(u64, u64)> {
        let sector = *self.sector_of.get(&order)?;
        let entry = self.entries.get(&(sector, order))?;
        Some((sector, entry.sectors))
    }

    /// Those that have not landed, in the order of submission.
    pub fn unlanded(&self) -> Vec<Unlanded> {
        let of = |(order, sector): (&u64, &u64)| {
            let entry = self.entries.get(&(*sector, *order))?;
            Some(Unlanded {
                order: *order,
                sectors: entry.sectors,
                acknowledged: entry.acknowledged,
                whole: matches!(entry.content, Content::Zeroes),
            })
        };
        self.sector_of.iter().filter_map(of).collect()
    }

    /// Whether every one of these sectors would be read from here, and none from the medium.
    pub fn covers(&self, sectors: &Range<u64>) -> bool {
        let mut left = vec![sectors.clone()];
        for key in self.overlapping(sectors) {
            for range in &self.entries[&key].left {
                cut_out(&mut left, range);
            }
        }
        left.is_empty()
    }

    /// Lays over `into`, which holds what is on the medium from the byte `at` on, what has not
    /// landed there yet.
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

    /// A write lands on the medium, but where one submitted later has landed already. One that
    /// is not here (it failed, or was superseded) changes nothing.
    pub fn land(&mut self, order: u64, store: &mut dyn Store) -> Result<(), StoreError> {
        self.land_where(order, store, |_| true)
    }

    /// The same, for those of its sectors that `keep` says, counted from its first.
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
                // A content of zeros may span the disk; it lands as a whole.
                let to = match entry.content {
                    Content::Zeroes => range.end,
                    Content::Bytes(_) => (from + 1..range.end)
                        .find(|next| keep(next - sector) != kept)
                        .unwrap_or(range.end),
                };
                if kept {
                    lay(store, sector, from..to, &entry.content)?;
                }
                from = to;
            }
        }
        let landed = sector..sector + entry.sectors;
        for key in self.overlapping(&landed) {
            if key.1 < order
                && let Some(older) = self.entries.get_mut(&key)
            {
                cut_out(&mut older.left, &landed);
            }
        }
        Ok(())
    }

    /// A write that never lands: it failed, a later one took its place, or the power went.
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

    /// The keys of those that share a sector with these.
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

/// Takes one range out of others.
fn cut_out(ranges: &mut Vec<Range<u64>>, hole: &Range<u64>) {
    if ranges
        .iter()
        .all(|range| range.end <= hole.start || range.start >= hole.end)
    {
        return;
    }
    let cut = |range: &Range<u64>| {
        let before = range.start..range.end.min(hole.start);
        let after = range.start.max(hole.end)..range.end;
        [before, after]
    };
    let parts = ranges.iter().flat_map(cut);
    *ranges = parts.filter(|range| !range.is_empty()).collect();
}

/// Lays these sectors of a write that begins at `first` on the medium.
fn lay(
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
    done.map_err(|source| StoreError {
        attempt: "write",
        at,
        length,
        source,
    })
}

/// A place within a payload, which is in memory and so has a place that fits.
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

    /// The first byte of each of the first eight sectors, as they would be read.
    fn read(pending: &Pending, store: &mut Memory) -> Vec<u8> {
        let mut all = vec![0; 8 * 512];
        store.read_at(0, &mut all).unwrap();
        pending.overlay(0, &mut all);
        all.chunks(512).map(|sector| sector[0]).collect()
    }

    #[test]
    fn the_newest_is_read_whatever_lands_first() {
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
            assert!(pending.unlanded().is_empty());
        }
    }

    #[test]
    fn what_lands_in_part_leaves_the_rest_as_it_was() {
        let (mut pending, mut store) = (Pending::default(), Memory::new());
        pending.insert(1, 1, 4, bytes(1, 4));
        pending.insert(2, 2, 1, bytes(2, 1));
        pending.land(2, &mut store).unwrap();
        pending.land_where(1, &mut store, |at| at % 3 == 0).unwrap();
        assert_eq!(read(&pending, &mut store), [0, 1, 2, 0, 1, 0, 0, 0]);
    }

    #[test]
    fn a_read_within_a_sector_sees_the_bytes_of_that_place() {
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
