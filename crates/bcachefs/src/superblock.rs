//! The bytes of a superblock (`struct bch_sb`) and of its layout (`struct bch_sb_layout`).

use crate::geometry::{Geometry, SECTOR, SUPERBLOCK_SECTORS};
use crate::options::MakeOptions;

/// `BCHFS_MAGIC`.
const MAGIC: [u8; 16] = [
    0xc6, 0x85, 0x73, 0xf6, 0x66, 0xce, 0x90, 0xa9, 0xd9, 0x6a, 0x60, 0xcf, 0x80, 0x3d, 0xf7, 0xef,
];
/// `bcachefs_metadata_version_inode_has_child_snapshots`: 1.13.
const VERSION: u64 = (1 << 10) + 13;
/// `BCH_SB_FIELD_members_v1` and `BCH_SB_FIELD_members_v2`.
const MEMBERS_V1: u64 = 1;
const MEMBERS_V2: u64 = 11;
/// Bytes of a member in either field.
const MEMBER_V1_BYTES: usize = 56;
const MEMBER_BYTES: usize = 144;
/// `BCH_SB_FEATURES_ALL`: `new_siphash`, `new_extent_overwrite`, `btree_ptr_v2`,
/// `extents_above_btree_updates`, `btree_updates_journalled`, `new_varint`, `journal_no_flush`,
/// `alloc_v2`, `extents_across_btree_nodes`.
const FEATURES: [u32; 9] = [7, 9, 11, 12, 13, 15, 16, 17, 18];
/// Places of superblocks in a layout.
const LAYOUT_PLACES: usize = 61;

/// The identities of a file system.
pub struct Ids {
    pub internal: [u8; 16],
    /// The one that a user sees.
    pub user: [u8; 16],
    pub members: Vec<[u8; 16]>,
}

/// Appends the low bytes of numbers, little-endian.
#[derive(Default)]
struct Bytes(Vec<u8>);

impl Bytes {
    fn number(&mut self, value: u64, bytes: usize) -> &mut Self {
        self.0.extend_from_slice(&value.to_le_bytes()[..bytes]);
        self
    }

    fn raw(&mut self, bytes: &[u8]) -> &mut Self {
        self.0.extend_from_slice(bytes);
        self
    }

    fn zeros(&mut self, bytes: usize) -> &mut Self {
        self.0.resize(self.0.len() + bytes, 0);
        self
    }
}

/// The places of the superblocks of a device.
pub fn layout(geometry: &Geometry, device: usize) -> Vec<u8> {
    let places = geometry.superblocks(device);
    let mut bytes = Bytes::default();
    bytes
        .raw(&MAGIC)
        .number(0, 1)
        .number(SUPERBLOCK_SECTORS.ilog2().into(), 1)
        .number(places.len() as u64, 1)
        .zeros(5);
    for place in places {
        bytes.number(place, 8);
    }
    bytes.zeros((LAYOUT_PLACES - places.len()) * 8);
    bytes.0
}

/// The superblock of a device that is written at this sector.
pub fn superblock(
    geometry: &Geometry,
    options: &MakeOptions,
    ids: &Ids,
    device: usize,
    sector: u64,
) -> Vec<u8> {
    let fields = fields(geometry, ids);
    let mut bytes = Bytes::default();
    // No checksum type is set, so the kernel compares no checksum.
    bytes
        .zeros(16)
        .number(VERSION, 2)
        .number(VERSION, 2)
        .zeros(4);
    bytes.raw(&MAGIC).raw(&ids.internal).raw(&ids.user);
    bytes
        .raw(options.label.as_bytes())
        .zeros(32 - options.label.len());
    // The sequence number of the first superblock.
    bytes.number(sector, 8).number(1, 8);
    bytes
        .number(geometry.block / SECTOR, 2)
        .number(device as u64, 1)
        .number(geometry.devices.len() as u64, 1)
        .number(fields.len() as u64 / 8, 4);
    // Times count nanoseconds since 1970.
    bytes.number(0, 8).number(0, 4).number(1, 4);
    for word in flags(geometry, options) {
        bytes.number(word, 8);
    }
    let features = FEATURES.iter().fold(0, |all, feature| all | 1 << feature);
    bytes.number(0, 8).number(features, 8).zeros(8).zeros(16);
    bytes.raw(&layout(geometry, device)).raw(&fields);
    bytes.0
}

