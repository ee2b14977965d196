//! Acknowledged writes in the disk's memory, and which of them goes to the medium next.

use std::collections::BTreeMap;
use std::ops::Range;

/// A write in memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cached {
    /// Its first sector.
    pub sector: u64,
    /// Its place in the order of submissions.
    pub order: u64,
    /// How many sectors.
    pub sectors: u64,
}

/// All of them, by where they begin.
#[derive(Debug, Default)]
pub struct Dirty {
    entries: BTreeMap<(u64, u64), u64>,
    sectors: u64,
}

/// How many on either side are looked at for the one that is reached soonest.
const NEAR: usize = 32;

impl Dirty {
    /// Sectors in memory.
    pub fn sectors(&self) -> u64 {
        self.sectors
    }

    /// Whether there is nothing.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Takes a write in.
    pub fn insert(&mut self, write: Cached) {
        self.entries
            .insert((write.sector, write.order), write.sectors);
        self.sectors += write.sectors;
    }

    /// Takes out those that lie within these sectors.
    pub fn take_within(&mut self, sectors: &Range<u64>) -> Vec<Cached> {
        let near = self.entries.range((sectors.start, 0)..(sectors.end, 0));
        let within = near.filter(|((sector, _), count)| sector + **count <= sectors.end);
        let taken: Vec<Cached> = within.map(of).collect();
        for write in &taken {
            self.take(*write);
        }
        taken
    }

    /// Whether all of these sectors are in memory. Where long and short writes overlap it may
    /// answer no too often: then the medium is read, for nothing but time.
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

    /// The next one upwards of a sector, or else the first.
    pub fn upwards(&self, from: u64) -> Option<Cached> {
        let mut above = self.entries.range((from, 0)..);
        above.next().or_else(|| self.entries.iter().next()).map(of)
    }

    /// The one near a sector that is reached soonest.
    pub fn soonest(&self, from: u64, reached: impl Fn(u64) -> u64) -> Option<Cached> {
        let above = self.entries.range((from, 0)..).take(NEAR);
        let below = self.entries.range(..(from, 0)).rev().take(NEAR);
        above
            .chain(below)
            .map(of)
            .min_by_key(|write| (reached(write.sector), write.sector, write.order))
    }

    /// Takes one out, to write it to the medium.
    pub fn take(&mut self, write: Cached) {
        if self.entries.remove(&(write.sector, write.order)).is_some() {
            self.sectors -= write.sectors;
        }
    }

    /// The power went.
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
    fn the_arm_sweeps_upwards_and_begins_again_below() {
        let mut dirty = Dirty::default();
        for (sector, order) in [(500, 1), (10, 2), (300, 3)] {
            dirty.insert(write(sector, order, 8));
        }
        let mut swept = Vec::new();
        let mut from = 200;
        while let Some(next) = dirty.upwards(from) {
            swept.push(next.sector);
            dirty.take(next);
            from = next.sector + next.sectors;
        }
        assert_eq!(swept, [300, 500, 10]);
        assert_eq!(dirty.sectors(), 0);
    }

    #[test]
    fn what_is_written_again_goes_to_the_medium_once() {
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
