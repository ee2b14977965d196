//! Entry points for the fuzz targets.

pub use crate::labs::ssh::fuzz::read_far;
pub use crate::messages::{GuestMessage, Task};
pub use fsdyno_guests::protocol::{FrameReader, FrameWriter};
