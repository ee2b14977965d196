//! The Berkeley fast file system, as UFS1 and UFS2 lay it on a disk (little-endian, as on x86):
//! [`newfs`] makes an empty one on anything that can be written at an offset, and [`check`] reads one
//! and tells what in it contradicts itself. Nothing is opened, mounted or repaired here, and no clock
//! is read.
//!
//! The layout is that of `McKusick`, Joy, Leffler and Fabry, "A Fast File System for UNIX" (1984), with
//! the 4.4BSD additions (clusters, short symbolic links) and, for UFS2, `McKusick`'s "Enhancements to
//! the Fast Filesystem To Support Multi-Terabyte Storage Systems" (2003). A file system is a row of
//! cylinder groups, each with a copy of the superblock, a descriptor with its bitmaps, a table of
//! inodes, and data:
//!
//! ```text
//! group 0:  boot area, superblock | copy | descriptor | inodes | summary of groups, root, data
//! group n:  data                  | copy | descriptor | inodes | data
//! ```

mod bytes;
mod check;
mod geometry;
mod group;
mod inode;
mod make;
mod superblock;
mod tally;

pub use check::{CheckError, Verdict, check};
pub use geometry::{Geometry, GeometryError, Version, Wish};
pub use make::{MakeError, newfs};
