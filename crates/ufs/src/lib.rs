//! The Berkeley fast file system in the on-disk formats UFS1 and UFS2 (little-endian, as on x86).
//! [`newfs`] writes an empty file system to anything that supports writes at an offset. [`check`]
//! reads one and reports inconsistencies. This crate opens, mounts and repairs nothing, and reads
//! no clock.
//!
//! The layout is that of `McKusick`, Joy, Leffler and Fabry, "A Fast File System for UNIX" (1984),
//! with the 4.4BSD additions (clusters, short symbolic links). For UFS2 it is that of `McKusick`'s
//! "Enhancements to the Fast Filesystem To Support Multi-Terabyte Storage Systems" (2003). A file
//! system is a sequence of cylinder groups. Each has a copy of the superblock, a descriptor with
//! its bitmaps, a table of inodes, and data:
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
pub use geometry::{Geometry, GeometryError, MakeOptions, Version};
pub use make::{MakeError, newfs};
