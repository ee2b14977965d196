//! Checks the consistency of a file system. It counts the space of all files and compares the
//! result with the stored maps and sums. It repairs nothing.

mod books;
mod files;
mod names;

use crate::bytes::{bit, get32, get64, index, put32};
use crate::geometry::{Geometry, SUPERBLOCK_BYTES, SUPERBLOCK_ROOM, Version};
use crate::group::{self, Counts, Maps};
use crate::superblock;
use std::io::{self, Read, Seek, SeekFrom};

/// Maximum number of reported inconsistencies. The others are only counted.
const MAX_REPORTED: usize = 100;

/// Reasons why a check is impossible.
#[derive(Debug, thiserror::Error)]
pub enum CheckError {
    /// There is no superblock at its location.
    #[error(
        "no superblock of a little-endian UFS at byte 65536 or 8192: it was not made completely, or is of \
         another kind"
    )]
    NoSuperblock,
    /// The file system is larger than the device.
    #[error(
        "the superblock describes {described} bytes, but the device has {bytes}: it is cut off, or \
         the superblock is damaged"
    )]
    Truncated { described: u64, bytes: u64 },
    #[error("cannot read {what}: {source}")]
    Read {
        /// The part that was not read.
        what: String,
        source: io::Error,
    },
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verdict {
    pub geometry: Geometry,
    /// Whether the superblock has the clean flag.
    pub unmounted: bool,
    /// Number of files of all types except directories.
    pub files: u64,
    pub directories: u64,
    /// Free fragments, including those of free blocks.
    pub free: u64,
    /// Descriptions of the first hundred inconsistencies.
    pub contradictions: Vec<String>,
    pub total: u64,
}

impl Verdict {
    /// Whether the file system is consistent.
    pub fn clean(&self) -> bool {
        self.total == 0
    }

    fn report(&mut self, what: impl FnOnce() -> String) {
        if self.contradictions.len() < MAX_REPORTED {
            self.contradictions.push(what());
        }
        self.total += 1;
    }

    /// Reports two numbers that should be equal and are not.
    fn compare(&mut self, what: impl FnOnce() -> String, stored: u64, counted: u64) {
        if stored != counted {
            self.report(|| format!("{}: {stored} written, {counted} counted", what()));
        }
    }
}

/// Reads all metadata of a file system and checks it.
pub fn check<D: Read + Seek>(device: &mut D) -> Result<Verdict, CheckError> {
    let (superblock, geometry) = find_superblock(device)?;
    let described = geometry.size * geometry.fragment;
    // Memory is proportional to the size, so that the size of the device is the limit.
    let bytes = device
        .seek(SeekFrom::End(0))
        .map_err(|source| CheckError::Read {
            what: "the size of the device".to_owned(),
            source,
        })?;
    if described > bytes {
        return Err(CheckError::Truncated { described, bytes });
    }
    let mut disk = Disk {
        device,
        fragment: geometry.fragment,
    };
    let mut verdict = Verdict {
        unmounted: superblock[superblock::at::CLEAN] == superblock::CLEAN,
        files: 0,
        directories: 0,
        free: 0,
        contradictions: Vec::new(),
        total: 0,
        geometry: geometry.clone(),
    };
    check_places(&superblock, &geometry, &mut verdict);
    let mut claims = files::Claims::of_tables(&geometry);
    let groups = books::read_groups(&mut disk, &geometry, &mut verdict)?;
    let found = files::walk(&mut disk, &geometry, &groups, &mut claims, &mut verdict)?;
    names::check(&mut disk, &geometry, &found, &mut verdict)?;
    let directories = found.directories_by_group(&geometry);
    let sums = books::check(&geometry, &groups, &claims, &directories, &mut verdict);
    let summary = disk.get(
        geometry.data_at(),
        geometry.summary() * geometry.fragment,
        "the summary of the groups",
    )?;
    let mut counted = vec![0; summary.len()];
    for (number, counts) in sums.iter().enumerate() {
        for (place, count) in counts.in_order().into_iter().enumerate() {
            put32(&mut counted, number * 16 + 4 * place, count);
        }
    }
    for (number, (stored, right)) in summary.chunks(16).zip(counted.chunks(16)).enumerate() {
        if stored != right && number < sums.len() {
            verdict.report(|| format!("the summary of group {number} is not what was counted"));
        }
    }
    check_sums(&superblock, &sums, &mut verdict);
    check_copies(&mut disk, &geometry, &mut verdict)?;
    Ok(verdict)
}

