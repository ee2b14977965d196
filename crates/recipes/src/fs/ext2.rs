//! ext2: the Linux file system without a journal. Current kernels mount it with the ext4 driver,
//! which rejects options that need a journal or delayed allocation.

use super::Facts;
use super::ext_family::{Ext, SHARED, TEMPLATE};
use fsdyno_model::{Bytes, Capabilities, Consistency};

/// ext2 with the defaults of mkfs.ext2.
pub static EXT2: Ext = Ext(Facts {
    name: "ext2",
    title: "first of the ext family, no journal; by the ext4 driver on most kernels",
    capabilities: Capabilities {
        consistency: Consistency::None,
        // With blocks of 4 KiB (the kernel's filesystems/ext4).
        largest_file: Some(Bytes(2 << 40)),
        ..Capabilities::ALL
    },
    mkfs: &["mkfs.ext2"],
    options: SHARED,
    // On smaller devices mke2fs has no space for its own inodes.
    smallest: Bytes(128 << 10),
    // As with `fsck.repair=yes`. Preening (`-p`) stops at blocks that two files claim, which a power
    // cut often causes, and waits for an administrator.
    check_at_boot: Some((&["e2fsck", "-y"], &[0, 1])),
    ..TEMPLATE
});
