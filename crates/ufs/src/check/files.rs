//! Finds the used inodes and the fragments that their data and pointers occupy.

use super::{CheckError, Disk, Group, Verdict};
use crate::bytes::{bit, index, set_bit};
use crate::geometry::{Geometry, SECTOR};
use crate::group::RESERVED_INODES;
use crate::inode::{DIRECTORY, Inode, pointer};
use crate::superblock::DIRECT;
use std::collections::BTreeMap;
use std::io::{Read, Seek};

/// Bitmap of occupied fragments.
pub(super) struct Claims {
    held: Vec<u8>,
    size: u64,
}

impl Claims {
    /// Fragments of the tables of all groups.
    pub(super) fn of_tables(geometry: &Geometry) -> Self {
        let mut claims = Self {
            held: vec![0; index(geometry.size.div_ceil(8))],
            size: geometry.size,
        };
        for number in 0..geometry.groups {
            let base = geometry.base(number);
            let tables = match number {
                0 => 0..geometry.data_at() + geometry.summary(),
                _ => geometry.copy_at()..geometry.data_at(),
            };
            for fragment in tables {
                set_bit(&mut claims.held, base + fragment);
            }
        }
        claims
    }

    pub(super) fn has(&self, fragment: u64) -> bool {
        bit(&self.held, fragment)
    }

    /// Claims fragments for an inode. Reports fragments that are already claimed or invalid.
    fn take(&mut self, inode: u64, first: u64, count: u64, verdict: &mut Verdict) -> bool {
        if first.checked_add(count).is_none_or(|end| end > self.size) {
            verdict.report(|| {
                format!("inode {inode}: fragment {first} is beyond the end of the file system")
            });
            return false;
        }
        for fragment in first..first + count {
            if self.has(fragment) {
                verdict
                    .report(|| format!("inode {inode}: fragment {fragment} is held by others too"));
            }
            set_bit(&mut self.held, fragment);
        }
        true
    }
}

/// Used inodes by number.
#[derive(Default)]
pub(super) struct Found {
    pub(super) inodes: BTreeMap<u64, Inode>,
    /// Fragments of directories by block, in file order: first fragment and count.
    pub(super) directories: BTreeMap<u64, Vec<(u64, u64)>>,
}

impl Found {
    pub(super) fn directories_by_group(&self, geometry: &Geometry) -> Vec<u64> {
        let mut counts = vec![0; index(geometry.groups)];
        for inode in self.directories.keys() {
            counts[index(inode / geometry.group_inodes)] += 1;
        }
        counts
    }
}

/// Reads all used inodes and claims their fragments.
pub(super) fn walk<D: Read + Seek>(
    disk: &mut Disk<'_, D>,
    geometry: &Geometry,
    groups: &[Group],
    claims: &mut Claims,
    verdict: &mut Verdict,
) -> Result<Found, CheckError> {
    let mut found = Found::default();
    let size = geometry.version.inode_bytes();
    for (number, group) in (0..).zip(groups) {
        let written = group.written_inodes(geometry);
        let at = geometry.base(number) + geometry.inodes_at();
        let what = format!("the inodes of group {number}");
        let table = disk.get(
            at,
            (written * size).next_multiple_of(geometry.fragment),
            &what,
        )?;
        for place in 0..geometry.group_inodes {
            let ino = number * geometry.group_inodes + place;
            if place >= written {
                if group.uses(place) {
                    verdict.report(|| format!("inode {ino} is in use, and was never written"));
                }
                continue;
            }
            let inode = Inode::read(geometry.version, &table[index(place * size)..]);
            match (group.uses(place), inode.mode) {
                (true, _) if ino < RESERVED_INODES => {}
                (true, 0) => verdict.report(|| format!("inode {ino} is marked as used, and empty")),
                (true, _) => {
                    let mut walk = Walk {
                        disk,
                        geometry,
                        claims,
                        verdict,
                        ino,
                        held: 0,
                        data: Vec::new(),
                    };
                    walk.file(&inode)?;
                    if inode.kind() == DIRECTORY {
                        found.directories.insert(ino, walk.data);
                        verdict.directories += 1;
                    } else {
                        verdict.files += 1;
                    }
                    found.inodes.insert(ino, inode);
                }
                (false, 0) => {}
                (false, _) => {
                    verdict.report(|| format!("inode {ino} is a file, and marked as free"));
                }
            }
        }
    }
    Ok(found)
}

