//! The superblock: the geometry and the sums of all groups.

use crate::bytes::{get32, get64, index, put32, put64};
use crate::geometry::{Geometry, MakeOptions, SECTOR, SUPERBLOCK_BYTES, SUPERBLOCK_ROOM, Version};
use crate::group::Counts;

/// Offsets of the superblock's fields, bytes.
pub(crate) mod at {
    pub(crate) const COPY: usize = 8;
    pub(crate) const DESCRIPTOR: usize = 12;
    pub(crate) const INODES: usize = 16;
    pub(crate) const DATA: usize = 20;
    pub(crate) const OLD_OFFSET: usize = 24;
    pub(crate) const OLD_MASK: usize = 28;
    pub(crate) const OLD_TIME: usize = 32;
    pub(crate) const OLD_SIZE: usize = 36;
    pub(crate) const OLD_FOR_DATA: usize = 40;
    pub(crate) const GROUPS: usize = 44;
    pub(crate) const BLOCK: usize = 48;
    pub(crate) const FRAGMENT: usize = 52;
    pub(crate) const PARTS: usize = 56;
    pub(crate) const MINFREE: usize = 60;
    pub(crate) const OLD_TURNS: usize = 68;
    pub(crate) const BLOCK_MASK: usize = 72;
    pub(crate) const FRAGMENT_MASK: usize = 76;
    pub(crate) const BLOCK_SHIFT: usize = 80;
    pub(crate) const FRAGMENT_SHIFT: usize = 84;
    pub(crate) const CLUSTER: usize = 88;
    pub(crate) const FILE_IN_GROUP: usize = 92;
    pub(crate) const PARTS_SHIFT: usize = 96;
    pub(crate) const SECTOR_SHIFT: usize = 100;
    pub(crate) const SUPERBLOCK: usize = 104;
    pub(crate) const POINTERS: usize = 116;
    pub(crate) const BLOCK_INODES: usize = 120;
    pub(crate) const OLD_SECTORS: usize = 124;
    pub(crate) const FOR_SPACE: usize = 128;
    pub(crate) const OLD_TRACK_ALL: usize = 132;
    pub(crate) const OLD_INTERLEAVE: usize = 136;
    pub(crate) const ID: usize = 144;
    pub(crate) const OLD_SUMMARY_AT: usize = 152;
    pub(crate) const SUMMARY_BYTES: usize = 156;
    pub(crate) const DESCRIPTOR_BYTES: usize = 160;
    pub(crate) const OLD_TRACK: usize = 168;
    pub(crate) const OLD_CYLINDER: usize = 172;
    pub(crate) const OLD_CYLINDERS: usize = 176;
    pub(crate) const OLD_GROUP_CYLINDERS: usize = 180;
    pub(crate) const GROUP_INODES: usize = 184;
    pub(crate) const GROUP: usize = 188;
    pub(crate) const OLD_COUNTS: usize = 192;
    pub(crate) const CLEAN: usize = 209;
    pub(crate) const OLD_FLAGS: usize = 211;
    pub(crate) const LABEL: usize = 680;
    pub(crate) const LARGEST_BLOCK: usize = 860;
    pub(crate) const PLACE: usize = 1000;
    pub(crate) const COUNTS: usize = 1008;
    pub(crate) const TIME: usize = 1072;
    pub(crate) const SIZE: usize = 1080;
    pub(crate) const FOR_DATA: usize = 1088;
    pub(crate) const SUMMARY_AT: usize = 1096;
    pub(crate) const FILE_SIZE: usize = 1196;
    pub(crate) const DIRECTORY_FILES: usize = 1200;
    pub(crate) const MAX_CLUSTER: usize = 1316;
    pub(crate) const SHORT_LINK: usize = 1320;
    pub(crate) const OLD_INODE_FORMAT: usize = 1324;
    pub(crate) const LARGEST_FILE: usize = 1328;
    pub(crate) const BLOCK_REST: usize = 1336;
    pub(crate) const FRAGMENT_REST: usize = 1344;
    pub(crate) const OLD_TABLE_FORMAT: usize = 1356;
    pub(crate) const OLD_POSITIONS: usize = 1360;
    pub(crate) const MAGIC: usize = 1372;
}

