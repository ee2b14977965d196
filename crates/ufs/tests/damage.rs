//! The check detects damage: each case changes one byte of a consistent file system.

mod support;

use fsdyno_ufs::{Geometry, MakeOptions, Version, check, newfs};
use std::io::{Seek, SeekFrom, Write};
use support::Disk;

const BYTES: u64 = 32 << 20;

fn sound(version: Version) -> (Disk, Geometry) {
    let mut disk = Disk::new(BYTES, 0);
    let geometry = newfs(&mut disk, BYTES, &MakeOptions::new(version)).unwrap();
    (disk, geometry)
}

fn flip(disk: &mut Disk, at: u64, bits: u8) {
    let byte = disk.get(at, 1)[0];
    disk.seek(SeekFrom::Start(at)).unwrap();
    disk.write_all(&[byte ^ bits]).unwrap();
}

/// Offsets of relevant bytes with the expected message of the check.
fn places(disk: &mut Disk, geometry: &Geometry) -> Vec<(&'static str, u64, &'static str)> {
    let last = geometry.groups - 1;
    let at = |fragment: u64| fragment * geometry.fragment;
    let group = at(geometry.base(last) + geometry.descriptor_at());
    let first = at(geometry.descriptor_at());
    let (inodes, free) = (disk.get32(group + 92), disk.get32(group + 96));
    let (runs, clusters) = (disk.get32(group + 104), disk.get32(group + 108));
    let (inode_bytes, links, super_at) = match geometry.version {
        Version::Ufs1 => (128, 2, 8192),
        Version::Ufs2 => (256, 2, 65_536),
    };
    let root = at(geometry.inodes_at()) + 2 * inode_bytes;
    let entries = at(geometry.data_at() + geometry.summary());
    vec![
        ("magic of a group", group + 4, "magic number"),
        ("number of a group", group + 12, "number"),
        ("fragments of a group", group + 20, "fragments"),
        ("directories", group + 24, "directories"),
        ("free blocks", group + 28, "free blocks"),
        ("free inodes", group + 32, "free inodes"),
        ("free fragments", group + 36, "free fragments"),
        ("runs of three", group + 52 + 12, "runs of 3 free fragments"),
        ("an inode in use", group + inodes + 1, "inode"),
        ("a root that is free", first + inodes, "marked as free"),
        ("a free fragment", group + free, "nothing holds it"),
        ("a table that is free", first + free, "marked as free"),
        ("runs of blocks", group + runs + 4, "runs of 1 free blocks"),
        (
            "free blocks in a map",
            group + clusters,
            "not that of fragments",
        ),
        (
            "summary",
            at(geometry.data_at()) + 16 * last,
            "summary of group",
        ),
        ("sums of blocks", super_at + 1016, "superblock, free blocks"),
        ("sums of inodes", super_at + 1024, "superblock, free inodes"),
        ("place of data", super_at + 20, "superblock, data"),
        ("mode of the root", root + 1, "superblock, directories"),
        ("links of the root", root + links, "names"),
        ("itself", entries, "`.` is another"),
        ("its parent", entries + 12, "`..`"),
        ("length of an entry", entries + 4, "torn"),
        ("a name", entries + 8, "impossible name"),
        (
            "a copy",
            at(geometry.base(last) + geometry.copy_at()) + 1372,
            "no copy of the superblock",
        ),
    ]
}

#[test]
fn every_kind_of_damage_is_detected_and_named() {
    for version in [Version::Ufs1, Version::Ufs2] {
        let (mut disk, geometry) = sound(version);
        assert!(geometry.groups > 1);
        for (what, at, words) in places(&mut disk, &geometry) {
            let mut damaged = disk.clone();
            let bits = match what {
                // A dot becomes a slash.
                "a name" => 0b1,
                // A directory becomes a socket.
                "mode of the root" => 0x80,
                _ => 0b100,
            };
            flip(&mut damaged, at, bits);
            let verdict = check(&mut damaged).unwrap();
            let messages = verdict.contradictions.join("\n");
            assert!(
                !verdict.clean() && messages.contains(words),
                "{what}: {messages}"
            );
        }
        assert!(check(&mut disk).unwrap().clean());
    }
}

#[test]
fn dirty_and_foreign_devices_are_distinguished() {
    let (mut disk, _) = sound(Version::Ufs2);
    flip(&mut disk, 65_536 + 209, 1);
    let verdict = check(&mut disk).unwrap();
    assert!(verdict.clean() && !verdict.unmounted);
    flip(&mut disk, 65_536 + 1372, 1);
    let refused = check(&mut disk).unwrap_err().to_string();
    assert!(refused.contains("no superblock"), "{refused}");
    let none = check(&mut Disk::new(1000, 0)).unwrap_err().to_string();
    assert!(none.contains("no superblock"), "{none}");
}

#[test]
fn a_size_beyond_the_device_is_rejected_before_allocation() {
    let (mut disk, geometry) = sound(Version::Ufs2);
    // 2^47 fragments in groups of 2^31.
    for (at, bytes) in [
        (1080, &(1_u64 << 47).to_le_bytes()[..]),
        (188, &(1_u32 << 31).to_le_bytes()),
        (44, &(1_u32 << 16).to_le_bytes()),
    ] {
        disk.seek(SeekFrom::Start(65_536 + at)).unwrap();
        disk.write_all(bytes).unwrap();
    }
    let refused = check(&mut disk);
    assert!(refused.is_err(), "{refused:?}");
    let (mut disk, _) = sound(Version::Ufs2);
    disk.bytes = geometry.size * geometry.fragment - 1;
    let refused = check(&mut disk).unwrap_err().to_string();
    assert!(refused.contains("cut off"), "{refused}");
}