fn find_superblock<D: Read + Seek>(device: &mut D) -> Result<(Vec<u8>, Geometry), CheckError> {
    for version in [Version::Ufs2, Version::Ufs1] {
        let mut disk = Disk {
            device,
            fragment: 1,
        };
        let at = version.superblock_at();
        let Ok(block) = disk.get(at, SUPERBLOCK_ROOM, "the superblock") else {
            // The device ends before the fragment.
            continue;
        };
        match superblock::geometry(&block) {
            Some(geometry) if geometry.version == version => return Ok((block, geometry)),
            _ => {}
        }
    }
    Err(CheckError::NoSuperblock)
}

/// Checks the superblock fields that the geometry determines.
fn check_places(block: &[u8], geometry: &Geometry, verdict: &mut Verdict) {
    use superblock::at;
    for (name, place, right) in [
        ("copies", at::COPY, geometry.copy_at()),
        ("descriptors", at::DESCRIPTOR, geometry.descriptor_at()),
        ("inodes", at::INODES, geometry.inodes_at()),
        ("data", at::DATA, geometry.data_at()),
        ("fragments of a block", at::PARTS, geometry.parts()),
        (
            "inodes of a block",
            at::BLOCK_INODES,
            geometry.block_inodes(),
        ),
    ] {
        let stored = get32(block, place);
        verdict.compare(|| format!("superblock, {name}"), stored, right);
    }
    let summary_at = match geometry.version {
        Version::Ufs1 => get32(block, at::OLD_SUMMARY_AT),
        Version::Ufs2 => get64(block, at::SUMMARY_AT),
    };
    let right = geometry.data_at();
    verdict.compare(
        || "superblock, place of the summary".to_owned(),
        summary_at,
        right,
    );
}

fn check_sums(block: &[u8], groups: &[Counts], verdict: &mut Verdict) {
    let mut all = Counts::default();
    for counts in groups {
        all.add(*counts);
    }
    let stored = superblock::counts(block).in_order();
    let names = [
        "directories",
        "free blocks",
        "free inodes",
        "free fragments of blocks in part free",
    ];
    for ((name, stored), counted) in names.into_iter().zip(stored).zip(all.in_order()) {
        verdict.compare(|| format!("superblock, {name}"), stored, counted);
    }
}

/// Checks each group's superblock copy, which replaces a lost first one.
fn check_copies<D: Read + Seek>(
    disk: &mut Disk<'_, D>,
    geometry: &Geometry,
    verdict: &mut Verdict,
) -> Result<(), CheckError> {
    for number in 0..geometry.groups {
        let at = geometry.base(number) + geometry.copy_at();
        let room = SUPERBLOCK_BYTES.next_multiple_of(geometry.fragment);
        let block = disk.get(at, room, "a copy of the superblock")?;
        if superblock::geometry(&block).as_ref() != Some(geometry) {
            verdict.report(|| format!("group {number} has no copy of the superblock"));
        }
    }
    Ok(())
}

/// The input device, addressed in fragments.
struct Disk<'a, D> {
    device: &'a mut D,
    fragment: u64,
}

impl<D: Read + Seek> Disk<'_, D> {
    fn get(&mut self, fragment: u64, bytes: u64, what: &str) -> Result<Vec<u8>, CheckError> {
        let mut got = vec![0; index(bytes)];
        let read = self
            .device
            .seek(SeekFrom::Start(fragment * self.fragment))
            .and_then(|_| self.device.read_exact(&mut got));
        read.map_err(|source| CheckError::Read {
            what: format!("{what} (at fragment {fragment})"),
            source,
        })?;
        Ok(got)
    }
}

/// A group as its descriptor defines it.
struct Group {
    block: Vec<u8>,
    /// Positions of its maps.
    maps: Maps,
}

impl Group {
    /// Number of initialized inodes. The others contain old data.
    fn written_inodes(&self, geometry: &Geometry) -> u64 {
        match geometry.version {
            Version::Ufs1 => geometry.group_inodes,
            Version::Ufs2 => {
                get32(&self.block, group::at::WRITTEN_INODES).min(geometry.group_inodes)
            }
        }
    }

    /// Whether the bitmap marks an inode as used.
    fn uses(&self, inode: u64) -> bool {
        bit(&self.block[index(self.maps.inodes)..], inode)
    }
}
