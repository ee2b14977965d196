//! What is written, by the offsets of the kernel's `struct bch_sb`, `struct bch_sb_layout` and
//! `struct bch_member` (`fs/bcachefs/bcachefs_format.h` of Linux 6.12).

use fsdyno_bcachefs::{Geometry, GeometryError, MakeOptions, make};
use std::io::Cursor;

const MIB: u64 = 1 << 20;

/// Offsets in a superblock.
const MAGIC: usize = 24;
const LABEL: usize = 72;
const OFFSET: usize = 104;
const BLOCK_SIZE: usize = 120;
const FLAGS: usize = 144;
const LAYOUT: usize = 240;
const FIELDS: usize = 752;

fn number(bytes: &[u8], at: usize, length: usize) -> u64 {
    let mut value = [0; 8];
    value[..length].copy_from_slice(&bytes[at..at + length]);
    u64::from_le_bytes(value)
}

/// New file systems on devices that were full of other bytes.
fn made(options: &MakeOptions, sizes: &[u64]) -> (Geometry, Vec<Vec<u8>>) {
    let geometry = Geometry::new(options, sizes).unwrap();
    let dirty = |bytes: &u64| Cursor::new(vec![0x5a; usize::try_from(*bytes).unwrap()]);
    let mut devices: Vec<_> = sizes.iter().map(dirty).collect();
    let mut next = 0;
    make(&mut devices, &geometry, options, || {
        next += 1;
        [next; 16]
    })
    .unwrap();
    (
        geometry,
        devices.into_iter().map(Cursor::into_inner).collect(),
    )
}

/// The superblocks of a device, at the places that its layout names.
fn superblocks(device: &[u8]) -> Vec<&[u8]> {
    let layout = &device[7 * 512..];
    let count = usize::try_from(number(layout, 18, 1)).unwrap();
    let places = (0..count).map(|n| number(layout, 24 + 8 * n, 8));
    places
        .map(|sector| &device[usize::try_from(sector).unwrap() * 512..])
        .collect()
}

#[test]
fn each_device_has_three_equal_superblocks_that_name_all_members() {
    let options = MakeOptions {
        label: "scratch".to_owned(),
        ..MakeOptions::default()
    };
    let (geometry, devices) = made(&options, &[64 * MIB, 96 * MIB]);
    assert_eq!((geometry.bucket, geometry.node), (128 << 10, 128 << 10));
    for (index, device) in devices.iter().enumerate() {
        let all = superblocks(device);
        assert_eq!(all.len(), 3);
        for block in all {
            let length = FIELDS + usize::try_from(number(block, 124, 4)).unwrap() * 8;
            let at = usize::try_from(number(block, OFFSET, 8)).unwrap() * 512;
            assert_eq!(block[..length], device[at..at + length]);
            assert_eq!(block[MAGIC..MAGIC + 4], [0xc6, 0x85, 0x73, 0xf6]);
            assert_eq!(&block[LABEL..LABEL + 8], b"scratch\0");
            assert_eq!(number(block, BLOCK_SIZE, 2), 8);
            assert_eq!(number(block, 122, 1), index as u64);
            assert_eq!(number(block, 123, 1), 2);
            assert_eq!(block[LAYOUT..FIELDS], device[7 * 512..8 * 512]);
            // The members of both versions: a header of 8 bytes, 56 bytes each; then 16, and 144.
            let [old, new] = [FIELDS, FIELDS + 8 + 2 * 56];
            assert_eq!(
                [number(block, old + 4, 4), number(block, new + 4, 4)],
                [1, 11]
            );
            for (member, size) in [64 * MIB, 96 * MIB].iter().enumerate() {
                let both = [old + 8 + 56 * member, new + 16 + 144 * member];
                for at in both {
                    assert_eq!(number(block, at + 16, 8), size / geometry.bucket);
                    assert_eq!(number(block, at + 26, 2), geometry.bucket / 512);
                }
            }
        }
        // No signature of another file system is left where probes search.
        let head = &device[..7 * 512];
        assert!(head.iter().all(|byte| *byte == 0) && device[64 << 10] == 0);
    }
}

