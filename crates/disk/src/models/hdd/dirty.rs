//! The write cache, and the selection of the next write to destage.

use std::collections::BTreeMap;
use std::ops::Range;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cached {
    /// First sector.
    pub sector: u64,
    /// Place in the order of submissions.
    pub order: u64,
    pub sectors: u64,
}

/// All cached writes by first sector.
#[derive(Debug, Default)]
pub struct Dirty {
    entries: BTreeMap<(u64, u64), u64>,
    sectors: u64,
}

/// Number of candidates on each side in the search for the nearest write.
const NEAR: usize = 32;

impl Dirty {
    pub fn sectors(&self) -> u64 {
        self.sectors
    }

    /// Whether the cache is clean.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    pub fn insert(&mut self, write: Cached) {
        self.entries
            .insert((write.sector, write.order), write.sectors);
        self.sectors += write.sectors;
    }

    /// Removes the writes within these sectors.
    pub fn take_within(&mut self, sectors: &Range<u64>) -> Vec<Cached> {
        let near = self.entries.range((sectors.start, 0)..(sectors.end, 0));
        let within = near.filter(|((sector, _), count)| sector + **count <= sectors.end);
        let taken: Vec<Cached> = within.map(of).collect();
        for write in &taken {
            self.take(*write);
        }
        taken
    }

    /// Whether the cache contains all of these sectors. With overlapping writes of different
    /// lengths it may return false negatives. A false negative only costs a read from the medium.
    pub fn covers(&self, sectors: &Range<u64>) -> bool {
        let mut from = sectors.start;
        while from < sectors.end {
            let before = self.entries.range(..=(from, u64::MAX)).rev().take(4);
            let ends = before.map(|((sector, _), count)| sector + count);
            match ends.max() {
                Some(end) if end > from => from = end,
                _ => return false,
            }
        }
        true
    }

    /// The next write at or after a sector, or else the first.
    pub fn next_from(&self, from: u64) -> Option<Cached> {
        let mut above = self.entries.range((from, 0)..);
        above.next().or_else(|| self.entries.iter().next()).map(of)
    }

    /// The write near a sector with the shortest positioning time.
    pub fn soonest(&self, from: u64, reached: impl Fn(u64) -> u64) -> Option<Cached> {
        let above = self.entries.range((from, 0)..).take(NEAR);
        let below = self.entries.range(..(from, 0)).rev().take(NEAR);
        above
            .chain(below)
            .map(of)
            .min_by_key(|write| (reached(write.sector), write.sector, write.order))
    }

    /// Removes a write to destage it.
    pub fn take(&mut self, write: Cached) {
        if self.entries.remove(&(write.sector, write.order)).is_some() {
            self.sectors -= write.sectors;
        }
    }

    /// Drops all writes at a power cut.
    pub fn clear(&mut self) {
        *self = Self::default();
    }
}

fn of((key, sectors): (&(u64, u64), &u64)) -> Cached {
    Cached {
        sector: key.0,
        order: key.1,
        sectors: *sectors,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(sector: u64, order: u64, sectors: u64) -> Cached {
        Cached {
            sector,
            order,
            sectors,
        }
    }

    #[test]
    fn the_sweep_wraps_to_the_first_sector() {
        let mut dirty = Dirty::default();
        for (sector, order) in [(500, 1), (10, 2), (300, 3)] {
            dirty.insert(write(sector, order, 8));
        }
        let mut swept = Vec::new();
        let mut from = 200;
        while let Some(next) = dirty.next_from(from) {
            swept.push(next.sector);
            dirty.take(next);
            from = next.sector + next.sectors;
        }
        assert_eq!(swept, [300, 500, 10]);
        assert_eq!(dirty.sectors(), 0);
    }

    #[test]
    fn an_overwritten_write_is_destaged_once() {
        let mut dirty = Dirty::default();
        dirty.insert(write(100, 1, 8));
        dirty.insert(write(108, 2, 8));
        assert!(dirty.covers(&(102..116)) && !dirty.covers(&(102..117)));
        assert_eq!(dirty.take_within(&(96..112)), [write(100, 1, 8)]);
        dirty.insert(write(96, 3, 16));
        assert_eq!(dirty.sectors(), 24);
        assert_eq!(dirty.soonest(0, |sector| 1000 - sector).unwrap().order, 2);
    }
}
