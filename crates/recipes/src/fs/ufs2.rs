//! UFS2, the fast file system of FreeBSD since 5.0, with Linux's driver. It has no soft updates:
//! only BSD kernels have them.

use super::berkeley::Berkeley;
use fsdyno_model::Bytes;

/// UFS2.
pub static UFS2: Berkeley = Berkeley {
    name: "ufs2",
    title: "UFS1 with 64-bit block numbers and 256-byte inodes, initialized on first use",
    version: "2",
    form: "ufs2",
    smallest: Bytes(1 << 20),
};
