//! Writes an empty file system.

use crate::bytes::{index, put32};
use crate::geometry::{Geometry, GeometryError, MakeOptions, Version};
use crate::group::{self, Counts, ROOT};
use crate::{inode, superblock};
use std::io::{self, Seek, SeekFrom, Write};

/// End of the area that blkid and kernels search for other formats and for other superblock
/// locations. The last location is at 256 KiB.
const WIPED: u64 = (256 + 8) << 10;

/// Size of a write of zeros.
const ZEROS: usize = 1 << 20;

/// Reasons why no file system was made.
#[derive(Debug, thiserror::Error)]
pub enum MakeError {
    #[error(transparent)]
    Geometry(#[from] GeometryError),
    #[error("cannot write {what}: {source}")]
    Write {
        /// The part that was not written.
        what: String,
        source: io::Error,
    },
}

/// Writes an empty file system of this size. Returns its geometry. The old contents are lost.
/// Outside its own data, it zeroes only the area that probes search.
pub fn newfs<D: Write + Seek>(
    device: &mut D,
    bytes: u64,
    options: &MakeOptions,
) -> Result<Geometry, MakeError> {
    let geometry = Geometry::of(options, bytes)?;
    let mut disk = Disk {
        device,
        fragment: geometry.fragment,
    };
    let wiped = WIPED.min(geometry.size * geometry.fragment);
    disk.zeros(0, wiped, "the boot area")?;
    let mut counts = Counts::default();
    let summary_bytes = geometry.summary() * geometry.fragment;
    let mut summary = vec![0; index(summary_bytes)];
    for number in 0..geometry.groups {
        let of_group = write_group(&mut disk, &geometry, number, options.time)?;
        counts.add(of_group);
        for (place, count) in of_group.in_order().into_iter().enumerate() {
            put32(&mut summary, index(number * 16) + 4 * place, count);
        }
    }
    disk.put(geometry.data_at(), &summary, "the summary of the groups")?;
    write_root(&mut disk, &geometry, options.time)?;
    let block = superblock::fresh(&geometry, options, counts);
    for number in 0..geometry.groups {
        let at = geometry.base(number) + geometry.copy_at();
        disk.put(at, &block, "a copy of the superblock")?;
    }
    // The superblock is last, so that an interrupted run leaves no valid file system.
    let at = geometry.version.superblock_at();
    disk.put_at(at, &block, "the superblock")?;
    disk.device.flush().map_err(|source| MakeError::Write {
        what: "what was left to write".to_owned(),
        source,
    })?;
    Ok(geometry)
}

fn write_group<D: Write + Seek>(
    disk: &mut Disk<'_, D>,
    geometry: &Geometry,
    number: u64,
    time: u64,
) -> Result<Counts, MakeError> {
    let base = geometry.base(number);
    let (descriptor, counts) = group::fresh(geometry, number, time);
    let what = format!("the descriptor of group {number}");
    disk.put(base + geometry.descriptor_at(), &descriptor, &what)?;
    let inodes = group::written_inodes(geometry) * geometry.version.inode_bytes();
    let at = (base + geometry.inodes_at()) * geometry.fragment;
    disk.zeros(at, inodes, &format!("the inodes of group {number}"))?;
    Ok(counts)
}

fn write_root<D: Write + Seek>(
    disk: &mut Disk<'_, D>,
    geometry: &Geometry,
    time: u64,
) -> Result<(), MakeError> {
    let data_at = geometry.data_at() + geometry.summary();
    let mut data = vec![0; index(geometry.fragment)];
    let entries = inode::root_entries();
    data[..entries.len()].copy_from_slice(&entries);
    disk.put(data_at, &data, "the root directory")?;
    let size = geometry.version.inode_bytes();
    let mut table = vec![0; index(geometry.fragment)];
    // The root is inode 2, because 0 and 1 are not used. A fragment has at least two inodes.
    let place = ROOT % geometry.fragment_inodes();
    let fragment = geometry.inodes_at() + ROOT / geometry.fragment_inodes();
    let root = inode::root(geometry, data_at, time);
    table[index(place * size)..][..root.len()].copy_from_slice(&root);
    disk.put(fragment, &table, "the inode of the root directory")
}

/// The output device, addressed in fragments.
struct Disk<'a, D> {
    device: &'a mut D,
    fragment: u64,
}

impl<D: Write + Seek> Disk<'_, D> {
    fn put(&mut self, fragment: u64, bytes: &[u8], what: &str) -> Result<(), MakeError> {
        self.put_at(fragment * self.fragment, bytes, what)
    }

    fn put_at(&mut self, at: u64, bytes: &[u8], what: &str) -> Result<(), MakeError> {
        let written = self.device.seek(SeekFrom::Start(at));
        let written = written.and_then(|_| self.device.write_all(bytes));
        written.map_err(|source| MakeError::Write {
            what: format!("{what} (at byte {at})"),
            source,
        })
    }

    fn zeros(&mut self, from: u64, bytes: u64, what: &str) -> Result<(), MakeError> {
        let zeros = vec![0; ZEROS.min(index(bytes))];
        let mut done = 0;
        while done < bytes {
            let piece = index((bytes - done).min(zeros.len() as u64));
            self.put_at(from + done, &zeros[..piece], what)?;
            done += piece as u64;
        }
        Ok(())
    }
}

impl Geometry {
    /// Formats the geometry in one line.
    pub fn line(&self) -> String {
        let version = match self.version {
            Version::Ufs1 => 1,
            Version::Ufs2 => 2,
        };
        format!(
            "UFS{version}: {} bytes in blocks of {} and fragments of {}; {} groups of {} blocks with {} \
             inodes each",
            self.size * self.fragment,
            self.block,
            self.fragment,
            self.groups,
            self.group / self.parts(),
            self.group_inodes,
        )
    }
}
