//! UFS2, the fast file system of FreeBSD since 5.0, with Linux's driver. It has no soft updates:
//! only BSD kernels have them.

use super::Facts;
use super::berkeley::{Berkeley, TEMPLATE};
use fsdyno_model::step::OURSELVES;

pub static UFS2: Berkeley = Berkeley {
    facts: Facts {
        name: "ufs2",
        title: "UFS1 with 64-bit block numbers and 256-byte inodes, initialized on first use",
        mkfs: &[OURSELVES, "ufs", "make", "-O", "2"],
        ..TEMPLATE
    },
    form: "ufs2",
    newfs: &["-O", "2"],
};
