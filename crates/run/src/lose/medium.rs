//! A disk of a filled file system: what was written to it, and the roles of its sectors.

use fsdyno_crash::trace::SECTOR;
use fsdyno_crash::{Data, Trace, TraceEvent, content};
use fsdyno_lab::explorer::{Base, Contents};
use fsdyno_model::BlockRole;
use fsdyno_recipes::Roles;
use std::collections::BTreeMap;

/// Sectors of a block, at whose start the structures of file systems are.
const BLOCK: u64 = 8;

/// A sector of a disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Place {
    pub disk: usize,
    pub sector: u64,
}

/// A write, a write of zeros or a discard.
#[derive(Debug, Clone)]
pub(super) struct Write {
    pub sector: u64,
    pub data: Data,
}

impl Write {
    /// Its content; that of a discard is unwritten.
    fn bytes(&self) -> Vec<u8> {
        match &self.data {
            Data::Bytes(bytes) => bytes.to_vec(),
            Data::Zeros { sectors } => vec![0; length(*sectors)],
            Data::Discarded { sectors } => {
                let mut free = vec![0; length(*sectors)];
                content::fill_free(self.sector * SECTOR as u64, &mut free);
                free
            }
        }
    }
}

pub(super) fn length(sectors: u64) -> usize {
    usize::try_from(sectors).unwrap_or_default() * SECTOR
}

/// A disk of a filled file system.
pub(super) struct Medium {
    /// The contents of the new file system.
    empty: Base,
    /// The writes since, in the order of submission.
    pub writes: Vec<Write>,
    /// The last write of each sector, by its place in the list.
    last: BTreeMap<u64, usize>,
    pub healthy: Base,
}

impl Medium {
    pub fn new((empty, trace): &(Base, Trace)) -> Self {
        let events = trace.events.iter();
        let writes: Vec<Write> = events
            .filter_map(|event| match event {
                TraceEvent::Write { sector, data, .. } => Some(Write {
                    sector: *sector,
                    data: data.clone(),
                }),
                _ => None,
            })
            .collect();
        let last = writes.iter().enumerate().flat_map(|(number, write)| {
            let sectors = write.sector..write.sector + write.data.sectors();
            sectors.map(move |sector| (sector, number))
        });
        let last = last.collect();
        let mut medium = Self {
            empty: empty.clone(),
            writes,
            last,
            healthy: empty.clone(),
        };
        medium.healthy = medium.without(None);
        medium
    }

    /// The contents if this write is lost.
    pub fn without(&self, lost: Option<usize>) -> Base {
        self.with_writes(|number| if Some(number) == lost { 0 } else { usize::MAX })
    }

    /// The contents if this write stops after this number of sectors.
    pub fn torn(&self, torn: usize, sectors: u64) -> Base {
        self.with_writes(|number| {
            if number == torn {
                length(sectors)
            } else {
                usize::MAX
            }
        })
    }

    /// The contents after this number of writes.
    pub fn after(&self, writes: usize) -> Base {
        self.with_writes(|number| if number < writes { usize::MAX } else { 0 })
    }

    /// The contents if each write has at most this number of bytes.
    fn with_writes(&self, most: impl Fn(usize) -> usize) -> Base {
        let mut contents = Contents::of(self.empty.clone());
        for (number, write) in self.writes.iter().enumerate() {
            let most = most(number);
            if most > 0 {
                let bytes = write.bytes();
                contents.put(write.sector, &bytes[..bytes.len().min(most)]);
            }
        }
        contents.snapshot()
    }

    pub fn contents(&self) -> Contents {
        Contents::of(self.healthy.clone())
    }

    /// The last write of a sector.
    pub fn last_write(&self, sector: u64) -> Option<usize> {
        self.last.get(&sector).copied()
    }

    pub fn sector(&self, sector: u64) -> [u8; SECTOR] {
        let mut bytes = [0; SECTOR];
        self.healthy.read(sector * SECTOR as u64, &mut bytes);
        bytes
    }

    /// Whether a sector has content of a file.
    pub fn is_data(&self, sector: u64) -> bool {
        content::is_written(&self.sector(sector))
    }

    /// The role of a sector; none if nothing ever wrote it, or if it is after the end of a file. Data
    /// are known by their content, other roles by the recipe: it knows a block by its place or by
    /// its beginning.
    pub fn role(&self, sector: u64, roles: Option<&Roles>) -> Option<BlockRole> {
        let bytes = self.sector(sector);
        let mut free = [0; SECTOR];
        content::fill_free(sector * SECTOR as u64, &mut free);
        let first = sector / BLOCK * BLOCK;
        let is_padding = bytes == [0; SECTOR] && self.is_data(first);
        if bytes == free || is_padding {
            return None;
        }
        if self.is_data(sector) {
            return Some(BlockRole::Data);
        }
        let block: Vec<u8> = (first..first + BLOCK)
            .flat_map(|sector| self.sector(sector))
            .collect();
        let known = |roles: &Roles| {
            let of_sector = roles(sector, &bytes);
            [of_sector, roles(first, &block)]
                .into_iter()
                .find(|role| !matches!(role, BlockRole::Data | BlockRole::Unknown))
        };
        Some(roles.and_then(known).unwrap_or(BlockRole::Unknown))
    }
}
