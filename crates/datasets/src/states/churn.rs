//! The sequence of an ageing churn: which file is created, extended, truncated or removed next.
//! This module accesses no file system.
//!
//! Ageing by a workload was introduced by Smith and Seltzer, "File System Aging - Increasing the
//! Relevance of File System Benchmarks" (SIGMETRICS 1997), who replayed months of creates and
//! deletes before measuring. Conway and others, "File Systems Fated for Senescence?" (FAST 2017),
//! showed that its effects appear within minutes. Sizes are those of Agrawal and others, "A
//! Five-Year Study of File-System Metadata" (FAST 2007): lognormal, half of all files below 4 KiB,
//! on average 189 KiB.
//!
//! The stored bytes alternate between two bounds. While they grow, three operations of four
//! create and one appends; while they shrink, three delete and one truncates.

use crate::seed::{Seed, Spread};
use crate::sizes::LogNormal;

/// The usual block of a file system, bytes: the space of a file is a multiple of it.
const BLOCK: u64 = 4096;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Operation {
    Create { number: u32, size: u32 },
    Append { number: u32, from: u32, bytes: u32 },
    Truncate { number: u32, from: u32, to: u32 },
    Delete { number: u32, size: u32 },
}

/// The number of operations of each kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Counts {
    pub(super) creates: u64,
    pub(super) appends: u64,
    pub(super) truncates: u64,
    pub(super) deletes: u64,
}

/// An existing file: eight bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct ExistingFile {
    number: u32,
    size: u32,
}

pub(super) struct Churn {
    live: Vec<ExistingFile>,
    /// The size of the existing files, each rounded up to blocks, bytes.
    pub(super) held: u64,
    sizes: LogNormal,
    creates: Spread,
    appends: Spread,
    choices: Seed,
    chosen: u64,
    /// The number of files created so far: the number of the next.
    pub(super) made: u32,
    rising: bool,
    /// How often each operation was done.
    pub(super) counts: Counts,
}

impl Churn {
    /// The churn of a seed, for this maximum of stored bytes.
    pub(super) fn new(seed: Seed, held: u64) -> Self {
        // A power of two, so that file systems of equal size get files of equal sizes although
        // their own overhead differs.
        let largest = (held / 128).next_power_of_two().clamp(64 << 10, 32 << 20);
        Self {
            live: Vec::new(),
            held: 0,
            sizes: LogNormal::new(4096.0, 2.77, 1, largest),
            creates: Spread::new(seed.part("creates")),
            appends: Spread::new(seed.part("appends")),
            choices: seed.part("choices"),
            chosen: 0,
            made: 0,
            rising: true,
            counts: Counts::default(),
        }
    }

    /// The existing files, by number and size.
    pub(super) fn live(&self) -> impl Iterator<Item = (u32, u64)> {
        self.live.iter().map(|file| (file.number, file.size.into()))
    }

    /// The next operation, already applied to this table. After it at most `high` bytes are stored,
    /// unless there were more before.
    pub(super) fn next(&mut self, low: u64, high: u64) -> Operation {
        if self.held <= low || self.live.is_empty() {
            self.rising = true;
        } else if self.held >= high {
            self.rising = false;
        }
        let often = self.choose(4) > 0;
        if self.rising {
            let grown = if often || self.live.is_empty() {
                self.create(high)
            } else {
                self.append(high).or_else(|| self.create(high))
            };
            if let Some(operation) = grown {
                return operation;
            }
            // The generated file would not fit, so files are removed next.
            self.rising = false;
        }
        if often {
            self.delete()
        } else {
            self.truncate()
        }
    }

    /// Reverts an operation for which the file system had no space.
    pub(super) fn undo(&mut self, operation: Operation) {
        match operation {
            Operation::Create { number, .. } => {
                if let Some(place) = self.live.iter().rposition(|file| file.number == number) {
                    let file = self.live.swap_remove(place);
                    self.held -= blocks(file.size);
                    self.counts.creates -= 1;
                }
            }
            Operation::Append { number, from, .. } => {
                if let Some(file) = self.live.iter_mut().find(|file| file.number == number) {
                    self.held = self.held - blocks(file.size) + blocks(from);
                    file.size = from;
                    self.counts.appends -= 1;
                }
            }
            Operation::Truncate { .. } | Operation::Delete { .. } => {}
        }
    }

    fn create(&mut self, high: u64) -> Option<Operation> {
        let size = size(self.sizes.draw(&mut self.creates));
        if self.held + blocks(size) > high && !self.live.is_empty() {
            return None;
        }
        let number = self.made;
        self.made += 1;
        self.live.push(ExistingFile { number, size });
        self.held += blocks(size);
        self.counts.creates += 1;
        Some(Operation::Create { number, size })
    }

