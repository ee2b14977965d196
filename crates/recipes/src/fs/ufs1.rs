//! UFS1, the fast file system of 4.2BSD in the version of 4.4BSD, with Linux's driver. `dirsync` is
//! the nearest equivalent of the BSD default ("noasync": asynchronous data, synchronous metadata)
//! in driver versions that implement it.

use super::berkeley::Berkeley;
use fsdyno_model::Bytes;

/// UFS1.
pub static UFS1: Berkeley = Berkeley {
    name: "ufs1",
    title: "BSD fast file system: cylinder groups, blocks and fragments, no journal",
    version: "1",
    form: "44bsd",
    smallest: Bytes(1 << 20),
};
