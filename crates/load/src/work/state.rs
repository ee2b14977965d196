//! The files of one worker in one set while its operations are drawn: which exist, and their sizes.

use super::layout::Layout;
use super::step::Pick;
use fsdyno_model::random::{Random, shuffle};
use std::ops::Range;

/// A file that exists. Removed files leave a gap until there are many.
#[derive(Debug, Clone, Copy)]
struct Entry {
    file: u32,
    size: u64,
}

/// The number of an entry that was removed.
const GAP: u32 = u32::MAX;

/// A file that a step has picked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Picked {
    pub file: u32,
    /// Its place among the files of the worker; none if all workers share the set.
    pub entry: Option<usize>,
    pub size: u64,
}

/// The files of a worker in a set.
#[derive(Debug)]
pub(super) struct SetState {
    worker: u32,
    /// The files that exist at first.
    range: Range<u32>,
    /// Whether the worker has a share of its own.
    divided: bool,
    entries: Vec<Entry>,
    alive: usize,
    cursor: usize,
    /// New files: within the first files of the set, and beyond.
    fresh: Range<u32>,
    beyond: u32,
    /// Empty directories that exist, and the number of those made.
    directories: Vec<u32>,
    made: u32,
    popularity: Option<Popularity>,
    /// The bytes of all files now, and at most.
    live: u64,
    pub peak: u64,
}

/// The law of Zipf with exponent 1 over places in a random order.
#[derive(Debug)]
pub(super) struct Popularity {
    sums: Vec<f64>,
    places: Vec<u32>,
}

impl Popularity {
    /// The law over so many places; `bits` returns 64 random bits.
    pub fn new(count: usize, bits: impl FnMut() -> u64) -> Self {
        let mut sum = 0.0;
        let mut places: Vec<u32> = (0..).take(count.max(1)).collect();
        shuffle(&mut places, bits);
        let sums = (1..=places.len()).map(|rank| {
            sum += 1.0 / rank as f64;
            sum
        });
        Self {
            sums: sums.collect(),
            places,
        }
    }

    /// The place of a number between 0 and 1.
    pub fn draw(&self, unit: f64) -> usize {
        let sum = self.sums.last().copied().unwrap_or(1.0);
        let drawn = unit * sum;
        let rank = self.sums.partition_point(|until| *until <= drawn);
        self.places[rank.min(self.places.len() - 1)] as usize
    }
}

impl SetState {
    /// The files of a worker when its work begins: its share of the set, of which `exist` exist. If
    /// the set is not divided, all files are the share of each worker, which begins with the file
    /// `shared`.
    pub fn new(
        worker: u32,
        share: Range<u32>,
        exist: Range<u32>,
        shared: Option<u32>,
        zipf: Option<&mut Random>,
        size: &dyn Fn(u32) -> u64,
    ) -> Self {
        let divided = shared.is_none();
        let entries: Vec<Entry> = if divided {
            let entry = |file| Entry {
                file,
                size: size(file),
            };
            exist.clone().map(entry).collect()
        } else {
            Vec::new()
        };
        let popularity = zipf.map(|random| Popularity::new(exist.len(), || random.next_u64()));
        let live = entries.iter().map(|entry| space(entry.size)).sum();
        Self {
            worker,
            fresh: exist.end..share.end,
            range: exist,
            divided,
            alive: entries.len(),
            entries,
            cursor: shared.unwrap_or(0) as usize,
            beyond: 0,
            directories: Vec::new(),
            made: 0,
            popularity,
            live,
            peak: live,
        }
    }

