//! UFS1, the fast file system of 4.2BSD in the version of 4.4BSD, with Linux's driver. `dirsync` is
//! the nearest equivalent of the BSD default ("noasync": asynchronous data, synchronous metadata)
//! in driver versions that implement it.

use super::Facts;
use super::berkeley::{Berkeley, TEMPLATE};
use fsdyno_model::step::OURSELVES;

pub static UFS1: Berkeley = Berkeley {
    facts: Facts {
        name: "ufs1",
        title: "BSD fast file system: cylinder groups, blocks and fragments, no journal",
        mkfs: &[OURSELVES, "ufs", "make", "-O", "1"],
        ..TEMPLATE
    },
    form: "44bsd",
    newfs: &["-O", "1"],
};