/// The words `flags`: the options. The comments name the fields (`BCH_SB_...`).
fn flags(geometry: &Geometry, options: &MakeOptions) -> [u64; 7] {
    let compression = options.compression;
    let background = options.background_compression;
    [
        // ERROR_ACTION: fix_safe
        1 << 8
            // BTREE_NODE_SIZE
            | (geometry.node / SECTOR) << 12
            // GC_RESERVE: 8 %
            | 8 << 28
            // META_CSUM_TYPE, DATA_CSUM_TYPE
            | (options.metadata_checksum as u64) << 40
            | (options.data_checksum as u64) << 44
            // META_REPLICAS_WANT, DATA_REPLICAS_WANT
            | u64::from(options.metadata_replicas) << 48
            | u64::from(options.data_replicas) << 52
            // POSIX_ACL, PROMOTE_WHOLE_EXTENTS
            | 1 << 56
            | 1 << 63,
        // STR_HASH_TYPE: siphash
        2
            // COMPRESSION_TYPE_LO
            | compression.kind << 4
            // INODE_32BIT
            | 1 << 8
            // ENCODED_EXTENT_MAX_BITS: 2^7 sectors
            | 7 << 14
            // META_REPLICAS_REQ, DATA_REPLICAS_REQ
            | 1 << 20
            | 1 << 24,
        // BACKGROUND_COMPRESSION_TYPE_LO
        background.kind,
        // SHARD_INUMS, INODES_USE_KEY_CACHE
        1 << 28
            | 1 << 29
            // JOURNAL_FLUSH_DELAY: 1000 ms
            | 1000 << 30,
        // JOURNAL_RECLAIM_DELAY: 100 ms
        0x64
            // JOURNAL_TRANSACTION_NAMES
            | 1 << 32
            // COMPRESSION_TYPE_HI, BACKGROUND_COMPRESSION_TYPE_HI
            | compression.level << 56
            | background.level << 60,
        // ALLOCATOR_STUCK_TIMEOUT: 30 s
        30 << 16,
        0,
    ]
}

/// The fields after the superblock: the members in both of their versions.
fn fields(geometry: &Geometry, ids: &Ids) -> Vec<u8> {
    let members: Vec<Vec<u8>> = geometry
        .devices
        .iter()
        .zip(&ids.members)
        .map(|(bytes, id)| member(geometry, *bytes, id))
        .collect();
    let mut old = Bytes::default();
    let mut new = Bytes::default();
    new.number(MEMBER_BYTES as u64, 2).zeros(6);
    for member in &members {
        old.raw(&member[..MEMBER_V1_BYTES]);
        new.raw(member);
    }
    let mut fields = Bytes::default();
    for (kind, content) in [(MEMBERS_V1, old.0), (MEMBERS_V2, new.0)] {
        // The length counts its own eight bytes.
        let words = content.len() as u64 / 8 + 1;
        fields.number(words, 4).number(kind, 4).raw(&content);
    }
    fields.0
}

/// A device (`struct bch_member`).
fn member(geometry: &Geometry, device: u64, id: &[u8; 16]) -> Vec<u8> {
    let flags =
        // DISCARD
        1 << 14
        // DATA_ALLOWED: journal, btree, user
        | 0b11100 << 15
        // DURABILITY: one copy, plus one
        | 2 << 28;
    let mut bytes = Bytes::default();
    bytes.raw(id).number(device / geometry.bucket, 8);
    bytes
        .number(0, 2)
        .number(geometry.bucket / SECTOR, 2)
        .zeros(4);
    bytes.number(0, 8).number(flags, 8);
    bytes.0.resize(MEMBER_BYTES, 0);
    bytes.0
}
