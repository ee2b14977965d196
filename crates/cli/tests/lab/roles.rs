//! The roles of the blocks of new file systems, in images of the real programs. Without mkfs, the
//! tests are skipped by name.

use crate::support::{Home, have};
use fsdyno_model::BlockRole;
use fsdyno_recipes::find;
use std::collections::BTreeMap;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::process::Command;

/// Bytes of a block.
const BLOCK: usize = 4096;

/// Counts the blocks of a new file system by role, of those that are not zero, and the role of
/// those at some places.
fn roles_of(
    filesystem: &str,
    mkfs: &[&str],
    at: &[u64],
) -> (BTreeMap<BlockRole, u64>, Vec<BlockRole>) {
    let home = Home::new();
    let image = home.path("image");
    let file = File::create_new(&image).unwrap();
    let size = 320 << 20;
    file.set_len(size).unwrap();
    let made = Command::new(mkfs[0])
        .args(&mkfs[1..])
        .arg(&image)
        .output()
        .unwrap();
    assert!(
        made.status.success(),
        "{}",
        String::from_utf8_lossy(&made.stderr)
    );
    let file = File::open(&image).unwrap();
    let mut read = |at: u64, into: &mut [u8]| file.read_exact_at(into, at).unwrap_or(());
    let roles = find(filesystem).unwrap().roles(&mut read).unwrap();
    let mut counts = BTreeMap::new();
    let mut block = [0; BLOCK];
    let mut role_at = |place: u64| {
        file.read_exact_at(&mut block, place).unwrap();
        let used = block.iter().any(|byte| *byte != 0);
        (used, roles(place / 512, &block))
    };
    for place in (0..size).step_by(BLOCK) {
        if let (true, role) = role_at(place) {
            *counts.entry(role).or_default() += 1;
        }
    }
    (counts, at.iter().map(|place| role_at(*place).1).collect())
}

#[test]
fn the_layout_of_the_ext_family_is_known() {
    let test = "the_layout_of_the_ext_family_is_known";
    if !have(&["mkfs.ext4", "mkfs.ext3"], test) {
        return;
    }
    for (filesystem, mkfs) in [("ext4", "mkfs.ext4"), ("ext3", "mkfs.ext3")] {
        let words = [mkfs, "-q", "-F", "-b", "4096", "-E", "lazy_itable_init=0"];
        let (counts, at) = roles_of(filesystem, &words, &[0, 4096]);
        assert_eq!(at, [BlockRole::Superblock, BlockRole::AllocationMap]);
        assert_eq!(counts[&BlockRole::Superblock], 1);
        // The journal has its superblock; both bitmaps of each of three groups are in use.
        assert!(counts[&BlockRole::Journal] >= 1, "{counts:?}");
        assert!(counts[&BlockRole::AllocationMap] >= 4, "{counts:?}");
        assert!(counts[&BlockRole::InodeTable] >= 1, "{counts:?}");
        // The root and lost+found.
        assert!(counts[&BlockRole::Directory] >= 2, "{counts:?}");
    }
}

#[test]
fn structures_of_xfs_are_recognised() {
    let test = "structures_of_xfs_are_recognised";
    if !have(&["mkfs.xfs"], test) {
        return;
    }
    let (counts, at) = roles_of("xfs", &["mkfs.xfs", "-q", "-f"], &[0]);
    assert_eq!(at, [BlockRole::Superblock]);
    // One of each allocation group.
    assert_eq!(counts[&BlockRole::Superblock], 4);
    assert!(counts[&BlockRole::Journal] >= 1, "{counts:?}");
    assert!(counts[&BlockRole::AllocationMap] >= 8, "{counts:?}");
    assert!(counts[&BlockRole::InodeTable] >= 1, "{counts:?}");
    assert_eq!(counts.get(&BlockRole::Data), None, "{counts:?}");
}

#[test]
fn trees_of_btrfs_are_recognised() {
    let test = "trees_of_btrfs_are_recognised";
    if !have(&["mkfs.btrfs"], test) {
        return;
    }
    let (counts, at) = roles_of("btrfs", &["mkfs.btrfs", "-q", "-f"], &[64 << 10, 64 << 20]);
    assert_eq!(at, [BlockRole::Superblock; 2]);
    for role in [
        BlockRole::Commit,
        BlockRole::AllocationMap,
        BlockRole::InodeTable,
    ] {
        assert!(counts[&role] >= 1, "{counts:?}");
    }
}
