//! Generates the operations of a seed. This module accesses no file system.

use super::DIRECTORIES;
use fsdyno_datasets::seed::Seed;
use rand_core::Rng;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng;
use std::collections::BTreeMap;

/// The maximum number of files.
const MAX_FILES: usize = 120;

/// The maximum length of one write, bytes.
const MAX_WRITE: u64 = 48 << 10;

/// The block size of contents, bytes; each block has its own seed.
const BLOCK: usize = 4096;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct State {
    pub directory: u32,
    /// The number of times that it was replaced.
    pub generation: u32,
    /// Its length, bytes.
    pub length: u64,
}

/// An operation on one file; acknowledged when it is durable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Act {
    /// Creates it: write, fsync, fsync of its directory.
    Create,
    /// Appends to it: append, fsync.
    Append,
    /// Replaces it: write and fsync of another file, rename over it, fsync of the directory.
    Replace,
    /// Moves it: rename, fsync of both directories.
    Move,
    /// Deletes it: unlink, fsync of the directory.
    Remove,
}

impl Act {
    /// The name, as reported.
    pub fn name(self) -> &'static str {
        match self {
            Self::Create => "create",
            Self::Append => "append",
            Self::Replace => "replace",
            Self::Move => "move",
            Self::Remove => "remove",
        }
    }
}

/// An operation on a file, with its states.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Operation {
    pub act: Act,
    pub file: u32,
    /// The state before; none if it is created.
    pub before: Option<State>,
    /// The state after; none if it is deleted.
    pub after: Option<State>,
    /// The length of another file that is written without fsync, as additional dirty data.
    pub unsynced: u64,
}

/// The infinite sequence of operations of a seed.
#[derive(Debug, Clone)]
pub(super) struct Script {
    seed: Seed,
    done: u64,
    made: u32,
    live: BTreeMap<u32, State>,
}

impl Script {
    pub fn new(seed: u64) -> Self {
        Self {
            // The seeds of recorded tests have this word.
            seed: Seed::new(seed).part("plug"),
            done: 0,
            made: 0,
            live: BTreeMap::new(),
        }
    }

    /// The existing files, by number.
    #[cfg(test)]
    pub fn live(&self) -> &BTreeMap<u32, State> {
        &self.live
    }

    /// The number of files created so far.
    #[cfg(test)]
    pub fn made(&self) -> u32 {
        self.made
    }

    /// Simulates the next operation.
    pub fn next(&mut self) -> Operation {
        let seed = self.seed.at(self.done);
        self.done += 1;
        let act = self.choose(seed.part("act"));
        let length = 1 + seed.part("length").below(MAX_WRITE);
        let (file, before) = if act == Act::Create {
            self.made += 1;
            (self.made, None)
        } else {
            let count = self.live.len() as u64;
            let place = seed.part("file").below(count);
            let nth = usize::try_from(place).unwrap_or(0);
            // There is a file: otherwise one was just created.
            let (file, state) = self.live.iter().nth(nth).map(|(f, s)| (*f, *s)).unzip();
            (file.unwrap_or_default(), state)
        };
        let other = |directory: u32| {
            let step = 1 + seed.part("directory").below(u64::from(DIRECTORIES) - 1);
            (directory + u32::try_from(step).unwrap_or(1)) % DIRECTORIES
        };
        let after = match (act, before) {
            (Act::Remove, _) => None,
            (Act::Append, Some(state)) => Some(State {
                length: state.length + length,
                ..state
            }),
            (Act::Replace, Some(state)) => Some(State {
                generation: state.generation + 1,
                length,
                ..state
            }),
            (Act::Move, Some(state)) => Some(State {
                directory: other(state.directory),
                ..state
            }),
            _ => Some(State {
                directory: other(0),
                generation: 0,
                length,
            }),
        };
        match after {
            Some(state) => self.live.insert(file, state),
            None => self.live.remove(&file),
        };
        Operation {
            act,
            file,
            before,
            after,
            // The seeds of recorded tests have this word.
            unsynced: 1 + seed.part("beside").below(MAX_WRITE),
        }
    }

    fn choose(&self, seed: Seed) -> Act {
        if self.live.len() < 8 {
            return Act::Create;
        }
        match seed.below(100) {
            0..30 if self.live.len() < MAX_FILES => Act::Create,
            0..55 => Act::Append,
            55..75 => Act::Replace,
            75..85 => Act::Move,
            _ => Act::Remove,
        }
    }
}

/// The content of a file of a generation, from an offset.
pub(super) fn fill(file: u32, generation: u32, offset: u64, into: &mut [u8]) {
    let seed = Seed::new(u64::from(file)).at(u64::from(generation));
    let mut block = [0; BLOCK];
    let mut at = offset;
    let mut rest = into;
    while !rest.is_empty() {
        let number = at / BLOCK as u64;
        let within = usize::try_from(at % BLOCK as u64).unwrap_or(0);
        Xoshiro256PlusPlus::seed_from_u64(seed.at(number).value()).fill_bytes(&mut block);
        let count = rest.len().min(BLOCK - within);
        let (now, later) = rest.split_at_mut(count);
        now.copy_from_slice(&block[within..within + count]);
        rest = later;
        at += count as u64;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_gives_the_same_operations_and_all_kinds_of_them() {
        let (mut one, mut other) = (Script::new(7), Script::new(7));
        let operations: Vec<Operation> = (0..2000).map(|_| one.next()).collect();
        assert!(
            operations
                .iter()
                .all(|operation| *operation == other.next())
        );
        for act in [
            Act::Create,
            Act::Append,
            Act::Replace,
            Act::Move,
            Act::Remove,
        ] {
            let count = operations.iter().filter(|o| o.act == act).count();
            assert!(count > 100, "{act:?}: {count}");
        }
        assert!(one.live().len() <= MAX_FILES);
        for operation in operations {
            assert_eq!(operation.before.is_none(), operation.act == Act::Create);
            assert_eq!(operation.after.is_none(), operation.act == Act::Remove);
            if operation.act == Act::Move {
                let (from, to) = (operation.before.unwrap(), operation.after.unwrap());
                assert_ne!(from.directory, to.directory);
            }
        }
    }

    #[test]
    fn contents_are_equal_from_any_offset() {
        let mut whole = vec![0; 20_000];
        fill(3, 1, 0, &mut whole);
        for (from, to) in [(0, 1), (4095, 4097), (5000, 20_000)] {
            let mut part = vec![0; to - from];
            fill(3, 1, from as u64, &mut part);
            assert_eq!(part, whole[from..to]);
        }
        let mut other = vec![0; 100];
        fill(3, 2, 0, &mut other);
        assert_ne!(other, whole[..100]);
    }
}
