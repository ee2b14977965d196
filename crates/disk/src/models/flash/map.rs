//! The mapping of a flash disk: which physical page holds a logical one, which blocks are free,
//! and what collecting garbage costs.
//!
//! Blocks of all units with the same number are written, collected and erased together. Where the
//! free ones run out, that with the fewest valid pages is collected (greedy): these are written
//! anew, and it is erased. A page that was never written is taken for one written long ago, in its
//! logical place: disks are not new when a file system comes onto them.

use std::collections::HashMap;

/// No page: what pads a program unit.
const PADDING: u32 = u32::MAX;

/// Free blocks below which garbage is collected. Collecting needs one to write into.
const RESERVE: usize = 2;

/// What collecting garbage did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Collected {
    /// Blocks erased, over all units.
    pub blocks: u64,
    /// Pages written anew.
    pub moved: u64,
}

/// The mapping.
#[derive(Debug)]
pub struct Map {
    /// Pages of a block over all units.
    block_pages: u32,
    program_pages: u32,
    /// The physical page of each logical page that was written.
    places: HashMap<u32, u32>,
    /// The logical pages of each block, as they were written.
    held: Vec<Vec<u32>>,
    /// How many of them are still valid.
    valid: Vec<u32>,
    free: Vec<u32>,
    current: u32,
}

impl Map {
    /// For so many logical pages, with so much spare, in blocks of so many pages.
    pub fn new(logical: u64, spare: f64, block_pages: u64, program_pages: u64) -> Self {
        let fits = |pages: u64| u32::try_from(pages).unwrap_or(u32::MAX);
        let physical = crate::arithmetic::to_ns(logical as f64 * (1.0 + spare));
        let least = logical.div_ceil(block_pages) + RESERVE as u64 + 2;
        let blocks = physical.div_ceil(block_pages).max(least);
        // Those taken first stand last.
        let free = (1..fits(blocks)).rev().collect();
        Self {
            block_pages: fits(block_pages),
            program_pages: fits(program_pages),
            places: HashMap::new(),
            held: vec![Vec::new(); usize::try_from(blocks).unwrap_or_default()],
            valid: vec![0; usize::try_from(blocks).unwrap_or_default()],
            free,
            current: 0,
        }
    }

    /// The physical page of a logical one.
    pub fn place(&self, page: u32) -> u32 {
        self.places.get(&page).copied().unwrap_or(page)
    }

    /// The program unit, counted over the whole disk, that a physical page belongs to.
    pub fn program(&self, place: u32) -> u32 {
        place / self.program_pages
    }

    /// Writes a logical page to the next physical one, which it answers.
    pub fn write(&mut self, page: u32, collected: &mut Collected) -> u32 {
        if self.held[self.current as usize].len() >= self.block_pages as usize {
            self.next_block(collected);
        }
        self.append(page)
    }

    /// Fills the program unit that is being written; what is written next begins another.
    pub fn pad(&mut self) {
        let held = &mut self.held[self.current as usize];
        let program = self.program_pages as usize;
        held.resize(held.len().next_multiple_of(program), PADDING);
    }

    /// Logical pages that are no longer needed.
    pub fn discard(&mut self, pages: std::ops::Range<u32>) {
        let few = ((pages.end - pages.start) as usize) < self.places.len();
        if few {
            for page in pages {
                if let Some(place) = self.places.remove(&page) {
                    self.valid[(place / self.block_pages) as usize] -= 1;
                }
            }
            return;
        }
        let (valid, block_pages) = (&mut self.valid, self.block_pages);
        // In no order, of which nothing depends.
        self.places.retain(|page, place| {
            let gone = pages.contains(page);
            valid[(*place / block_pages) as usize] -= u32::from(gone);
            !gone
        });
    }

    fn append(&mut self, page: u32) -> u32 {
        let block = self.current;
        let held = &mut self.held[block as usize];
        let within = u32::try_from(held.len()).unwrap_or(u32::MAX);
        held.push(page);
        self.valid[block as usize] += 1;
        let place = block * self.block_pages + within;
        if let Some(before) = self.places.insert(page, place) {
            self.valid[(before / self.block_pages) as usize] -= 1;
        }
        place
    }

    /// Takes another block to write to; collects garbage where few are free.
    fn next_block(&mut self, collected: &mut Collected) {
        if let Some(next) = self.free.pop() {
            self.current = next;
        }
        while self.free.len() < RESERVE {
            let closed = (0..self.valid.len()).filter(|block| {
                *block != self.current as usize
                    && self.held[*block].len() == self.block_pages as usize
            });
            let Some(victim) = closed.min_by_key(|block| self.valid[*block]) else {
                return;
            };
            if self.valid[victim] == self.block_pages {
                return; // nothing to gain
            }
            self.collect(victim, collected);
        }
    }

    fn collect(&mut self, victim: usize, collected: &mut Collected) {
        let block = u32::try_from(victim).unwrap_or(u32::MAX);
        let held = std::mem::take(&mut self.held[victim]);
        for (within, page) in (0..).zip(held) {
            let here = block * self.block_pages + within;
            if page == PADDING || self.places.get(&page) != Some(&here) {
                continue;
            }
            if self.held[self.current as usize].len() >= self.block_pages as usize
                && let Some(next) = self.free.pop()
            {
                self.current = next;
            }
            self.append(page);
            collected.moved += 1;
        }
        collected.blocks += 1;
        self.free.insert(0, block);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    /// Every page in a place of its own, and every block's count as it is.
    fn sound(map: &Map) {
        let mut counted = vec![0; map.valid.len()];
        for (page, place) in &map.places {
            let (block, within) = (place / map.block_pages, place % map.block_pages);
            assert_eq!(map.held[block as usize][within as usize], *page);
            counted[block as usize] += 1;
        }
        assert_eq!(counted, map.valid);
        assert!(
            map.held
                .iter()
                .all(|held| held.len() <= map.block_pages as usize)
        );
    }

    #[test]
    fn a_full_disk_written_at_random_moves_what_is_valid_and_loses_nothing() {
        let mut map = Map::new(4096, 0.1, 64, 8);
        let mut collected = Collected::default();
        for page in 0..4096 {
            map.write(page, &mut collected);
        }
        assert_eq!(collected.moved, 0);
        let mut random = Random::new(3);
        for n in 0..40_000 {
            let page = u32::try_from(random.below(4096)).unwrap();
            map.write(page, &mut collected);
            if n % 1000 == 0 {
                sound(&map);
            }
        }
        assert_eq!(map.places.len(), 4096);
        // Greedy collection at this spare moves some pages for each that is written, no dozens.
        let amplification = 1.0 + collected.moved as f64 / 40_000.0;
        assert!((1.5..8.0).contains(&amplification), "{amplification}");
    }

    #[test]
    fn what_is_discarded_need_not_be_moved() {
        let written = |discard: bool| {
            let mut map = Map::new(4096, 0.1, 64, 8);
            let mut collected = Collected::default();
            let mut random = Random::new(3);
            for n in 0..20_000_u32 {
                if discard && n % 4096 == 0 {
                    map.discard(0..4000);
                    map.discard(4000..4090);
                    sound(&map);
                }
                map.write(u32::try_from(random.below(4096)).unwrap(), &mut collected);
                if n % 64 == 5 {
                    map.pad();
                }
            }
            sound(&map);
            collected.moved
        };
        assert!(written(true) * 2 < written(false));
    }
}
