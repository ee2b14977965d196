//! A set of sectors.

use std::collections::BTreeMap;

/// Sectors of a page, the unit of the set.
const PER_PAGE: u64 = 8;

/// A set of sectors, by number. Neighbouring sectors share an entry.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SectorSet {
    /// A bit for each of eight sectors.
    pages: BTreeMap<u64, u8>,
}

impl SectorSet {
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a sector. Returns whether it is new.
    pub fn insert(&mut self, sector: u64) -> bool {
        let bits = self.pages.entry(sector / PER_PAGE).or_default();
        let new = *bits & bit(sector) == 0;
        *bits |= bit(sector);
        new
    }

    /// Whether the set has a sector.
    pub fn contains(&self, sector: u64) -> bool {
        self.page(sector / PER_PAGE) & bit(sector) != 0
    }

    pub fn iter(&self) -> impl Iterator<Item = u64> + '_ {
        self.pages.iter().flat_map(|(page, bits)| {
            let sectors = page * PER_PAGE..(page + 1) * PER_PAGE;
            sectors.filter(move |sector| bits & bit(*sector) != 0)
        })
    }

    pub fn len(&self) -> usize {
        let ones = |bits: &u8| bits.count_ones() as usize;
        self.pages.values().map(ones).sum()
    }

    pub fn is_empty(&self) -> bool {
        self.pages.is_empty()
    }

    /// The sectors of a page, one bit each.
    pub(super) fn page(&self, page: u64) -> u8 {
        self.pages.get(&page).copied().unwrap_or_default()
    }

    /// Adds sectors of a page, one bit each.
    pub(super) fn insert_page(&mut self, page: u64, bits: u8) {
        if bits != 0 {
            *self.pages.entry(page).or_default() |= bits;
        }
    }

    pub fn remove(&mut self, sector: u64) {
        let page = sector / PER_PAGE;
        if let Some(bits) = self.pages.get_mut(&page) {
            *bits &= !bit(sector);
            if *bits == 0 {
                self.pages.remove(&page);
            }
        }
    }
}

fn bit(sector: u64) -> u8 {
    1 << (sector % PER_PAGE)
}

impl FromIterator<u64> for SectorSet {
    fn from_iter<T: IntoIterator<Item = u64>>(sectors: T) -> Self {
        let mut set = Self::new();
        for sector in sectors {
            set.insert(sector);
        }
        set
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_has_what_was_added_and_not_removed() {
        let mut set: SectorSet = [9, 7, 8, 1 << 40, 7].into_iter().collect();
        assert_eq!(set.len(), 4);
        assert!(!set.insert(8));
        set.remove(8);
        set.remove(100);
        assert_eq!(set.iter().collect::<Vec<_>>(), [7, 9, 1 << 40]);
        assert!(set.contains(9) && !set.contains(8));
        set.remove(9);
        assert_eq!(set, [7, 1 << 40].into_iter().collect());
    }
}
