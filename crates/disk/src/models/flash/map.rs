//! Page mapping of a flash disk: logical to physical pages, free blocks, and the cost of garbage
//! collection.
//!
//! Blocks with the same number on all units are written, collected and erased as one. When free
//! blocks run out, greedy collection selects the block with the fewest valid pages. It rewrites
//! these pages and erases the block. An unwritten page counts as valid in its logical position: a
//! disk is not new when a file system is made on it.

use std::collections::HashMap;

/// No page: padding of a program unit.
const PADDING: u32 = u32::MAX;

/// Garbage collection starts below this number of free blocks. It needs one of them.
const RESERVE: usize = 2;

/// Work of a garbage collection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Collected {
    /// Blocks erased, over all units.
    pub blocks: u64,
    /// Pages rewritten.
    pub moved: u64,
}

#[derive(Debug)]
pub struct Map {
    /// Pages of a block over all units.
    block_pages: u32,
    program_pages: u32,
    /// Physical page of each written logical page.
    places: HashMap<u32, u32>,
    /// Logical pages of each block, in write order.
    held: Vec<Vec<u32>>,
    /// Number of valid pages of each block.
    valid: Vec<u32>,
    free: Vec<u32>,
    current: u32,
}

impl Map {
    /// Creates a mapping with these numbers of logical pages, spare fraction and pages per block.
    pub fn new(logical: u64, spare: f64, block_pages: u64, program_pages: u64) -> Self {
        let fits = |pages: u64| u32::try_from(pages).unwrap_or(u32::MAX);
        let physical = crate::arithmetic::to_ns(logical as f64 * (1.0 + spare));
        let least = logical.div_ceil(block_pages) + RESERVE as u64 + 2;
        let blocks = physical.div_ceil(block_pages).max(least);
        // The last block is taken first.
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

    /// Physical page of a logical page.
    pub fn place(&self, page: u32) -> u32 {
        self.places.get(&page).copied().unwrap_or(page)
    }

    /// Program unit of a physical page, counted over the whole disk.
    pub fn program(&self, place: u32) -> u32 {
        place / self.program_pages
    }

    /// Writes a logical page to the next physical page. Returns the latter.
    pub fn write(&mut self, page: u32, collected: &mut Collected) -> u32 {
        if self.held[self.current as usize].len() >= self.block_pages as usize {
            self.next_block(collected);
        }
        self.append(page)
    }

    /// Pads the open program unit. The next write starts another one.
    pub fn pad(&mut self) {
        let held = &mut self.held[self.current as usize];
        let program = self.program_pages as usize;
        held.resize(held.len().next_multiple_of(program), PADDING);
    }

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
        // The order is arbitrary, and no result depends on it.
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

    /// Opens another block. Collects garbage if few blocks are free.
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
                return; // no gain
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
    use fsdyno_model::random::Random;

    /// Checks that every page has its own place and that every block's count is correct.
    fn check_map(map: &Map) {
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
    fn random_writes_to_a_full_disk_move_valid_pages_and_lose_none() {
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
                check_map(&map);
            }
        }
        assert_eq!(map.places.len(), 4096);
        // At this overprovisioning, greedy collection moves a few pages per write, not dozens.
        let amplification = 1.0 + collected.moved as f64 / 40_000.0;
        assert!((1.5..8.0).contains(&amplification), "{amplification}");
    }

    #[test]
    fn discarded_pages_are_not_moved() {
        let written = |discard: bool| {
            let mut map = Map::new(4096, 0.1, 64, 8);
            let mut collected = Collected::default();
            let mut random = Random::new(3);
            for n in 0..20_000_u32 {
                if discard && n % 4096 == 0 {
                    map.discard(0..4000);
                    map.discard(4000..4090);
                    check_map(&map);
                }
                map.write(u32::try_from(random.below(4096)).unwrap(), &mut collected);
                if n % 64 == 5 {
                    map.pad();
                }
            }
            check_map(&map);
            collected.moved
        };
        assert!(written(true) * 2 < written(false));
    }
}