    fn append(&mut self, high: u64) -> Option<Operation> {
        let bytes = size(self.sizes.draw(&mut self.appends));
        let place = self.place();
        let ExistingFile { number, size: from } = self.live[place];
        let to = from.checked_add(bytes)?;
        if self.held - blocks(from) + blocks(to) > high {
            return None;
        }
        self.held = self.held - blocks(from) + blocks(to);
        self.live[place].size = to;
        self.counts.appends += 1;
        Some(Operation::Append {
            number,
            from,
            bytes,
        })
    }

    fn truncate(&mut self) -> Operation {
        let place = self.place();
        let ExistingFile { number, size: from } = self.live[place];
        let to = size(self.choose(u64::from(from)));
        self.held = self.held - blocks(from) + blocks(to);
        self.live[place].size = to;
        self.counts.truncates += 1;
        Operation::Truncate { number, from, to }
    }

    fn delete(&mut self) -> Operation {
        let place = self.place();
        let ExistingFile { number, size } = self.live.swap_remove(place);
        self.held -= blocks(size);
        self.counts.deletes += 1;
        Operation::Delete { number, size }
    }

    /// The index of a random file.
    fn place(&mut self) -> usize {
        let all = self.live.len() as u64;
        usize::try_from(self.choose(all)).unwrap_or(0)
    }

    fn choose(&mut self, below: u64) -> u64 {
        self.chosen += 1;
        self.choices.at(self.chosen).below(below)
    }
}

/// The space of a file of that size, bytes.
fn blocks(size: u32) -> u64 {
    u64::from(size).next_multiple_of(BLOCK)
}

fn size(bytes: u64) -> u32 {
    u32::try_from(bytes).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    const MIB: u64 = 1 << 20;

    fn sequence(seed: u64, held: u64, many: usize) -> Vec<Operation> {
        let mut churn = Churn::new(Seed::new(seed), held);
        (0..many)
            .map(|_| churn.next(held / 16 * 15, held))
            .collect()
    }

    #[test]
    fn the_same_seed_gives_the_same_sequence() {
        assert_eq!(
            sequence(7, 256 * MIB, 20_000),
            sequence(7, 256 * MIB, 20_000)
        );
        assert_ne!(sequence(7, 256 * MIB, 50), sequence(8, 256 * MIB, 50));
        // A somewhat larger file system begins with the same files.
        assert_eq!(sequence(7, 256 * MIB, 900), sequence(7, 250 * MIB, 900));
    }

    #[test]
    fn stored_bytes_stay_below_the_limit_and_operations_are_valid() {
        for (seed, held) in [(1, MIB), (2, 64 * MIB), (3, 700 * MIB), (4, 4096)] {
            let mut churn = Churn::new(Seed::new(seed), held);
            let mut files: BTreeMap<u32, u32> = BTreeMap::new();
            for turn in 0..30_000 {
                match churn.next(held / 16 * 15, held) {
                    Operation::Create { number, size } => {
                        assert_eq!(files.insert(number, size), None);
                    }
                    Operation::Append {
                        number,
                        from,
                        bytes,
                    } => {
                        assert_eq!(files.insert(number, from + bytes), Some(from));
                    }
                    Operation::Truncate { number, from, to } => {
                        assert!(to <= from);
                        assert_eq!(files.insert(number, to), Some(from));
                    }
                    Operation::Delete { number, size } => {
                        assert_eq!(files.remove(&number), Some(size));
                    }
                }
                // A single file may be larger than a very small limit.
                assert!(churn.held <= held.max(64 << 10), "of {held}");
                if turn % 100 == 0 {
                    let sum: u64 = files.values().map(|size| blocks(*size)).sum();
                    assert_eq!(churn.held, sum);
                }
            }
            let counts = churn.counts;
            assert!(counts.creates > 0 && counts.deletes > 0, "{counts:?}");
            assert!(held == 4096 || (counts.appends > 0 && counts.truncates > 0));
        }
    }

    #[test]
    fn an_operation_without_space_is_reverted() {
        let mut churn = Churn::new(Seed::new(1), 64 * MIB);
        for _ in 0..5000 {
            let before = (churn.live.len(), churn.held);
            let operation = churn.next(60 * MIB, 64 * MIB);
            if matches!(
                operation,
                Operation::Create { .. } | Operation::Append { .. }
            ) && churn.choose(3) == 0
            {
                churn.undo(operation);
                assert_eq!((churn.live.len(), churn.held), before);
            }
        }
    }

    #[test]
    fn sizes_have_the_median_of_the_survey() {
        let mut sizes: Vec<u32> = sequence(1, 1 << 40, 4000)
            .into_iter()
            .filter_map(|operation| match operation {
                Operation::Create { size, .. } => Some(size),
                _ => None,
            })
            .collect();
        sizes.sort_unstable();
        let median = sizes[sizes.len() / 2];
        let mean = sizes.iter().map(|size| u64::from(*size)).sum::<u64>() / sizes.len() as u64;
        assert!((3900..4300).contains(&median), "{median}");
        assert!((110_000..200_000).contains(&mean), "{mean}");
    }
}