#[test]
fn options_are_in_the_flags_of_the_superblock() {
    let flags = |options: &MakeOptions| {
        let (_, devices) = made(options, &[64 * MIB, 64 * MIB]);
        let block = superblocks(&devices[0])[0];
        [0, 1, 2, 3, 4, 5, 6].map(|word| number(block, FLAGS + 8 * word, 8))
    };
    // Those of `bcachefs format` of bcachefs-tools 1.13.0 for nodes of 128 KiB.
    let plain = flags(&MakeOptions::default());
    assert_eq!(
        plain,
        [
            0x8111_1100_8010_0100,
            0x0111_c102,
            0,
            0xfa_3000_0000,
            0x1_0000_0064,
            0x1e_0000,
            0
        ]
    );
    let chosen = flags(&MakeOptions {
        data_replicas: 2,
        data_checksum: "none".parse().unwrap(),
        metadata_checksum: "xxhash".parse().unwrap(),
        compression: "zstd:3".parse().unwrap(),
        background_compression: "lz4".parse().unwrap(),
        ..MakeOptions::default()
    });
    let changed = [0, 1, 2, 3, 4, 5, 6].map(|word| chosen[word] ^ plain[word]);
    let replicas = 0b11 << 52;
    let checksums = 0b10 << 40 | 0b1 << 44;
    assert_eq!(changed, [replicas | checksums, 3 << 4, 1, 0, 3 << 56, 0, 0]);
}

#[test]
fn nodes_and_buckets_grow_with_the_device() {
    for (bytes, bucket, node) in [
        (32 * MIB, 128 << 10, 128 << 10),
        (20 << 30, 256 << 10, 256 << 10),
        (1 << 40, 512 << 10, 256 << 10),
        (1 << 49, 512 << 10, 256 << 10),
    ] {
        let geometry = Geometry::new(&MakeOptions::default(), &[bytes]).unwrap();
        assert_eq!((geometry.bucket, geometry.node), (bucket, node), "{bytes}");
    }
}

#[test]
fn impossible_file_systems_are_refused() {
    let default = MakeOptions::default();
    let with = |change: fn(&mut MakeOptions)| {
        let mut options = MakeOptions::default();
        change(&mut options);
        options
    };
    for (options, devices, expected) in [
        (default.clone(), vec![8 * MIB], "device 1 has 8388608 bytes"),
        (default.clone(), vec![], "0 devices"),
        (default, vec![1 << 50], "more than the format counts"),
        (
            with(|o| o.block = 8192),
            vec![MIB << 10],
            "8192 bytes; possible: 512",
        ),
        (
            with(|o| o.data_replicas = 2),
            vec![MIB << 10],
            "2 replicas on 1 devices",
        ),
        (
            with(|o| o.metadata_replicas = 0),
            vec![MIB << 10],
            "0 replicas",
        ),
        (
            with(|o| o.label = "x".repeat(33)),
            vec![MIB << 10],
            "label of 33 bytes",
        ),
    ] {
        let refused: GeometryError = Geometry::new(&options, &devices).unwrap_err();
        assert!(refused.to_string().contains(expected), "{refused}");
    }
}

#[test]
fn unknown_checksums_and_compressions_name_the_possible_ones() {
    use fsdyno_bcachefs::{Checksum, Compression};
    let refused = "crc33".parse::<Checksum>().unwrap_err().to_string();
    assert!(refused.contains("crc32c"), "{refused}");
    for name in ["lz5", "lz4:1", "zstd:0", "zstd:16", "zstd:x"] {
        let refused = name.parse::<Compression>().unwrap_err().to_string();
        assert!(
            refused.contains(name) && refused.contains("1 to 15"),
            "{refused}"
        );
    }
}