/// State of the walk over the blocks of one file.
struct Walk<'a, 'd, D> {
    disk: &'a mut Disk<'d, D>,
    geometry: &'a Geometry,
    claims: &'a mut Claims,
    verdict: &'a mut Verdict,
    ino: u64,
    /// Fragments of the file.
    held: u64,
    /// Fragments of a directory by block.
    data: Vec<(u64, u64)>,
}

impl<D: Read + Seek> Walk<'_, '_, D> {
    fn file(&mut self, inode: &Inode) -> Result<(), CheckError> {
        let ino = self.ino;
        if !matches!(inode.kind() >> 12, 1 | 2 | 4 | 6 | 8 | 10 | 12) {
            let mode = inode.mode;
            self.verdict
                .report(|| format!("inode {ino}: no file has the mode {mode:o}"));
            return Ok(());
        }
        if inode.has_blocks() {
            self.blocks(inode)?;
        }
        let sectors = self.held * (self.geometry.fragment / SECTOR);
        self.verdict.compare(
            || format!("inode {ino}, sectors held"),
            inode.sectors,
            sectors,
        );
        Ok(())
    }

    fn blocks(&mut self, inode: &Inode) -> Result<(), CheckError> {
        let block = self.geometry.block;
        let last = inode.size.div_ceil(block);
        let directory = inode.kind() == DIRECTORY;
        for (number, first) in (0..DIRECT).zip(&inode.direct) {
            if *first == 0 {
                continue;
            }
            // Only the last block of a file without indirect blocks may be a partial block.
            let parts = if number + 1 == last && last <= DIRECT {
                let rest = inode.size - number * block;
                rest.div_ceil(self.geometry.fragment)
            } else {
                self.geometry.parts()
            };
            if number >= last {
                let ino = self.ino;
                self.verdict
                    .report(|| format!("inode {ino}: block {number} is beyond its end"));
            }
            self.take_data(*first, parts, directory);
        }
        let mut from = DIRECT;
        for (depth, first) in (1_u32..).zip(&inode.indirect) {
            let pointers = block / self.geometry.version.pointer_bytes();
            self.pointers(*first, depth, from, last, directory)?;
            from = from.saturating_add(pointers.saturating_pow(depth));
        }
        for first in inode.attributes.iter().filter(|first| **first != 0) {
            let ino = self.ino;
            self.verdict.report(|| {
                format!("inode {ino} has attributes (at fragment {first}), which are not read")
            });
        }
        Ok(())
    }

    fn take_data(&mut self, first: u64, parts: u64, directory: bool) {
        if self.claims.take(self.ino, first, parts, self.verdict) && directory {
            self.data.push((first, parts));
        }
        self.held += parts;
    }

    /// Reads an indirect block. Its pointers lead to indirect blocks, or to data from block `from`
    /// of the file on.
    fn pointers(
        &mut self,
        first: u64,
        depth: u32,
        from: u64,
        last: u64,
        directory: bool,
    ) -> Result<(), CheckError> {
        let (ino, parts) = (self.ino, self.geometry.parts());
        if first == 0 {
            return Ok(());
        }
        if from >= last {
            self.verdict.report(|| {
                format!("inode {ino}: pointers to block {from} and further are beyond its end")
            });
        }
        self.held += parts;
        if !self.claims.take(ino, first, parts, self.verdict) {
            return Ok(());
        }
        let what = format!("pointers of inode {ino}");
        let row = self.disk.get(first, self.geometry.block, &what)?;
        let count = self.geometry.block / self.geometry.version.pointer_bytes();
        let reach = count.saturating_pow(depth - 1);
        for number in 0..count {
            let below = pointer(self.geometry.version, &row, number);
            let block = from.saturating_add(number.saturating_mul(reach));
            if depth > 1 {
                self.pointers(below, depth - 1, block, last, directory)?;
            } else if below != 0 {
                if block >= last {
                    self.verdict
                        .report(|| format!("inode {ino}: block {block} is beyond its end"));
                }
                self.take_data(below, parts, directory);
            }
        }
        Ok(())
    }
}