/// Direct block pointers of an inode.
pub(crate) const DIRECT: u64 = 12;
/// Indirect block pointers of an inode.
pub(crate) const INDIRECT: u64 = 3;
/// Flag: the flags are in the new field.
const FLAGS_MOVED: u8 = 0x80;
/// Flag: clean unmount.
pub(crate) const CLEAN: u8 = 1;

/// Creates the superblock of a new file system.
pub(crate) fn fresh(geometry: &Geometry, options: &MakeOptions, counts: Counts) -> Vec<u8> {
    let mut block = vec![0; index(SUPERBLOCK_ROOM)];
    put_places(&mut block, geometry);
    put_sizes(&mut block, geometry);
    put_policy(&mut block, geometry, options);
    put_counts(&mut block, counts);
    put32(&mut block, at::OLD_TIME, options.time);
    put64(&mut block, at::TIME, options.time);
    put32(&mut block, at::ID, options.time);
    put32(&mut block, at::ID + 4, u64::from(options.id));
    let label = options.label.as_bytes();
    block[at::LABEL..][..label.len()].copy_from_slice(label);
    block[at::CLEAN] = CLEAN;
    block[at::OLD_FLAGS] = FLAGS_MOVED;
    if geometry.version == Version::Ufs1 {
        put_ufs1_fields(&mut block, geometry);
    }
    put32(&mut block, at::MAGIC, geometry.version.magic());
    block
}

fn put_places(block: &mut [u8], geometry: &Geometry) {
    put32(block, at::COPY, geometry.copy_at());
    put32(block, at::DESCRIPTOR, geometry.descriptor_at());
    put32(block, at::INODES, geometry.inodes_at());
    put32(block, at::DATA, geometry.data_at());
    put32(block, at::GROUPS, geometry.groups);
    put32(block, at::GROUP, geometry.group);
    put32(block, at::GROUP_INODES, geometry.group_inodes);
    put32(block, at::DESCRIPTOR_BYTES, geometry.descriptor_bytes());
    let summary = geometry.summary() * geometry.fragment;
    put32(block, at::SUMMARY_BYTES, summary);
    put64(block, at::SUMMARY_AT, geometry.data_at());
    put64(block, at::SIZE, geometry.size);
    put64(block, at::FOR_DATA, geometry.for_data());
    put64(block, at::PLACE, geometry.version.superblock_at());
}

fn put_sizes(block: &mut [u8], geometry: &Geometry) {
    let shift = |size: u64| u64::from(size.trailing_zeros());
    let (whole, fragment) = (geometry.block, geometry.fragment);
    put32(block, at::BLOCK, whole);
    put32(block, at::FRAGMENT, fragment);
    put32(block, at::PARTS, geometry.parts());
    put32(block, at::BLOCK_MASK, !(whole - 1));
    put32(block, at::FRAGMENT_MASK, !(fragment - 1));
    put64(block, at::BLOCK_REST, whole - 1);
    put64(block, at::FRAGMENT_REST, fragment - 1);
    put32(block, at::BLOCK_SHIFT, shift(whole));
    put32(block, at::FRAGMENT_SHIFT, shift(fragment));
    put32(block, at::PARTS_SHIFT, shift(geometry.parts()));
    put32(block, at::SECTOR_SHIFT, shift(fragment / SECTOR));
    let superblock = SUPERBLOCK_BYTES.next_multiple_of(fragment);
    put32(block, at::SUPERBLOCK, superblock.min(SUPERBLOCK_ROOM));
    let pointers = whole / geometry.version.pointer_bytes();
    put32(block, at::POINTERS, pointers);
    put32(block, at::BLOCK_INODES, geometry.block_inodes());
    put32(block, at::LARGEST_BLOCK, whole);
    let short = (DIRECT + INDIRECT) * geometry.version.pointer_bytes();
    put32(block, at::SHORT_LINK, short);
    put64(block, at::LARGEST_FILE, largest_file(whole, pointers));
}

/// Maximum file size that an inode's pointers can address.
pub(crate) fn largest_file(block: u64, pointers: u64) -> u64 {
    let (mut reach, mut all) = (block, DIRECT * block);
    for _ in 0..INDIRECT {
        reach = reach.saturating_mul(pointers);
        all = all.saturating_add(reach);
    }
    all - 1
}

