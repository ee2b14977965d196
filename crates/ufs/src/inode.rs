//! On-disk format of inodes and directories.

use crate::bytes::{get16, get32, get64, index, put16, put32, put64};
use crate::geometry::{Geometry, SECTOR, Version};
use crate::group::ROOT;
use crate::superblock::{DIRECT, INDIRECT};

/// Mode bits of the file type.
pub(crate) const KIND: u64 = 0o170_000;
/// File type of a directory.
pub(crate) const DIRECTORY: u64 = 0o040_000;

/// Size of a directory block. No entry crosses its end.
pub(crate) const DIRECTORY_PIECE: u64 = 512;

/// Offsets of the inode's fields, bytes.
struct Places {
    size: usize,
    /// In units of 512 bytes.
    sectors: usize,
    /// Times of access, modification, change (and birth), in seconds.
    times: &'static [usize],
    pointers: usize,
    /// Extended attributes: block pointers and size.
    attributes: Option<usize>,
}

const OLD: Places = Places {
    size: 8,
    sectors: 104,
    times: &[16, 24, 32],
    pointers: 40,
    attributes: None,
};

const NEW: Places = Places {
    size: 16,
    sectors: 24,
    times: &[32, 40, 48, 56],
    pointers: 112,
    attributes: Some(96),
};

fn places(version: Version) -> &'static Places {
    match version {
        Version::Ufs1 => &OLD,
        Version::Ufs2 => &NEW,
    }
}

/// The fields of an inode that locate its data.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Inode {
    pub mode: u64,
    pub links: u64,
    pub size: u64,
    pub sectors: u64,
    /// Pointers to data blocks.
    pub direct: Vec<u64>,
    /// Pointers to single, double and triple indirect blocks.
    pub indirect: Vec<u64>,
    /// Pointers to blocks of extended attributes.
    pub attributes: Vec<u64>,
}

impl Inode {
    pub(crate) fn read(version: Version, bytes: &[u8]) -> Self {
        let places = places(version);
        let sectors = match version {
            Version::Ufs1 => get32(bytes, places.sectors),
            Version::Ufs2 => get64(bytes, places.sectors),
        };
        let pointers = &bytes[places.pointers..];
        let attributes = places
            .attributes
            .map(|at| vec![get64(bytes, at), get64(bytes, at + 8)])
            .unwrap_or_default();
        Self {
            mode: get16(bytes, 0),
            links: get16(bytes, 2),
            size: get64(bytes, places.size),
            sectors,
            direct: (0..DIRECT).map(|n| pointer(version, pointers, n)).collect(),
            indirect: (DIRECT..DIRECT + INDIRECT)
                .map(|n| pointer(version, pointers, n))
                .collect(),
            attributes,
        }
    }

    /// File type from the mode bits.
    pub(crate) fn kind(&self) -> u64 {
        self.mode & KIND
    }

    /// Whether the pointer fields contain pointers. A short symbolic link or a device number uses
    /// the fields itself and occupies no space.
    pub(crate) fn has_blocks(&self) -> bool {
        match self.kind() {
            0o040_000 | 0o100_000 => true,
            0o120_000 => self.sectors > 0,
            _ => false,
        }
    }
}

/// Pointer number `number` of an array.
pub(crate) fn pointer(version: Version, row: &[u8], number: u64) -> u64 {
    let at = index(number * version.pointer_bytes());
    match version {
        Version::Ufs1 => get32(row, at),
        Version::Ufs2 => get64(row, at),
    }
}

/// Root directory inode of an empty file system, with data in this fragment.
pub(crate) fn root(geometry: &Geometry, fragment: u64, time: u64) -> Vec<u8> {
    let version = geometry.version;
    let places = places(version);
    let mut bytes = vec![0; index(version.inode_bytes())];
    put16(&mut bytes, 0, DIRECTORY | 0o755);
    put16(&mut bytes, 2, 2);
    put64(&mut bytes, places.size, DIRECTORY_PIECE);
    let sectors = geometry.fragment / SECTOR;
    match version {
        Version::Ufs1 => {
            put32(&mut bytes, places.sectors, sectors);
            put32(&mut bytes, places.pointers, fragment);
            for at in places.times {
                put32(&mut bytes, *at, time);
            }
        }
        Version::Ufs2 => {
            put64(&mut bytes, places.sectors, sectors);
            put64(&mut bytes, places.pointers, fragment);
            for at in places.times {
                put64(&mut bytes, *at, time);
            }
        }
    }
    bytes
}

/// Data of the root directory: `.` and `..`, both itself.
pub(crate) fn root_entries() -> Vec<u8> {
    const OWN: u64 = 12;
    let mut piece = vec![0; index(DIRECTORY_PIECE)];
    let of_directory = 4;
    for (at, length, name) in [(0, OWN, "."), (OWN, DIRECTORY_PIECE - OWN, "..")] {
        let entry = &mut piece[index(at)..];
        put32(entry, 0, ROOT);
        put16(entry, 4, length);
        entry[6] = of_directory;
        entry[7] = u8::try_from(name.len()).unwrap_or_default();
        entry[8..8 + name.len()].copy_from_slice(name.as_bytes());
    }
    piece
}
