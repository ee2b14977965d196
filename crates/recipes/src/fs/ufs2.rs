//! UFS2, the fast file system of FreeBSD since 5.0, by Linux's driver: without soft updates, which
//! only BSD kernels have.

use super::berkeley::Berkeley;
use fsdyno_model::Bytes;

/// UFS2.
pub static UFS2: Berkeley = Berkeley {
    name: "ufs2",
    title: "UFS1 with 64-bit block numbers, inodes of 256 bytes written when first used",
    version: "2",
    form: "ufs2",
    smallest: Bytes(1 << 20),
};