fn put_policy(block: &mut [u8], geometry: &Geometry, options: &MakeOptions) {
    put32(block, at::MINFREE, options.minfree);
    put32(block, at::FOR_SPACE, u64::from(options.for_space));
    put32(block, at::CLUSTER, geometry.cluster);
    put32(block, at::MAX_CLUSTER, geometry.cluster);
    // A file continues in another group after each indirect block.
    let in_group = geometry.block / geometry.version.pointer_bytes();
    put32(block, at::FILE_IN_GROUP, in_group);
    put32(block, at::FILE_SIZE, options.file_size);
    put32(block, at::DIRECTORY_FILES, options.directory_files);
}

/// Writes both the UFS1 and the UFS2 fields. Current kernels read the latter for both formats.
fn put_counts(block: &mut [u8], counts: Counts) {
    for (place, count) in counts.in_order().into_iter().enumerate() {
        put32(block, at::OLD_COUNTS + 4 * place, count);
        put64(block, at::COUNTS + 8 * place, count);
    }
}

/// Writes the UFS1 fields: 32-bit sizes, and a disk with cylinders as large as groups, one head and
/// one position. So no kernel optimizes for rotation.
fn put_ufs1_fields(block: &mut [u8], geometry: &Geometry) {
    let sectors = geometry.fragment / SECTOR;
    let cylinder = geometry.group * sectors;
    put32(block, at::OLD_MASK, u64::MAX);
    put32(block, at::OLD_OFFSET, 0);
    put32(block, at::OLD_SIZE, geometry.size);
    put32(block, at::OLD_FOR_DATA, geometry.for_data());
    put32(block, at::OLD_SUMMARY_AT, geometry.data_at());
    put32(block, at::OLD_TURNS, 60);
    put32(block, at::OLD_SECTORS, sectors);
    put32(block, at::OLD_TRACK_ALL, cylinder);
    put32(block, at::OLD_INTERLEAVE, 1);
    put32(block, at::OLD_TRACK, cylinder);
    put32(block, at::OLD_CYLINDER, cylinder);
    put32(block, at::OLD_CYLINDERS, geometry.groups);
    put32(block, at::OLD_GROUP_CYLINDERS, 1);
    // Inode format of 4.4BSD, with a file type in each directory entry.
    put32(block, at::OLD_INODE_FORMAT, 2);
    put32(block, at::OLD_TABLE_FORMAT, 1);
    put32(block, at::OLD_POSITIONS, 1);
}

/// Parses the geometry of a superblock. Returns none if it is invalid or has a zero divisor.
pub(crate) fn geometry(block: &[u8]) -> Option<Geometry> {
    let magic = get32(block, at::MAGIC);
    let version = [Version::Ufs1, Version::Ufs2]
        .into_iter()
        .find(|version| version.magic() == magic)?;
    let size = match version {
        Version::Ufs1 => get32(block, at::OLD_SIZE),
        Version::Ufs2 => get64(block, at::SIZE),
    };
    let geometry = Geometry {
        version,
        block: get32(block, at::BLOCK),
        fragment: get32(block, at::FRAGMENT),
        size,
        group: get32(block, at::GROUP),
        groups: get32(block, at::GROUPS),
        group_inodes: get32(block, at::GROUP_INODES),
        cluster: get32(block, at::MAX_CLUSTER),
    };
    let powers = geometry.block.is_power_of_two() && geometry.fragment.is_power_of_two();
    let sane = powers
        && (4096..=65_536).contains(&geometry.block)
        && geometry.fragment >= SECTOR
        && (1..=8).contains(&(geometry.block / geometry.fragment))
        && geometry.group > 0
        && geometry.cluster <= 16
        && geometry.group_inodes > 0
        && geometry
            .group_inodes
            .is_multiple_of(geometry.block_inodes())
        && geometry.groups == size.div_ceil(geometry.group)
        && size < 1 << 48
        && geometry.data_at() + geometry.summary() < geometry.group.min(size)
        && geometry.descriptor_bytes() <= geometry.block;
    sane.then_some(geometry)
}

/// The sums of all groups in the fields that current kernels read.
pub(crate) fn counts(block: &[u8]) -> Counts {
    let count = |place: usize| get64(block, at::COUNTS + 8 * place);
    Counts {
        directories: count(0),
        free_blocks: count(1),
        free_inodes: count(2),
        free_fragments: count(3),
    }
}
