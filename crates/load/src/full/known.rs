//! What is known of the files: the contents that each may have, and whether it must still be there.

use super::BLOCK;
use super::directory::{Directory, calling};
use fsdyno_datasets::seed::Seed;
use fsdyno_files::{errno, uninterrupted};
use rustix::fs::OFlags;
use rustix::io::read;
use std::collections::BTreeSet;

/// A write that fails may have changed a part of a block.
const SECTOR: usize = 512;

/// The bytes of a read call.
const PIECE: usize = 128 << 10;

/// Whether what was written must still be there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Durability {
    /// Not synced yet.
    Written,
    /// A later sync succeeded.
    Synced,
    /// A later sync failed.
    Doubtful,
}

impl Durability {
    /// After a sync.
    pub fn after<T, E>(synced: &Result<T, E>) -> Self {
        match synced {
            Ok(_) => Self::Synced,
            Err(_) => Self::Doubtful,
        }
    }
}

/// A file, and what it may contain.
#[derive(Debug)]
pub(super) struct Known {
    /// Below the root.
    pub path: String,
    /// The number that its content names.
    pub number: u64,
    /// Its versions and lengths, each of which is right.
    pub allowed: Vec<(u32, u64)>,
    /// Blocks that may also have version 1.
    pub overwritten: BTreeSet<u64>,
    /// Whether these blocks must have version 1.
    pub must_be_new: bool,
    pub durability: Durability,
}

impl Known {
    /// A new file of version 0 and this length.
    pub fn new(path: String, number: u64, length: u64) -> Self {
        Self {
            path,
            number,
            allowed: vec![(0, length)],
            overwritten: BTreeSet::new(),
            must_be_new: false,
            durability: Durability::Written,
        }
    }

    /// Its length, of the versions that are right the first one.
    pub fn length(&self) -> u64 {
        self.allowed.first().map_or(0, |(_, length)| *length)
    }

    /// What is wrong with it; none if it has an allowed content.
    pub fn fault(&self, seed: Seed, directory: &Directory) -> Option<String> {
        let found = match self.read(directory) {
            Ok(found) => found,
            Err(errno) => return Some(errno),
        };
        let length = found.len() as u64;
        let versions = self
            .allowed
            .iter()
            .filter(|(_, allowed)| *allowed == length);
        let mut first_wrong = None;
        for (version, _) in versions {
            let mut blocks = (0..).zip(found.chunks(BLOCK));
            let wrong = blocks.find(|(block, bytes)| !self.may_be(seed, *version, (*block, bytes)));
            match wrong {
                None => return None,
                Some((block, _)) => drop(first_wrong.get_or_insert(block)),
            }
        }
        Some(match first_wrong {
            None => format!("{length} bytes, not {}", self.length()),
            Some(block) => format!("other content in its block {block}"),
        })
    }

    /// Its content; the error is the name of an error number.
    fn read(&self, directory: &Directory) -> Result<Vec<u8>, String> {
        let content = || {
            let file = directory.open_file(&self.path, OFlags::RDONLY)?;
            let (mut found, mut buffer) = (Vec::new(), vec![0; PIECE]);
            loop {
                match calling("read", uninterrupted(|| read(&file, &mut buffer)))? {
                    0 => return Ok(found),
                    count => found.extend_from_slice(&buffer[..count]),
                }
            }
        };
        content().map_err(|failed: super::directory::Failed| errno::text(failed.errno))
    }

    /// Whether a block may have these bytes in a file of this version.
    fn may_be(&self, seed: Seed, version: u32, (block, bytes): (u64, &[u8])) -> bool {
        let right = |version| {
            let mut right = [0; BLOCK];
            content(
                seed,
                (self.number, version),
                block * BLOCK as u64,
                &mut right,
            );
            right
        };
        let is_overwritten = self.overwritten.contains(&block);
        let old = right(version);
        let new = if is_overwritten { right(1) } else { old };
        let may_be_old = !(is_overwritten && self.must_be_new);
        let right = old.chunks(SECTOR).zip(new.chunks(SECTOR));
        bytes.chunks(SECTOR).zip(right).all(|(found, (old, new))| {
            new.starts_with(found) || (may_be_old && old.starts_with(found))
        })
    }
}

/// Fills `into` with the content of a version of a file from `at` on.
pub(super) fn content(seed: Seed, (number, version): (u64, u32), at: u64, into: &mut [u8]) {
    let of_version = seed.at(number).at(version.into());
    let (mut at, mut rest) = (at, into);
    while !rest.is_empty() {
        let within = usize::try_from(at % BLOCK as u64).unwrap_or_default();
        let count = rest.len().min(BLOCK - within);
        let (now, later) = rest.split_at_mut(count);
        let words = of_version.at(at / BLOCK as u64);
        let mut block = [0; BLOCK];
        for (index, word) in (0..).zip(block.chunks_exact_mut(8)) {
            word.copy_from_slice(&words.at(index).value().to_le_bytes());
        }
        now.copy_from_slice(&block[within..within + count]);
        rest = later;
        at += count as u64;
    }
}
