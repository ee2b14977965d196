//! An empty bcachefs: its superblocks, on anything that can be written at an offset. The kernel makes
//! the rest at the first mount. This crate opens, mounts and checks nothing, and reads no clock.
//!
//! The format is that of Linux 6.12 (`fs/bcachefs/bcachefs_format.h`, metadata version 1.13), which
//! later kernels read too. Each device has three superblocks, which describe all devices:
//!
//! ```text
//! sector 7       the places of the superblocks of this device
//! sector 8       superblock, with room for 1 MiB
//! sector 2056    copy
//! last bucket    copy
//! ```

mod geometry;
mod make;
mod options;
mod superblock;

pub use geometry::{Geometry, GeometryError};
pub use make::{MakeError, make};
pub use options::{Checksum, Compression, MakeOptions, UnknownName};