    /// A file that exists; none if there is none.
    pub fn pick(
        &mut self,
        pick: Pick,
        random: &mut Random,
        size: &dyn Fn(u32) -> u64,
    ) -> Option<Picked> {
        if !self.divided {
            return self.pick_shared(pick, random, size);
        }
        if self.alive == 0 {
            return None;
        }
        let length = self.entries.len();
        let start = match pick {
            Pick::Zipf => self
                .popularity
                .as_ref()
                .map_or(0, |law| law.draw(random.unit()) % length),
            Pick::InOrder => self.cursor % length,
            Pick::Newest => length - 1,
            _ => loop {
                let place = random.index(length);
                if self.entries[place].file != GAP {
                    break place;
                }
            },
        };
        let exists = |place: &usize| self.entries[*place].file != GAP;
        let place = if pick == Pick::Newest {
            (0..length).rev().find(exists)?
        } else {
            (start..length).chain(0..start).find(exists)?
        };
        if pick == Pick::InOrder {
            self.cursor = place + 1;
        }
        Some(self.picked(place))
    }

    fn picked(&self, place: usize) -> Picked {
        let Entry { file, size } = self.entries[place];
        Picked {
            file,
            entry: Some(place),
            size,
        }
    }

    fn pick_shared(
        &mut self,
        pick: Pick,
        random: &mut Random,
        size: &dyn Fn(u32) -> u64,
    ) -> Option<Picked> {
        let count = self.range.len();
        let within = match pick {
            _ if count == 0 => return None,
            Pick::Zipf => self
                .popularity
                .as_ref()
                .map_or(0, |law| law.draw(random.unit()) % count),
            Pick::InOrder => {
                self.cursor += 1;
                (self.cursor - 1) % count
            }
            Pick::Newest => count - 1,
            _ => random.index(count),
        };
        let file = self.range.start + u32::try_from(within).unwrap_or(0);
        Some(Picked {
            file,
            entry: None,
            size: size(file),
        })
    }

    /// The number of a file that does not exist yet.
    pub fn new_file(&mut self, layout: &Layout) -> u32 {
        self.fresh.next().unwrap_or_else(|| {
            self.beyond += 1;
            layout.beyond(self.worker, self.beyond - 1)
        })
    }

    /// A file exists from now on.
    pub fn add(&mut self, file: u32, size: u64) -> Picked {
        self.entries.push(Entry { file, size });
        self.alive += 1;
        self.count(0, space(size));
        self.picked(self.entries.len() - 1)
    }

    /// A file has another size.
    pub fn resize(&mut self, entry: usize, size: u64) {
        let before = std::mem::replace(&mut self.entries[entry].size, size);
        self.count(space(before), space(size));
    }

    /// A file is removed. The result is the places of those before and after, if these changed.
    pub fn remove(&mut self, entry: usize) -> Option<Vec<usize>> {
        let size = self.entries[entry].size;
        self.count(space(size), 0);
        self.entries[entry].file = GAP;
        self.alive -= 1;
        while self.entries.last().is_some_and(|last| last.file == GAP) {
            self.entries.pop();
        }
        if self.entries.len() < 64 || self.alive * 2 > self.entries.len() {
            return None;
        }
        let mut places = Vec::with_capacity(self.entries.len());
        let mut next = 0;
        for entry in &self.entries {
            places.push(next);
            next += usize::from(entry.file != GAP);
        }
        self.cursor = places.get(self.cursor).copied().unwrap_or(next);
        self.entries.retain(|entry| entry.file != GAP);
        Some(places)
    }

    fn count(&mut self, less: u64, more: u64) {
        self.live = (self.live + more).saturating_sub(less);
        self.peak = self.peak.max(self.live);
    }

    /// A new empty directory.
    pub fn make_directory(&mut self) -> u32 {
        self.directories.push(self.made);
        self.made += 1;
        self.made - 1
    }

    /// An empty directory that is removed.
    pub fn remove_directory(&mut self, pick: Pick, random: &mut Random) -> Option<u32> {
        let last = self.directories.len().checked_sub(1)?;
        Some(match pick {
            Pick::InOrder => self.directories.remove(0),
            Pick::Newest => self.directories.remove(last),
            _ => self.directories.swap_remove(random.index(last + 1)),
        })
    }
}

/// The bytes of a file on a device, at most.
pub(super) fn space(size: u64) -> u64 {
    size.next_multiple_of(4096) + 3072
}
