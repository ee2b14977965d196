//! ext2: the Linux file system without a journal. Today's kernels serve it by the ext4 driver, which
//! refuses it whatever a journal or delayed allocation would need.

use super::ext_family::{Ext, SHARED};
use fsdyno_model::{Bytes, Capabilities, Consistency};

/// ext2, as mkfs.ext2 makes it.
pub static EXT2: Ext = Ext {
    name: "ext2",
    title: "no journal: the oldest of the family, served by the ext4 driver on most kernels",
    capabilities: Capabilities {
        consistency: Consistency::None,
        // With blocks of 4 KiB (the kernel's filesystems/ext4).
        largest_file: Some(Bytes(2 << 40)),
        ..Capabilities::ALL
    },
    mkfs: "mkfs.ext2",
    options: SHARED,
    // Below it mke2fs finds no room for its own inodes.
    smallest: Bytes(128 << 10),
    extents: false,
};
